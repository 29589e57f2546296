"""Statuses: own fields only, newest value only, and nothing that is there already."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Any

import pytest
import structlog

from tests.unit.cluster.fakes import FakeApi, FakeClock, Reply, Request, eventually, pod_ref, refusal, settle
from volcano_py.api.effects import (
    Event,
    ObjectRef,
    OpenGate,
    PodCondition,
    PodGroupStatusUpdate,
    QueueAllocated,
    QueueConditions,
)
from volcano_py.api.names import QUEUE_ALLOCATION_GATE
from volcano_py.api.objects import Condition, PodGroup
from volcano_py.api.reasons import Reason
from volcano_py.cluster.kubernetes.http.client import KubernetesClient
from volcano_py.cluster.kubernetes.writing.status_writer import Status, StatusWriter

API = "/apis/scheduling.volcano.sh/v1beta1"
POD = "/api/v1/namespaces/ns/pods/a/status"
GROUP = f"{API}/namespaces/ns/podgroups/gang"
QUEUE = f"{API}/queues/q"


def condition(message: str = "0/3 nodes are available", *, node: str = "", name: str = "a") -> PodCondition:
    return PodCondition(pod_ref(name), "Unschedulable", message, Reason.NODES_REFUSE, node)


def queue_conditions(message: str) -> QueueConditions:
    made = Condition(type="FieldsIgnored", status="True", reason="NotUsedByConfiguration", message=message)
    return QueueConditions(ObjectRef("Queue", "", "q", "uid-q"), (made,))


def group(phase: str = "Pending", *, running: int = 0, transition: str = "cycle-1") -> PodGroupStatusUpdate:
    reported = Condition(
        type="Unschedulable",
        status="True",
        reason="NotEnoughResources",
        message="3/3 tasks in gang unschedulable",
        last_transition_time=datetime(2026, 11, 21, 8, 0, 0, 123, tzinfo=UTC),
        transition_id=transition,
    )
    return PodGroupStatusUpdate(ObjectRef("PodGroup", "ns", "gang", "uid-gang"), phase, (reported,), running, 0, 0)


def discovery(*resources: str) -> Reply:
    return Reply(body={"resources": [{"name": name} for name in resources]})


class Subject:
    """A status writer on a server with Volcano's own CRDs."""

    def __init__(self, api: FakeApi, writer: StatusWriter, clock: FakeClock) -> None:
        self.writer, self.clock = writer, clock
        self._api = api
        api.on("GET", API, discovery("podgroups", "queues", "queues/status"))
        api.on(
            "GET", QUEUE, Reply(body={"metadata": {"name": "q"}, "status": {"allocated": {"cpu": "1", "x/gpu": "2"}}})
        )
        for path in (POD, GROUP, QUEUE + "/status"):
            api.on("PATCH", path, Reply())

    async def write(self, *updates: Status) -> None:
        self.writer.submit(updates)
        await eventually(lambda: not (self.writer.stats().in_flight or self.writer.stats().waiting), self.clock)

    @property
    def patches(self) -> list[Request]:
        return self._api.sent("PATCH")


@pytest.fixture
def subject(api: FakeApi, client: KubernetesClient, clock: FakeClock) -> Subject:
    return Subject(api, StatusWriter(client, clock=clock), clock)


async def test_a_pods_condition_is_written_as_a_strategic_merge(subject: Subject) -> None:
    await subject.write(condition(node="node-7"))

    (patch,) = subject.patches
    assert patch.path == POD
    assert patch.headers["Content-Type"] == "application/strategic-merge-patch+json"
    assert patch.body == {
        "metadata": {"uid": "uid-a"},
        "status": {
            "conditions": [
                {
                    "type": "PodScheduled",
                    "status": "False",
                    "reason": "Unschedulable",
                    "message": "0/3 nodes are available",
                    "lastTransitionTime": "2026-11-21T09:30:00Z",
                }
            ],
            "nominatedNodeName": "node-7",
        },
    }


async def test_a_nominated_node_is_never_cleared_by_an_empty_one(subject: Subject) -> None:
    await subject.write(condition(node="node-7"))
    await subject.write(condition())
    await subject.write(condition("another reason"))

    assert ["nominatedNodeName" in patch.body["status"] for patch in subject.patches] == [True, False]


