"""The queue state machine: every state × action, and how a queue follows its parent."""

from __future__ import annotations

from typing import Any

import pytest

from volcano_py.api.names import CLOSED_BY_PARENT
from volcano_py.api.objects import ObjectMeta, Queue, QueueSpec, QueueStatus
from volcano_py.operator.queues.states import (
    PodGroupCounts,
    QueueAction,
    QueueChange,
    QueuePatch,
    QueueState,
    UnknownQueueStateError,
    initial_queues,
    next_state,
    parent_state,
    reconcile_queue,
)

OPEN, CLOSED, CLOSING, UNKNOWN = QueueState.OPEN, QueueState.CLOSED, QueueState.CLOSING, QueueState.UNKNOWN
TO_OPEN, TO_CLOSE, SYNC = QueueAction.OPEN, QueueAction.CLOSE, QueueAction.SYNC
NONE, SOME = PodGroupCounts(), PodGroupCounts(running=2)


def queue(
    name: str = "team-a", state: str = "Open", *, parent: str = "root", mark: str | None = None, **status: Any
) -> Queue:
    annotations = {} if mark is None else {CLOSED_BY_PARENT: mark}
    return Queue(
        metadata=ObjectMeta(name=name, uid=f"uid-{name}", annotations=annotations),
        spec=QueueSpec(parent=parent),
        status=QueueStatus(state=state, **({"allocated": {"cpu": "1"}} | NONE.as_status() | status)),
    )


@pytest.mark.parametrize(
    ("state", "action", "without_groups", "with_groups"),
    [
        ("", TO_OPEN, OPEN, OPEN),
        ("", TO_CLOSE, CLOSED, CLOSING),
        ("", SYNC, OPEN, OPEN),
        ("Open", TO_OPEN, OPEN, OPEN),
        ("Open", TO_CLOSE, CLOSED, CLOSING),
        ("Open", SYNC, OPEN, OPEN),
        ("Closing", TO_OPEN, OPEN, OPEN),
        ("Closing", TO_CLOSE, CLOSED, CLOSING),
        ("Closing", SYNC, CLOSED, CLOSING),
        ("Closed", TO_OPEN, OPEN, OPEN),
        ("Closed", TO_CLOSE, CLOSED, CLOSED),
        ("Closed", SYNC, CLOSED, CLOSED),
        ("Unknown", TO_OPEN, OPEN, OPEN),
        ("Unknown", TO_CLOSE, CLOSED, CLOSING),
        ("Unknown", SYNC, UNKNOWN, UNKNOWN),
    ],
)
def test_every_state_and_action_lead_where_volcano_leads(
    state: str, action: QueueAction, without_groups: QueueState, with_groups: QueueState
) -> None:
    assert next_state(state, action, 0) is without_groups
    assert next_state(state, action, 1) is with_groups


def test_an_unknown_state_is_refused_by_name() -> None:
    with pytest.raises(UnknownQueueStateError, match=r"status.state is 'Paused'; it must be one of Open, Closed"):
        next_state("Paused", SYNC, 0)


def test_a_queue_without_state_becomes_open() -> None:
    change = reconcile_queue(queue(state=""), NONE, OPEN)
    assert change == QueueChange(state=OPEN)


def test_a_queue_as_it_should_be_needs_no_write() -> None:
    change = reconcile_queue(queue(running=2), SOME, OPEN)
    assert change.is_empty
    assert change.patches(queue(running=2)) == ()


def test_an_empty_parent_becomes_root() -> None:
    change = reconcile_queue(queue(parent=""), NONE, OPEN)
    assert change == QueueChange(parent="root")
    assert change.patches(queue()) == (QueuePatch("", {"spec": {"parent": "root"}, "metadata": {"uid": "uid-team-a"}}),)


def test_root_gets_no_parent() -> None:
    assert reconcile_queue(queue("root", parent=""), NONE, OPEN).is_empty


@pytest.mark.parametrize("state", ["", "Closed", "Closing", "Unknown"])
def test_root_is_always_open(state: str) -> None:
    assert reconcile_queue(queue("root", state, parent=""), SOME, OPEN).state is OPEN


def test_root_refuses_to_close() -> None:
    change = reconcile_queue(queue("root", parent=""), NONE, OPEN, TO_CLOSE)
    assert change.is_empty
    assert change.refusal == "queue root cannot be closed: every queue is below it; close the queues you mean"


@pytest.mark.parametrize(("counts", "state"), [(NONE, CLOSED), (SOME, CLOSING)])
def test_an_open_child_of_a_shut_parent_closes_with_a_mark(counts: PodGroupCounts, state: QueueState) -> None:
    for parent in (CLOSED, CLOSING):
        for own in ("", "Open"):
            change = reconcile_queue(queue(state=own, running=counts.running), counts, parent)
            assert change == QueueChange(state=state, closed_by_parent=True)


