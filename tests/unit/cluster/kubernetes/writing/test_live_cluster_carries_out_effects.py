"""All writers together, and the informers that feed the scheduler."""

from __future__ import annotations

import asyncio

import pytest

from tests.unit.cluster.conftest import Background
from tests.unit.cluster.fakes import (
    FakeApi,
    FakeClock,
    RecordingOutcomes,
    RecordingSink,
    Reply,
    eventually,
    page,
    pod,
    pod_ref,
    settle,
)
from volcano_py.api.effects import Bind, Effect, Event, Evict, PodCondition, QueueAllocated
from volcano_py.api.reasons import Reason
from volcano_py.cluster.kubernetes.http.client import KubernetesClient
from volcano_py.cluster.kubernetes.watching.informers import Informers
from volcano_py.cluster.kubernetes.watching.kinds import KINDS, NODE, POD
from volcano_py.cluster.kubernetes.writing.live import EVENTS_WITHIN, LiveCluster

PODS = "/api/v1/namespaces/ns/pods"
EFFECTS: tuple[Effect, ...] = (
    Event(pod_ref("c"), "Warning", "FailedScheduling", "no node fits"),
    PodCondition(pod_ref("c"), "Unschedulable", "no node fits", Reason.NODES_REFUSE),
    Evict(pod_ref("b"), None, "preempt", "for ns/urgent"),
    Bind(pod_ref("a"), "node-1", "ns/gang"),
    QueueAllocated("q", {"cpu": "1"}),
)


@pytest.fixture
def door(api: FakeApi) -> asyncio.Event:
    """Bindings are answered once it is set; all else at once."""
    door = asyncio.Event()
    queue = "/apis/scheduling.volcano.sh/v1beta1/queues/q"
    api.on("POST", f"{PODS}/a/binding", Reply(201, hold=door))
    api.on("PATCH", f"{PODS}/b/status", Reply())
    api.on("DELETE", f"{PODS}/b", Reply())
    api.on("PATCH", f"{PODS}/c/status", Reply())
    api.on("POST", "/api/v1/namespaces/ns/events", Reply(201))
    api.on("GET", queue, Reply(body={"metadata": {"name": "q"}}))
    api.on("GET", "/apis/scheduling.volcano.sh/v1beta1", Reply(body={"resources": [{"name": "queues/status"}]}))
    api.on("PATCH", queue + "/status", Reply())
    return door


@pytest.fixture
def live(client: KubernetesClient, outcomes: RecordingOutcomes, clock: FakeClock) -> LiveCluster:
    return LiveCluster(client, outcomes, component="volcano", binds_in_flight=64, clock=clock)


async def test_deleted_objects_are_forgotten_by_all(live: LiveCluster, api: FakeApi, door: asyncio.Event) -> None:
    door.set()
    live.apply(EFFECTS)
    await eventually(lambda: live.stats().status.remembered == 2 and live.stats().events.written == 2)
    live.forget(pod_ref("c"))
    assert live.stats().status.remembered == 1
    for number in range(256):
        live.forget(pod_ref(f"another-{number}"))
    live.apply(EFFECTS[:1])
    assert live.stats().events.counted == 0, "it starts at one again"


async def test_bindings_and_evictions_leave_while_statuses_and_events_wait(
    api: FakeApi, live: LiveCluster, outcomes: RecordingOutcomes, door: asyncio.Event
) -> None:
    live.apply(EFFECTS)
    await eventually(lambda: "evicted b" in outcomes.lines and len(api.requests) >= 3)
    await settle()
    assert sorted((request.method, request.path) for request in api.requests) == [
        ("DELETE", f"{PODS}/b"),
        ("PATCH", f"{PODS}/b/status"),
        ("POST", f"{PODS}/a/binding"),
    ]

    door.set()
    assert await live.drain(30) == 0

    assert outcomes.lines == ["evicted b", "bound a"]
    stats = live.stats()
    assert (stats.binder.bound, stats.evictor.evicted, stats.status.written, stats.events.written) == (1, 1, 2, 2)


