"""Where requests wait, namespaces take turns: counted in requests, not in seconds."""

from __future__ import annotations

import asyncio
import random

import pytest

from tests.unit.cluster.fakes import FakeApi, FakeClock, RecordingOutcomes, Reply, eventually, settle
from volcano_py.api.effects import Bind, Event, Evict, ObjectRef, PodCondition
from volcano_py.api.reasons import Reason
from volcano_py.cluster.kubernetes.http.client import KubernetesClient
from volcano_py.cluster.kubernetes.writing.binder import Binder
from volcano_py.cluster.kubernetes.writing.events import EventRecorder
from volcano_py.cluster.kubernetes.writing.evictor import Evictor
from volcano_py.cluster.kubernetes.writing.status_writer import StatusWriter
from volcano_py.cluster.kubernetes.writing.turns import FairQueue, Slots, Turns

BACKLOG = 200
FEW = BACKLOG // 2
"""Requests may overtake each other on their way, as connections are opened meanwhile; in one line it would be all."""


def pods(namespace: str, count: int) -> list[ObjectRef]:
    return [ObjectRef("Pod", namespace, f"p{number}", f"uid-{namespace}-{number}") for number in range(count)]


BUSY, OTHER = pods("busy", BACKLOG), pods("other", 2)


def before_the_others(api: FakeApi, method: str) -> int:
    """How many requests of the busy namespace came before the last of the other's first ones."""
    paths = [request.path for request in api.sent(method)]
    own = [index for index, path in enumerate(paths) if "/namespaces/other/" in path]
    assert len(own) == 2
    return sum("/namespaces/busy/" in path for path in paths[: own[-1]])


async def test_bindings_of_one_namespace_wait_for_no_backlog_of_another(
    api: FakeApi, client: KubernetesClient, outcomes: RecordingOutcomes, clock: FakeClock
) -> None:
    for ref in (*BUSY, *OTHER):
        api.on("POST", f"/api/v1/namespaces/{ref.namespace}/pods/{ref.name}/binding", Reply(201))
    binder = Binder(client, outcomes, in_flight=4, clock=clock, rng=random.Random(1))
    binder.submit([Bind(ref, "node-1", f"{ref.namespace}/gang") for ref in (*BUSY, *OTHER)])
    await eventually(binder.quiet.is_set, clock)
    await binder.drain(0)
    assert before_the_others(api, "POST") < FEW


async def test_evictions_of_one_namespace_wait_for_no_backlog_of_another(
    api: FakeApi, client: KubernetesClient, outcomes: RecordingOutcomes, clock: FakeClock
) -> None:
    for ref in (*BUSY, *OTHER):
        api.on("PATCH", f"/api/v1/namespaces/{ref.namespace}/pods/{ref.name}/status", Reply())
        api.on("DELETE", f"/api/v1/namespaces/{ref.namespace}/pods/{ref.name}", Reply())
    evictor = Evictor(client, outcomes, lambda _event: None, in_flight=4, clock=clock, rng=random.Random(1))
    evictor.submit([Evict(ref, None, "why", "preempt") for ref in (*BUSY, *OTHER)])
    await eventually(lambda: not (evictor.stats().queued or evictor.stats().in_flight))
    assert before_the_others(api, "DELETE") < FEW


async def test_statuses_of_one_namespace_wait_for_no_backlog_of_another(
    api: FakeApi, client: KubernetesClient, clock: FakeClock
) -> None:
    for ref in (*BUSY, *OTHER):
        api.on("PATCH", f"/api/v1/namespaces/{ref.namespace}/pods/{ref.name}/status", Reply())
    writer = StatusWriter(client, in_flight=4, clock=clock, rng=random.Random(1))
    writer.submit([PodCondition(ref, "Unschedulable", "why", Reason.NODES_REFUSE, "") for ref in (*BUSY, *OTHER)])
    await eventually(lambda: not (writer.stats().waiting or writer.stats().in_flight))
    assert before_the_others(api, "PATCH") < FEW


async def test_events_of_one_namespace_wait_for_no_backlog_of_another(
    api: FakeApi, client: KubernetesClient, clock: FakeClock
) -> None:
    for namespace in ("busy", "other"):
        api.on("POST", f"/api/v1/namespaces/{namespace}/events", Reply(201))
    recorder = EventRecorder(client, "volcano", in_flight=4, clock=clock, rng=random.Random(1))
    recorder.submit([Event(ref, "Normal", "Scheduled", "done") for ref in (*BUSY, *OTHER)])
    await eventually(lambda: not recorder.stats().waiting and recorder._workers.quiet.is_set())
    assert before_the_others(api, "POST") < FEW


