"""Holds the first decisions back while another scheduler is suspected.

A scheduler that has no room binds nothing, as one that has ended. The difference shows when there is room again: then
it binds within a cycle. So the first bindings and evictions wait for some of its cycles. If another process binds a pod
meanwhile, they are given up; otherwise they are carried out, and the suspicion is over.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Final

import structlog

from volcano_py.api.effects import Bind, Effect, Evict
from volcano_py.cluster.kubernetes.clock import SYSTEM_CLOCK, Clock
from volcano_py.cluster.protocol import EffectWriter
from volcano_py.daemon.leading.other_scheduler import OtherScheduler
from volcano_py.state.cluster_state import ClusterState

log = structlog.get_logger(__name__)

HELD_FOR: Final = 5.0
"""Seconds: five cycles of a Volcano scheduler with its default period."""


class HeldDecisions:
    """An `EffectWriter` before that of the cluster. What is held stays assumed in the state, as if it were sent."""

    def __init__(
        self,
        state: ClusterState,
        other: OtherScheduler,
        writer: EffectWriter,
        *,
        may_send: Callable[[], bool],
        on_binds: Callable[[Sequence[Bind]], None] = lambda _binds: None,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        """`may_send`: whether this replica still leads, and no other scheduler is present. `on_binds`
        is called with bindings just before they are sent."""
        self._state, self._other, self._writer = state, other, writer
        self._may_send, self._on_binds, self._clock = may_send, on_binds, clock
        self._held: list[Bind | Evict] = []
        self._holding: asyncio.Task[None] | None = None

    def apply(self, effects: Sequence[Effect]) -> None:
        """Carry these out, at once or after a while."""
        if not self._other.is_suspected:
            self._send(effects)
            return
        held = [effect for effect in effects if isinstance(effect, Bind | Evict)]
        self._writer.apply([effect for effect in effects if not isinstance(effect, Bind | Evict)])
        if held and self._holding is None:
            log.info("first decisions delayed: another scheduler may be running", seconds=HELD_FOR)
            self._holding = asyncio.create_task(self._hold(self._other.total), name="held decisions")
        self._held += held

    async def _hold(self, total: int) -> None:
        """`total`: bindings by others before."""
        await self._clock.sleep(HELD_FOR)
        held, self._held, self._holding = self._held, [], None
        if self._other.total == total and self._may_send():
            self._other.trust()
            self._send(held)
        else:
            self._give_up(held)

    def _send(self, effects: Sequence[Effect]) -> None:
        binds = [effect for effect in effects if isinstance(effect, Bind)]
        self._other.sent(binds)
        self._on_binds(binds)
        self._writer.apply(effects)

    def _give_up(self, held: Sequence[Bind | Evict]) -> None:
        """The pods wait, or stay, as before. The next cycle decides again."""
        log.info("decisions discarded: another scheduler binds pods", count=len(held))
        for effect in held:
            if isinstance(effect, Bind):
                self._state.bind_failed(effect.pod.uid, retry_at=0.0)
            else:
                self._state.evict_failed(effect.pod.uid, retry_at=0.0)