async def test_the_queue_gate_is_taken_off_a_pod_once(subject: Subject, api: FakeApi) -> None:
    """It cannot come back, and a namesake of the pod keeps its own."""
    path = POD.removesuffix("/status")
    api.on("PATCH", path, Reply())
    await subject.write(OpenGate(pod_ref("a")))
    await subject.write(OpenGate(pod_ref("a")))

    (patch,) = subject.patches
    assert patch.path == path
    assert patch.headers["Content-Type"] == "application/merge-patch+json"
    assert patch.body == {"metadata": {"uid": "uid-a"}, "spec": {"schedulingGates": []}}


CANNOT_PATCH = (
    'pods "a" is forbidden: User "scheduler" cannot patch resource "pods" in API group "" in the namespace "ns"'
)
REMEDY = (
    "the right to patch pods is granted by kubectl apply -f manifests/overlays/queue-gates/rbac.yaml (with Helm: "
    "custom.queue_gates_enable)"
)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (refusal(403, "Forbidden", CANNOT_PATCH), f"403 Forbidden: {CANNOT_PATCH}; {REMEDY}"),
        (refusal(422, "Invalid", "a policy denied it"), "422 Invalid: a policy denied it"),
    ],
    ids=["right missing", "refused by a policy"],
)
async def test_a_gate_that_the_server_does_not_let_go_is_reported_once_until_it_is_gone(
    answer: Reply, expected: str, api: FakeApi, client: KubernetesClient, clock: FakeClock
) -> None:
    """On the pod, because only its owner and the administrator can do something about it."""
    events: list[Event] = []
    subject = Subject(api, StatusWriter(client, emit=events.append, clock=clock), clock)
    path = POD.removesuffix("/status")
    api.on("PATCH", path, answer)
    with structlog.testing.capture_logs() as logged:
        await subject.write(OpenGate(pod_ref("a")))
        await subject.write(OpenGate(pod_ref("a")))

    message = f"the scheduler cannot remove the scheduling gate {QUEUE_ALLOCATION_GATE}: PATCH {path}: {expected}"
    assert events == [Event(pod_ref("a"), "Warning", "GateNotRemoved", message)]
    assert [(each["event"], each["object"], each["error"]) for each in logged if each["log_level"] == "warning"] == [
        ("queue gate not removed", "Pod ns/a", message)
    ]

    api.on("PATCH", path, Reply())
    await subject.write(OpenGate(pod_ref("a")))
    assert (len(subject.patches), subject.writer.stats().written) == (3, 1)


async def test_a_server_that_is_away_is_no_matter_of_the_pod_but_its_refusal_afterwards_is(
    api: FakeApi, client: KubernetesClient, clock: FakeClock
) -> None:
    events: list[Event] = []
    subject = Subject(api, StatusWriter(client, emit=events.append, clock=clock), clock)
    path = POD.removesuffix("/status")
    api.on("PATCH", path, Reply(503))
    await subject.write(OpenGate(pod_ref("a")))
    assert (events, subject.writer.stats().failed) == ([], 1)

    api.on("PATCH", path, refusal(422, "Invalid"))
    await subject.write(OpenGate(pod_ref("a")))
    assert [(each.about, each.reason) for each in events] == [(pod_ref("a"), "GateNotRemoved")]


async def test_a_new_message_is_no_transition(subject: Subject) -> None:
    await subject.write(condition("one"))
    await subject.write(condition("two"))

    first, second = (patch.body["status"]["conditions"][0] for patch in subject.patches)
    assert "lastTransitionTime" in first
    assert "lastTransitionTime" not in second


@pytest.mark.parametrize(("known", "is_transition"), [("False", False), ("True", True), (None, True)])
async def test_what_the_pod_says_already_decides_whether_it_is_a_transition(
    known: str | None, is_transition: bool, api: FakeApi, client: KubernetesClient, clock: FakeClock
) -> None:
    def lookup(uid: str, kind: str) -> Condition | None:
        assert (uid, kind) == ("uid-a", "PodScheduled")
        return Condition(type=kind, status=known) if known else None

    subject = Subject(api, StatusWriter(client, known_condition=lookup, clock=clock), clock)
    await subject.write(condition())

    assert ("lastTransitionTime" in subject.patches[0].body["status"]["conditions"][0]) is is_transition