async def test_when_there_is_no_room_the_namespace_with_the_most_events_loses_one(
    client: KubernetesClient, clock: FakeClock
) -> None:
    recorder = EventRecorder(client, "volcano", in_flight=1, capacity=50, clock=clock, rng=random.Random(1))
    recorder.submit([Event(OTHER[0], "Normal", "Scheduled", "done")])
    recorder.submit([Event(ref, "Normal", "Scheduled", "done") for ref in BUSY])
    kept = [series.key[0] for series in recorder._memory]
    assert OTHER[0] in kept
    assert recorder.stats().dropped > 0
    recorder.stop_new()
    await recorder.drain(0)


async def test_bindings_that_are_never_answered_leave_slots_for_other_namespaces(
    api: FakeApi, client: KubernetesClient, outcomes: RecordingOutcomes, clock: FakeClock
) -> None:
    never = asyncio.Event()
    for ref in BUSY:
        api.on("POST", f"/api/v1/namespaces/busy/pods/{ref.name}/binding", Reply(201, hold=never))
    for ref in OTHER:
        api.on("POST", f"/api/v1/namespaces/other/pods/{ref.name}/binding", Reply(201))
    binder = Binder(client, outcomes, in_flight=8, clock=clock, rng=random.Random(1))
    binder.submit([Bind(ref, "node-1", "busy/gang") for ref in BUSY])
    await eventually(lambda: len(api.sent("POST")) == 8)
    binder.submit([Bind(ref, "node-1", "other/gang") for ref in OTHER])
    await eventually(lambda: binder.stats().bound == 2)
    await eventually(lambda: binder.stats().in_flight == 8, clock)
    never.set()
    binder.stop_new()
    await binder.drain(0)


def test_what_may_not_be_served_now_is_ignored_and_keeps_its_order() -> None:
    queue = FairQueue[int]()
    for number in range(2):
        queue.add("a", number)
        queue.add("b", number)
    assert queue.take(lambda namespace: namespace == "b") == ("b", 0)
    assert queue.take(lambda _namespace: False) is None
    assert [item for _, item in iter(lambda: queue.take(lambda namespace: namespace == "a"), None)] == [0, 1]
    assert len(queue) == 1


@pytest.mark.parametrize("limit", [1, 2, 3, 4, 8, 32, 64, 128])
def test_a_namespace_that_is_alone_gets_as_many_slots_as_the_limit_says(limit: int) -> None:
    turns = Turns[int](limit)
    for number in range(2 * limit):
        turns.add("a", number)
    assert len(list(iter(turns.take, None))) == limit


@pytest.mark.parametrize("limit", [1, 2, 4, 8, 32, 64, 128])
def test_the_more_namespaces_there_are_the_fewer_slots_each_gets_and_one_is_left(limit: int) -> None:
    turns = Turns[int](limit)
    for namespace in "ab":
        for number in range(2 * limit):
            turns.add(namespace, number)
        taken = len(list(iter(turns.take, None)))
        assert 0 < taken <= limit
    turns.add("newcomer", 0)
    assert turns.take() == ("newcomer", 0)


@pytest.mark.parametrize("limit", [0, -1])
def test_there_must_be_a_slot(limit: int) -> None:
    with pytest.raises(ValueError, match=f"at least 1 must be allowed at a time, not {limit}"):
        Turns[int](limit)


async def test_waiting_requests_get_slots_in_turn() -> None:
    slots, got, leave = Slots(1), list[str](), asyncio.Event()

    async def hold(namespace: str) -> None:
        async with slots.hold(namespace):
            got.append(namespace)
            await leave.wait()

    tasks = [asyncio.create_task(hold(namespace)) for namespace in "aaab"]
    await settle()
    # One is the limit of a namespace; more slots are there for others.
    assert got == ["a", "b"]
    leave.set()
    await asyncio.gather(*tasks)
    assert got == ["a", "b", "a", "a"]


async def test_giving_up_waiting_keeps_no_slot() -> None:
    slots, got = Slots(1), list[str]()

    async def hold(namespace: str) -> None:
        async with slots.hold(namespace):
            got.append(namespace)
            await settle()

    first = asyncio.create_task(hold("a"))
    await asyncio.sleep(0)
    waiting = asyncio.create_task(hold("a"))
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.gather(first, waiting, return_exceptions=True)
    assert got == ["a"]

    # Granted and cancelled in the same moment.
    first = asyncio.create_task(hold("a"))
    granted = asyncio.create_task(hold("a"))
    await asyncio.sleep(0)
    await first
    granted.cancel()
    await asyncio.gather(granted, return_exceptions=True)
    await hold("b")
    await hold("a")
    assert got[-2:] == ["b", "a"]
