"""Each kind knows for how long it has not been followed; a long gap ends with a list, which shows what was missed."""

from __future__ import annotations

import asyncio

from msgspec.structs import replace
from structlog.testing import capture_logs

from tests.unit.cluster.conftest import Background
from tests.unit.cluster.fakes import FakeApi, FakeClock, RecordingSink, Reply, eventually, page, pod, refusal
from volcano_py.cluster.kubernetes.http.client import KubernetesClient
from volcano_py.cluster.kubernetes.watching.informers import Informers
from volcano_py.cluster.kubernetes.watching.kinds import NODE, POD
from volcano_py.cluster.kubernetes.watching.reflector import Reflector

PODS, NODES = "/api/v1/pods", "/api/v1/nodes"


async def test_a_kind_of_which_nothing_happens_is_current_while_its_watch_is_open(
    api: FakeApi, client: KubernetesClient, sink: RecordingSink, clock: FakeClock, background: Background
) -> None:
    api.on("GET", PODS, page(10))
    informers = Informers(client, sink, [POD], clock=clock)
    background(informers.run())
    assert informers.behind("Pod") == {"Pod": float("inf")}, "never listed"
    await api.watch()
    await clock.advance(100)
    assert informers.behind("Pod") == {}


async def test_a_watch_that_ends_in_its_time_leaves_no_gap(
    api: FakeApi, client: KubernetesClient, sink: RecordingSink, clock: FakeClock, background: Background
) -> None:
    followed: list[bool] = []
    api.on("GET", PODS, page(10))
    subject = Reflector(client, POD, sink, on_followed=followed.append, stall_after=1e6, clock=clock)
    background(subject.run())
    watch = await api.watch()
    await clock.advance(300)
    watch.end()
    await api.watch()
    await eventually(lambda: len(followed) == 2)
    assert followed == [False, False]
    assert len(api.sent("GET", PODS)) == 1
    assert subject.behind == 0


async def test_a_kind_whose_watch_is_broken_falls_behind_and_is_listed_again(
    api: FakeApi, client: KubernetesClient, sink: RecordingSink, clock: FakeClock, background: Background
) -> None:
    """The events of the gap might come at any time after a watch was resumed; a list has them all."""
    followed: list[bool] = []
    api.on("GET", PODS, page(10, pod("a", 3)), page(30, pod("b", 20)))
    subject = Reflector(client, POD, sink, on_followed=followed.append, clock=clock)
    background(subject.run())
    watch = await api.watch()
    api.refuse_watch(*[Reply(503)] * 6)
    broken = clock.time
    with capture_logs() as logged:
        watch.drop()
        await eventually(lambda: api.watch_is_open, clock)

    assert clock.time - broken > 2
    reasons = [entry for entry in logged if entry["event"] == "no watch was open for too long; listing again"]
    assert [entry["kind"] for entry in reasons] == ["Pod"] * (len(api.sent("GET", PODS)) - 1), "before each list"
    assert reasons[0]["seconds"] >= 2  # rounded
    assert (await api.watch()).resource_version == "30"
    assert sink.uids == {"ns/b": "uid-b"}
    await eventually(lambda: len(followed) == 2)
    assert followed == [False, True]


async def test_a_watch_that_is_resumed_too_late_is_not_followed(
    api: FakeApi, client: KubernetesClient, sink: RecordingSink, clock: FakeClock, background: Background
) -> None:
    """Its request was held back for long. The server may end it with 410 as its first event."""
    followed: list[bool] = []
    api.on("GET", PODS, page(10, pod("a", 3)), page(30, pod("b", 20)))
    subject = Reflector(client, POD, sink, on_followed=followed.append, clock=clock)
    background(subject.run())
    watch = await api.watch()
    await eventually(lambda: len(followed) == 1)
    api.watches_wait_for = asyncio.Event()
    requests = len(api.requests)
    clock.time += 1  # so that its end is not too early
    watch.end()
    await eventually(lambda: len(api.requests) > requests)
    clock.time += 5
    with capture_logs() as logged:
        api.watches_wait_for.set()
        await eventually(lambda: len(followed) == 2)
    assert followed == [False, True]
    assert "no watch was open for too long; listing again" in [entry["event"] for entry in logged]
    assert sink.uids == {"ns/b": "uid-b"}, "listed before it counts as followed"


