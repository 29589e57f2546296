"""preempt with drf and enableHierarchy: queues have their turns in the order of the tree, lower share first and
saturated last; inside a queue priority and namespace come first, and who is a victim is a matter of flat shares."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from tests.support.queues.hierarchy import placed_queue
from tests.support.sessions import Opened, gang, node, priority_class
from tests.unit.actions.acting import act
from volcano_py.actions.preempt import Preempt
from volcano_py.plugins.drf import Drf
from volcano_py.plugins.gang import Gang
from volcano_py.plugins.priority import Priority
from volcano_py.state.status import TaskStatus

GANG = (Gang, {"enablePreemptable": False})
TREE = {"enableHierarchy": True}

Tiers = Sequence[Sequence[Any]]


def preempt(*objects: Any, cpu: int, tiers: Tiers = ((GANG, (Drf, TREE)),)) -> Opened:
    """CPUs are all in use; of memory, which each pod asks for too, there is plenty, so that shares differ in it."""
    full = node("n1", cpu=str(cpu), memory="100Gi")
    urgent = [priority_class("urgent", 100), placed_queue("a", "root/a", "1/1"), placed_queue("z", "root/z", "1/1")]
    return act(full, *urgent, *objects, actions=[Preempt], tiers=tiers)


def runs(name: str, queue: str, pods: int, memory: str = "1Gi", **fields: Any) -> list[Any]:
    running = ["n1"] * pods
    return gang(name, queue=queue, pods=pods, min_member=1, running_on=running, cpu="1", memory=memory, **fields)


def waits(name: str, queue: str, **fields: Any) -> list[Any]:
    return gang(name, queue=queue, cpu="1", memory="1Gi", **fields)


def promised(opened: Opened) -> list[str]:
    """Pods that got a place, in the order of their rows."""
    return opened.names((opened.ssn.ledger.tasks.status == TaskStatus.PIPELINED).nonzero()[0])


@pytest.mark.parametrize(("of_a", "of_z", "first"), [(8, 4, "z"), (4, 8, "a")])
def test_the_queue_with_the_lower_share_has_its_turn_first(of_a: int, of_z: int, first: str) -> None:
    opened = preempt(runs("ra", "a", of_a), runs("rz", "z", of_z), waits("wa", "a"), waits("wz", "z"), cpu=12)
    assert [name[1] for name in opened.evictions] == sorted("az", key=lambda queue: queue != first)


def test_a_saturated_queue_has_its_turn_last_though_it_has_the_lower_share() -> None:
    """What waits in z holds nothing yet. All that there is in a holds CPUs, of which there are no more: a gang, too,
    that wants one pod more. But a has a third of the CPUs, z four fifths of the memory."""
    half = gang("half", queue="a", pods=2, running_on=["n1"], cpu="1", memory="1Gi")
    opened = preempt(runs("ra", "a", 3), half, runs("rz", "z", 8, memory="10Gi"), waits("wz", "z"), cpu=12)
    assert [name[:2] for name in opened.evictions] == ["rz", "ra"]


def test_inside_a_queue_of_the_tree_the_more_important_job_goes_first() -> None:
    """`ra` gives one pod and no more; shares of those who wait are equal, and one is older."""
    urgent = waits("urgent", "a", priority_class="urgent", priority=100)
    tiers: Tiers = [[(Priority, {"enablePreemptable": False}), GANG], [(Drf, TREE)]]
    assert promised(
        preempt(runs("ra", "a", 2), waits("old", "a", age=60), urgent, waits("new", "a"), cpu=2, tiers=tiers)
    ) == ["urgent-0"]


def test_inside_a_queue_of_the_tree_the_namespace_with_less_goes_first() -> None:
    """`ra` gives one pod and no more, to ns2, which has nothing, though its job is the least important."""
    urgent = {"namespace": "ns1", "priority_class": "urgent", "priority": 100}
    old, there, new = (
        waits("old", "a", age=60, **urgent),
        waits("there", "a", namespace="ns2"),
        waits("new", "a", **urgent),
    )
    tiers: Tiers = [[(Priority, {"enablePreemptable": False}), GANG], [(Drf, {**TREE, "enableNamespaceOrder": True})]]
    assert promised(preempt(runs("ra", "a", 2, namespace="ns1"), old, there, new, cpu=2, tiers=tiers)) == ["there-0"]


@pytest.mark.parametrize("weights", ["1/1", "1/50"])
@pytest.mark.parametrize("others", [0, 20])
def test_what_the_tree_owes_a_queue_does_not_decide_victims_inside_it(weights: str, others: int) -> None:
    """A job that holds five pods gives to four jobs of a pod each: the last one would leave it less than they have."""
    opened = preempt(
        placed_queue("own", "root/b/own", f"{weights}/1"),
        runs("many", "own", 5),
        [waits(f"w{number}", "own") for number in range(6)],
        [runs("theirs", "z", others)] if others else [],
        cpu=5 + others,
    )
    assert len(opened.evictions) == 4
    assert {name[:4] for name in opened.evictions} == {"many"}
