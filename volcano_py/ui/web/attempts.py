"""Slows down whoever tries tokens: of each address, only so many failures in a time."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from math import ceil
from typing import Final

MOST: Final = 5
"""Failures that an address may have at once."""
FORGIVEN_AFTER: Final = 10.0
"""Seconds after which one of them is forgotten."""
_MOST_ADDRESSES: Final = 10_000
"""That are remembered: those that failed last."""


class Attempts:
    """Counts failures by address, as a bucket that leaks."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._free_at: OrderedDict[str, float] = OrderedDict()
        """Address → when its failures are all forgotten."""

    def wait(self, address: str) -> int:
        """Seconds until the address may try again; 0: now."""
        left = self._free_at.get(address, 0.0) - self._clock() - (MOST - 1) * FORGIVEN_AFTER
        return max(0, ceil(left))

    def failed(self, address: str) -> None:
        """One more failure."""
        now = self._clock()
        self._free_at[address] = max(self._free_at.get(address, now), now) + FORGIVEN_AFTER
        self._free_at.move_to_end(address)
        while len(self._free_at) > _MOST_ADDRESSES:
            self._free_at.popitem(last=False)

    def forgive(self, address: str) -> None:
        """It was no failure."""
        self._free_at[address] = self._free_at.get(address, 0.0) - FORGIVEN_AFTER