async def test_a_watch_that_ends_with_410_was_not_followed(
    api: FakeApi, client: KubernetesClient, sink: RecordingSink, clock: FakeClock, background: Background
) -> None:
    api.on("GET", PODS, page(10), Reply(503))
    subject = Reflector(client, POD, sink, clock=clock)
    background(subject.run())
    watch = await api.watch()
    await clock.advance(60)
    await watch.send("ERROR", {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old: 10 (25)"})
    await eventually(lambda: len(api.sent("GET", PODS)) > 1, clock)
    assert subject.behind >= 60, "until it has been listed"


async def test_when_one_kind_is_back_the_others_are_tried_at_once(
    api: FakeApi, client: KubernetesClient, sink: RecordingSink, clock: FakeClock, background: Background
) -> None:
    """A server that was away is back for all kinds. Their pauses have grown up to ten seconds by then."""
    api.on("GET", PODS, page(10))
    api.on("GET", NODES, page(10))
    informers = Informers(client, sink, [POD, NODE], clock=clock)
    background(informers.run())
    for watch in (await api.watch(), await api.watch()):
        watch.drop()
    api.on("GET", PODS, Reply(503))
    api.on("GET", NODES, Reply(503))
    api.refuse_watch(*[Reply(503)] * 20)
    await eventually(lambda: clock.time > 1100, clock)
    assert set(informers.behind("Pod", "Node")) == {"Pod", "Node"}

    api._refused_watches.clear()
    api.on("GET", PODS, page(20))
    api.on("GET", NODES, page(20))
    await eventually(lambda: len(informers.behind("Pod", "Node")) < 2, clock)
    back = clock.time
    await eventually(lambda: not informers.behind("Pod", "Node"))
    assert clock.time == back, "no more time has passed"


async def test_an_optional_kind_that_is_not_served_is_not_behind(
    api: FakeApi, client: KubernetesClient, sink: RecordingSink, clock: FakeClock, background: Background
) -> None:
    api.on("GET", PODS, refusal(404, "NotFound"))
    subject = Reflector(client, replace(POD, optional=True), sink, clock=clock)
    background(subject.run())
    await subject.synced.wait()
    await clock.advance(100)
    assert subject.behind == 0


async def test_the_start_does_not_wait_for_a_kind_that_is_not_served(
    api: FakeApi, client: KubernetesClient, sink: RecordingSink, clock: FakeClock, background: Background
) -> None:
    """A new leader lists everything again; for this one the next attempt would be minutes away."""
    api.on("GET", PODS, refusal(404, "NotFound"))
    subject = Reflector(client, replace(POD, optional=True), sink, clock=clock)
    background(subject.run())
    await subject.synced.wait()
    await eventually(lambda: clock.asleep)
    started = clock.time
    await subject.relist()
    assert clock.time == started
    assert len(api.sent("GET", PODS)) == 2, "asked again"

    api.on("GET", PODS, page(30, pod("a", 20)))
    await subject.relist()
    assert list(sink.objects) == ["ns/a"], "and found when it is served"


async def test_a_list_that_is_asked_for_does_not_wait_for_the_next_attempt(
    api: FakeApi, client: KubernetesClient, sink: RecordingSink, clock: FakeClock, background: Background
) -> None:
    api.on("GET", PODS, Reply(503))
    subject = Reflector(client, POD, sink, clock=clock)
    background(subject.run())
    await eventually(lambda: len(api.sent("GET", PODS)) >= 8, clock)
    await eventually(lambda: clock.asleep)
    api.on("GET", PODS, page(30, pod("a", 20)))
    started = clock.time
    await subject.relist()
    assert clock.time == started
    assert list(sink.objects) == ["ns/a"]


async def test_an_optional_kind_that_stays_forbidden_is_done_without(
    api: FakeApi, client: KubernetesClient, sink: RecordingSink, clock: FakeClock, background: Background
) -> None:
    """What was seen before is taken to exist."""
    api.on("GET", PODS, page(10, pod("a", 3)), refusal(403, "Forbidden"))
    subject = Reflector(client, replace(POD, optional=True), sink, clock=clock)
    background(subject.run())
    watch = await api.watch()
    api.refuse_watch(*[refusal(403, "Forbidden")] * 9)
    watch.drop()
    await eventually(lambda: subject.behind > 20, clock)
    with capture_logs() as logs:
        await eventually(lambda: subject.behind == 0, clock)
    assert list(sink.objects) == ["ns/a"]
    assert [entry["event"] for entry in logs if entry["log_level"] == "warning"] == [
        "not allowed to watch; deciding without these objects"
    ]

    api._refused_watches.clear()
    api.on("GET", PODS, page(50, pod("b", 40)))
    await eventually(lambda: list(sink.objects) == ["ns/b"], clock)
    assert subject.behind == 0


async def test_a_kind_that_is_needed_and_forbidden_stays_behind(
    api: FakeApi, client: KubernetesClient, sink: RecordingSink, clock: FakeClock, background: Background
) -> None:
    api.on("GET", PODS, page(10, pod("a", 3)), refusal(403, "Forbidden"))
    informers = Informers(client, sink, [POD], clock=clock)
    background(informers.run())
    watch = await api.watch()
    api.refuse_watch(*[refusal(403, "Forbidden")] * 9)
    watch.drop()
    await eventually(lambda: informers.behind("Pod").get("Pod", 0) > 100, clock)
    assert informers.stats()["Pod"].behind > 100
