"""What the scheduler has done about an object counts as it did: before or after what the object has shown since."""

from __future__ import annotations

import msgspec

from tests.support.sessions import gang, node, pod, queue
from volcano_py.api.effects import Bind, ObjectRef, PodGroupStatusUpdate
from volcano_py.api.names import CHARGED_QUEUE
from volcano_py.api.objects import ApiObject, PodGroup
from volcano_py.record.entries import AssumedBound, AssumedStatus, Deleted, Entry, Upserted
from volcano_py.record.mirror import Mirror
from volcano_py.state.cluster_state import ClusterState

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
        else:
            entry, obj = each
            assert isinstance(entry, Upserted)
            mirror.object(entry, obj)
            entry.apply(state)
    for entry in mirror.entries():
        entry.apply(again)
    return mirror, state, again


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


def test_nothing_is_kept_of_what_is_gone() -> None:
    mirror, _, _ = follow(seen(GROUP), seen(POD), BIND, seen(POD, Deleted), seen(GROUP, Deleted), assumed("Running"))
    assert {entry.kind for entry in mirror.entries() if isinstance(entry, Upserted)} == {"Queue", "Node"}
    assert all(isinstance(entry, Upserted) for entry in mirror.entries())