@pytest.mark.parametrize("own", ["Closed", "Closing"])
def test_a_marked_child_opens_again_with_its_parent(own: str) -> None:
    change = reconcile_queue(queue(state=own, mark="true", running=2), SOME, OPEN)
    assert change == QueueChange(state=OPEN, closed_by_parent=False)


@pytest.mark.parametrize("mark", [None, "false"])
def test_a_child_closed_by_hand_stays_closed_when_its_parent_opens(mark: str | None) -> None:
    assert reconcile_queue(queue(state="Closed", mark=mark), NONE, OPEN).is_empty


def test_a_marked_child_closed_by_hand_stays_closed_from_then_on() -> None:
    change = reconcile_queue(queue(state="Closed", mark="true"), NONE, CLOSED, TO_CLOSE)
    assert change == QueueChange(closed_by_parent=False)


@pytest.mark.parametrize("parent", [CLOSED, CLOSING])
def test_a_child_cannot_be_opened_under_a_shut_parent(parent: QueueState) -> None:
    change = reconcile_queue(queue(state="Closed", mark="true", parent="dept"), NONE, parent, TO_OPEN)
    assert change == QueueChange(refusal=change.refusal)
    assert change.refusal == (f"queue team-a cannot be opened while its parent dept is {parent}; open the parent first")


def test_opening_by_hand_takes_the_mark_off() -> None:
    change = reconcile_queue(queue(state="Closed", mark="true"), NONE, OPEN, TO_OPEN)
    assert change == QueueChange(state=OPEN, closed_by_parent=False)


def test_a_missing_parent_neither_closes_nor_opens() -> None:
    assert reconcile_queue(queue(mark=None), NONE, UNKNOWN).is_empty
    assert reconcile_queue(queue(state="Closed", mark="true"), NONE, UNKNOWN).is_empty


def test_a_missing_parent_does_not_forbid_opening_by_hand() -> None:
    assert reconcile_queue(queue(state="Closed"), NONE, UNKNOWN, TO_OPEN) == QueueChange(state=OPEN)


def test_only_changed_counts_are_written() -> None:
    counts = PodGroupCounts(pending=1, inqueue=2, running=3, unknown=4, completed=5)
    change = reconcile_queue(queue(pending=1, inqueue=9, running=3, completed=5), counts, OPEN)
    assert change == QueueChange(counts={"inqueue": 2, "unknown": 4})
    assert change.only_counts
    assert change.patches(queue()) == (
        QueuePatch("status", {"metadata": {"uid": "uid-team-a"}, "status": {"inqueue": 2, "unknown": 4}}),
    )


def test_every_queue_has_all_counts_with_its_first_status() -> None:
    """`kubectl get queues` shows a 0 where there is none, never a blank next to the zeros of others."""
    fresh = Queue(metadata=ObjectMeta(name="team-a", uid="uid-team-a"), spec=QueueSpec(parent="root"))
    change = reconcile_queue(fresh, NONE, OPEN)
    zeros = {"pending": 0, "inqueue": 0, "running": 0, "unknown": 0, "completed": 0}
    (patch,) = change.patches(fresh)
    assert patch.body["status"] == {**zeros, "state": "Open", "allocated": {}}
    assert reconcile_queue(change.apply(fresh), NONE, OPEN).is_empty


def test_missing_counts_are_written_once() -> None:
    """By an earlier release, or Volcano's, which leaves out what is 0."""
    older = queue(unknown=None, completed=None)
    change = reconcile_queue(older, NONE, OPEN)
    assert change == QueueChange(counts={"unknown": 0, "completed": 0})
    assert reconcile_queue(change.apply(older), NONE, OPEN).is_empty


def test_what_is_allocated_is_never_overwritten() -> None:
    """An empty object in a merge patch adds the field that Volcano's CRD requires, and changes nothing else."""
    counts = PodGroupCounts(pending=1)
    fresh = queue(allocated={})
    (patch,) = reconcile_queue(fresh, counts, OPEN).patches(fresh)
    assert patch.body["status"] == {"pending": 1, "allocated": {}}
    (patch,) = reconcile_queue(queue(), counts, OPEN).patches(queue())
    assert patch.body["status"] == {"pending": 1}


def test_the_mark_is_set_before_the_state_and_taken_off_after_it() -> None:
    """A stop between two patches must not turn a queue closed by its parent into one closed by hand."""
    closing = queue(parent="")
    change = reconcile_queue(closing, NONE, CLOSED)
    assert [patch.subresource for patch in change.patches(closing)] == ["", "status"]
    opening = queue(state="Closed", mark="true", parent="")
    patches = reconcile_queue(opening, NONE, OPEN).patches(opening)
    assert [(patch.subresource, sorted(patch.body)) for patch in patches] == [
        ("", ["metadata", "spec"]),
        ("status", ["metadata", "status"]),
        ("", ["metadata"]),
    ]


