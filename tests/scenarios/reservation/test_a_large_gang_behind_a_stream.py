"""A stream of small pods, and a gang of the highest priority that needs three whole nodes of four."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from tests.support.registries import checked_registry
from volcano_py.cluster.manifests import Document, read_paths, stored
from volcano_py.config import parse_configuration
from volcano_py.play import Play, PlayResult, Work

EXAMPLE: Final = Path(__file__).parents[3] / "examples" / "large-jobs"
WITH: Final = (EXAMPLE / "volcano-scheduler.conf").read_text(encoding="utf-8")
WITHOUT: Final = "\n".join(
    line
    for line in WITH.splitlines()
    if not any(word in line for word in ("reservation", "arguments", "after", "maxIdle", "holdFor"))
)
URGENT: Final = {
    "apiVersion": "scheduling.k8s.io/v1",
    "kind": "PriorityClass",
    "metadata": {"name": "urgent"},
    "value": 1000,
}


def played(conf: str, *, minutes: int = 60, declared: bool = True) -> PlayResult:
    documents = [Document("urgent", 1, URGENT), *read_paths([EXAMPLE])]
    for document in documents:
        if document.body["kind"] == "Job":
            document.body["spec"]["priorityClassName"] = "urgent"
        if document.body["kind"] == "Pod" and not declared:
            seconds = document.body["spec"].pop("activeDeadlineSeconds")
            document.body["metadata"]["annotations"].setdefault("volcano.sh/simulate-runs-for", f"{seconds}s")
    registry = checked_registry()
    parsed = parse_configuration(conf, registry.catalogue())
    assert parsed.config is not None
    result = Play(stored(documents), parsed.config, registry).run(minutes * 60)
    assert not any(report.plugin_errors for report in result.simulation.reports)
    return result


def large(result: PlayResult) -> Work:
    return next(work for work in result.work if work.name == "default/large")


def test_without_the_plugin_it_never_starts() -> None:
    assert large(played(WITHOUT)).started == 0


def test_with_the_plugin_it_starts_when_its_place_was_foreseen() -> None:
    """After five minutes it has its turn; the last of the small pods on its nodes may run for five more."""
    result = played(WITH)
    assert large(result).waits[0] <= 10 * 60
    assert large(result).ended == 1
    small = next(work for work in result.work if work.name == "default/small")
    assert small.longest_wait < 15 * 60, "who was kept waiting goes on"
    assert result.utilisation["cpu"] > played(WITHOUT).utilisation["cpu"]


def test_without_declared_runtimes_no_more_may_lie_idle_than_the_bound_says() -> None:
    undeclared = played(WITH, declared=False)
    assert large(undeclared).started == 0, "12 of 16 cpu, of which 8 may have to lie idle, are more than 10 %"
    generous = played(WITH.replace("10%", "50%"), declared=False)
    assert large(generous).started == 1


@pytest.mark.parametrize("hold_for", ["2m", "30m"])
def test_the_others_go_on_whatever_becomes_of_it(hold_for: str) -> None:
    result = played(WITH.replace("30m", hold_for))
    assert all(work.started >= work.came - 2 for work in result.work)
