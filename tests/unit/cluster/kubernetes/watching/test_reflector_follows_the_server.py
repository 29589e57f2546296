"""The ordinary life of a reflector: list, watch, resume, begin again."""

from __future__ import annotations

import asyncio
import random
from itertools import pairwise
from typing import Any

import msgspec

from tests.unit.cluster.conftest import Background
from tests.unit.cluster.fakes import (
    FakeApi,
    FakeClock,
    RecordingSink,
    Reply,
    eventually,
    gather_up,
    page,
    pod,
    refusal,
    settle,
)
from volcano_py.api.objects import ApiObject, Pod
from volcano_py.cluster.kubernetes.http.client import KubernetesClient
from volcano_py.cluster.kubernetes.watching.kinds import DAEMON_SET, POD, REPLICA_SET, config_map
from volcano_py.cluster.kubernetes.watching.reflector import FRESH_FOR, Reflector

PODS = "/api/v1/pods"


def reflector(client: KubernetesClient, sink: RecordingSink, clock: FakeClock) -> Reflector:
    return Reflector(client, POD, sink, clock=clock, rng=random.Random(1))


async def test_the_list_comes_first_and_the_watch_starts_where_it_ended(
    api: FakeApi, client: KubernetesClient, sink: RecordingSink, clock: FakeClock, background: Background
) -> None:
    api.on("GET", PODS, page(10, pod("a", 3), pod("b", 7)))
    subject = reflector(client, sink, clock)
    background(subject.run())

    watch = await api.watch()

    assert sink.calls == [("replace", "ns/a", "ns/b")]
    assert subject.synced.is_set()
    assert watch.resource_version == "10"
    assert watch.request.query["allowWatchBookmarks"] == "true"
    assert 300 <= int(watch.request.query["timeoutSeconds"]) <= 600


async def test_the_newest_list_is_asked_for_page_by_page(
    api: FakeApi, client: KubernetesClient, sink: RecordingSink, clock: FakeClock, background: Background
) -> None:
    api.on("GET", PODS, page(10, pod("a", 3), go_on="more"), page(10, pod("b", 7)))
    background(reflector(client, sink, clock).run())

    await api.watch()

    assert sink.calls == [("replace", "ns/a", "ns/b")]
    assert [dict(request.query) for request in api.sent("GET")] == [
        {"limit": "2000"},
        {"limit": "2000", "continue": "more"},
    ]


async def test_a_list_that_ages_while_it_is_read_is_read_again_in_one_piece(
    api: FakeApi, client: KubernetesClient, sink: RecordingSink, clock: FakeClock, background: Background
) -> None:
    api.on(
        "GET",
        PODS,
        page(10, pod("a", 3), go_on="more"),
        refusal(410, "Expired", "the continue token is too old"),
        page(20, pod("b", 12)),
    )
    background(reflector(client, sink, clock).run())

    watch = await api.watch()

    assert sink.calls == [("replace", "ns/b")]
    assert dict(api.sent("GET")[2].query) == {}
    assert watch.resource_version == "20"


async def test_changes_reach_the_sink_without_unneeded_fields(
    api: FakeApi, client: KubernetesClient, sink: RecordingSink, clock: FakeClock, background: Background
) -> None:
    api.on("GET", PODS, page(10))
    background(reflector(client, sink, clock).run())
    watch = await api.watch()

    await watch.send("ADDED", pod("a", 11))
    await watch.send("MODIFIED", pod("a", 12, nodeName="node-1"))
    await watch.send("ADDED", pod("b", 13))
    await watch.send("DELETED", pod("b", 14))
    await eventually(lambda: len(sink.calls) == 5)

    assert sink.calls[1:] == [("upsert", "ns/a"), ("upsert", "ns/a"), ("upsert", "ns/b"), ("delete", "ns/b")]
    a = sink.objects["ns/a"]
    assert isinstance(a, Pod)
    assert a.spec.node_name == "node-1"
    assert not hasattr(a.metadata, "managed_fields")


