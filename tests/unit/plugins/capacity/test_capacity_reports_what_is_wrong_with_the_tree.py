"""Events on queues that break a rule of the tree, or whose limits cannot all be kept."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.queues.queue_trees import jobs, opened, queue
from tests.support.sessions import Objects, Opened
from volcano_py.api.effects import Event


def events(*objects: Objects, hierarchy: bool = True) -> dict[str, list[str]]:
    """Queue → reasons and messages of the events of a cycle."""
    session: Opened = opened(*objects, hierarchy=hierarchy)
    session.ssn.dispatch.life("on_session_close", session.ssn)
    assert not session.ssn.dispatch.failures.counts
    found: dict[str, list[str]] = {}
    for event in session.effects:
        assert isinstance(event, Event)
        assert (event.about.kind, event.type, event.about.namespace) == ("Queue", "Warning", "")
        found.setdefault(event.about.name, []).append(f"{event.reason}: {event.message}")
    return found


def test_a_tree_in_order_is_not_spoken_of() -> None:
    half, quarter = {"cpu": "64", "memory": "1Gi"}, {"cpu": "32", "memory": "512Mi"}
    assert not events(
        queue("a", deserved=half, guarantee=8, capability=100),
        queue("a1", "a", deserved=quarter, guarantee=4, capability=100),
        queue("a2", "a", deserved=quarter, guarantee=4),
        queue("b", deserved={"cpu": "1000"}, guarantee=50, capability=2000),
        jobs("j", "a1", 3),
    )


def test_a_missing_parent_is_reported_on_the_queue_that_names_it_alone() -> None:
    assert events(queue("x", "gone"), queue("y", "x"), jobs("j", "y", running=0)) == {
        "x": ["InvalidQueue: queue x: spec.parent is gone, which does not exist; create it or name another queue"]
    }


def test_a_cycle_is_reported_on_all_of_its_queues() -> None:
    found = events(queue("x", "y"), queue("y", "x"))
    assert found.keys() == {"x", "y"}
    assert "leads back to this queue (y → x → y)" in found["y"][0]


@pytest.mark.parametrize(("phase", "is_reported"), [("Inqueue", True), ("Pending", True), ("Completed", False)])
def test_jobs_in_an_inner_queue_are_reported_on_it_unless_they_are_finished(phase: str, is_reported: bool) -> None:
    found = events(queue("a"), queue("a1", "a"), jobs("stray", "a", running=0, group_phase=phase))
    text = "has queues below it (a1), and jobs run only in leaf queues; recreate its jobs in one of those"
    assert found == ({"a": [f"InvalidQueue: queue a: {text}"]} if is_reported else {})


def test_a_capability_above_the_parents_is_reported() -> None:
    text = (
        "queue a2: spec.capability is 100 cpu, but queue a above it may have 80 cpu at most, which applies; "
        "lower one or raise the other"
    )
    assert events(queue("a", capability=80), queue("a2", "a", capability=100)) == {"a2": [f"ExceedsParent: {text}"]}


@pytest.mark.parametrize("field", ["deserved", "guarantee"])
def test_children_that_are_given_more_than_their_parent_are_reported_on_it(field: str) -> None:
    amounts: list[dict[str, Any]] = [{field: 64}, {field: 32}, {field: 33}]
    tree = [queue("a", **amounts[0]), queue("a1", "a", **amounts[1]), queue("a2", "a", **amounts[2])]
    text = (
        f"queue a: spec.{field} is 64 cpu, the queues below it have 65 cpu together (a2: 33 cpu, a1: 32 cpu); "
        "lower theirs or raise its own"
    )
    assert events(*tree) == {"a": [f"ExceedsParent: {text}"]}


def test_of_many_queues_below_those_with_the_most_are_named() -> None:
    below = [queue(f"a{number}", "a", deserved=number) for number in range(8)]
    found = events(queue("a", deserved=5), *below)
    assert "28 cpu together (a7: 7 cpu, a6: 6 cpu, a5: 5 cpu, and 4 more queues)" in found["a"][0]


def test_a_parent_that_says_nothing_has_nothing_to_give() -> None:
    found = events(queue("a"), queue("a1", "a", deserved={"memory": "1Gi"}))
    assert "spec.deserved is 0 memory, the queues below it have 1Gi memory together" in found["a"][0]


def test_what_is_deserved_beyond_reach_is_reported() -> None:
    this_one = "it counts as this cluster's 128 cpu"
    counts = "applies; lower one or raise the other"
    assert events(
        queue("a", deserved=60, capability=50), queue("b", deserved={"cpu": "9E"}), queue("c", deserved={"cpu": "1000"})
    ) == {
        "a": [f"ExceedsCapability: queue a: spec.deserved[cpu] is 60, but spec.capability is 50 cpu, which {counts}"],
        "b": [f"ExceedsCapability: queue b: spec.deserved[cpu] is 9E, which no cluster has: {this_one}; correct it"],
    }


def test_side_by_side_there_is_nothing_to_report() -> None:
    assert not events(queue("x", "gone"), queue("a"), queue("a1", "a", deserved=5), jobs("j", "a"), hierarchy=False)
