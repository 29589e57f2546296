"""Events: one object for repetitions, limits per object and in all, and the last place in the queue."""

from __future__ import annotations

import asyncio
import random
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from tests.support.measuring.holdings import holdings
from tests.unit.cluster.fakes import FakeApi, FakeClock, Reply, Request, eventually, pod_ref, refusal, settle
from volcano_py.api.effects import Event, ObjectRef
from volcano_py.cluster.kubernetes.http.client import KubernetesClient
from volcano_py.cluster.kubernetes.writing.events import PATIENCE, EventRecorder

EVENTS = "/api/v1/namespaces/ns/events"
BUCKET = "volcano_py.cluster.kubernetes.http.ratelimit.TokenBucket"
SERIES = "volcano_py.cluster.kubernetes.writing.event_memory.EventSeries"


def waiting(message: str = "0/3 nodes are available", name: str = "a") -> Event:
    return Event(pod_ref(name), "Warning", "FailedScheduling", message)


def happened(message: str) -> Event:
    return Event(pod_ref("a"), "Warning", "Evict", message)


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


@pytest.mark.parametrize("message", ["refused:\n- one\n- two", "refused:\r\n- one\r\n- two\n"])
async def test_a_message_is_one_line_as_kubectl_shows_the_first_line_only(subject: Subject, message: str) -> None:
    subject.recorder.emit(happened(message))
    await subject.settle()
    assert [*subject.counts] == ["refused: - one - two"]


async def test_an_event_names_its_source_object_message_and_time(subject: Subject) -> None:
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


async def test_an_event_names_the_object_that_something_was_done_for(subject: Subject) -> None:
    claimant = ObjectRef("Pod", "other", "b", "uid-b")
    subject.recorder.emit(msgspec.structs.replace(waiting(), action="reclaim", related=claimant))
    await subject.settle()

    (event,) = subject.stored.values()
    assert event["action"] == "reclaim"
    assert event["related"] == {
        "apiVersion": "v1",
        "kind": "Pod",
        "namespace": "other",
        "name": "b",
        "uid": "uid-b",
    }


async def test_what_is_reported_late_has_the_moment_at_which_it_was(subject: Subject) -> None:
    early = datetime(2026, 11, 21, 9, 29, 55, tzinfo=UTC)
    subject.recorder.submit([msgspec.structs.replace(waiting(), at=early.timestamp())])
    await subject.settle()

    (event,) = subject.stored.values()
    assert event["firstTimestamp"] == event["lastTimestamp"] == "2026-11-21T09:29:55Z"


async def test_events_about_cluster_scoped_objects_live_in_the_default_namespace(subject: Subject) -> None:
    subject.recorder.emit(Event(ObjectRef("Queue", "", "q", "uid-q"), "Normal", "Opened", "open"))
    await subject.settle()

    (event,) = subject.stored.values()
    assert event["metadata"]["namespace"] == "default"
    assert event["involvedObject"]["apiVersion"] == "scheduling.volcano.sh/v1beta1"


async def test_repetitions_are_counted_and_reported_now_and_then(
    subject: Subject, api: FakeApi, clock: FakeClock
) -> None:
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