async def test_a_watch_that_the_server_ends_is_resumed_at_once_and_without_a_list(
    api: FakeApi, client: KubernetesClient, sink: RecordingSink, clock: FakeClock, background: Background
) -> None:
    api.on("GET", PODS, page(10))
    background(reflector(client, sink, clock).run())
    watch = await api.watch()
    await watch.send("ADDED", pod("a", 11))
    await eventually(lambda: "ns/a" in sink.objects)
    clock.time += 400
    watch.end()

    again = await api.watch()

    assert again.resource_version == "11"
    assert len(api.sent("GET", PODS)) == 1
    assert min(clock.sleeps) > 100, "only the watch for stalls may sleep, no back-off"


async def test_a_bookmark_moves_the_place_to_resume_from(
    api: FakeApi, client: KubernetesClient, sink: RecordingSink, clock: FakeClock, background: Background
) -> None:
    api.on("GET", PODS, page(10))
    subject = reflector(client, sink, clock)
    background(subject.run())
    watch = await api.watch()

    # This is how a bookmark really looks: a pod that is none.
    await watch.send(
        "BOOKMARK", {"kind": "Pod", "metadata": {"resourceVersion": "99"}, "spec": {"containers": None}, "status": {}}
    )
    await eventually(lambda: subject.resource_version == "99")
    clock.time += 400
    watch.end()

    assert (await api.watch()).resource_version == "99"
    assert sink.calls == [("replace",)]
    assert subject.stats().unreadable == 0