async def test_a_group_is_patched_where_its_status_is_and_with_the_schedulers_fields_only(subject: Subject) -> None:
    await subject.write(group(running=2))

    (patch,) = subject.patches
    assert patch.path == GROUP
    assert patch.headers["Content-Type"] == "application/merge-patch+json"
    assert patch.body == {
        "metadata": {"uid": "uid-gang"},
        "status": {
            "phase": "Pending",
            "running": 2,
            "succeeded": 0,
            "failed": 0,
            "conditions": [
                {
                    "type": "Unschedulable",
                    "status": "True",
                    "reason": "NotEnoughResources",
                    "message": "3/3 tasks in gang unschedulable",
                    "lastTransitionTime": "2026-11-21T08:00:00Z",
                    "transitionID": "cycle-1",
                }
            ],
        },
    }


async def test_a_status_subresource_is_used_where_there_is_one(
    api: FakeApi, client: KubernetesClient, clock: FakeClock
) -> None:
    subject = Subject(api, StatusWriter(client, clock=clock), clock)
    api.on("GET", API, discovery("podgroups", "podgroups/status", "queues"))
    api.on("PATCH", GROUP + "/status", Reply())
    api.on("PATCH", QUEUE, Reply())

    await subject.write(group(), QueueAllocated("q", {}))

    assert sorted(patch.path for patch in subject.patches) == [GROUP + "/status", QUEUE]
    assert len(api.sent("GET", API)) <= 2


async def test_what_discovery_said_is_asked_again_when_the_path_is_gone(
    api: FakeApi, client: KubernetesClient, clock: FakeClock
) -> None:
    subject = Subject(api, StatusWriter(client, clock=clock), clock)
    api.on("GET", API, discovery("podgroups", "podgroups/status"), discovery("podgroups"))

    await subject.write(group())
    await subject.write(group())

    assert [patch.path for patch in subject.patches] == [GROUP + "/status", GROUP]


async def test_a_group_waits_from_the_moment_it_was_submitted_until_it_is_written(subject: Subject) -> None:
    status = group()
    assert not subject.writer.group_waits(status.group.uid)
    subject.writer.submit([status])
    assert subject.writer.group_waits(status.group.uid)
    await subject.write()
    assert not subject.writer.group_waits(status.group.uid)


async def test_resources_that_a_queue_no_longer_holds_are_taken_out(subject: Subject, api: FakeApi) -> None:
    await subject.write(QueueAllocated("q", {"cpu": "4", "memory": "1Gi"}))
    await subject.write(QueueAllocated("q", {"memory": "1Gi"}))

    assert [patch.body["status"]["allocated"] for patch in subject.patches] == [
        {"cpu": "4", "memory": "1Gi", "x/gpu": None},
        {"cpu": None, "memory": "1Gi"},
    ]
    assert len(api.sent("GET", QUEUE)) == 1


async def test_conditions_of_a_queue_are_written_whole_and_leave_its_amounts(subject: Subject) -> None:
    """Volcano's own definition of queues wants `allocated` in every status."""
    await subject.write(queue_conditions("the text"))

    (patch,) = subject.patches
    assert patch.body["metadata"] == {"uid": "uid-q"}
    assert patch.body["status"]["allocated"] == {}
    (written,) = patch.body["status"]["conditions"]
    assert (written["type"], written["status"], written["message"]) == ("FieldsIgnored", "True", "the text")


@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param(condition(), condition(), id="condition"),
        pytest.param(queue_conditions("a"), queue_conditions("a"), id="conditions of a queue"),
        pytest.param(group(transition="cycle-1"), group(transition="cycle-2"), id="group, another cycle"),
        pytest.param(QueueAllocated("q", {"cpu": "1"}), QueueAllocated("q", {"cpu": "1"}), id="queue"),
    ],
)
async def test_equal_content_is_not_written_twice(first: Status, second: Status, subject: Subject) -> None:
    await subject.write(first)
    await subject.write(second)

    assert len(subject.patches) == 1
    assert subject.writer.stats().spared == 1


