"""A PodGroup that follows its owner is reset when it is patched, so the remedies are of the owner."""

from __future__ import annotations

import pytest

from tests.unit.explain.causes import node, world_of
from volcano_py.explain.of_workload import explain_workload

MINIMUM = "annotations: {scheduling.volcano.sh/group-min-member: '3'}"


def workload(api_version: str, kind: str, spec: str, *, more: str = "") -> str:
    return f"""
apiVersion: {api_version}
kind: {kind}
metadata: {{name: web, uid: u1, {MINIMUM}{more}}}
spec: {{{spec}}}
---
apiVersion: v1
kind: Pod
metadata:
  name: web-0
  ownerReferences: [{{apiVersion: {api_version}, kind: {kind}, name: web, uid: u1, controller: true}}]
spec:
  schedulerName: volcano
  containers: [{{name: main, image: pause, resources: {{requests: {{cpu: "1"}}}}}}]
status: {{phase: Pending}}
---"""


def remedies(text: str) -> dict[str, str]:
    found = explain_workload(world_of(node() + text), "pod", "default/web-0")
    return {each.kind: each.text for each in found.remedies}


CREATES = ": it then creates the 2 pods that the gang lacks"


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        ("replicas: 3", "recreate StatefulSet default/web with podManagementPolicy Parallel"),
        ("replicas: 2, podManagementPolicy: Parallel", "raise replicas of StatefulSet default/web to 3"),
        ("", "recreate StatefulSet default/web with podManagementPolicy Parallel and 3 replicas"),
    ],
)
def test_a_stateful_set_has_to_create_its_pods_at_once(spec: str, text: str) -> None:
    found = remedies(workload("apps/v1", "StatefulSet", spec))
    assert found["missing-pods"] == text + CREATES
    assert found["fewer-pods"] == (
        "start with fewer pods: lower the annotation scheduling.volcano.sh/group-min-member of StatefulSet default/web "
        "from 3 to 1"
    )


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        ("parallelism: 1", "raise parallelism of Job default/web to 3"),
        ("", "raise parallelism of Job default/web to 3"),
        ("completions: 3", "raise parallelism of Job default/web to 3"),
        ("completions: 2, parallelism: 3", "recreate Job default/web with completions and parallelism of 3"),
    ],
)
def test_a_job_has_to_run_as_many_pods_at_once(spec: str, text: str) -> None:
    found = remedies(workload("batch/v1", "Job", spec))
    assert found["missing-pods"] == text + CREATES


def test_a_replica_set_is_changed_by_its_deployment() -> None:
    above = ", ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: shop, uid: d1, controller: true}]"
    found = remedies(workload("apps/v1", "ReplicaSet", "replicas: 1", more=above))
    assert found["missing-pods"] == f"raise replicas of Deployment default/shop to 3{CREATES}"
    assert "group-min-member of Deployment default/shop from 3 to 1" in found["fewer-pods"]


def test_pods_that_are_only_late_are_to_be_created() -> None:
    found = remedies(workload("apps/v1", "StatefulSet", "replicas: 3, podManagementPolicy: Parallel"))
    assert found["missing-pods"] == "create the 2 pods that the gang lacks, each as large as web-0"
