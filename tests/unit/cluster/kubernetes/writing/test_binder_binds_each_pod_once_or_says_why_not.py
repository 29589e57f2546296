"""Outcomes of bindings, whatever the server and the network answer. The server side is scripted, time stands still."""

from __future__ import annotations

import asyncio
import random

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
    settle,
)
from volcano_py.api.effects import Bind
from volcano_py.cluster.kubernetes.backoff import RetryPolicy
from volcano_py.cluster.kubernetes.http.client import KubernetesClient
from volcano_py.cluster.kubernetes.writing.binder import Binder

CREATED = Reply(201)
CONFLICT = refusal(409, "Conflict", "pod is already assigned to a node")


def bind(name: str, node: str = "node-1") -> Bind:
    return Bind(pod_ref(name), node, "ns/gang")


def path(name: str) -> str:
    return f"/api/v1/namespaces/ns/pods/{name}"


@pytest.fixture
def binder(client: KubernetesClient, outcomes: RecordingOutcomes, clock: FakeClock) -> Binder:
    retries = RetryPolicy(give_up_after=10, base=1, cap=4)
    return Binder(client, outcomes, in_flight=64, retries=retries, clock=clock, rng=random.Random(1))


async def run(binder: Binder, *binds: Bind, clock: FakeClock) -> None:
    binder.submit(binds)
    await through(binder, clock)


async def through(binder: Binder, clock: FakeClock | None = None) -> None:
    """All bindings have ended, and their outcomes are reported."""
    await eventually(binder.quiet.is_set, clock)
    await settle()


async def test_a_binding_names_the_node_and_the_uid_of_the_pod_it_means(
    api: FakeApi, binder: Binder, outcomes: RecordingOutcomes, clock: FakeClock
) -> None:
    api.on("POST", path("a") + "/binding", CREATED)

    await run(binder, Bind(pod_ref("a"), "node-1", "ns/train", "team"), clock=clock)

    assert api.sent("POST")[0].body == {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {
            "name": "a",
            "namespace": "ns",
            "uid": "uid-a",
            "annotations": {"scheduling.volcano.sh/volcano-py-charged-queue": "team"},
        },
        "target": {"apiVersion": "v1", "kind": "Node", "name": "node-1"},
    }
    assert outcomes.lines == ["bound a"]
    assert len(api.requests) == 1


async def test_the_binding_of_a_pod_without_a_group_of_its_own_names_the_one_that_is_made_for_it(
    api: FakeApi, binder: Binder, clock: FakeClock
) -> None:
    """The API server copies a binding's annotations to the pod."""
    api.on("POST", path("a") + "/binding", CREATED)

    await run(binder, Bind(pod_ref("a"), "node-1", "ns/podgroup-uid-a", "default"), clock=clock)

    assert api.sent("POST")[0].body["metadata"]["annotations"] == {
        "scheduling.k8s.io/group-name": "podgroup-uid-a",
        "scheduling.volcano.sh/volcano-py-charged-queue": "default",
    }


@pytest.mark.parametrize(
    "trouble",
    [
        pytest.param(Reply(drop=True), id="connection lost before the answer"),
        pytest.param(refusal(429, "TooManyRequests"), id="too many requests"),
        pytest.param(refusal(500, "InternalError"), id="server error"),
        pytest.param(Reply(503, b"<html>no upstream</html>"), id="error page of a proxy"),
        pytest.param(refusal(504, "Timeout"), id="timeout behind the server"),
    ],
)
async def test_what_may_pass_is_tried_again(
    trouble: Reply, api: FakeApi, binder: Binder, outcomes: RecordingOutcomes, clock: FakeClock
) -> None:
    api.on("POST", path("a") + "/binding", trouble, trouble, CREATED)

    await run(binder, bind("a"), clock=clock)

    assert outcomes.lines == ["bound a"]
    assert len(api.sent("POST")) == 3
    assert binder.stats().repeated == 2


async def test_the_server_says_how_long_to_wait(
    api: FakeApi, binder: Binder, outcomes: RecordingOutcomes, clock: FakeClock
) -> None:
    api.on("POST", path("a") + "/binding", refusal(429, "TooManyRequests", headers={"Retry-After": "5"}), CREATED)
    binder.submit([bind("a")])
    await eventually(lambda: clock.asleep)

    assert clock.sleeps == [5.0]
    await clock.advance(5)
    await through(binder)
    assert outcomes.lines == ["bound a"]


