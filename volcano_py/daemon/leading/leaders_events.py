"""Events about facts that every replica finds and only the leader may write."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from volcano_py.api.effects import Event, ObjectRef

# Seconds for which an event found without the Lease waits for it. An earlier leader has written what is older.
_WAITS: Final = 600.0
# Objects for which an event waits; of more, those that have waited longest are given up.
_MOST: Final = 4096


class LeadersEvents:
    """Passes events on to `record` while this replica leads (`leads`). A daemon reads objects and its configuration
    before it has the Lease: until then, the latest event about each object waits."""

    def __init__(
        self, record: Callable[[Event], None], *, leads: Callable[[], bool], now: Callable[[], float] = time.monotonic
    ) -> None:
        self._record, self._leads, self._now = record, leads, now
        self._waiting: OrderedDict[ObjectRef, tuple[float, Event]] = OrderedDict()

    def record(self, event: Event) -> None:
        """Now, or when this replica gets the Lease soon enough."""
        if self._leads():
            self._record(event)
            return
        self._waiting[event.about] = self._now(), event
        self._waiting.move_to_end(event.about)
        if len(self._waiting) > _MOST:
            self._waiting.popitem(last=False)

    def leadership_gained(self) -> None:
        """To be called when this replica gets the Lease."""
        since = self._now() - _WAITS
        waiting, self._waiting = self._waiting, OrderedDict()
        for found, event in waiting.values():
            if found >= since:
                self._record(event)
