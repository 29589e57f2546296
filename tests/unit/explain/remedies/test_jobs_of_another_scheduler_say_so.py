"""Volcano Jobs that name a scheduler that is not ours, by mistake or because another one runs."""

from __future__ import annotations

import pytest

from tests.unit.explain.causes import explained, node, volcano_job, world_of
from volcano_py.explain.of_workload import explain_workload
from volcano_py.explain.target import ExplainError
from volcano_py.operator.podgroups.generated_group import GroupRules


def job(template: str = "") -> str:
    named = volcano_job("1").replace("spec:\n  min", "spec:\n  schedulerName: Volcano\n  min", 1)
    return named.replace("spec: {containers", f"spec: {{{template}containers", 1)


@pytest.mark.parametrize("template", ["", "schedulerName: volcano, "])
def test_the_reason_is_the_name_and_the_remedy_ours(template: str) -> None:
    found = explained(node() + job(template))
    assert (found.now.state, found.now.reason) == ("Waiting", "OtherScheduler")
    assert found.now.message == (
        "schedulerName is Volcano; this scheduler is volcano: create the Job again with schedulerName volcano, unless "
        "a scheduler Volcano runs and admits its PodGroup"
    )
    assert [remedy.text for remedy in found.remedies] == ["create Job default/train again with schedulerName volcano"]


def test_the_scheduler_of_that_name_explains_it() -> None:
    rules = GroupRules(scheduler_names=frozenset({"Volcano"}))
    assert explained(node() + job(), rules=rules).now.state == "Starting"


def test_one_that_another_scheduler_has_admitted_is_not_ours_to_explain() -> None:
    owned = job().replace("{name: train}", "{name: train, uid: train}", 1)
    group = """
apiVersion: scheduling.volcano.sh/v1beta1
kind: PodGroup
metadata:
  name: train-train
  ownerReferences: [{apiVersion: batch.volcano.sh/v1alpha1, kind: Job, name: train, uid: train, controller: true}]
spec: {minMember: 1}
status: {phase: Running}
---"""
    with pytest.raises(ExplainError, match="job default/train has schedulerName Volcano: this scheduler"):
        explain_workload(world_of(node() + owned + group), "job", "default/train")
