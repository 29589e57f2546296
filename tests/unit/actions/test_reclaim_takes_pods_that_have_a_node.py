"""Pods are reclaimed from the moment in which they have a node."""

from __future__ import annotations

import pytest

from tests.support.cycles import Cycles
from tests.support.sessions import gang, node, pod, pod_group, queue
from volcano_py.actions.allocate import Allocate
from volcano_py.actions.reclaim import Reclaim
from volcano_py.api.effects import Evict
from volcano_py.plugins.gang import Gang
from volcano_py.plugins.proportion import Proportion


def starving_beside(phase: str, *, reclaimable: bool = True) -> Cycles:
    """A full node: queue `rich` has all of it, with pods in that phase, and a job of `poor` has nothing."""
    members = [pod(f"rich-{index}", group="rich", cpu="1", on="n1", phase=phase) for index in range(4)]
    return Cycles(
        node("n1", cpu="4"),
        queue("rich", reclaimable=reclaimable),
        queue("poor"),
        [pod_group("rich", queue="rich", min_member=1, phase="Running"), *members],
        gang("poor", queue="poor", pods=1, cpu="1"),
        actions=(Allocate, Reclaim),
        plugins=(Gang, Proportion),
    )


@pytest.mark.parametrize("phase", ["Pending", "Running"])
def test_pods_that_have_a_node_are_victims_whether_they_run_yet_or_not(phase: str) -> None:
    cycles = starving_beside(phase)
    report = cycles.run()
    assert any(isinstance(effect, Evict) for effect in cycles.effects)
    assert report.recheck_at == 0.0


def test_pods_that_no_queue_may_reclaim_are_no_victims() -> None:
    cycles = starving_beside("Pending", reclaimable=False)
    assert cycles.run().recheck_at == 0.0
    assert not any(isinstance(effect, Evict) for effect in cycles.effects)