async def test_a_binding_that_had_happened_although_its_answer_was_lost_is_a_success(
    api: FakeApi, binder: Binder, outcomes: RecordingOutcomes, clock: FakeClock
) -> None:
    api.on("POST", path("a") + "/binding", Reply(drop=True), CONFLICT)
    api.on("GET", path("a"), Reply(body=pod("a", 5, nodeName="node-1")))

    await run(binder, bind("a"), clock=clock)

    assert outcomes.lines == ["bound a"]
    assert binder.stats().bound == 1


async def test_a_pod_that_is_found_on_another_node_was_not_bound(
    api: FakeApi, binder: Binder, outcomes: RecordingOutcomes, clock: FakeClock
) -> None:
    api.on("POST", path("a") + "/binding", CONFLICT)
    api.on("GET", path("a"), Reply(body=pod("a", 5, nodeName="node-2")))

    await run(binder, bind("a"), clock=clock)

    assert outcomes.lines == ["failed a"]
    assert "409 Conflict: pod is already assigned" in str(outcomes.errors[0])
    assert len(api.sent("POST")) == 1


async def test_a_namesake_is_not_the_pod(
    api: FakeApi, binder: Binder, outcomes: RecordingOutcomes, clock: FakeClock
) -> None:
    api.on("POST", path("a") + "/binding", CONFLICT)
    api.on("GET", path("a"), Reply(body=pod("a", 5, uid="another", nodeName="node-1")))

    await run(binder, bind("a"), clock=clock)

    assert outcomes.lines == ["failed a gone"]
    assert "another (UID another) has its name" in str(outcomes.errors[0])


async def test_a_conflict_is_not_settled_before_the_pod_was_looked_at(
    api: FakeApi, binder: Binder, outcomes: RecordingOutcomes, clock: FakeClock
) -> None:
    api.on("POST", path("a") + "/binding", CONFLICT)
    api.on("GET", path("a"), Reply(drop=True), Reply(drop=True), Reply(body=pod("a", 5, nodeName="node-1")))

    await run(binder, bind("a"), clock=clock)

    assert outcomes.lines == ["bound a"]


@pytest.mark.parametrize(
    ("answer", "line"),
    [
        pytest.param(refusal(404, "NotFound"), "failed a gone", id="pod deleted"),
        pytest.param(refusal(422, "Invalid"), "failed a", id="invalid"),
        pytest.param(refusal(403, "Forbidden"), "failed a", id="forbidden"),
        pytest.param(refusal(400, "BadRequest"), "failed a", id="bad request"),
    ],
)
async def test_a_refusal_is_final(
    answer: Reply, line: str, api: FakeApi, binder: Binder, outcomes: RecordingOutcomes, clock: FakeClock
) -> None:
    api.on("POST", path("a") + "/binding", answer)

    await run(binder, bind("a"), clock=clock)

    assert outcomes.lines == [line]
    assert len(api.requests) == 1


async def test_a_server_that_has_just_restarted_may_forbid_what_it_allows_a_moment_later(
    api: FakeApi, binder: Binder, outcomes: RecordingOutcomes, clock: FakeClock
) -> None:
    api.on("POST", path("a") + "/binding", Reply(drop=True), refusal(403, "Forbidden"), CREATED)

    await run(binder, bind("a"), clock=clock)

    assert outcomes.lines == ["bound a"]


async def test_attempts_end_when_their_time_is_over(
    api: FakeApi, binder: Binder, outcomes: RecordingOutcomes, clock: FakeClock
) -> None:
    api.on("POST", path("a") + "/binding", Reply(503))
    api.on("GET", path("a"), Reply(body=pod("a", 3)))

    await run(binder, bind("a"), clock=clock)

    assert outcomes.lines == ["failed a"]
    assert sum(clock.sleeps) <= 10
    assert 3 <= len(api.sent("POST")) <= 60
    assert binder.stats().failed == 1