async def test_a_pod_that_is_bound_is_not_said_to_wait_afterwards(
    api: FakeApi, live: LiveCluster, outcomes: RecordingOutcomes, door: asyncio.Event
) -> None:
    waits = PodCondition(pod_ref("a"), "Undetermined", "1 of 2 pods exist", Reason.NOT_ENOUGH_TASKS)
    live.apply([waits])
    live.apply([Bind(pod_ref("a"), "node-1", "ns/gang")])
    door.set()
    assert await live.drain(30) == 0
    assert outcomes.lines == ["bound a"]
    assert [request.path for request in api.requests] == [f"{PODS}/a/binding"]


async def test_a_successor_does_not_wait_for_a_burst_of_events(
    api: FakeApi, live: LiveCluster, door: asyncio.Event, clock: FakeClock
) -> None:
    """Their rate would hold the Lease for half a minute more; and they are no decisions that were given up."""
    live.apply([Event(pod_ref(f"c{number}"), "Normal", "Scheduled", "to a node") for number in range(2000)])
    draining = asyncio.create_task(live.drain(30))
    await settle()
    await clock.advance(EVENTS_WITHIN)
    assert await draining == 0
    assert live.stats().events.dropped > 1000


async def test_a_lost_lease_stops_everything_that_has_not_left(
    api: FakeApi, live: LiveCluster, outcomes: RecordingOutcomes, door: asyncio.Event, clock: FakeClock
) -> None:
    live.stop_new("the lease is lost")
    live.apply(EFFECTS)
    await settle()
    await clock.advance(60)

    assert api.requests == []
    assert outcomes.lines == ["failed a", "stays b"]


async def test_behind_a_fallen_fence_nothing_but_events_is_written(
    api: FakeApi, client: KubernetesClient, outcomes: RecordingOutcomes, door: asyncio.Event, clock: FakeClock
) -> None:
    live = LiveCluster(client, outcomes, component="volcano", binds_in_flight=64, fence=lambda: False, clock=clock)
    live.apply(EFFECTS)

    await live.drain(30)

    assert {request.path for request in api.requests} <= {"/api/v1/namespaces/ns/events"}
    assert sorted(outcomes.lines) == ["failed a", "stays b"]


async def test_closing_gives_up_at_once_and_reports_it(
    api: FakeApi, live: LiveCluster, outcomes: RecordingOutcomes, door: asyncio.Event
) -> None:
    live.apply(EFFECTS[3:4])
    await eventually(lambda: api.requests)

    await live.aclose()

    assert outcomes.lines == ["failed a"]


async def test_informers_are_ready_when_every_kind_was_listed(
    api: FakeApi, client: KubernetesClient, sink: RecordingSink, clock: FakeClock, background: Background
) -> None:
    door = asyncio.Event()
    nodes = page(5).body
    api.on("GET", POD.path, page(5, pod("a", 3)))
    api.on("GET", NODE.path, Reply(body=nodes, hold=door))
    informers = Informers(client, sink, [POD, NODE], clock=clock)
    background(informers.run())
    ready = background(informers.wait_synced())

    await eventually(lambda: informers.unsynced == ("Node",))
    await settle()
    assert not ready.done()

    door.set()
    await eventually(ready.done)
    assert informers.unsynced == ()
    assert informers.stats()["Pod"].objects == 1


async def test_no_kind_is_watched_twice(client: KubernetesClient, sink: RecordingSink) -> None:
    with pytest.raises(ValueError, match="Pod would be watched twice"):
        Informers(client, sink, [POD, NODE, POD])


def test_kinds_are_known_by_their_own_names() -> None:
    assert all(name == kind.name for name, kind in KINDS.items())
    assert len({kind.path for kind in KINDS.values()}) == len(KINDS)