async def test_an_event_that_the_server_has_forgotten_is_created_again(
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
    subject.recorder.submit(happened(f"reason {number}") for number in range(100))
    subject.recorder.emit(waiting(name="another"))
    await subject.settle()
    assert len(subject.stored) == 26
    assert subject.recorder.stats().limited == 75

    await clock.advance(299)
    subject.recorder.emit(happened("reason 100"))
    await clock.advance(1)
    subject.recorder.emit(happened("reason 101"))
    subject.recorder.emit(happened("reason 102"))
    await subject.settle()

    assert len(subject.stored) == 27


async def test_an_object_that_was_quiet_for_a_while_may_have_events_again(subject: Subject, clock: FakeClock) -> None:
    """As is forgotten by then who it was."""
    subject.recorder.submit(happened(f"reason {number}") for number in range(26))
    await clock.advance(301)
    subject.recorder.submit(happened(f"other reason {number}") for number in range(26))
    await subject.settle()

    assert subject.recorder.stats().limited == 2


async def test_why_something_waits_is_reported_as_it_is_now(subject: Subject) -> None:
    """Cycles find other reasons while the server is slow; a reason that was never written and no longer holds is
    dropped.
    """
    subject.recorder.submit([waiting("2 nodes are full"), happened("one"), waiting("2 nodes are full")])
    subject.recorder.submit([waiting("3 nodes are full"), happened("two"), waiting("another pod's", name="b")])
    await subject.settle()
    assert subject.counts == {"3 nodes are full": 1, "one": 1, "two": 1, "another pod's": 1}
    assert subject.recorder.stats().replaced == 1

    subject.recorder.submit([waiting("2 nodes are full")])
    await subject.settle()
    assert len(subject.stored) == 5
    assert subject.counts["2 nodes are full"] == 1


async def test_what_has_waited_is_not_put_back_by_what_takes_its_place(
    api: FakeApi, client: KubernetesClient, clock: FakeClock
) -> None:
    quiet = asyncio.Event()
    subject = Subject(api, client, clock, in_flight=1, quiet=quiet)
    subject.recorder.submit([waiting("old", name="a"), waiting(name="b"), waiting("new", name="a")])
    quiet.set()
    await subject.settle()

    assert [event["message"] for event in subject.stored.values()] == ["new", "0/3 nodes are available"]


async def test_an_explanation_that_is_being_written_is_followed_by_the_next(subject: Subject, api: FakeApi) -> None:
    answer = asyncio.Event()
    api.on("POST", EVENTS, Reply(201, hold=answer), Reply(201))
    subject.recorder.emit(waiting("old"))
    await eventually(lambda: api.sent("POST"))
    subject.recorder.emit(waiting("new"))
    answer.set()
    await subject.settle()

    assert [request.body["message"] for request in api.sent("POST")] == ["old", "new"]


async def test_many_explanations_of_a_few_objects_keep_as_many_waiting_as_there_are_objects(
    api: FakeApi, client: KubernetesClient, clock: FakeClock
) -> None:
    subject = Subject(api, client, clock, quiet=asyncio.Event())
    subject.recorder.submit(waiting(f"reason {number}", name=f"pod-{number % 7}") for number in range(1000))
    stats = subject.recorder.stats()

    assert stats.waiting + subject.recorder._workers.busy == 7
    assert (stats.replaced, stats.limited) == (993, 0)


async def test_what_is_no_longer_counted_on_is_forgotten(subject: Subject, clock: FakeClock) -> None:
    for number in range(30):
        subject.recorder.emit(waiting(name=f"pod-{number}"))
        await clock.advance(60)
    await subject.settle()

    kept = holdings(subject.recorder, but_for=[clock, subject.recorder._client])
    assert 1 <= kept[SERIES] <= 10
    assert kept[BUCKET] <= 6, "one is for all objects"


def held(subject: Subject, kind: str) -> int:
    return holdings(subject.recorder, but_for=[subject.clock, subject.recorder._client])[kind]


def remembered(subject: Subject) -> int:
    return held(subject, SERIES)


PODS = [f"pod-{number}" for number in range(300)]


async def test_objects_that_are_gone_are_forgotten(subject: Subject) -> None:
    subject.recorder.submit(waiting(name=name) for name in [*PODS, "stays"])
    await subject.settle()
    assert remembered(subject) == 301
    for name in PODS:
        subject.recorder.forget_object(pod_ref(name))
    assert remembered(subject) < 64, "looked through for many at a time"
    assert held(subject, BUCKET) < 64, "one is for all objects"

    subject.recorder.submit([waiting(name="stays"), waiting(name="pod-0")])
    await subject.settle()
    assert subject.recorder.stats().counted == 1, "an object that stays is counted on, and a namesake starts at one"
    assert len(subject.stored) == 302


async def test_nothing_is_kept_of_objects_without_events(subject: Subject) -> None:
    for number in range(2000):
        subject.recorder.forget_object(pod_ref(f"pod-{number}"))
    assert held(subject, "volcano_py.api.effects.ObjectRef") < 256


async def test_what_waits_is_counted_on_and_then_forgotten(
    api: FakeApi, client: KubernetesClient, clock: FakeClock
) -> None:
    quiet = asyncio.Event()
    subject = Subject(api, client, clock, quiet=quiet)
    subject.recorder.submit([waiting(name=name) for name in PODS] * 2)
    for name in PODS:
        subject.recorder.forget_object(pod_ref(name))
    subject.recorder.submit(waiting(name=name) for name in PODS)
    assert subject.recorder.stats().replaced == 0
    quiet.set()
    await subject.settle()
    assert [event["count"] for event in subject.stored.values()] == [3] * 300

    for number in range(256):
        subject.recorder.forget_object(pod_ref(f"another-{number}"))
    assert remembered(subject) < 64


async def test_what_waits_to_be_written_about_deleted_objects_is_written(
    api: FakeApi, client: KubernetesClient, clock: FakeClock
) -> None:
    quiet = asyncio.Event()
    subject = Subject(api, client, clock, quiet=quiet)
    subject.recorder.submit(waiting(name=name) for name in PODS)
    for name in PODS:
        subject.recorder.forget_object(pod_ref(name))
    quiet.set()
    await subject.settle()
    assert len(subject.stored) == 300


async def test_the_last_count_of_the_gone_is_reported(subject: Subject, clock: FakeClock) -> None:
    subject.recorder.submit(waiting(name=name) for name in PODS)
    await subject.settle()
    subject.recorder.submit([waiting(name="pod-7")] * 4)
    for name in PODS:
        subject.recorder.forget_object(pod_ref(name))
    await clock.advance(60)
    await subject.settle()
    assert [event["count"] for event in subject.stored.values() if event["involvedObject"]["name"] == "pod-7"] == [5]


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


async def test_bindings_go_first_but_not_forever(api: FakeApi, client: KubernetesClient, clock: FakeClock) -> None:
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


async def test_draining_writes_the_latest_counts(subject: Subject, api: FakeApi) -> None:
    subject.recorder.emit(waiting())
    await subject.settle()
    subject.recorder.emit(waiting())
    subject.recorder.emit(waiting("another"))

    assert await subject.recorder.drain(10) == 0
    assert subject.counts == {"0/3 nodes are available": 2, "another": 1}
    assert len(api.requests) == 3


async def test_what_is_being_written_when_draining_begins_is_written_once(subject: Subject, api: FakeApi) -> None:
    answer = asyncio.Event()
    api.on("POST", EVENTS, Reply(201, hold=answer))
    subject.recorder.emit(waiting())
    await eventually(lambda: api.held)

    draining = asyncio.create_task(subject.recorder.drain(10))
    await settle()
    answer.set()

    assert await draining == 0
    assert len(api.requests) == 1
    assert subject.recorder.stats().written == 1


async def test_without_a_lease_nothing_is_written(subject: Subject, api: FakeApi) -> None:
    subject.recorder.stop_new()
    subject.recorder.emit(waiting())
    await settle()

    assert api.requests == []
    assert subject.recorder.stats().waiting == 0
