"""Broken connections, silent servers, disordered events and objects that cannot be read."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence

from msgspec.structs import replace
from structlog.testing import capture_logs

from tests.unit.cluster.conftest import Background
from tests.unit.cluster.fakes import FakeApi, FakeClock, RecordingSink, Reply, eventually, page, pod, refusal
from volcano_py.api.objects import ApiObject, Pod, metadata_of
from volcano_py.cluster.kubernetes.http.client import KubernetesClient
from volcano_py.cluster.kubernetes.watching.kinds import POD
from volcano_py.cluster.kubernetes.watching.reflector import Reflector

PODS = "/api/v1/pods"

BadObjects = list[tuple[str, str, str, Exception]]


def unreadable(name: str, version: int, *, uid: str = "") -> dict[str, object]:
    """A pod with a field of the wrong type."""
    return {**pod(name, version, uid=uid), "spec": {"containers": "none"}}


async def test_a_line_cut_off_by_a_broken_connection_is_dropped_and_comes_again(
    api: FakeApi, client: KubernetesClient, sink: RecordingSink, clock: FakeClock, background: Background
) -> None:
    api.on("GET", PODS, page(10))
    subject = Reflector(client, POD, sink, clock=clock)
    background(subject.run())
    watch = await api.watch()
    await watch.send("ADDED", pod("a", 11))
    await watch.send_raw(b'{"type":"ADDED","object":{"metadata":{"name":"b","resour')
    await eventually(lambda: "ns/a" in sink.objects)
    watch.drop()
    await eventually(lambda: api.watch_is_open, clock)

    again = await api.watch()
    assert again.resource_version == "11"
    await again.send("ADDED", pod("b", 12))
    await eventually(lambda: "ns/b" in sink.objects)

    assert sink.versions == {"ns/a": "11", "ns/b": "12"}
    assert subject.stats().unreadable == 0
    assert len(api.sent("GET", PODS)) == 1


async def test_a_very_long_line_arrives_whole(
    api: FakeApi, client: KubernetesClient, sink: RecordingSink, clock: FakeClock, background: Background
) -> None:
    api.on("GET", PODS, page(10))
    background(Reflector(client, POD, sink, clock=clock).run())
    watch = await api.watch()
    large = pod("a", 11)
    large["metadata"]["annotations"] = {"filler": "x" * 3_000_000}

    await watch.send_raw(json.dumps({"type": "ADDED", "object": large}).encode() + b"\n")
    await watch.send("ADDED", pod("b", 12))
    await eventually(lambda: "ns/b" in sink.objects)

    a = sink.objects["ns/a"]
    assert isinstance(a, Pod)
    assert len(a.metadata.annotations["filler"]) == 3_000_000


async def test_what_is_no_event_at_all_leads_to_a_new_watch(
    api: FakeApi, client: KubernetesClient, sink: RecordingSink, clock: FakeClock, background: Background
) -> None:
    api.on("GET", PODS, page(10))
    background(Reflector(client, POD, sink, clock=clock).run())
    watch = await api.watch()
    await watch.send_raw(b"<html>the proxy is sorry</html>\n")
    await eventually(lambda: api.watch_is_open, clock)

    assert (await api.watch()).resource_version == "10"


async def test_a_silent_watch_is_opened_again_where_it_was(
    api: FakeApi, client: KubernetesClient, sink: RecordingSink, clock: FakeClock, background: Background
) -> None:
    api.on("GET", PODS, page(10))
    subject = Reflector(client, POD, sink, stall_after=120, clock=clock)
    background(subject.run())
    watch = await api.watch()
    await clock.advance(100)
    await watch.send("BOOKMARK", {"metadata": {"resourceVersion": "15"}})
    await eventually(lambda: subject.resource_version == "15")
    await clock.advance(119)
    assert not api.watch_is_open, "a bookmark counts as a sign of life"

    with capture_logs() as logs:
        await clock.advance(1)
        assert (await api.watch()).resource_version == "15"
    assert len(api.sent("GET", PODS)) == 1
    assert [entry["event"] for entry in logs] == ["watch stalled; reopening it"]
    assert subject.stats().failures == 1


async def test_a_watch_that_was_always_silent_is_reopened_without_a_log_line(
    api: FakeApi, client: KubernetesClient, sink: RecordingSink, clock: FakeClock, background: Background
) -> None:
    """The server sends no bookmarks of a kind of which nothing has happened since it started."""
    api.on("GET", PODS, page(10))
    subject = Reflector(client, POD, sink, stall_after=120, clock=clock)
    background(subject.run())
    await api.watch()

    with capture_logs() as logs:
        await clock.advance(120)
        assert (await api.watch()).resource_version == "10"

    assert logs == []
    assert subject.stats().failures == 0
    assert subject.stats().watches == 2


INITIALIZING = refusal(429, "TooManyRequests", "storage is (re)initializing", headers={"Retry-After": "1"})


async def test_a_server_that_has_just_started_and_asks_to_come_back_is_no_cause_for_alarm(
    api: FakeApi, client: KubernetesClient, sink: RecordingSink, clock: FakeClock, background: Background
) -> None:
    api.on("GET", PODS, INITIALIZING, INITIALIZING, page(10))
    subject = Reflector(client, POD, sink, clock=clock)
    with capture_logs() as logs:
        background(subject.run())
        await eventually(subject.synced.is_set, clock)
    assert [entry["log_level"] for entry in logs] == ["info", "debug"]


async def test_a_server_that_goes_on_asking_to_come_back_is_warned_of_once(
    api: FakeApi, client: KubernetesClient, sink: RecordingSink, clock: FakeClock, background: Background
) -> None:
    api.on("GET", PODS, INITIALIZING)
    started = clock.monotonic()
    with capture_logs() as logs:
        background(Reflector(client, POD, sink, clock=clock).run())
        await eventually(lambda: clock.monotonic() > started + 60, clock)
    levels = [entry["log_level"] for entry in logs]
    assert levels[0] == "info"
    assert (levels.count("info"), levels.count("warning")) == (1, 1)


async def test_another_trouble_than_being_asked_to_come_back_is_warned_of_at_once_and_once(
    api: FakeApi, client: KubernetesClient, sink: RecordingSink, clock: FakeClock, background: Background
) -> None:
    api.on("GET", PODS, INITIALIZING, refusal(403, "Forbidden"), refusal(403, "Forbidden"), INITIALIZING, page(10))
    subject = Reflector(client, POD, sink, clock=clock)
    with capture_logs() as logs:
        background(subject.run())
        await eventually(subject.synced.is_set, clock)
    assert [entry["log_level"] for entry in logs] == ["info", "warning", "debug", "info"]


async def test_pauses_grow_and_start_again_after_a_success(
    api: FakeApi, client: KubernetesClient, sink: RecordingSink, clock: FakeClock, background: Background
) -> None:
    api.on("GET", PODS, *[Reply(503)] * 9, page(10))
    subject = Reflector(client, POD, sink, stall_after=1e6, clock=clock, rng=random.Random(7))
    background(subject.run())
    await eventually(subject.synced.is_set, clock)
    await eventually(lambda: clock.asleep)

    assert len(clock.sleeps) == 10, "nine failures, then the guard of the watch"
    bounds = [min(10.0, 0.2 * 2**attempt) for attempt in range(9)]
    assert all(0 <= delay <= bound for delay, bound in zip(clock.sleeps, bounds, strict=False))
    assert max(clock.sleeps[:9]) > 2

    watch = await api.watch()
    await watch.send("ADDED", pod("a", 11))
    await eventually(lambda: sink.objects)
    clock.sleeps.clear()
    watch.drop()
    await eventually(lambda: clock.sleeps)

    assert clock.sleeps[0] <= 0.2


async def test_the_server_may_ask_for_patience(
    api: FakeApi, client: KubernetesClient, sink: RecordingSink, clock: FakeClock, background: Background
) -> None:
    api.on("GET", PODS, refusal(429, "TooManyRequests", headers={"Retry-After": "7"}), page(10))
    background(Reflector(client, POD, sink, clock=clock).run())

    await eventually(lambda: clock.sleeps)

    assert clock.sleeps == [7.0]


async def test_a_server_that_ends_every_watch_at_once_is_not_asked_in_a_hot_loop(
    api: FakeApi, client: KubernetesClient, sink: RecordingSink, clock: FakeClock, background: Background
) -> None:
    api.on("GET", PODS, page(10))
    subject = Reflector(client, POD, sink, clock=clock)
    background(subject.run())
    (await api.watch()).end()
    await eventually(lambda: subject.stats().failures == 1)
    assert not api.watch_is_open
    await clock.advance(0.5)

    (await api.watch()).end()
    await eventually(lambda: subject.stats().failures == 2)

    assert not api.watch_is_open


async def test_news_that_comes_twice_or_late_changes_nothing(
    api: FakeApi, client: KubernetesClient, sink: RecordingSink, clock: FakeClock, background: Background
) -> None:
    api.on("GET", PODS, page(10, pod("a", 5)))
    subject = Reflector(client, POD, sink, clock=clock)
    background(subject.run())
    watch = await api.watch()
    await watch.send("MODIFIED", pod("a", 12))
    await watch.send("MODIFIED", pod("a", 12))
    await watch.send("MODIFIED", pod("a", 11))
    await watch.send("ADDED", pod("gone-before-the-list", 9))
    await watch.send("ADDED", pod("end", 13))
    await eventually(lambda: "ns/end" in sink.objects)

    assert sink.calls[1:] == [("upsert", "ns/a"), ("upsert", "ns/end")]
    assert sink.versions == {"ns/a": "12", "ns/end": "13"}
    assert subject.stats().stale_events == 3

    await watch.send("MODIFIED", pod("a", 11))
    await eventually(lambda: subject.stats().stale_events == 4)
    assert subject.resource_version == "13"


async def test_a_deleted_object_does_not_come_back_by_late_news(
    api: FakeApi, client: KubernetesClient, sink: RecordingSink, clock: FakeClock, background: Background
) -> None:
    api.on("GET", PODS, page(10, pod("a", 5)))
    background(Reflector(client, POD, sink, clock=clock).run())
    watch = await api.watch()
    await watch.send("DELETED", pod("a", 13))
    await watch.send("MODIFIED", pod("a", 12))
    await watch.send("DELETED", pod("a", 13))
    await watch.send("ADDED", pod("end", 14))
    await eventually(lambda: "ns/end" in sink.objects)

    assert sink.calls[1:] == [("delete", "ns/a"), ("upsert", "ns/end")]


async def test_the_late_deletion_of_a_predecessor_leaves_its_namesake_alone(
    api: FakeApi, client: KubernetesClient, sink: RecordingSink, clock: FakeClock, background: Background
) -> None:
    api.on("GET", PODS, page(10, pod("a", 5, uid="first")))
    background(Reflector(client, POD, sink, clock=clock).run())
    watch = await api.watch()
    await watch.send("ADDED", pod("a", 13, uid="second"))
    await watch.send("DELETED", pod("a", 12, uid="first"))
    await watch.send("ADDED", pod("end", 14))
    await eventually(lambda: "ns/end" in sink.objects)

    # The sink hears of the first one's end before the second one's beginning, though the server's word came late.
    assert sink.calls[1:] == [("delete", "ns/a"), ("upsert", "ns/a"), ("upsert", "ns/end")]
    assert sink.uids["ns/a"] == "second"


async def test_one_unreadable_object_in_a_list_is_reported_and_spoils_no_other(
    api: FakeApi, client: KubernetesClient, sink: RecordingSink, clock: FakeClock, background: Background
) -> None:
    bad: BadObjects = []
    api.on("GET", PODS, page(10, pod("a", 3), unreadable("b", 4), {"metadata": 5}, pod("c", 5)))
    subject = Reflector(client, POD, sink, on_bad_object=lambda *reported: bad.append(reported), clock=clock)
    background(subject.run())
    await api.watch()

    assert sink.calls == [("replace", "ns/a", "ns/c")]
    assert [reported[:3] for reported in bad] == [("Pod", "ns/b", "uid-b"), ("Pod", "", "")]
    assert "`$.spec.containers`" in str(bad[0][3])
    assert (subject.stats().objects, subject.stats().unreadable) == (2, 2)


async def test_nulls_are_taken_for_what_is_left_out(
    api: FakeApi, client: KubernetesClient, sink: RecordingSink, clock: FakeClock, background: Background
) -> None:
    """In lists and in events, whatever kind of field it is."""
    bad: BadObjects = []
    nulls = {"nodeSelector": None, "tolerations": None, "overhead": None, "containers": [{"resources": None}]}
    api.on("GET", PODS, page(10, {**pod("a", 3), "spec": nulls}, {**pod("b", 4), "status": None}))
    subject = Reflector(client, POD, sink, on_bad_object=lambda *reported: bad.append(reported), clock=clock)
    background(subject.run())
    watch = await api.watch()
    assert sink.versions == {"ns/a": "3", "ns/b": "4"}

    labelled = pod("a", 11)
    labelled["metadata"] |= {"labels": {"app": None}, "annotations": None, "creationTimestamp": None}
    await watch.send("MODIFIED", labelled)
    await watch.send("MODIFIED", {**pod("b", 12), "spec": {"tolerations": [None]}})
    await eventually(lambda: bad)

    assert sink.versions == {"ns/a": "11", "ns/b": "4"}
    assert [reported[:2] for reported in bad] == [("Pod", "ns/b")], "an element of a list has to be something"


async def test_the_last_readable_version_stays_until_the_object_goes(
    api: FakeApi, client: KubernetesClient, sink: RecordingSink, clock: FakeClock, background: Background
) -> None:
    bad: BadObjects = []
    api.on(
        "GET",
        PODS,
        page(10, pod("a", 3), pod("b", 4), pod("c", 5)),
        page(30, unreadable("a", 12), pod("c", 20), unreadable("b", 21, uid="another b")),
    )
    subject = Reflector(client, POD, sink, on_bad_object=lambda *reported: bad.append(reported), clock=clock)
    background(subject.run())
    watch = await api.watch()
    await watch.send("MODIFIED", unreadable("a", 12))
    await eventually(lambda: bad)
    assert sink.versions["ns/a"] == "3"
    assert subject.resource_version == "12"

    await watch.send("ERROR", {"code": 410, "reason": "Expired"})
    await eventually(lambda: api.watch_is_open, clock)
    watch = await api.watch()

    # `a` is still there, unreadable; `b` is gone and its successor was never readable.
    assert sink.versions == {"ns/a": "3", "ns/c": "20"}
    assert subject.stats().unreadable == 2

    await watch.send("DELETED", unreadable("a", 31))
    await watch.send("MODIFIED", pod("b", 32, uid="another b"))
    await eventually(lambda: "ns/b" in sink.objects)

    assert sink.uids == {"ns/b": "another b", "ns/c": "uid-c"}
    assert subject.stats().unreadable == 0


async def test_an_object_that_the_sink_cannot_digest_is_reported_and_stops_no_other(
    api: FakeApi, client: KubernetesClient, sink: RecordingSink, clock: FakeClock, background: Background
) -> None:
    bad: BadObjects = []
    sink.poison = "a"
    api.on("GET", PODS, page(10))
    background(Reflector(client, POD, sink, on_bad_object=lambda *reported: bad.append(reported), clock=clock).run())
    watch = await api.watch()
    await watch.send("ADDED", pod("a", 11))
    await watch.send("ADDED", pod("b", 12))
    await eventually(lambda: "ns/b" in sink.objects)

    assert [reported[1] for reported in bad] == ["ns/a"]
    assert str(bad[0][3]) == "this sink cannot digest it"


async def test_a_list_with_such_an_object_is_taken_one_by_one(
    api: FakeApi, client: KubernetesClient, sink: RecordingSink, clock: FakeClock, background: Background
) -> None:
    bad: BadObjects = []
    api.on("GET", PODS, page(10, pod("a", 1), pod("gone", 2)), page(20, pod("a", 12), pod("poison", 13), pod("b", 14)))
    subject = Reflector(client, POD, sink, on_bad_object=lambda *reported: bad.append(reported), clock=clock)
    background(subject.run())
    watch = await api.watch()
    sink.poison = "poison"
    await watch.send("ERROR", {"code": 410})
    await eventually(lambda: api.watch_is_open, clock)

    assert sink.versions == {"ns/a": "12", "ns/b": "14"}
    assert [reported[1] for reported in bad] == ["ns/poison"]
    assert subject.stats().unreadable == 1


class BulkRecordingSink(RecordingSink):
    """Takes many objects at once, unless one of them cannot be taken."""

    def upsert_all(self, kind: str, objects: Sequence[ApiObject]) -> None:
        assert self.poison not in [metadata_of(obj).name for obj in objects]
        self.objects |= {metadata_of(obj).key: obj for obj in objects}
        self.calls.append(("upsert_all", *(metadata_of(obj).key for obj in objects)))


async def test_a_part_of_a_list_with_such_an_object_is_taken_one_by_one(
    api: FakeApi, client: KubernetesClient, clock: FakeClock, background: Background
) -> None:
    bad: BadObjects = []
    sink = BulkRecordingSink()
    names = [f"p{number:02d}" for number in range(17)]
    api.on("GET", PODS, page(20, *(pod(name, 2) for name in names)))
    sink.poison = "p12"
    subject = Reflector(client, POD, sink, on_bad_object=lambda *reported: bad.append(reported), clock=clock)
    background(subject.run())
    await eventually(lambda: api.watch_is_open, clock)

    keys = [f"ns/{name}" for name in names]
    assert sink.calls == [
        ("replace", *keys[:10]),
        *(("upsert", key) for key in keys[10:15]),
        ("upsert_all", *keys[15:]),
    ]
    assert sorted(sink.objects) == [key for key in keys if key != "ns/p12"]
    assert [reported[1] for reported in bad] == ["ns/p12"]


async def test_an_object_that_the_sink_could_not_digest_is_tried_again_with_the_next_list(
    api: FakeApi, client: KubernetesClient, sink: RecordingSink, clock: FakeClock, background: Background
) -> None:
    """Also if it has not changed since."""
    api.on("GET", PODS, page(10, pod("a", 1), pod("poison", 2)), page(20, pod("a", 1), pod("poison", 2)))
    subject = Reflector(client, POD, sink, clock=clock)
    sink.poison = "poison"
    background(subject.run())
    watch = await api.watch()
    sink.poison = ""
    await watch.send("ERROR", {"code": 410})
    await eventually(lambda: api.watch_is_open, clock)

    assert sink.versions == {"ns/a": "1", "ns/poison": "2"}
    assert subject.stats().unreadable == 0


async def test_a_defect_in_handling_an_object_costs_a_new_list_and_no_more(
    api: FakeApi, client: KubernetesClient, sink: RecordingSink, clock: FakeClock, background: Background
) -> None:
    def defective(*_: object) -> None:
        raise RuntimeError("a defect")

    api.on("GET", PODS, page(10), page(20, pod("b", 14)))
    background(Reflector(client, POD, sink, on_bad_object=defective, clock=clock).run())
    watch = await api.watch()
    await watch.send("ADDED", unreadable("a", 11))
    await eventually(lambda: api.watch_is_open, clock)

    assert sink.versions == {"ns/b": "14"}


async def test_an_unreadable_list_is_tried_again(
    api: FakeApi, client: KubernetesClient, sink: RecordingSink, clock: FakeClock, background: Background
) -> None:
    api.on("GET", PODS, Reply(body=b"<html>"), Reply(drop=True), page(10, pod("a", 3)))
    background(Reflector(client, POD, sink, clock=clock).run())
    await eventually(lambda: api.watch_is_open, clock)

    assert sink.calls == [("replace", "ns/a")]


async def test_an_optional_resource_that_is_not_served_has_no_objects_until_it_is(
    api: FakeApi, client: KubernetesClient, sink: RecordingSink, clock: FakeClock, background: Background
) -> None:
    optional = replace(POD, optional=True)
    api.on("GET", PODS, refusal(404, "NotFound"), refusal(404, "NotFound"), page(10, pod("a", 9)))
    subject = Reflector(client, optional, sink, clock=clock)
    background(subject.run())
    await eventually(subject.synced.is_set)
    assert sink.calls == [("replace",)]

    await clock.advance(299)
    assert len(api.sent("GET", PODS)) == 1
    await eventually(lambda: "ns/a" in sink.objects, clock)
    assert sink.calls == [("replace",), ("upsert", "ns/a")]


async def test_a_resource_that_has_to_be_there_is_waited_for(
    api: FakeApi, client: KubernetesClient, sink: RecordingSink, clock: FakeClock, background: Background
) -> None:
    api.on("GET", PODS, refusal(404, "NotFound"), refusal(404, "NotFound"), page(10))
    subject = Reflector(client, POD, sink, clock=clock)
    background(subject.run())
    await eventually(lambda: len(api.sent("GET", PODS)) == 1)
    await clock.advance(0)
    assert not subject.synced.is_set()
    await eventually(subject.synced.is_set, clock)
