"""Events: one object for repetitions, limits per object and in all, and the last place in the queue."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import pytest

from tests.unit.cluster.fakes import FakeApi, FakeClock, Reply, Request, eventually, pod_ref, refusal, settle
from volcano_py.api.effects import Event, ObjectRef
from volcano_py.cluster.kubernetes.client import KubernetesClient
from volcano_py.cluster.kubernetes.events import PATIENCE, EventRecorder

EVENTS = "/api/v1/namespaces/ns/events"


def waiting(message: str = "0/3 nodes are available", name: str = "a") -> Event:
    return Event(pod_ref(name), "Warning", "FailedScheduling", message)


class Subject:
    """A recorder and the events as the server has them."""

    def __init__(self, api: FakeApi, client: KubernetesClient, clock: FakeClock, **settings: Any) -> None:
        self.clock = clock
        self.stored: dict[str, dict[str, Any]] = {}
        self._api = api
        self.recorder = EventRecorder(client, "volcano", clock=clock, rng=random.Random(1), **settings)
        api.on("POST", EVENTS, self._create)
        api.on("POST", "/api/v1/namespaces/default/events", self._create)

    def _create(self, request: Request) -> Reply:
        name = request.body["metadata"]["name"]
        self.stored[name] = request.body
        self._api.on("PATCH", f"{request.path}/{name}", self._update)
        return Reply(201)

    def _update(self, request: Request) -> Reply:
        self.stored[request.path.rpartition("/")[2]].update(request.body)
        return Reply()

    async def settle(self) -> None:
        await eventually(lambda: not (self.recorder.stats().waiting or self.recorder._workers.busy))

    @property
    def counts(self) -> dict[str, int]:
        return {event["message"]: event["count"] for event in self.stored.values()}


@pytest.fixture
def subject(api: FakeApi, client: KubernetesClient, clock: FakeClock) -> Subject:
    return Subject(api, client, clock)


async def test_an_event_says_who_saw_what_about_whom_and_when(subject: Subject) -> None:
    subject.recorder.submit([waiting()])
    await subject.settle()

    (event,) = subject.stored.values()
    name = event["metadata"]["name"]
    assert name.startswith("a.")
    assert event == {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": "ns"},
        "involvedObject": {"apiVersion": "v1", "kind": "Pod", "namespace": "ns", "name": "a", "uid": "uid-a"},
        "type": "Warning",
        "reason": "FailedScheduling",
        "message": "0/3 nodes are available",
        "source": {"component": "volcano"},
        "reportingComponent": "volcano",
        "firstTimestamp": "2026-11-21T09:30:00Z",
        "lastTimestamp": "2026-11-21T09:30:00Z",
        "count": 1,
    }


async def test_events_about_cluster_scoped_objects_live_in_the_default_namespace(subject: Subject) -> None:
    subject.recorder.emit(Event(ObjectRef("Queue", "", "q", "uid-q"), "Normal", "Opened", "open"))
    await subject.settle()

    (event,) = subject.stored.values()
    assert event["metadata"]["namespace"] == "default"
    assert event["involvedObject"]["apiVersion"] == "scheduling.volcano.sh/v1beta1"


async def test_repetitions_are_counted_and_told_now_and_then(subject: Subject, api: FakeApi, clock: FakeClock) -> None:
    subject.recorder.emit(waiting())
    await subject.settle()
    for _ in range(600):
        await clock.advance(1)
        subject.recorder.emit(waiting())
    await subject.settle()
    await clock.advance(60)
    await subject.settle()

    assert len(subject.stored) == 1
    assert subject.counts == {"0/3 nodes are available": 601}
    assert len(api.requests) <= 12, "one creation and a patch a minute"
    (event,) = subject.stored.values()
    assert event["lastTimestamp"] == "2026-11-21T09:40:00Z"


async def test_nothing_is_counted_when_nothing_repeats(subject: Subject, clock: FakeClock) -> None:
    subject.recorder.emit(waiting())
    subject.recorder.emit(waiting())
    await subject.settle()
    await clock.advance(200)
    await subject.settle()

    assert clock.asleep == 0, "no timer is left running"
    assert subject.counts == {"0/3 nodes are available": 2}


async def test_what_was_not_seen_for_a_while_is_an_event_of_its_own(subject: Subject, clock: FakeClock) -> None:
    subject.recorder.emit(waiting())
    await subject.settle()
    await clock.advance(601)
    subject.recorder.emit(waiting())
    await subject.settle()

    assert [event["count"] for event in subject.stored.values()] == [1, 1]


async def test_an_event_that_the_server_has_forgotten_is_made_anew(
    subject: Subject, api: FakeApi, clock: FakeClock
) -> None:
    subject.recorder.emit(waiting())
    await subject.settle()
    (name,) = subject.stored
    api.on("PATCH", f"{EVENTS}/{name}", refusal(404, "NotFound"))
    subject.recorder.emit(waiting())
    await clock.advance(60)
    await subject.settle()

    assert len(subject.stored) == 2
    assert subject.stored.popitem()[1]["count"] == 2


async def test_one_object_cannot_fill_the_log(subject: Subject, clock: FakeClock) -> None:
    subject.recorder.submit(waiting(f"reason {number}") for number in range(100))
    subject.recorder.emit(waiting(name="another"))
    await subject.settle()
    assert len(subject.stored) == 26
    assert subject.recorder.stats().limited == 75

    await clock.advance(300)
    subject.recorder.emit(waiting("reason 100"))
    subject.recorder.emit(waiting("reason 101"))
    await subject.settle()

    assert len(subject.stored) == 27


async def test_all_objects_together_are_limited_too(api: FakeApi, client: KubernetesClient, clock: FakeClock) -> None:
    subject = Subject(api, client, clock, rate=1.0, burst=5)
    subject.recorder.submit(waiting(name=f"pod-{number}") for number in range(8))
    await eventually(lambda: len(subject.stored) == 5)
    await settle()
    assert len(subject.stored) == 5

    await clock.advance(1)
    await eventually(lambda: len(subject.stored) == 6)


async def test_the_oldest_make_room_when_too_many_wait(
    api: FakeApi, client: KubernetesClient, clock: FakeClock
) -> None:
    quiet = asyncio.Event()
    subject = Subject(api, client, clock, capacity=2, in_flight=1, quiet=quiet)
    subject.recorder.submit(waiting(name=name) for name in "abcde")
    assert subject.recorder.stats().dropped == 3

    quiet.set()
    await subject.settle()

    assert {event["involvedObject"]["name"] for event in subject.stored.values()} == {"d", "e"}


async def test_bindings_go_first_but_not_for_ever(api: FakeApi, client: KubernetesClient, clock: FakeClock) -> None:
    subject = Subject(api, client, clock, quiet=asyncio.Event())
    subject.recorder.emit(waiting())
    await settle()
    await clock.advance(PATIENCE - 0.1)
    assert api.requests == []

    await clock.advance(0.2)
    await eventually(lambda: subject.stored)


async def test_a_lost_answer_does_not_make_two_events(subject: Subject, api: FakeApi, clock: FakeClock) -> None:
    api.on("POST", EVENTS, Reply(503), refusal(409, "AlreadyExists"))
    subject.recorder.emit(waiting())
    await eventually(lambda: subject.recorder.stats().written, clock)

    assert len(api.sent("POST")) == 2
    assert len({request.body["metadata"]["name"] for request in api.sent("POST")}) == 1


async def test_an_event_that_is_refused_is_given_up(subject: Subject, api: FakeApi, clock: FakeClock) -> None:
    api.on("POST", EVENTS, refusal(403, "Forbidden", "namespace ns is being terminated"))
    subject.recorder.emit(waiting())
    subject.recorder.emit(waiting())
    await subject.settle()
    await clock.advance(1000)

    assert len(api.requests) == 1
    assert subject.recorder.stats().failed == 1
    assert clock.asleep == 0


async def test_draining_tells_the_latest_counts(subject: Subject, api: FakeApi) -> None:
    subject.recorder.emit(waiting())
    await subject.settle()
    subject.recorder.emit(waiting())
    subject.recorder.emit(waiting("another"))

    assert await subject.recorder.drain(10) == 0
    assert subject.counts == {"0/3 nodes are available": 2, "another": 1}
    assert len(api.requests) == 3


async def test_without_a_lease_nothing_is_written(subject: Subject, api: FakeApi) -> None:
    subject.recorder.stop_new()
    subject.recorder.emit(waiting())
    await settle()

    assert api.requests == []
    assert subject.recorder.stats().waiting == 0
