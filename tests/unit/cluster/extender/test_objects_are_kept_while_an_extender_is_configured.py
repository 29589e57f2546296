"""Pods and nodes: kept or not, listed once when an extender is configured later, newest wins, what is gone is gone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest

from tests.support.sessions import node, pod
from tests.unit.cluster.fakes import FakeClock, settle
from volcano_py.api.objects import ObjectMeta, Pod
from volcano_py.cluster.extender.objects import KeptObjects
from volcano_py.cluster.kubernetes.http.errors import RequestError


class Lists:
    """Stands in for the client: lists by path; `before` is called before each page."""

    def __init__(self, *objects: Any) -> None:
        self.objects, self.asked = objects, 0
        self.before: Any = lambda: None
        self.fails = False

    async def pages(self, path: Any, **_more: Any) -> AsyncIterator[Any]:
        self.asked += 1
        if self.fails:
            raise RequestError("GET", str(path), "no answer")
        self.before()
        kind = "Pod" if "pods" in str(path) else "Node"
        items = [msgspec.Raw(msgspec.json.encode(each)) for each in self.objects if type(each).__name__ == kind]
        yield msgspec.structs.replace(_Page(), items=[*items, msgspec.Raw(b'{"metadata": 7}')])


class _Page(msgspec.Struct):
    items: list[msgspec.Raw] = []


class Switch:
    on = False
    asked = 0

    def __call__(self) -> bool:
        self.asked += 1
        return self.on


def made(lists: Lists, *, on: bool) -> tuple[KeptObjects, Switch]:
    switch = Switch()
    switch.on = on
    kept = KeptObjects(lists, switch)  # type: ignore[arg-type]
    kept.begin()
    return kept, switch


def test_without_an_extender_nothing_is_kept() -> None:
    kept, _ = made(Lists(), on=False)
    kept.upsert("Pod", pod("a"))
    kept.replace("Node", [node("n1")])
    assert kept.find("Pod", "team/a") is None
    assert kept.find("Node", "n1") is None


def test_with_one_from_the_start_the_informers_bring_all() -> None:
    kept, _ = made(Lists(), on=True)
    kept.replace("Pod", [pod("old")])
    kept.replace("Pod", [pod("a")])
    kept.upsert("Pod", newer := pod("a", labels={"version": "2"}))
    kept.upsert_all("Node", [node("n1")])
    assert kept.find("Pod", "team/a") is newer
    assert kept.find("Pod", "team/old") is None
    assert kept.find("Node", "n1") is not None
    kept.delete("Pod", Pod(metadata=ObjectMeta(name="a", namespace="team", uid="an earlier one")))
    assert kept.find("Pod", "team/a") is newer
    kept.delete("Pod", pod("a"))
    assert kept.find("Pod", "team/a") is None


async def test_with_one_later_objects_are_listed_once_and_forgotten_when_it_goes() -> None:
    lists = Lists(pod("a"), pod("gone"), pod("changed"), node("n1"))
    kept, switch = made(lists, on=False)
    await kept.look()
    assert lists.asked == 0
    switch.on = True
    newer = pod("changed", labels={"version": "2"})

    def meanwhile() -> None:
        kept.upsert("Pod", newer)
        kept.delete("Pod", pod("gone"))

    lists.before = meanwhile
    await kept.look()
    await kept.look()
    assert lists.asked == 2
    assert kept.find("Pod", "team/a") == pod("a")
    assert kept.find("Pod", "team/changed") is newer
    assert kept.find("Pod", "team/gone") is None
    assert kept.find("Node", "n1") == node("n1")
    switch.on = False
    await kept.look()
    assert kept.find("Pod", "team/a") is None


@pytest.mark.parametrize("fails", [True, False])
async def test_a_list_that_fails_is_tried_again(fails: bool) -> None:
    lists = Lists(pod("a"))
    kept, switch = made(lists, on=False)
    switch.on, lists.fails = True, fails
    await kept.look()
    assert (kept.find("Pod", "team/a") is None) is fails
    lists.fails = False
    await kept.look()
    assert kept.find("Pod", "team/a") == pod("a")


@pytest.fixture
async def clock() -> FakeClock:
    return FakeClock()


async def test_a_changed_configuration_is_followed_when_it_changes_and_not_looked_at_otherwise(
    clock: FakeClock,
) -> None:
    lists, switch = Lists(pod("a")), Switch()
    kept = KeptObjects(lists, switch, clock)  # type: ignore[arg-type]
    kept.begin()
    running = asyncio.create_task(kept.run())
    await clock.advance(3600.0)
    assert switch.asked == 2, "at the beginning of the process and of the part"
    switch.on = True
    kept.changed()
    await settle()
    assert kept.find("Pod", "team/a") == pod("a")
    switch.on = False
    kept.changed()
    await settle()
    assert kept.find("Pod", "team/a") is None
    assert switch.asked == 4
    running.cancel()


async def test_a_list_that_failed_is_read_again_some_seconds_later(clock: FakeClock) -> None:
    lists, switch = Lists(pod("a")), Switch()
    kept = KeptObjects(lists, switch, clock)  # type: ignore[arg-type]
    kept.begin()
    switch.on = lists.fails = True
    running = asyncio.create_task(kept.run())
    await clock.advance(4.0)
    assert lists.asked == 1
    lists.fails = False
    await clock.advance(2.0)
    assert kept.find("Pod", "team/a") == pod("a")
    before = lists.asked
    await clock.advance(60.0)
    assert lists.asked == before
    running.cancel()
