"""The first lists, asked for while modules are loaded, and taken over by reflectors afterwards."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import replace

import pytest

from tests.unit.cluster.conftest import Background
from tests.unit.cluster.fakes import FakeApi, FakeClock, RecordingSink, eventually, page, pod, refusal, settle
from volcano_py.cluster.kubernetes.http.client import KubernetesClient, Page
from volcano_py.cluster.kubernetes.watching import early_lists
from volcano_py.cluster.kubernetes.watching.early_lists import EarlyLists
from volcano_py.cluster.kubernetes.watching.informers import Informers
from volcano_py.cluster.kubernetes.watching.kinds import NODE, POD, STATE_KINDS
from volcano_py.cluster.kubernetes.watching.reflector import Reflector

PODS = "/api/v1/pods"


async def test_the_reflector_takes_what_has_come_and_asks_no_more(
    api: FakeApi, client: KubernetesClient, sink: RecordingSink, clock: FakeClock, background: Background
) -> None:
    api.on("GET", PODS, page(10, pod("a", 3), go_on="more"), page(10, pod("b", 7)))
    async with EarlyLists(client, [POD]) as early:
        await eventually(lambda: len(api.sent("GET")) == 2)
        background(Informers(client, sink, [POD], early=early, clock=clock).run())
        watch = await api.watch()

    assert sink.calls == [("replace", "ns/a", "ns/b")]
    assert len(api.sent("GET")) == 2
    assert watch.resource_version == "10"


async def test_a_list_that_failed_is_asked_for_again(
    api: FakeApi, client: KubernetesClient, sink: RecordingSink, clock: FakeClock, background: Background
) -> None:
    api.on("GET", PODS, refusal(403, "Forbidden"), page(20, pod("b", 12)))
    async with EarlyLists(client, [POD]) as early:
        await eventually(lambda: api.sent("GET"))
        background(Reflector(client, POD, sink, begun=early.take(POD), clock=clock).run())
        await eventually(lambda: clock.asleep)
        await clock.advance(1)
        watch = await api.watch()

    assert sink.calls == [("replace", "ns/b")]
    assert watch.resource_version == "20"


async def test_a_list_that_expires_before_its_last_page_is_read_again_in_one_piece(
    api: FakeApi, client: KubernetesClient, sink: RecordingSink, clock: FakeClock, background: Background
) -> None:
    api.on("GET", PODS, page(10, pod("a", 3), go_on="more"), refusal(410, "Expired"), page(20, pod("b", 12)))
    async with EarlyLists(client, [POD]) as early:
        background(Reflector(client, POD, sink, begun=early.take(POD), clock=clock).run())
        await api.watch()

    assert sink.calls == [("replace", "ns/b")]
    assert dict(api.sent("GET")[2].query) == {}


async def test_a_request_for_a_new_list_does_not_get_the_early_one(
    api: FakeApi, client: KubernetesClient, sink: RecordingSink, clock: FakeClock, background: Background
) -> None:
    ahead = [page(10, pod(f"a{n}", 3), go_on="more") for n in range(5)]  # one more than wait to be taken
    api.on("GET", PODS, *ahead, page(20, pod("b", 12)))
    async with EarlyLists(client, [POD]) as early:
        await eventually(lambda: len(api.sent("GET")) == len(ahead))
        subject = Reflector(client, POD, sink, begun=early.take(POD), clock=clock)
        wanted = asyncio.create_task(subject.relist())
        await settle()
        background(subject.run())
        await wanted
        assert not _early(), "the rest is not read"

    assert sink.calls == [("replace", "ns/b")]


async def test_many_lists_share_a_few_connections(
    api: FakeApi, client: KubernetesClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Opening one takes more than a millisecond of CPU, and the first decisions wait for that."""
    monkeypatch.setattr(early_lists, "_LONG", 60.0)  # so that a busy machine is not a slow server
    answered = asyncio.Event()
    for kind in STATE_KINDS:
        api.on("GET", str(kind.path), replace(page(10), hold=answered))
    async with EarlyLists(client, STATE_KINDS) as early:
        await eventually(lambda: len(api.sent("GET")) == 6)
        answered.set()
        for kind in STATE_KINDS:
            begun = early.take(kind)
            assert begun is not None
            assert len([each async for each in begun]) == 1
    assert len({request.port for request in api.sent("GET")}) == 6


async def test_lists_that_take_long_keep_no_other_from_beginning(api: FakeApi, client: KubernetesClient) -> None:
    """Or a slow server would be waited for several times over before anything is decided."""
    for kind in STATE_KINDS:
        api.on("GET", str(kind.path), replace(page(10), hold=asyncio.Event()))
    async with EarlyLists(client, STATE_KINDS):
        await eventually(lambda: len(api.sent("GET")) == len(STATE_KINDS))


async def test_each_list_is_taken_once_and_only_if_it_was_begun(api: FakeApi, client: KubernetesClient) -> None:
    api.on("GET", PODS, page(10))
    async with EarlyLists(client, [POD]) as early:
        assert early.take(NODE) is None
        assert early.take(POD) is not None
        assert early.take(POD) is None


async def test_so_much_is_fetched_ahead_and_the_rest_when_it_is_taken(api: FakeApi, client: KubernetesClient) -> None:
    pages = 40
    api.on("GET", PODS, *(page(10, pod(f"p{n}", 3), go_on="more") for n in range(pages - 1)), page(10))
    async with EarlyLists(client, [POD]) as early:
        await eventually(lambda: len(api.sent("GET")) >= 4)
        await settle()
        assert len(api.sent("GET")) < pages
        begun = early.take(POD)
        assert begun is not None
        assert len([each async for each in begun]) == pages


async def test_an_unused_early_list_is_given_up(api: FakeApi, client: KubernetesClient) -> None:
    api.on("GET", PODS, *(page(10, go_on="more") for _ in range(40)))
    async with EarlyLists(client, [POD]):
        await eventually(lambda: api.sent("GET"))
        assert _early()
    assert not _early()


def _early() -> list[str]:
    return [task.get_name() for task in asyncio.all_tasks() if task.get_name().startswith("early list")]


async def test_a_defect_reaches_the_reader_of_the_list(
    client: KubernetesClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def pages(*_: object, **__: object) -> AsyncGenerator[Page, None]:
        yield Page()
        raise RuntimeError("a defect")

    monkeypatch.setattr(client, "pages", pages)
    async with EarlyLists(client, [POD]) as early:
        begun = early.take(POD)
        assert begun is not None
        with pytest.raises(RuntimeError, match="a defect"):
            async with asyncio.timeout(5):
                assert [page async for page in begun] == [Page()]
