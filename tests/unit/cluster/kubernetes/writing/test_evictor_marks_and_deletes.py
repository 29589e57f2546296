"""Evictions: conditions first, then a deletion that can meet no namesake, then events."""

from __future__ import annotations

import pytest

from tests.unit.cluster.fakes import (
    FakeApi,
    FakeClock,
    RecordingOutcomes,
    Reply,
    Request,
    eventually,
    pod,
    pod_ref,
    refusal,
)
from volcano_py.api.effects import Event, Evict, ObjectRef
from volcano_py.cluster.kubernetes.http.client import KubernetesClient
from volcano_py.cluster.kubernetes.writing.evictor import Evictor

POD = "/api/v1/namespaces/ns/pods/a"
GROUP = ObjectRef("PodGroup", "ns", "gang", "uid-gang")
EVICT = Evict(pod_ref("a"), GROUP, "preempt", "ns/urgent needs 2 cpu on node-1", pod_ref("urgent"))
OTHER_UID = refusal(422, "Invalid", details={"causes": [{"field": "metadata.uid", "message": "field is immutable"}]})


class Subject:
    """An evictor with what it emits."""

    def __init__(self, client: KubernetesClient, outcomes: RecordingOutcomes, clock: FakeClock) -> None:
        self.events: list[Event] = []
        self.clock = clock
        self.evictor = Evictor(client, outcomes, self.events.append, clock=clock)

    async def evict(self, *evictions: Evict) -> None:
        self.evictor.submit(evictions)
        await eventually(lambda: not self.evictor.stats().in_flight, self.clock)


@pytest.fixture
def subject(client: KubernetesClient, outcomes: RecordingOutcomes, clock: FakeClock) -> Subject:
    return Subject(client, outcomes, clock)


async def test_the_pod_gets_the_reason_and_is_then_deleted_with_its_own_grace(
    api: FakeApi, subject: Subject, outcomes: RecordingOutcomes
) -> None:
    api.on("PATCH", POD + "/status", Reply())
    api.on("DELETE", POD, Reply())

    await subject.evict(EVICT)

    mark, deletion = api.requests
    assert mark.headers["Content-Type"] == "application/strategic-merge-patch+json"
    message = "preempt: ns/urgent needs 2 cpu on node-1"
    assert mark.body == {
        "metadata": {"uid": "uid-a"},
        "status": {
            "conditions": [
                {
                    "type": "Ready",
                    "status": "False",
                    "reason": "Evict",
                    "message": message,
                    "lastTransitionTime": "2026-11-21T09:30:00Z",
                },
                {
                    "type": "DisruptionTarget",
                    "status": "True",
                    "reason": "PreemptionByScheduler",
                    "message": message,
                    "lastTransitionTime": "2026-11-21T09:30:00Z",
                },
            ]
        },
    }
    assert deletion.body == {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": "uid-a"}}
    assert outcomes.lines == ["evicted a"]
    assert subject.events == [
        Event(pod_ref("a"), "Warning", "Evict", message, action="preempt", related=pod_ref("urgent")),
        Event(GROUP, "Normal", "Evict", message, action="preempt", related=pod_ref("urgent")),
    ]


@pytest.mark.parametrize(
    ("mark", "deletion"),
    [
        pytest.param(refusal(404, "NotFound"), Reply(), id="gone before the conditions"),
        pytest.param(OTHER_UID, Reply(), id="a namesake meets the conditions"),
        pytest.param(Reply(), refusal(404, "NotFound"), id="gone before the deletion"),
        pytest.param(Reply(), refusal(409, "Conflict"), id="a namesake meets the deletion"),
    ],
)
async def test_a_pod_that_is_gone_anyway_counts_as_evicted(
    mark: Reply, deletion: Reply, api: FakeApi, subject: Subject, outcomes: RecordingOutcomes
) -> None:
    api.on("PATCH", POD + "/status", mark)
    api.on("DELETE", POD, deletion)
    api.on("GET", POD, Reply(body=pod("a", 7, uid="another")))

    await subject.evict(EVICT)

    assert outcomes.lines == ["evicted a"]
    assert subject.events == []


async def test_conditions_that_are_refused_do_not_save_the_pod(
    api: FakeApi, subject: Subject, outcomes: RecordingOutcomes
) -> None:
    api.on("PATCH", POD + "/status", refusal(422, "Invalid", "a webhook does not like it"))
    api.on("DELETE", POD, Reply())

    await subject.evict(EVICT)

    assert outcomes.lines == ["evicted a"]


async def test_a_deletion_is_repeated_until_it_is_answered(
    api: FakeApi, subject: Subject, outcomes: RecordingOutcomes
) -> None:
    api.on("PATCH", POD + "/status", Reply(503), Reply())
    api.on("DELETE", POD, Reply(drop=True), refusal(429, "TooManyRequests"), Reply())

    await subject.evict(EVICT)

    assert [request.method for request in api.requests] == ["PATCH", "PATCH", *["DELETE"] * len(api.sent("DELETE"))]
    assert outcomes.lines == ["evicted a"]


async def test_a_conflict_about_the_same_pod_means_that_it_stays(
    api: FakeApi, subject: Subject, outcomes: RecordingOutcomes
) -> None:
    api.on("PATCH", POD + "/status", Reply())
    api.on("DELETE", POD, refusal(409, "Conflict", "try again"))
    api.on("GET", POD, Reply(body=pod("a", 7)))

    await subject.evict(EVICT)

    assert outcomes.lines == ["stays a"]
    assert subject.events == []
    assert subject.evictor.stats().failed == 1


async def test_without_a_lease_no_pod_is_evicted(api: FakeApi, subject: Subject, outcomes: RecordingOutcomes) -> None:
    subject.evictor.stop_new("the lease is lost")

    await subject.evict(EVICT)

    assert outcomes.lines == ["stays a"]
    assert api.requests == []


async def test_a_pod_is_not_deleted_once_the_lease_is_over(
    api: FakeApi, client: KubernetesClient, outcomes: RecordingOutcomes, clock: FakeClock
) -> None:
    """The process stood still after it had said so in the pod's conditions: the next leader decides."""
    leading = True

    def marked(_: Request) -> Reply:
        nonlocal leading
        leading = False
        return Reply()

    api.on("PATCH", POD + "/status", marked)
    evictor = Evictor(client, outcomes, lambda _event: None, fence=lambda: leading, clock=clock)
    evictor.submit([EVICT])
    await eventually(lambda: outcomes.lines, clock)

    assert outcomes.lines == ["stays a"]
    assert not api.sent("DELETE")