async def test_equal_content_is_written_again_when_someone_else_may_have_changed_it(
    subject: Subject, clock: FakeClock
) -> None:
    await subject.write(condition())
    await clock.advance(301)
    await subject.write(condition())

    assert len(subject.patches) == 2


async def test_objects_are_remembered_for_as_long_as_what_was_written_is_trusted(
    api: FakeApi, subject: Subject, clock: FakeClock
) -> None:
    """By then most of them are gone; the memory must not grow with all that there ever were."""
    for name in "bcdef":
        api.on("PATCH", POD.replace("/a/", f"/{name}/"), Reply())
        await subject.write(condition(name=name))
    assert subject.writer.stats().remembered == 5
    await clock.advance(301)
    await subject.write(condition(name="a"))
    assert subject.writer.stats().remembered == 1


async def test_objects_that_are_gone_are_forgotten(subject: Subject) -> None:
    await subject.write(condition(), group())
    assert subject.writer.stats().remembered == 2
    subject.writer.forget_object("uid-gang")
    assert subject.writer.stats().remembered == 1
    subject.writer.forget_object("uid-a")
    assert subject.writer.stats().remembered == 0


async def test_only_the_newest_value_of_an_object_is_written(
    api: FakeApi, client: KubernetesClient, clock: FakeClock
) -> None:
    subject = Subject(api, StatusWriter(client, in_flight=2, clock=clock), clock)
    door = asyncio.Event()
    api.on("PATCH", POD, Reply(hold=door), Reply())
    subject.writer.submit([condition("one")])
    await eventually(lambda: api.sent("PATCH", POD))

    # The second worker is free, but one object is never written by two requests at once.
    subject.writer.submit([condition("two"), condition("three")])
    await settle()
    door.set()
    await subject.write()

    messages = [patch.body["status"]["conditions"][0]["message"] for patch in subject.patches]
    assert messages == ["one", "three"]


async def test_a_value_that_waits_for_another_attempt_gives_way_to_a_newer_one(
    api: FakeApi, subject: Subject, clock: FakeClock
) -> None:
    api.on("PATCH", POD, Reply(503), Reply())
    subject.writer.submit([condition("one")])
    await eventually(lambda: clock.asleep)
    subject.writer.submit([condition("two")])
    await subject.write()

    messages = [patch.body["status"]["conditions"][0]["message"] for patch in subject.patches]
    assert messages == ["one", "two"]


async def test_a_conflict_with_another_writer_is_tried_again(api: FakeApi, subject: Subject) -> None:
    api.on("PATCH", GROUP, refusal(409, "Conflict"), refusal(429, "TooManyRequests"), Reply())

    await subject.write(group())

    assert len(subject.patches) == 3
    assert subject.writer.stats().written == 1


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(refusal(404, "NotFound"), id="object gone"),
        pytest.param(refusal(422, "Invalid", details={"causes": [{"field": "metadata.uid"}]}), id="namesake"),
    ],
)
async def test_an_object_that_is_gone_is_no_error(answer: Reply, api: FakeApi, subject: Subject) -> None:
    api.on("PATCH", POD, answer)

    await subject.write(condition())

    assert subject.writer.stats().failed == 0
    assert len(subject.patches) == 1


@pytest.mark.parametrize("gone", [404, 422])
async def test_nothing_is_remembered_of_an_object_that_is_gone(gone: int, api: FakeApi, subject: Subject) -> None:
    """Neither what was written on it, nor that it could not be."""
    details = {"causes": [{"field": "metadata.uid"}]}
    answers = [Reply(), refusal(403, "Forbidden"), refusal(gone, "NotFound", details=details)]
    for message in ("written", "refused", "gone"):
        api.on("PATCH", POD, answers.pop(0))
        await subject.write(condition(message))
        if message != "gone":
            assert subject.writer.stats().remembered == 1

    assert subject.writer.stats().remembered == 0
    assert not subject.writer._failures_logged


