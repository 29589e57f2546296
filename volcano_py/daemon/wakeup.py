"""What wakes the cycle loop. Created before all parts that wake it, and before the loop itself."""

from __future__ import annotations

import asyncio

from volcano_py.cluster.kubernetes.clock import SYSTEM_CLOCK, Clock
from volcano_py.state.table.change import Change


class Wakeup:
    """Set by every part that needs a cycle, awaited and taken by the cycle loop; on the event loop only."""

    def __init__(self, clock: Clock = SYSTEM_CLOCK) -> None:
        self._clock = clock
        self._alarm: asyncio.Task[None] | None = None
        self._last_due = 0.0
        """The latest time for which the alarm was asked, on the monotonic clock."""
        self.event = asyncio.Event()
        self.change = Change.NONE
        """What the changes since the last cycle mean together."""

    def wake(self, change: Change) -> None:
        """Something changed, which means as much as `change`."""
        self.change = max(self.change, change)
        self.event.set()

    def take(self) -> Change:
        """What the changes meant until now. The cycle that follows sees them all."""
        change, self.change = self.change, Change.NONE
        self.event.clear()
        return change

    def wake_later(self, seconds: float) -> None:
        """Decide again after this many seconds. An alarm that is set already rings in its own time, and then again."""
        self._last_due = max(self._last_due, self._clock.monotonic() + seconds)
        if self._alarm is None:
            self._alarm = asyncio.get_running_loop().create_task(self._ring(seconds), name="cycle alarm")

    async def _ring(self, seconds: float) -> None:
        """For whoever asked first, and then for whoever has asked last."""
        while seconds > 0:
            await self._clock.sleep(seconds)
            self.wake(Change.DECISION)
            seconds = self._last_due - self._clock.monotonic()
        self._alarm = None

    def cancel_alarm(self) -> None:
        """Nothing rings after this."""
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
