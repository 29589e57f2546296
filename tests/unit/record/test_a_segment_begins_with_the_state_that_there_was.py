"""What the scheduler has done about an object counts as it did: before or after what the object has shown since."""

from __future__ import annotations

import msgspec
import pytest

from tests.support.sessions import gang, node, pod, queue
from volcano_py.api.effects import Bind, ObjectRef, PodCondition, PodGroupStatusUpdate
from volcano_py.api.names import CHARGED_QUEUE
from volcano_py.api.objects import ApiObject, Pod, PodGroup
from volcano_py.api.reasons import Reason
from volcano_py.record.entries import (
    AssumedBound,
    AssumedEvicted,
    AssumedReported,
    AssumedStatus,
    BindFailed,
    Deleted,
    Entry,
    EvictFailed,
    Looked,
    Upserted,
)
from volcano_py.record.mirror import Mirror
from volcano_py.record.news import News, Seen
from volcano_py.record.recorded_state import RecordedState
from volcano_py.state.cluster_state import ClusterState
from volcano_py.state.status import TaskStatus

GROUP, POD = gang("g", cpu="1")
assert isinstance(GROUP, PodGroup)
BIND = AssumedBound((Bind(ObjectRef("Pod", "team", "g-0", "pod-team-g-0"), "n1", "team/g", "a"),))


def seen(obj: ApiObject, kind: type[Upserted] = Upserted) -> tuple[Entry, ApiObject]:
    return kind(type(obj).__name__, msgspec.Raw(msgspec.json.encode(obj))), obj


def assumed(phase: str) -> AssumedStatus:
    assert isinstance(GROUP, PodGroup)
    ref = ObjectRef("PodGroup", "team", "g", GROUP.metadata.uid)
    return AssumedStatus(PodGroupStatusUpdate(ref, phase, (), 0, 0, 0), 0.0)


def stored(phase: str) -> PodGroup:
    assert isinstance(GROUP, PodGroup)
    return msgspec.structs.replace(GROUP, status=msgspec.structs.replace(GROUP.status, phase=phase))


def follow(*news: Entry | tuple[Entry, ApiObject]) -> tuple[Mirror, ClusterState, ClusterState]:
    """A mirror of these, the state that they led to, and that of what the mirror holds."""
    mirror, state, again = Mirror(), ClusterState(), ClusterState()
    for each in (seen(queue("a")), seen(queue("b")), seen(node("n1", cpu="4")), *news):
        if isinstance(each, Entry):
            mirror.own(each)
            each.apply(state)
            if isinstance(each, Looked):
                state.copy(each.now)
        else:
            entry, obj = each
            assert isinstance(entry, Upserted)
            mirror.object(entry, obj)
            entry.apply(state)
    for entry in mirror.entries():
        entry.apply(again)
    return mirror, state, again


def promised(name: str) -> Pod:
    assert isinstance(POD, Pod)
    return msgspec.structs.replace(POD, status=msgspec.structs.replace(POD.status, nominated_node_name=name))


def phases(state: ClusterState) -> list[int]:
    return list(state.copy(0.0).ledger.jobs.phase)


def test_a_status_holds_until_the_stored_phase_moves() -> None:
    _, state, again = follow(seen(stored("Inqueue")), assumed("Running"), seen(stored("Inqueue")))
    assert phases(again) == phases(state)


def test_a_stored_phase_that_has_moved_since_counts() -> None:
    _, state, again = follow(seen(stored("Pending")), assumed("Inqueue"), seen(stored("Running")))
    assert phases(again) == phases(state)
    _, other, _ = follow(seen(stored("Running")), assumed("Inqueue"))
    assert phases(other) != phases(state)


def test_a_pod_is_charged_to_the_queue_that_it_was_bound_in() -> None:
    """Its PodGroup has moved since."""
    assert isinstance(GROUP, PodGroup)
    moved = msgspec.structs.replace(GROUP, spec=msgspec.structs.replace(GROUP.spec, queue="b"))
    _, state, again = follow(seen(GROUP), seen(POD), BIND, seen(pod("g-0", group="g", cpu="1", on="n1")), seen(moved))
    for each in (state, again):
        queues = each.copy(0.0)
        assert queues.ledger.queues.allocated[queues.queues["a"].slot].any()


def test_nothing_is_kept_of_a_binding_that_the_pod_shows() -> None:
    bound = pod("g-0", group="g", cpu="1", on="n1", annotations={CHARGED_QUEUE: "a"})
    mirror, _, _ = follow(seen(GROUP), seen(POD), BIND, seen(bound))
    assert not [entry for entry in mirror.entries() if isinstance(entry, AssumedBound)]