async def test_a_refusal_is_reported_once_for_each_object(
    api: FakeApi, subject: Subject, monkeypatch: pytest.MonkeyPatch
) -> None:
    reported: list[tuple[str, dict[str, Any]]] = []

    class Log:
        def warning(self, text: str, **fields: Any) -> None:
            reported.append((text, fields))

        def debug(self, text: str, **fields: Any) -> None:
            """Details that were not requested."""

    monkeypatch.setattr("volcano_py.cluster.kubernetes.writing.status_writer.log", Log())
    api.on("PATCH", POD, refusal(403, "Forbidden", "pods/status is not for you"))

    await subject.write(condition("one"))
    await subject.write(condition("two"))

    assert [fields["object"] for _, fields in reported] == ["Pod ns/a"]
    assert "403 Forbidden: pods/status is not for you" in reported[0][1]["error"]
    assert subject.writer.stats().failed == 2


@pytest.mark.parametrize(
    ("answer", "lost"),
    [
        pytest.param(Reply(), [], id="written"),
        pytest.param(refusal(403, "Forbidden"), [condition()], id="refused"),
        pytest.param(Reply(503), [condition()], id="server away for too long"),
        pytest.param(refusal(404, "NotFound"), [], id="object gone"),
    ],
)
async def test_the_submitter_is_notified_of_dropped_items(
    answer: Reply, lost: list[Status], api: FakeApi, client: KubernetesClient, clock: FakeClock
) -> None:
    given_up: list[Status] = []
    writer = StatusWriter(client, on_given_up=given_up.append, clock=clock)
    subject = Subject(api, writer, clock)
    api.on("PATCH", POD, answer)

    await subject.write(condition())

    assert given_up == lost


async def test_the_submitter_is_notified_of_replaced_items(client: KubernetesClient, clock: FakeClock) -> None:
    given_up: list[Status] = []
    writer = StatusWriter(
        client, quiet=asyncio.Event(), on_given_up=given_up.append, in_flight=1, capacity=2, clock=clock
    )
    writer.submit([condition(name=name) for name in "ab"])
    assert not given_up

    writer.submit([condition(name=name) for name in "cd"])

    assert given_up == [condition(name="b")]
    writer.stop_new()


async def test_statuses_wait_for_bindings_but_not_forever(
    api: FakeApi, client: KubernetesClient, clock: FakeClock
) -> None:
    quiet = asyncio.Event()
    subject = Subject(api, StatusWriter(client, quiet=quiet, clock=clock), clock)
    subject.writer.submit([condition("one")])
    await settle()
    await clock.advance(0.9)
    assert subject.patches == []

    await clock.advance(0.2)
    await eventually(lambda: subject.patches)

    quiet.set()
    await subject.write(condition("two"))
    assert len(subject.patches) == 2


async def test_an_admitted_group_is_passed_on_as_it_was_written(
    api: FakeApi, client: KubernetesClient, clock: FakeClock
) -> None:
    admitted: list[PodGroup] = []
    subject = Subject(api, StatusWriter(client, clock=clock, on_admitted=admitted.append), clock)
    api.on("PATCH", GROUP, Reply(body={"metadata": {"name": "gang"}, "status": {"phase": "Inqueue"}}))
    await subject.write(group("Inqueue"))
    await subject.write(group("Running"))
    assert [each.status.phase for each in admitted] == ["Inqueue"]


@pytest.mark.parametrize("field", [{"metadata": 1}, {"spec": []}])
async def test_an_admitted_group_that_cannot_be_read_counts_as_written(
    field: dict[str, Any], api: FakeApi, client: KubernetesClient, clock: FakeClock
) -> None:
    admitted: list[PodGroup] = []
    subject = Subject(api, StatusWriter(client, clock=clock, on_admitted=admitted.append), clock)
    api.on("PATCH", GROUP, Reply(body=field))
    await subject.write(group("Inqueue"))
    assert (subject.writer.stats().written, admitted) == (1, [])


async def test_an_admitted_group_waits_for_no_bindings_because_its_pods_are_created_then(
    api: FakeApi, client: KubernetesClient, clock: FakeClock
) -> None:
    subject = Subject(api, StatusWriter(client, quiet=asyncio.Event(), clock=clock), clock)
    subject.writer.submit([group("Inqueue"), condition()])
    await settle()
    await eventually(lambda: subject.patches)
    assert [patch.path for patch in subject.patches] == [GROUP]
    subject.writer.stop_new()
    await subject.writer.drain(0)


