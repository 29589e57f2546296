"""Makes a board whenever the cluster has changed, and gives its changes to whoever follows.

What pods and nodes do is shown at once. What the scheduler says of it follows when its cycle is done, which takes a
second with ten thousand jobs.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from typing import Final, NoReturn, ParamSpec, TypeVar

import msgspec
import structlog

from volcano_py.ui.board.board import BoardMaker
from volcano_py.ui.board.changes import Change, changes
from volcano_py.ui.board.judgement import Judge, Judgement
from volcano_py.ui.board.model import Sample, Tables
from volcano_py.ui.board.timeline import EVERY
from volcano_py.ui.cluster import Cluster
from volcano_py.ui.rights.sight import Sight
from volcano_py.ui.rights.tables import Follower, shown

log = structlog.get_logger(__name__)

P = ParamSpec("P")
T = TypeVar("T")

_REST: Final = 0.02
"""Seconds between two boards at least: a batch of bindings is then one change."""
_SHARE: Final = 1.0
"""Rests for the CPU that making took: with thousands of jobs it would otherwise be all we do. Not for the time that it
took: while the scheduler looks, that is longer, and the next change would wait for both."""
_JUDGING_SHARE: Final = 3.0
"""The same for judging. While it lasts, boards take twice as long, because one thread computes at a time."""
_REMEMBERED: Final = 64
"""Changes that a browser which was away can still catch up with."""
BEAT: Final = 15.0
"""Seconds without a change after which whoever follows hears that there is none."""


class Update(msgspec.Struct, frozen=True):
    """The changes that make board `number` of the one before: as values, and as JSON. Without any, it is still that
    board."""

    number: int
    changes: Mapping[str, Change]
    data: bytes


class Live:
    """`board` is the newest one, `number` counts them from 1.

    `unjudged` is set while there are changes that the scheduler has not looked at.
    """

    def __init__(self, cluster: Cluster, recorded: Mapping[str, Sample] | None = None) -> None:
        """`recorded`: the timeline of a record."""
        self.board: Tables = {}
        self.number = 0
        self._cluster = cluster
        self._maker, self._judge = BoardMaker(recorded), Judge(cluster.registry)
        self._judgement: Judgement | None = None
        self._judged = 0  # what `Cluster.number` was then
        self.unjudged = asyncio.Event()
        self._updates: deque[Update] = deque(maxlen=_REMEMBERED)
        self._news = asyncio.Condition()
        self._whole: tuple[int, bytes] = (0, b"")
        self._namespaces: tuple[int, frozenset[str]] = (0, frozenset())

    async def run(self) -> NoReturn:
        """Follow the cluster without end; cancel to stop."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._every_change(self._cluster.changed, self.look, _SHARE))
            group.create_task(self._every_change(self.unjudged, self.judge, _JUDGING_SHARE))
        raise AssertionError("it follows without end")

    async def look(self) -> float:
        """Make the board as it is now, by the newest judgement; returns the seconds of CPU that it took."""
        self._cluster.changed.clear()
        if self._judgement is None:
            return await self.judge() + await self.look()
        if self._judged != self._cluster.number:
            self.unjudged.set()
        return await self._publish(self._judgement)

    async def judge(self) -> float:
        """Have the scheduler look at the cluster as it is now; returns the seconds of CPU that it took. The next board
        shows what it says: of two boards at a time, the one with a change would wait for the other."""
        self.unjudged.clear()
        self._judged, seen = self._cluster.number, self._cluster.seen()
        spent, self._judgement = await asyncio.to_thread(_timed, self._judge.judge, seen.snapshot, seen.configuration)
        self._cluster.changed.set()
        return spent

    async def _publish(self, judgement: Judgement) -> float:
        spent, board = await asyncio.to_thread(_timed, self._maker.make, self._cluster.seen(), judgement)
        different = changes(self.board, board)
        if different or not self.number:
            async with self._news:
                self.board = board
                self.number += 1
                self._updates.append(Update(self.number, different, msgspec.json.encode(different)))
                self._news.notify_all()
        return spent

    async def _every_change(
        self, changed: asyncio.Event, work: Callable[[], Awaitable[float]], share: float
    ) -> NoReturn:
        """Work once for all changes that have come meanwhile, and every ten seconds: some reasons follow the clock."""
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(EVERY):
                    await changed.wait()
            started = time.monotonic()
            try:
                spent = await work()
            except Exception:
                # A bug of ours, triggered by some object: the next change is another chance.
                log.exception("the board could not be made")
                spent = time.monotonic() - started
            await asyncio.sleep(max(_REST, share * spent))

    def whole(self, sight: Sight) -> bytes:
        """The newest board, as far as it may be seen, as JSON: `{"number": …, "sight": …, "tables": {…}}`."""
        if not sight.is_whole:
            return _encoded(self.number, sight, shown(self.board, sight, self.namespaces))
        if self._whole[0] != self.number:
            self._whole = self.number, _encoded(self.number, sight, self.board)
        return self._whole[1]

    @property
    def namespaces(self) -> frozenset[str]:
        """Those of the jobs and evictions on the board."""
        if self._namespaces[0] != self.number:
            keys = (key for table in ("jobs", "evictions") for key in self.board.get(table, {}))
            self._namespaces = self.number, frozenset(key.partition("/")[0] for key in keys)
        return self._namespaces[1]

    async def updates(self, after: int, sight: Sight) -> AsyncGenerator[Update | None, None]:
        """Those after board `after`, as far as they may be seen, without end; those without a change to see are left
        out. One without changes comes now and then, so that whoever follows can see to it that it still may. None: it
        was too long ago, and the whole board is needed."""
        follower, clock = Follower(sight), asyncio.get_running_loop().time
        beat = clock() + BEAT
        while True:
            due = await self._after(after, beat)
            if due and due[0].number != after + 1:
                yield None
                return
            seen: list[Update] = []
            for update in due:
                after = update.number
                if sight.is_whole:
                    seen.append(update)
                elif found := follower.shown(update.changes, self.board, self.namespaces):
                    seen.append(Update(after, found, msgspec.json.encode(found)))
            if not seen and (not due or clock() >= beat):
                seen = [Update(after, {}, b"")]
            for update in seen:
                yield update
                beat = clock() + BEAT

    async def _after(self, board: int, beat: float) -> list[Update]:
        """The updates after this board, as soon as there are some; at the latest at `beat`, when there may be none."""
        async with self._news:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout_at(beat):
                    while self.number <= board:
                        await self._news.wait()
            return [update for update in self._updates if update.number > board]


def _timed(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> tuple[float, T]:
    """The seconds of CPU that it took in this thread, and its result."""
    started = time.thread_time()
    result = work(*args, **kwargs)
    return time.thread_time() - started, result


def _encoded(number: int, sight: Sight, tables: Tables) -> bytes:
    return msgspec.json.encode({"number": number, "sight": sight.mark, "tables": tables})