async def test_a_version_too_old_in_the_stream_leads_to_a_new_list_which_removes_what_is_gone(
    api: FakeApi, client: KubernetesClient, sink: RecordingSink, clock: FakeClock, background: Background
) -> None:
    api.on("GET", PODS, page(10, pod("a", 3), pod("b", 4)), page(30, pod("b", 25)))
    subject = reflector(client, sink, clock)
    background(subject.run())
    watch = await api.watch()

    await watch.send("ERROR", {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old: 10 (25)"})
    await eventually(lambda: api.watch_is_open, clock)

    assert (await api.watch()).resource_version == "30"
    assert sink.versions == {"ns/b": "25"}
    assert subject.stats().lists == 2


async def test_a_version_too_old_as_an_answer_leads_to_a_new_list(
    api: FakeApi, client: KubernetesClient, sink: RecordingSink, clock: FakeClock, background: Background
) -> None:
    api.on("GET", PODS, page(10, pod("a", 3)), page(30, pod("b", 25)))
    api.refuse_watch(refusal(410, "Expired", "too old resource version"))
    background(reflector(client, sink, clock).run())

    await eventually(lambda: api.watch_is_open, clock)

    assert (await api.watch()).resource_version == "30"
    assert sink.uids == {"ns/b": "uid-b"}


async def test_another_error_in_the_stream_leads_to_a_new_watch_not_to_a_new_list(
    api: FakeApi, client: KubernetesClient, sink: RecordingSink, clock: FakeClock, background: Background
) -> None:
    api.on("GET", PODS, page(10))
    background(reflector(client, sink, clock).run())
    watch = await api.watch()

    await watch.send("ERROR", {"kind": "Status", "code": 500, "reason": "InternalError", "message": "etcd is ill"})
    await eventually(lambda: api.watch_is_open, clock)

    assert (await api.watch()).resource_version == "10"
    assert len(api.sent("GET", PODS)) == 1


async def test_a_kind_that_is_not_served_yet_is_found_when_it_is(
    api: FakeApi, client: KubernetesClient, sink: RecordingSink, clock: FakeClock, background: Background
) -> None:
    api.on("GET", PODS, refusal(404, "NotFound"))
    subject = reflector(client, sink, clock)
    background(subject.run())
    await eventually(lambda: subject.stats().failures >= 3, clock)
    assert not subject.synced.is_set()

    api.on("GET", PODS, page(10, pod("a", 3)))
    await eventually(subject.synced.is_set, clock)

    assert sink.versions == {"ns/a": "3"}


async def test_a_periodic_list_is_started_on_time(
    api: FakeApi, client: KubernetesClient, sink: RecordingSink, clock: FakeClock, background: Background
) -> None:
    api.on("GET", PODS, page(10, pod("a", 3)), page(10, pod("a", 3), pod("missed", 9)))
    background(Reflector(client, POD, sink, resync_every=60, stall_after=1000, clock=clock).run())
    await api.watch()
    await clock.advance(59)
    assert not api.watch_is_open

    await clock.advance(1)
    await api.watch()

    assert sink.versions == {"ns/a": "3", "ns/missed": "9"}


async def test_owners_come_as_metadata_and_are_named_by_their_kind(
    api: FakeApi, client: KubernetesClient, sink: RecordingSink, clock: FakeClock, background: Background
) -> None:
    owner = {"metadata": {"name": "d", "namespace": "ns", "uid": "u", "resourceVersion": "3"}}
    # An empty list of bare metadata has no items at all.
    api.on("GET", DAEMON_SET.path, Reply(body={"metadata": {"resourceVersion": "2"}, "items": None}))
    background(Reflector(client, DAEMON_SET, sink, clock=clock).run())
    watch = await api.watch()
    await watch.send("ADDED", {"kind": "PartialObjectMetadata", **owner})
    await eventually(lambda: sink.objects)

    assert "as=PartialObjectMetadataList;" in api.sent("GET")[0].headers["Accept"]
    assert "as=PartialObjectMetadata;" in watch.request.headers["Accept"]
    assert sink.objects["ns/d"].kind == "DaemonSet"  # type: ignore[attr-defined]


async def test_items_of_a_list_are_named_by_their_kind_too(
    api: FakeApi, client: KubernetesClient, sink: RecordingSink, clock: FakeClock, background: Background
) -> None:
    owner = {"metadata": {"name": "r", "namespace": "ns", "uid": "u"}, "spec": {"replicas": 3}}
    api.on("GET", REPLICA_SET.path, page(2, owner))
    background(Reflector(client, REPLICA_SET, sink, clock=clock).run())
    await api.watch()

    replica_set = sink.objects["ns/r"]
    assert (replica_set.kind, replica_set.spec.replicas) == ("ReplicaSet", 3)  # type: ignore[attr-defined]


async def test_a_single_object_is_selected_by_its_name(
    api: FakeApi, client: KubernetesClient, sink: RecordingSink, clock: FakeClock, background: Background
) -> None:
    kind = config_map("volcano-system", "conf")
    api.on("GET", kind.path, page(2))
    background(Reflector(client, kind, sink, clock=clock).run())
    watch = await api.watch()

    assert api.sent("GET")[0].query["fieldSelector"] == "metadata.name=conf"
    assert watch.request.query["fieldSelector"] == "metadata.name=conf"


async def test_a_list_that_is_asked_for_is_begun_after_it_was_asked_for(
    api: FakeApi, client: KubernetesClient, sink: RecordingSink, clock: FakeClock, background: Background
) -> None:
    """Although the watch is open and brings what it brings, however late."""
    api.on("GET", PODS, page(10, pod("a", 3)), page(20, pod("a", 12), pod("b", 15)))
    subject = reflector(client, sink, clock)
    background(subject.run())
    await api.watch()

    await gather_up(subject.relist())

    assert sink.versions == {"ns/a": "12", "ns/b": "15"}
    assert (await api.watch()).resource_version == "20"
    assert subject.stats().failures == 0


async def test_a_list_under_way_is_not_the_one_that_is_asked_for(
    api: FakeApi, client: KubernetesClient, sink: RecordingSink, clock: FakeClock, background: Background
) -> None:
    first = asyncio.Event()
    answer = Reply(body=page(10, pod("a", 3)).body, hold=first)
    api.on("GET", PODS, answer, page(20, pod("a", 12)))
    subject = reflector(client, sink, clock)
    background(subject.run())
    await eventually(lambda: api.sent("GET"))
    asked = asyncio.create_task(subject.relist())
    await settle()

    first.set()
    await gather_up(asked)

    assert sink.versions == {"ns/a": "12"}
    assert len(api.sent("GET")) == 2


async def test_a_list_that_is_asked_for_is_tried_until_it_works(
    api: FakeApi, client: KubernetesClient, sink: RecordingSink, clock: FakeClock, background: Background
) -> None:
    api.on("GET", PODS, page(10), Reply(503), Reply(drop=True), page(20, pod("a", 12)))
    subject = reflector(client, sink, clock)
    background(subject.run())
    await api.watch()

    asked = asyncio.create_task(subject.relist())
    await eventually(asked.done, clock)

    assert sink.versions == {"ns/a": "12"}


async def test_what_an_answer_has_shown_is_not_taken_back_by_older_news(
    api: FakeApi, client: KubernetesClient, sink: RecordingSink, clock: FakeClock, background: Background
) -> None:
    """A watch that lags, and a list that was begun before, know less than the answer to a request."""
    listed = asyncio.Event()
    late = Reply(body={"metadata": {"resourceVersion": "11"}, "items": [pod("a", 3), pod("b", 4)]}, hold=listed)
    api.on("GET", PODS, page(10, pod("a", 3), pod("b", 4)), late)
    subject = reflector(client, sink, clock)
    background(subject.run())
    await api.watch()
    again = background(subject.relist())
    await eventually(lambda: api.held == 1)

    subject.learn(the_pod("a", 12, nodeName="n1"))
    subject.learn(the_pod("a", 11))
    listed.set()
    await again
    watch = await api.watch()
    await watch.send("MODIFIED", pod("a", 11))
    await watch.send("MODIFIED", pod("b", 13))
    await eventually(lambda: subject.stats().events == 2)

    assert sink.calls == [
        ("replace", "ns/a", "ns/b"),
        ("upsert", "ns/a"),
        ("upsert", "ns/b"),
    ]
    known = sink.objects["ns/a"]
    assert isinstance(known, Pod)
    assert known.spec.node_name == "n1"


async def test_what_was_created_while_a_list_was_under_way_is_not_taken_for_gone(
    api: FakeApi, client: KubernetesClient, sink: RecordingSink, clock: FakeClock, background: Background
) -> None:
    """The list knows neither the new object nor that its namesake has gone; another one of that time is gone."""
    listed = asyncio.Event()
    late = Reply(body={"metadata": {"resourceVersion": "20"}, "items": [pod("a", 3)]}, hold=listed)
    api.on("GET", PODS, page(10, pod("a", 3)), late)
    subject = reflector(client, sink, clock)
    background(subject.run())
    await api.watch()
    again = background(subject.relist())
    await eventually(lambda: api.held == 1)

    for name, version in (("new", 21), ("a", 22), ("short", 19)):
        subject.learn(msgspec.convert(pod(name, version, uid=f"uid of {version}"), Pod))
    listed.set()
    await again
    watch = await api.watch()
    await watch.send("ADDED", pod("new", 21, uid="uid of 21"))
    await watch.send("MODIFIED", pod("new", 23, uid="uid of 21"))
    await eventually(lambda: subject.stats().events == 2)

    assert sink.versions == {"ns/new": "23", "ns/a": "22"}
    assert not [call for call in sink.calls if call == ("delete", "ns/new")]
    assert sink.calls[-1] == ("upsert", "ns/new")


async def test_the_end_of_its_namesake_says_nothing_of_what_an_answer_has_shown(
    api: FakeApi, client: KubernetesClient, sink: RecordingSink, clock: FakeClock, background: Background
) -> None:
    """A pod is created again under its old name while a list is under way; then comes the end of the old one, then the
    list from between the two."""
    between = page(21, pod("b", 4))
    api.on("GET", PODS, page(10, pod("a", 3), pod("b", 4)), between)
    subject = reflector(client, sink, clock)
    background(subject.run())
    watch = await api.watch()
    subject.learn(msgspec.convert(pod("a", 22, uid="new"), Pod))
    await watch.send("DELETED", pod("a", 20))
    await eventually(lambda: subject.stats().events == 1)

    await gather_up(subject.relist())

    assert sink.versions == {"ns/a": "22", "ns/b": "4"}


async def test_what_an_answer_has_shown_goes_when_the_server_says_so(
    api: FakeApi, client: KubernetesClient, sink: RecordingSink, clock: FakeClock, background: Background
) -> None:
    api.on("GET", PODS, page(10, pod("a", 3), pod("b", 4)), page(20, pod("b", 4)))
    subject = reflector(client, sink, clock)
    background(subject.run())
    watch = await api.watch()
    for name in "ab":
        subject.learn(the_pod(name, 12))

    await watch.send("DELETED", pod("a", 13))
    await eventually(lambda: subject.stats().events == 1)
    subject.learn(the_pod("a", 12))
    await gather_up(subject.relist())

    assert sink.calls[-2:] == [("delete", "ns/a"), ("upsert", "ns/b")]
    assert list(sink.objects) == ["ns/b"]


def the_pod(name: str, version: int, **spec: Any) -> Pod:
    return msgspec.convert(pod(name, version, **spec), Pod)


async def test_a_long_first_list_is_taken_over_in_slices(
    api: FakeApi, client: KubernetesClient, sink: RecordingSink, clock: FakeClock, background: Background
) -> None:
    api.on("GET", PODS, page(900, *(pod(f"p{number}", number + 1) for number in range(450))))
    subject = reflector(client, sink, clock)
    background(subject.run())
    known_meanwhile: set[int] = set()
    while not subject.synced.is_set():
        known_meanwhile.add(len(sink.objects))
        await asyncio.sleep(0)
    assert max(later - before for before, later in pairwise(sorted({*known_meanwhile, 450}))) <= 200
    assert len(sink.objects) == 450
    assert [call[0] for call in sink.calls] == ["replace", *["upsert"] * 440]


async def test_a_later_list_hands_on_what_is_news_in_slices_and_what_is_gone_last(
    api: FakeApi, client: KubernetesClient, sink: RecordingSink, clock: FakeClock, background: Background
) -> None:
    """10,000 pods that had not changed held the event loop for 240 ms, and as long again for each further sink."""
    changed = [pod(f"p{number}", number + 1 if number % 2 else number + 1000) for number in range(450, 1350)]
    api.on("GET", PODS, page(900, *(pod(f"p{number}", number + 1) for number in range(900))), page(3000, *changed))
    subject = reflector(client, sink, clock)
    background(subject.run())
    await api.watch()
    sink.calls.clear()
    known_meanwhile: set[int] = set()
    again = background(subject.relist())
    while not again.done():
        known_meanwhile.add(len(sink.objects))
        await asyncio.sleep(0)

    kept, new, gone = range(450, 900, 2), range(900, 1350), range(450)
    assert sink.calls == [
        *(("upsert", f"ns/p{number}") for number in (*kept, *new)),
        *(("delete", f"ns/p{number}") for number in gone),
    ]
    assert len(known_meanwhile) >= 5
    assert max(known_meanwhile) >= 1250
    assert len(sink.objects) == subject.stats().objects == 900


async def test_what_an_answer_shows_while_a_list_is_taken_over_stays(
    api: FakeApi, client: KubernetesClient, sink: RecordingSink, clock: FakeClock, background: Background
) -> None:
    """Something newer of an object that the list has, and an object that it cannot have."""
    first = [pod(f"p{number}", number + 1) for number in range(450)]
    later = [pod(f"p{number}", number + 1000) for number in range(450)]
    api.on("GET", PODS, page(900, *first), page(2000, *later))
    subject = reflector(client, sink, clock)
    background(subject.run())
    await api.watch()
    sink.calls.clear()
    take, answers = sink.upsert, [the_pod("p449", 3000), the_pod("new", 3001)]

    def upsert(kind: str, obj: ApiObject) -> None:
        take(kind, obj)
        while answers:
            subject.learn(answers.pop())

    sink.upsert = upsert  # type: ignore[method-assign]
    await gather_up(subject.relist())

    assert sink.versions == {
        **{f"ns/p{number}": str(number + 1000) for number in range(449)},
        "ns/p449": "3000",
        "ns/new": "3001",
    }


async def test_a_server_that_was_restored_is_believed(
    api: FakeApi, client: KubernetesClient, sink: RecordingSink, clock: FakeClock, background: Background
) -> None:
    """Its versions begin again at an earlier one."""
    api.on("GET", PODS, page(900, pod("a", 800), pod("b", 500), pod("c", 850)), page(600, pod("a", 400), pod("b", 500)))
    subject = reflector(client, sink, clock)
    background(subject.run())
    await api.watch()
    await gather_up(subject.relist())

    assert sink.versions == {"ns/a": "400", "ns/b": "500"}
    assert subject.resource_version == "600"


async def test_objects_that_take_long_are_taken_over_in_shorter_slices(
    api: FakeApi, client: KubernetesClient, sink: RecordingSink, clock: FakeClock, background: Background
) -> None:
    """200 pods of 5,000 containers each took 8 s in one go."""
    slow = sink.upsert

    def upsert(kind: str, obj: ApiObject) -> None:
        slow(kind, obj)
        clock.time += 1

    sink.upsert = upsert  # type: ignore[method-assign]
    api.on("GET", PODS, page(900, *(pod(f"p{number}", number + 1) for number in range(100))))
    subject = reflector(client, sink, clock)
    background(subject.run())
    known_meanwhile: set[int] = set()
    while not subject.synced.is_set():
        known_meanwhile.add(len(sink.objects))
        await asyncio.sleep(0)
    assert len(known_meanwhile) > 80


MANY = 1100
"""Objects: more than wait until a list is whole."""


def many(version: int = 3) -> list[dict[str, Any]]:
    return [pod(f"p{number:04d}", version) for number in range(MANY)]


def held_page(gate: asyncio.Event, version: int, *items: dict[str, Any]) -> Reply:
    return Reply(body=page(version, *items).body, hold=gate)


async def test_a_long_list_is_handed_on_while_the_rest_is_read(
    api: FakeApi, client: KubernetesClient, sink: RecordingSink, clock: FakeClock, background: Background
) -> None:
    gate = asyncio.Event()
    api.on("GET", PODS, page(10, *many(), go_on="more"), held_page(gate, 10, pod("z", 4)))
    subject = reflector(client, sink, clock)
    background(subject.run())

    await eventually(lambda: api.held == 1)
    await eventually(lambda: len(sink.objects) == MANY)
    assert not subject.synced.is_set()

    gate.set()
    await api.watch()
    assert subject.synced.is_set()
    assert len(sink.objects) == MANY + 1


async def test_once_a_list_is_handed_on_no_object_of_it_waits_for_others(
    api: FakeApi, client: KubernetesClient, sink: RecordingSink, clock: FakeClock, background: Background
) -> None:
    gate = asyncio.Event()
    pages = page(10, *many(), go_on="more"), page(10, pod("y", 4), go_on="more"), held_page(gate, 10, pod("z", 5))
    api.on("GET", PODS, *pages)
    subject = reflector(client, sink, clock)
    background(subject.run())

    await eventually(lambda: api.held == 1)
    await eventually(lambda: "ns/y" in sink.objects)
    assert not subject.synced.is_set()

    gate.set()
    await api.watch()
    assert len(sink.objects) == MANY + 2


async def test_a_long_list_that_ages_is_read_again_and_leaves_nothing_that_is_gone(
    api: FakeApi, client: KubernetesClient, sink: RecordingSink, clock: FakeClock, background: Background
) -> None:
    changed = [pod("p0000", 15), *many()[2:]]
    api.on("GET", PODS, page(10, *many(), go_on="more"), refusal(410, "Expired"), page(20, *changed))
    subject = reflector(client, sink, clock)
    background(subject.run())

    await api.watch()

    assert len(sink.objects) == MANY - 1
    assert sink.versions["ns/p0000"] == "15"
    assert sink.calls[MANY - 9 :] == [("upsert", "ns/p0000"), ("delete", "ns/p0001")]
    assert [call[0] for call in sink.calls].count("replace") == 1


async def test_answers_between_two_pages_of_a_list_count_by_their_versions(
    api: FakeApi, client: KubernetesClient, sink: RecordingSink, clock: FakeClock, background: Background
) -> None:
    """What is newer than the list stays. What is older, but unknown, is in the rest of the list, perhaps in a newer
    version, or gone."""
    gate = asyncio.Event()
    rest = held_page(gate, 20, pod("newer", 5), pod("older", 18), pod("same", 17))
    api.on("GET", PODS, page(10, *many()), page(20, *many(), go_on="more"), rest)
    subject = reflector(client, sink, clock)
    background(subject.run())
    await api.watch()
    again = background(subject.relist())
    await eventually(lambda: api.held == 1)

    for name, version in (("newer", 25), ("older", 15), ("same", 17), ("gone", 16), ("created", 26), ("p0000", 27)):
        subject.learn(the_pod(name, version))
    gate.set()
    await again

    assert {key: version for key, version in sink.versions.items() if version != "3"} == {
        "ns/newer": "25",
        "ns/older": "18",
        "ns/same": "17",
        "ns/created": "26",
        "ns/p0000": "27",
    }
    assert sink.calls[-1] == ("delete", "ns/gone")
    assert sink.calls.count(("upsert", "ns/same")) == 1


async def test_a_list_that_breaks_off_takes_nothing_away(
    api: FakeApi, client: KubernetesClient, sink: RecordingSink, clock: FakeClock, background: Background
) -> None:
    unreadable = {**pod("bad", 4), "spec": {"containers": "none"}}
    whole = page(20, *many(), pod("z", 12))
    api.on("GET", PODS, page(10, *many(), pod("z", 4), unreadable), page(20, *many(), go_on="more"), Reply(503), whole)
    subject = reflector(client, sink, clock)
    background(subject.run())
    await api.watch()
    asked = asyncio.create_task(subject.relist())
    await eventually(lambda: len(api.sent("GET")) == 3)
    await settle()
    assert len(sink.objects) == MANY + 1
    assert subject.stats().unreadable == 1

    await eventually(asked.done, clock)

    assert sink.versions["ns/z"] == "12"
    assert not [call for call in sink.calls if call[0] == "delete"]
    assert subject.stats().unreadable == 0


async def test_a_watch_lets_what_is_more_urgent_go_before(
    api: FakeApi, client: KubernetesClient, sink: RecordingSink, clock: FakeClock, background: Background
) -> None:
    urgent = asyncio.Event()
    api.on("GET", PODS, page(10, pod("a", 3)))
    subject = Reflector(client, POD, sink, go_before=urgent, clock=clock)
    background(subject.run())
    await subject.synced.wait()
    await clock.advance(0.5)
    assert not api.watch_is_open
    urgent.set()
    assert (await api.watch()).resource_version == "10"


async def test_but_only_as_long_as_the_list_is_fresh(
    api: FakeApi, client: KubernetesClient, sink: RecordingSink, clock: FakeClock, background: Background
) -> None:
    api.on("GET", PODS, page(10, pod("a", 3)))
    subject = Reflector(client, POD, sink, go_before=asyncio.Event(), clock=clock)
    background(subject.run())
    await subject.synced.wait()
    await clock.advance(1.1)
    await api.watch()
    assert clock.time - subject.listed_from < FRESH_FOR


async def test_who_wants_another_list_does_not_wait_for_what_is_more_urgent(
    api: FakeApi, client: KubernetesClient, sink: RecordingSink, clock: FakeClock, background: Background
) -> None:
    api.on("GET", PODS, page(10, pod("a", 3)), page(20, pod("b", 12)))
    subject = Reflector(client, POD, sink, go_before=asyncio.Event(), clock=clock)
    background(subject.run())
    await subject.synced.wait()
    await settle()
    await subject.relist()
    assert sorted(sink.objects) == ["ns/b"]
