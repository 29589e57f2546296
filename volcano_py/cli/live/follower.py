"""Keeps a display in step with a mirror."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable
from typing import NoReturn

from volcano_py.cli.live.display import Display
from volcano_py.cli.live.mirror import Mirror
from volcano_py.cli.live.overview import Overview

DRAWING_SECONDS = 0.2
"""People see no more than a few changes a second; a batch of bindings is then one change."""

_LOOKING_SECONDS = 1.0
"""How often to look at the log and at the size of the terminal while nothing else changes."""

_REST = 4
"""Rests so many times as long as drawing took: with thousands of pods it would otherwise be all we do."""


class Follower:
    """Shows what the mirror holds; `seen` is what was shown last."""

    def __init__(self, mirror: Mirror, display: Display, last_log_line: Callable[[], str]) -> None:
        self.seen = Overview()
        self._mirror = mirror
        self._display = display
        self._last_log_line = last_log_line

    async def run(self) -> NoReturn:
        """Follow without end; cancel to stop."""
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_LOOKING_SECONDS):
                    await self._mirror.changed.wait()
            started = time.monotonic()
            self.look()
            await asyncio.sleep(max(DRAWING_SECONDS, _REST * (time.monotonic() - started)))

    def look(self) -> None:
        """Show how it is now."""
        if self._mirror.changed.is_set():
            self._mirror.changed.clear()
            self.seen = self._mirror.overview()
        self._display.show(self.seen, self._last_log_line())
