"""Whether this replica leads, and whether it knows enough to decide."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from volcano_py.daemon.leading.lifeline import Lifeline


class Leadership:
    """Without election there is one replica, which always leads. With it (`is_elected`), `run` follows the campaign."""

    def __init__(
        self,
        lifeline: Lifeline,
        *,
        gained: Callable[[], None],
        lost: Callable[[], None],
        catch_up: Callable[[float, float], Coroutine[Any, Any, None]],
    ) -> None:
        """`gained` and `lost` are called at once; `catch_up` returns when all is known that a leader before us did. It
        is given `taken_at` and `alone_from` of the `LeaderElector`."""
        self._lifeline, self._election = lifeline, lifeline.election
        self._gained, self._lost, self._catch_up = gained, lost, catch_up
        self._knows_all = False
        self.is_elected = self._election is not None

    @property
    def holder(self) -> str:
        """Who holds the Lease, as far as is known; "" for none."""
        return self._election.holder if self._election is not None else ""

    def is_leading(self) -> bool:
        """Whether this replica may write."""
        return self._election is None or self._election.is_leader()

    def may_decide(self) -> bool:
        """Whether it also knows what was done before it led."""
        return self.is_leading() and (self._knows_all or self._election is None)

    async def run(self) -> None:
        """Follow the campaign until cancelled, which gives the Lease back.

        Raises:
            RuntimeError: the Lease was lost.
        """
        assert self._election is not None
        leading = asyncio.create_task(self._lead(), name="leading")
        over = asyncio.create_task(self._election.over.wait(), name="end of the election")
        try:
            await asyncio.wait((leading, over), return_when=asyncio.FIRST_COMPLETED)
            if leading.done():
                leading.result()  # a leader that cannot catch up must not keep the Lease
            await over
        except asyncio.CancelledError:
            # Given back, a successor need not wait for its end.
            await self._lifeline.give_back()
            raise
        finally:
            leading.cancel()
            over.cancel()
            if self._election.won.is_set():
                self._lost()
        raise RuntimeError("the Lease was not renewed in time; another replica may lead now")

    async def _lead(self) -> None:
        assert self._election is not None
        await self._election.won.wait()
        self._gained()
        await self._catch_up(self._election.taken_at, self._election.alone_from)
        self._knows_all = True
