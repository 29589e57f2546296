"""Whether all kinds that decisions depend on are up to date.

After a restart of the API server, for example, pods may be followed again while nodes are still being listed; a
decision would then bind pods to nodes that are gone. So nothing is decided while a kind is behind: while it has had no
open watch for longer than `FRESH_FOR`, and until it has been listed again. A kind of which nothing happens is fresh
while its watch is open.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

import structlog

from volcano_py.cluster.kubernetes.clock import SYSTEM_CLOCK, Clock
from volcano_py.cluster.kubernetes.watching import kinds
from volcano_py.cluster.kubernetes.watching.informers import Informers
from volcano_py.cluster.kubernetes.watching.reflector import FRESH_FOR
from volcano_py.operator.kopf_host.app import KopfApp

log = structlog.get_logger(__name__)

LONG: Final = 30.0
"""Seconds after which a kind that is behind makes the replica unready: a restarted server is back by then."""

_QUEUE: Final = "Queue"


class Picture:
    """The informers watch all kinds but queues, which kopf watches. Queues are listed again whenever another kind was
    behind: kopf is in no hurry to find out what it has missed."""

    def __init__(
        self, informers: Informers, kopf: KopfApp, *, whole: Callable[[], None], clock: Clock = SYSTEM_CLOCK
    ) -> None:
        """`whole` is called when decisions that had to wait may be made. The informers report to `followed`."""
        self._informers, self._kopf, self._whole = informers, kopf, whole
        self._clock = clock
        self._kinds = tuple(kind.name for kind in kinds.STATE_KINDS if kind.name in informers.reflectors)
        self._queues_due = float("-inf")
        self._listing: asyncio.Task[None] | None = None
        self._paused_at: float | None = None
        informers.on_followed, kopf.on_current = self.followed, self._look

    def is_current(self) -> bool:
        """Whether decisions may follow from it; asked before each cycle."""
        behind = self.behind()
        if behind and self._paused_at is None:
            self._paused_at = self._clock.monotonic()
            log.warning("decisions paused: not all kinds are watched", kinds=sorted(behind))
        return not behind

    def behind(self) -> dict[str, float]:
        """The kinds that are behind, and by how many seconds."""
        behind = self._informers.behind(*self._kinds)
        if self._kopf.listed_from < self._queues_due:
            behind[_QUEUE] = self._clock.monotonic() - self._queues_due
        elif self._kopf.behind > FRESH_FOR:
            behind[_QUEUE] = self._kopf.behind
        return behind

    async def list_since(self, moment: float) -> None:
        """Return when lists of all kinds that were begun at this monotonic time or later have been taken over."""
        await self._informers.list_since(moment, *self._kinds)
        await self._kopf.list_since(moment)

    def problem(self) -> str | None:
        """For readiness: what keeps decisions from being made, once that has lasted for long."""
        late = {kind: seconds for kind, seconds in self.behind().items() if seconds > LONG}
        if not late:
            return None
        named = ", ".join(f"{kind} for {seconds:.0f} s" for kind, seconds in sorted(late.items()))
        return f"decisions are paused because some kinds are not watched: {named}; see the log"

    def followed(self, was_behind: bool) -> None:
        """A kind is followed again; `was_behind` as in `Reflector`."""
        if was_behind:
            self._queues_due = self._clock.monotonic()
            if self._listing is None or self._listing.done():
                self._listing = asyncio.create_task(self._list_queues(), name="list queues again")
        self._look()

    async def _list_queues(self) -> None:
        while self._kopf.listed_from < self._queues_due:
            await self._kopf.list_since(self._queues_due)

    def _look(self) -> None:
        if self._paused_at is None or self.behind():
            return
        log.info("decisions resumed: all kinds are watched", paused=round(self._clock.monotonic() - self._paused_at, 2))
        self._paused_at = None
        self._whole()