def test_a_pod_that_is_being_bound_keeps_its_place_though_others_have_taken_the_room_since() -> None:
    _, state, again = follow(seen(GROUP), seen(POD), BIND, seen(pod("other", cpu="4", on="n1")))
    used = [each.copy(0.0).ledger.nodes.used[:1].tolist() for each in (state, again)]
    assert used[0] == used[1]
    assert task(state)["status"] == task(again)["status"] == int(TaskStatus.BINDING)


def test_a_binding_that_the_state_refuses_is_not_recorded() -> None:
    """After a cut, it would count as one for which there was room once."""
    found: list[News] = []
    state = RecordedState(found.append)
    for _, obj in (seen(queue("a")), seen(node("n1", cpu="4")), seen(pod("other", cpu="4", on="n1")), seen(GROUP)):
        state.upsert(type(obj).__name__, obj)
    state.upsert("Pod", POD)
    assert state.assume_all_bound(BIND.binds) == [False]
    assert not [each for each in found if isinstance(each, AssumedBound)]


def test_objects_that_come_together_are_recorded_one_by_one() -> None:
    found: list[News] = []
    state = RecordedState(found.append)
    other = pod("other", cpu="1")
    state.upsert_all("Pod", [POD, other])
    state.upsert_all("PodGroup", [GROUP])
    state.upsert_all("Event", [other])
    assert found == [Seen("Pod", POD), Seen("Pod", other), Seen("PodGroup", GROUP)]


def test_nothing_is_kept_of_what_is_gone() -> None:
    mirror, _, _ = follow(seen(GROUP), seen(POD), BIND, seen(POD, Deleted), seen(GROUP, Deleted), assumed("Running"))
    assert {entry.kind for entry in mirror.entries() if isinstance(entry, Upserted)} == {"Queue", "Node"}
    assert all(isinstance(entry, Upserted) for entry in mirror.entries())


def task(state: ClusterState, now: float = 100.0) -> dict[str, object]:
    """What the tables have of the pod."""
    tasks = state.copy(now).ledger.tasks
    names = ("status", "retry_at", "nominated", "nominated_since")
    return {name: getattr(tasks, name)[0].item() for name in names}


def reported(node: str = "", message: str = "waits") -> AssumedReported:
    ref = ObjectRef("Pod", "team", "g-0", "pod-team-g-0")
    return AssumedReported(PodCondition(ref, "Unschedulable", message, Reason.NODES_REFUSE, node))


def evicted() -> AssumedEvicted:
    return AssumedEvicted("pod-team-g-0")


RUNS = pod("g-0", group="g", cpu="1", on="n1")


@pytest.mark.parametrize(
    "news",
    [
        (seen(POD), BIND, BindFailed("pod-team-g-0", 150.0)),
        (seen(POD), BIND, BindFailed("pod-team-g-0", 150.0), seen(POD)),
        (seen(POD), BIND, BindFailed("pod-team-g-0", 50.0), BIND),
        (seen(RUNS), evicted(), EvictFailed("pod-team-g-0", 150.0)),
        (seen(POD), BindFailed("pod-team-g-0", 150.0)),
        (seen(POD), reported("n1"), Looked(10.0)),
        (seen(POD), reported("n1"), Looked(10.0), reported(message="other"), Looked(20.0)),
        (seen(POD), reported("n1"), Looked(10.0), seen(POD), Looked(20.0)),
        (seen(POD), reported("n1"), Looked(10.0), reported("n1", "other"), Looked(20.0)),
        (seen(POD), reported("n1"), Looked(10.0), seen(promised("n1")), Looked(20.0)),
        (seen(POD), reported("n1"), Looked(10.0), seen(promised("n2")), Looked(20.0)),
        (seen(promised("n2")), Looked(10.0), seen(POD), Looked(20.0)),
    ],
    ids=[
        "failed binding",
        "seen after it failed",
        "bound again",
        "failed eviction",
        "failure of what was not bound",
        "promise",
        "promise, then another condition",
        "promise that the pod does not show yet",
        "promise made again",
        "promise that the pod shows",
        "promise that another client replaced",
        "promise that is gone",
    ],
)
def test_pauses_and_promises_are_as_they_were(news: tuple[Entry | tuple[Entry, ApiObject], ...]) -> None:
    _, state, again = follow(seen(GROUP), *news)
    assert task(again) == task(state)


def test_a_pod_is_being_bound_to_a_node_that_is_gone() -> None:
    gone = seen(node("n1", cpu="4"), Deleted)
    mirror, state, again = follow(seen(GROUP), seen(POD), BIND, gone)
    assert task(again) == task(state)
    assert not again.copy(0.0).ledger.nodes.present.any()
    follow_on, obj = seen(pod("g-0", group="g", cpu="1", on="n1", annotations={CHARGED_QUEUE: "a"}))
    assert isinstance(follow_on, Upserted)
    mirror.object(follow_on, obj)
    assert not [entry for entry in mirror.entries() if isinstance(entry, Deleted)]
