"""Boards are made when the cluster changes, and whoever follows gets each change once."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from msgspec.structs import replace

from tests.unit.ui.cluster import cluster, cordon
from volcano_py.api.objects import Node
from volcano_py.ui import live as ui_live
from volcano_py.ui.board.model import JobRow
from volcano_py.ui.cluster import Cluster
from volcano_py.ui.live import Live
from volcano_py.ui.rights.sight import EVERYTHING, Sight

pytestmark = pytest.mark.real_time  # boards are made in a thread


async def test_a_change_of_the_cluster_is_an_update_with_only_what_differs() -> None:
    shown = cluster()
    live = Live(shown)
    await live.look()
    whole = json.loads(live.whole(EVERYTHING))
    assert (whole["number"], set(whole["tables"]["nodes"])) == (1, {"n1", "n2"})
    cordon(shown, "n1")
    await live.look()
    update = await anext(live.updates(1, EVERYTHING))
    assert update is not None
    found: dict[str, Any] = json.loads(update.data)
    assert set(found["nodes"]["set"]) == {"n1"}
    assert "configuration" not in found


async def test_nothing_is_sent_while_nothing_changes() -> None:
    live = Live(cluster())
    await live.look()
    await live.look()
    assert live.number == 1


async def test_who_was_away_for_too_long_is_sent_for_the_whole_board() -> None:
    shown = cluster()
    live = Live(shown)
    for _ in range(70):
        await live.look()
        cordon(shown, "n1")
    assert await anext(live.updates(1, EVERYTHING)) is None
    recent = live.updates(live.number - 2, EVERYTHING)
    assert [update.number for update in [await anext(recent), await anext(recent)] if update] == [69, 70]


async def test_a_follower_waits_for_the_next_board() -> None:
    shown = cluster()
    live = Live(shown)
    await live.look()
    waiting = asyncio.ensure_future(anext(live.updates(live.number, EVERYTHING)))
    await asyncio.sleep(0)
    assert not waiting.done()
    cordon(shown, "n2")
    await live.look()
    update = await waiting
    assert update is not None
    assert update.number == 2


async def test_what_the_scheduler_says_is_shown_by_the_next_board() -> None:
    shown = cluster()
    live = Live(shown)
    await live.look()
    shown.upsert("Node", roomy := node(shown, "n1", cpu="32"))
    await live.look()
    assert (live.number, reason(live)) == (2, "NeverFits")
    assert live.unjudged.is_set()
    await live.judge()
    assert live.number == 2, "a board of its own would keep the one with the next change waiting"
    assert shown.changed.is_set()
    await live.look()
    assert (live.number, reason(live)) == (3, "")
    assert not live.unjudged.is_set(), "nothing has changed since"
    shown.upsert("Node", roomy)
    await live.look()
    assert live.unjudged.is_set()


def node(shown: Cluster, name: str, cpu: str) -> Node:
    """That one, with so much CPU."""
    (found,) = (each for each in shown.objects("Node", Node) if each.metadata.name == name)
    return replace(found, status=replace(found.status, allocatable={**found.status.allocatable, "cpu": cpu}))


def reason(live: Live) -> str:
    row = live.board["jobs"]["team/waits"]
    assert isinstance(row, JobRow)
    return row.reason


async def test_it_goes_on_by_itself_when_the_cluster_changes() -> None:
    shown = cluster()
    live = Live(shown)
    following = asyncio.create_task(live.run())
    assert await anext(live.updates(0, EVERYTHING)) is not None
    cordon(shown, "n1")
    assert await anext(live.updates(1, EVERYTHING)) is not None
    following.cancel()
    with pytest.raises(asyncio.CancelledError):
        await following


async def test_changes_that_may_not_be_seen_do_not_keep_a_follower_from_hearing_that_there_is_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ui_live, "BEAT", 0.2)
    shown = cluster()
    live = Live(shown)
    await live.look()

    async def change() -> None:
        while True:
            cordon(shown, "n1")
            await live.look()

    changing = asyncio.create_task(change())
    following = live.updates(1, Sight())
    first = await anext(following)
    assert first is not None
    assert {*first.changes} == {"cluster"}, "what is hidden"
    second = await anext(following)
    assert second is not None
    assert not second.changes
    changing.cancel()