@pytest.mark.parametrize(("node", "reported"), [("node-1", "bound a"), ("", "failed a")])
async def test_what_became_of_a_binding_without_an_answer_is_found_out_before_anything_is_reported(
    node: str, reported: str, api: FakeApi, binder: Binder, outcomes: RecordingOutcomes, clock: FakeClock
) -> None:
    """Its place would be given to another pod otherwise, while the server is away and afterwards."""
    api.on("POST", path("a") + "/binding", Reply(drop=True))
    api.on("GET", path("a"), Reply(503))
    binder.submit([bind("a")])
    await eventually(lambda: len(api.sent("GET")) >= 30, clock)
    assert sum(clock.sleeps) > 20
    assert outcomes.lines == []

    api.on("GET", path("a"), Reply(body=pod("a", 3, **({"nodeName": node} if node else {}))))
    await through(binder, clock)
    assert outcomes.lines == [reported]


async def test_bindings_leave_in_order_and_so_many_at_a_time(
    api: FakeApi, client: KubernetesClient, outcomes: RecordingOutcomes, clock: FakeClock
) -> None:
    binder = Binder(client, outcomes, in_flight=3, clock=clock)
    doors = {name: asyncio.Event() for name in "abcdef"}
    for name, door in doors.items():
        api.on("POST", path(name) + "/binding", Reply(201, hold=door))
    binder.submit([bind(name) for name in "abcdef"])

    await eventually(lambda: len(api.requests) == 3)
    await settle()
    assert sorted(request.path for request in api.requests) == [path(name) + "/binding" for name in "abc"]
    assert (binder.stats().in_flight, binder.stats().queued) == (3, 3)

    doors["b"].set()
    await eventually(lambda: len(api.requests) == 4)
    assert api.requests[3].path == path("d") + "/binding"

    for door in doors.values():
        door.set()
    await through(binder)
    assert sorted(outcomes.lines) == [f"bound {name}" for name in "abcdef"]


@pytest.mark.parametrize("waited", [pytest.param(0.0, id="all are through"), pytest.param(5.0, id="patience ends")])
async def test_success_is_reported_when_no_binding_is_under_way_or_after_some_seconds(
    waited: float, api: FakeApi, client: KubernetesClient, clock: FakeClock
) -> None:
    class Moments(RecordingOutcomes):
        def bound(self, bind: Bind, ago: float) -> None:
            self.lines.append(f"bound {bind.pod.name} {ago:g} s ago")

    outcomes = Moments()
    binder = Binder(client, outcomes, in_flight=2, clock=clock)
    door = asyncio.Event()
    for name in ("first", "second"):
        api.on("POST", path(name) + "/binding", CREATED)
    api.on("POST", path("late") + "/binding", Reply(201, hold=door))
    binder.submit([bind("first"), bind("late"), bind("second")])
    await eventually(lambda: binder.stats().bound == 2)
    await settle()
    assert outcomes.lines == []

    # Each has its own five seconds, and does not wait for those of the one before it.
    both = [f"bound {name} {waited:g} s ago" for name in ("first", "second")]
    if waited:
        await clock.advance(waited)
        await settle()
        assert outcomes.lines == both
    door.set()
    await eventually(lambda: len(outcomes.lines) == 3)
    assert outcomes.lines == [*both, "bound late 0 s ago"]


async def test_success_that_was_to_be_reported_later_is_reported_when_all_ends(
    api: FakeApi, client: KubernetesClient, outcomes: RecordingOutcomes, clock: FakeClock
) -> None:
    binder = Binder(client, outcomes, in_flight=2, clock=clock)
    for name in "ac":
        api.on("POST", path(name) + "/binding", CREATED)
    api.on("POST", path("b") + "/binding", Reply(201, hold=asyncio.Event()))
    binder.submit([bind("a"), bind("b"), bind("c")])
    await eventually(lambda: binder.stats().bound == 2)

    draining = asyncio.create_task(binder.drain(3))
    await settle()
    await clock.advance(3)

    assert await draining == 1
    assert sorted(outcomes.lines) == ["bound a", "bound c", "failed b"]


async def test_a_lost_lease_ends_what_is_queued_and_lets_what_is_sent_finish(
    api: FakeApi, client: KubernetesClient, outcomes: RecordingOutcomes, clock: FakeClock
) -> None:
    binder = Binder(client, outcomes, in_flight=1, clock=clock)
    door = asyncio.Event()
    api.on("POST", path("a") + "/binding", Reply(201, hold=door))
    binder.submit([bind("a"), bind("b")])
    await eventually(lambda: api.requests)

    binder.stop_new("the lease is lost")
    assert outcomes.lines == ["failed b"]
    assert str(outcomes.errors[0]) == "bind: given up: the lease is lost"

    door.set()
    await through(binder)
    binder.submit([bind("c")])

    assert outcomes.lines == ["failed b", "bound a", "failed c"]
    assert len(api.requests) == 1


