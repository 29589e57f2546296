"""Only running pods are reclaimed. That pods now run wakes nobody, so who waits for it asks for another look."""

from __future__ import annotations

import pytest

from tests.support.cycles import Cycles
from tests.support.sessions import NOW, gang, node, pod, pod_group, queue
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


@pytest.mark.parametrize(("phase", "looks_again"), [("Pending", True), ("Running", False)])
def test_pods_that_do_not_run_yet_may_be_victims_a_moment_later(phase: str, looks_again: bool) -> None:
    cycles = starving_beside(phase)
    report = cycles.run()
    assert any(isinstance(effect, Evict) for effect in cycles.effects) != looks_again
    assert report.recheck_at == (NOW.timestamp() + 1.0 if looks_again else 0.0)


def test_pods_that_nobody_may_reclaim_are_not_waited_for() -> None:
    assert starving_beside("Pending", reclaimable=False).run().recheck_at == 0.0
