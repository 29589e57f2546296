"""Makes a board whenever the cluster has changed, and gives its changes to whoever follows."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import deque
from collections.abc import AsyncIterator
from typing import Final, NoReturn

import msgspec
import structlog

from volcano_py.ui.board.board import BoardMaker
from volcano_py.ui.board.changes import changes
from volcano_py.ui.board.model import Tables
from volcano_py.ui.board.timeline import EVERY
from volcano_py.ui.cluster import Cluster

log = structlog.get_logger(__name__)

_REST: Final = 0.05
"""Seconds between two boards at least: a batch of bindings is then one change."""
_SHARE: Final = 1.0
"""Rests as long as making took: with thousands of jobs it would otherwise be all we do."""
_REMEMBERED: Final = 64
"""Changes that a browser which was away can still catch up with."""


class Update(msgspec.Struct, frozen=True):
    """The changes that make board `number` of the one before. `data` is JSON."""

    number: int
    data: bytes


class Live:
    """`board` is the newest one, `number` counts them from 1."""

    def __init__(self, cluster: Cluster) -> None:
        self.board: Tables = {}
        self.number = 0
        self._cluster = cluster
        self._maker = BoardMaker(cluster.registry)
        self._updates: deque[Update] = deque(maxlen=_REMEMBERED)
        self._news = asyncio.Condition()
        self._whole: tuple[int, bytes] = (0, b"")

    async def run(self) -> NoReturn:
        """Follow the cluster without end; cancel to stop."""
        while True:
            started = time.monotonic()
            try:
                await self.look()
            except Exception:
                # A bug of ours, triggered by some object: the next change is another chance.
                log.exception("the board could not be made")
            await asyncio.sleep(max(_REST, _SHARE * (time.monotonic() - started)))
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(EVERY):
                    await self._cluster.changed.wait()

    async def look(self) -> None:
        """Make the board as it is now."""
        self._cluster.changed.clear()
        board = await asyncio.to_thread(self._maker.make, self._cluster.seen())
        different = changes(self.board, board)
        if not different and self.number:
            return
        async with self._news:
            self.board = board
            self.number += 1
            self._updates.append(Update(self.number, msgspec.json.encode(different)))
            self._news.notify_all()

    def whole(self) -> bytes:
        """The newest board as JSON: `{"number": …, "tables": {…}}`."""
        if self._whole[0] != self.number:
            self._whole = self.number, msgspec.json.encode({"number": self.number, "tables": self.board})
        return self._whole[1]

    async def updates(self, after: int) -> AsyncIterator[Update | None]:
        """Those after board `after`, without end. None: it was too long ago, and the whole board is needed."""
        while True:
            async with self._news:
                while self.number <= after:
                    await self._news.wait()
                due = [update for update in self._updates if update.number > after]
            if due[0].number != after + 1:
                yield None
                return
            for update in due:
                yield update
                after = update.number