def test_a_stop_between_the_patches_is_repaired_by_the_next_look() -> None:
    # Closing: the mark is there, the state not yet.
    half_closed = queue(mark="true")
    assert reconcile_queue(half_closed, NONE, CLOSED) == QueueChange(state=CLOSED)
    # Opening: the state is there, the mark not off yet.
    half_opened = queue(mark="true")
    assert reconcile_queue(half_opened, NONE, OPEN) == QueueChange(closed_by_parent=False)


def test_a_change_applied_leaves_nothing_to_change() -> None:
    before = queue(state="", parent="")
    after = reconcile_queue(before, SOME, CLOSED).apply(before)
    assert (after.status.state, after.spec.parent, after.status.running) == ("Closing", "root", 2)
    assert after.metadata.annotations == {CLOSED_BY_PARENT: "true"}
    assert reconcile_queue(after, SOME, CLOSED).is_empty


def test_a_tree_closes_from_the_top_and_opens_again() -> None:
    """root ── dept ── team ── user; only `user` has PodGroups, and `other` was closed by hand."""
    names = {"dept": "root", "team": "dept", "user": "team", "other": "dept"}
    queues = {name: queue(name, parent=parent) for name, parent in names.items()}
    queues["other"] = queue("other", "Closed", parent="dept")

    def settle() -> dict[str, str]:
        for _ in names:
            for name, item in queues.items():
                counts = SOME if name == "user" else NONE
                queues[name] = reconcile_queue(item, counts, parent_state(item, queues)).apply(item)
        return {name: item.status.state for name, item in queues.items()}

    queues["dept"] = reconcile_queue(queues["dept"], NONE, OPEN, TO_CLOSE).apply(queues["dept"])
    assert settle() == {"dept": "Closed", "team": "Closed", "user": "Closing", "other": "Closed"}
    queues["dept"] = reconcile_queue(queues["dept"], NONE, OPEN, TO_OPEN).apply(queues["dept"])
    assert settle() == {"dept": "Open", "team": "Open", "user": "Open", "other": "Closed"}


@pytest.mark.parametrize(
    ("parent", "state"),
    [
        pytest.param("", OPEN, id="no parent"),
        pytest.param("root", OPEN, id="root, whatever its state says"),
        pytest.param("fresh", OPEN, id="without state"),
        pytest.param("closed", CLOSED, id="closed"),
        pytest.param("closing", CLOSING, id="closing"),
        pytest.param("odd", UNKNOWN, id="a state that is none"),
        pytest.param("gone", UNKNOWN, id="missing"),
        pytest.param("team-a", UNKNOWN, id="itself"),
        pytest.param("below", UNKNOWN, id="its own child"),
    ],
)
def test_the_state_of_the_parent(parent: str, state: QueueState) -> None:
    queues = {
        "root": queue("root", "Closed", parent=""),
        "fresh": queue("fresh", ""),
        "closed": queue("closed", "Closed"),
        "closing": queue("closing", "Closing"),
        "odd": queue("odd", "Paused"),
        "below": queue("below", "Closed", parent="team-a"),
        "team-a": queue("team-a", "Closed", parent=parent),
    }
    assert parent_state(queues["team-a"], queues) is state


def test_a_cycle_among_the_ancestors_ends_the_walk() -> None:
    queues = {"a": queue("a", "Closed", parent="b"), "b": queue("b", parent="a")}
    below = queue("c", parent="a")
    assert parent_state(below, queues) is CLOSED
    assert parent_state(queues["a"], queues) is UNKNOWN


def test_phases_are_counted_and_none_is_pending() -> None:
    phases = ["", "Pending", "Inqueue", "Running", "Running", "Completed", "Unknown", "Suspended"]
    counts = PodGroupCounts.of(phases)
    assert counts == PodGroupCounts(pending=2, inqueue=1, running=2, completed=1, unknown=2)
    assert counts.total == len(phases)


def test_the_queues_made_at_the_start() -> None:
    root, default = initial_queues()
    assert (root["metadata"], root["spec"]) == ({"name": "root"}, {"weight": 1, "reclaimable": False})
    assert default["metadata"] == {"name": "default"}
    assert default["spec"] == {"weight": 1, "reclaimable": True, "parent": "root"}
    assert [item["metadata"]["name"] for item in initial_queues("research")] == ["root", "research"]
    assert [item["metadata"]["name"] for item in initial_queues("root")] == ["root"]
