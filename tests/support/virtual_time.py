"""An event loop whose time passes only by sleeping, so that whatever waits is tested without waiting.

A conftest.py that imports `pytest_asyncio_loop_factories` gives it to its folder's tests.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable, Mapping
from datetime import UTC, datetime

import pytest


class _InstantSelector(selectors.DefaultSelector):
    """Instead of waiting for the next timer, moves the clock to it."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            raise RuntimeError("everything waits for something that never comes")
        self.now += timeout
        return super().select(0)


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop whose time passes only by sleeping; it is not for sockets."""

    def __init__(self) -> None:
        self._instant = _InstantSelector()
        super().__init__(self._instant)

    def time(self) -> float:
        return self._instant.now


class LoopClock:
    """The event loop's time, for those who are handed a clock."""

    def monotonic(self) -> float:
        return asyncio.get_running_loop().time()

    def now(self) -> datetime:
        return datetime.fromtimestamp(self.monotonic(), UTC)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


def pytest_asyncio_loop_factories(
    config: pytest.Config, item: pytest.Item
) -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    """Modules that talk to a real server need real time; all others get virtual time."""
    if item.get_closest_marker("real_time") is not None:
        return {"real time": asyncio.new_event_loop}
    return {"virtual time": VirtualLoop}