async def test_nothing_is_repeated_after_the_lease_is_lost(
    api: FakeApi, binder: Binder, outcomes: RecordingOutcomes, clock: FakeClock
) -> None:
    api.on("POST", path("a") + "/binding", Reply(503), CREATED)
    binder.submit([bind("a")])
    await eventually(lambda: clock.asleep)

    binder.stop_new()
    await clock.advance(5)
    await through(binder)

    assert outcomes.lines == ["failed a"]
    assert len(api.requests) == 1


async def test_nothing_is_sent_once_the_fence_has_fallen_even_before_it_is_noticed(
    api: FakeApi, client: KubernetesClient, outcomes: RecordingOutcomes, clock: FakeClock
) -> None:
    leading = True
    binder = Binder(client, outcomes, in_flight=64, fence=lambda: leading, clock=clock, rng=random.Random(1))
    api.on("POST", path("a") + "/binding", Reply(503), CREATED)
    binder.submit([bind("a")])
    await eventually(lambda: clock.asleep)

    leading = False
    binder.submit([bind("b")])
    await through(binder, clock)

    assert sorted(outcomes.lines) == ["failed a", "failed b"]
    assert {str(error) for error in outcomes.errors} == {"bind: given up: the lease is lost"}
    assert len(api.requests) == 1


async def test_draining_waits_for_all_that_was_decided(
    api: FakeApi, client: KubernetesClient, outcomes: RecordingOutcomes, clock: FakeClock
) -> None:
    binder = Binder(client, outcomes, in_flight=1, clock=clock)
    for name in "abc":
        api.on("POST", path(name) + "/binding", CREATED)
    binder.submit([bind(name) for name in "abc"])

    assert await binder.drain(30) == 0
    assert outcomes.lines == ["bound a", "bound b", "bound c"]


async def test_draining_gives_up_in_time_and_reports_what_it_gave_up(
    api: FakeApi, client: KubernetesClient, outcomes: RecordingOutcomes, clock: FakeClock
) -> None:
    binder = Binder(client, outcomes, in_flight=1, clock=clock)
    api.on("POST", path("a") + "/binding", Reply(201, hold=asyncio.Event()))
    binder.submit([bind("a"), bind("b")])
    await eventually(lambda: api.requests)

    draining = asyncio.create_task(binder.drain(30))
    await settle()
    await clock.advance(30)

    assert await draining == 2
    assert sorted(outcomes.lines) == ["failed a", "failed b"]


async def test_a_listener_that_fails_takes_no_worker_away(
    api: FakeApi, client: KubernetesClient, clock: FakeClock
) -> None:
    class Failing(RecordingOutcomes):
        def bound(self, bind: Bind, ago: float) -> None:
            super().bound(bind, ago)
            raise RuntimeError("a defect elsewhere")

    outcomes = Failing()
    binder = Binder(client, outcomes, in_flight=1, clock=clock)

    def created(request: Request) -> Reply:
        return CREATED

    for name in "ab":
        api.on("POST", path(name) + "/binding", created)
    await run(binder, bind("a"), bind("b"), clock=clock)

    assert outcomes.lines == ["bound a", "bound b"]


@pytest.mark.parametrize(
    ("node", "shown"),
    [pytest.param("", [], id="not bound"), pytest.param("node-1", ["node-1"], id="there"), ("node-2", ["node-2"])],
)
async def test_a_pod_that_is_bound_already_is_shown_to_the_scheduler(
    node: str,
    shown: list[str],
    api: FakeApi,
    client: KubernetesClient,
    outcomes: RecordingOutcomes,
    clock: FakeClock,
) -> None:
    """Should the watch have lost it, the scheduler would try forever, and count the room elsewhere."""
    nodes: list[str] = []
    binder = Binder(
        client, outcomes, in_flight=64, on_surprise=lambda pod: nodes.append(pod.spec.node_name), clock=clock
    )
    api.on("POST", path("a") + "/binding", CONFLICT)
    api.on("GET", path("a"), Reply(body=pod("a", 5, nodeName=node)))

    await run(binder, bind("a"), clock=clock)

    assert nodes == shown