async def test_an_admitted_group_does_not_wait_behind_statuses_that_let_bindings_pass(
    api: FakeApi, client: KubernetesClient, clock: FakeClock
) -> None:
    """They hold all the slots of the namespace meanwhile."""
    subject = Subject(api, StatusWriter(client, quiet=asyncio.Event(), in_flight=2, clock=clock), clock)
    subject.writer.submit(condition(name=f"p{number}") for number in range(20))
    await settle()
    subject.writer.submit([group("Inqueue")])
    await eventually(lambda: subject.patches)
    assert [patch.path for patch in subject.patches] == [GROUP]
    subject.writer.stop_new()
    await subject.writer.drain(0)


async def test_what_lets_bindings_pass_is_replaced_by_something_newer(
    api: FakeApi, client: KubernetesClient, clock: FakeClock
) -> None:
    subject = Subject(api, StatusWriter(client, quiet=asyncio.Event(), clock=clock), clock)
    subject.writer.submit([condition("one")])
    await settle()
    subject.writer.submit([condition("two")])
    await subject.write()

    assert [patch.body["status"]["conditions"][0]["message"] for patch in subject.patches] == ["two"]


async def test_why_a_pod_waited_is_not_written_once_it_is_bound(client: KubernetesClient, clock: FakeClock) -> None:
    """Neither what waits nor what lets the binding pass: both would come after it, on a pod that runs."""
    given_up: list[Status] = []
    quiet = asyncio.Event()
    writer = StatusWriter(client, quiet=quiet, on_given_up=given_up.append, in_flight=1, clock=clock)
    writer.submit([condition(name=name) for name in "abc"])
    await settle()

    writer.forget_waits(["uid-a", "uid-b", "uid-c"])
    quiet.set()
    await eventually(lambda: not (writer.stats().in_flight or writer.stats().waiting), clock)

    assert {update.pod.name for update in given_up if isinstance(update, PodCondition)} == {"a", "b", "c"}
    assert (writer.stats().written, writer.stats().failed) == (0, 0)


async def test_a_pod_that_was_not_bound_after_all_says_again_why_it_waits(
    api: FakeApi, client: KubernetesClient, clock: FakeClock
) -> None:
    quiet = asyncio.Event()
    subject = Subject(api, StatusWriter(client, quiet=quiet, in_flight=1, clock=clock), clock)
    subject.writer.submit([condition("before")])
    await settle()
    subject.writer.forget_waits(["uid-a"])
    subject.writer.submit([condition("after")])
    quiet.set()
    await subject.write()
    await subject.write(condition("later"))

    assert [patch.body["status"]["conditions"][0]["message"] for patch in subject.patches] == ["after", "later"]


async def test_a_status_that_changes_all_the_time_waits_no_longer_than_another(
    api: FakeApi, client: KubernetesClient, clock: FakeClock
) -> None:
    subject = Subject(api, StatusWriter(client, quiet=asyncio.Event(), in_flight=1, clock=clock), clock)
    subject.writer.submit([group(), condition("at first")])
    await clock.advance(0.9)
    subject.writer.submit([condition("after 0.9 s")])
    await clock.advance(0.1)

    await eventually(lambda: len(subject.patches) == 2)
    assert clock.time == 1001


async def test_the_oldest_make_room_when_there_are_too_many(
    api: FakeApi, client: KubernetesClient, clock: FakeClock
) -> None:
    writer = StatusWriter(client, quiet=asyncio.Event(), in_flight=1, capacity=2, clock=clock)
    writer.submit([condition(name=name) for name in "abcd"])

    assert (writer.stats().waiting, writer.stats().dropped) == (1, 2)
    writer.stop_new()


async def test_without_a_lease_nothing_is_written(subject: Subject) -> None:
    subject.writer.stop_new()

    await subject.write(condition())

    assert subject.patches == []


async def test_draining_writes_what_waits(subject: Subject) -> None:
    subject.writer.submit([condition(), group()])

    assert await subject.writer.drain(10) == 0
    assert len(subject.patches) == 2
