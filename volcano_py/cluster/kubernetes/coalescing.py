"""A waiting room with one seat for each key: what comes later takes the seat of what came before."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class CoalescingQueue(Generic[K, V]):
    """Newest value per key, in the order in which keys first came. When full, the oldest makes room.

    A key that has been taken is not handed out again before it is `release`d, so that an older value cannot be written
    over a newer one.
    """

    def __init__(self, capacity: int) -> None:
        if capacity < 1:
            raise ValueError(f"a queue needs room for at least 1, not {capacity}")
        self.dropped = 0
        """How many had to make room."""
        self._capacity = capacity
        self._waiting: OrderedDict[K, V] = OrderedDict()
        self._taken: set[K] = set()

    def __len__(self) -> int:
        return len(self._waiting)

    def __contains__(self, key: K) -> bool:
        return key in self._waiting

    def get(self, key: K) -> V | None:
        """What waits for this key."""
        return self._waiting.get(key)

    def put(self, key: K, value: V) -> V | None:
        """Let the value wait; it keeps the place of the one it replaces. Returns what had to make room for it."""
        self._waiting[key] = value
        if len(self._waiting) <= self._capacity:
            return None
        self.dropped += 1
        return self._waiting.popitem(last=False)[1]

    def take(self) -> tuple[K, V] | None:
        """The next value whose key is not taken."""
        for key in self._waiting:
            if key not in self._taken:
                self._taken.add(key)
                return key, self._waiting.pop(key)
        return None

    def release(self, key: K) -> None:
        """The key may be handed out again."""
        self._taken.discard(key)

    def clear(self) -> int:
        """Drop all that wait. Returns how many."""
        count = len(self._waiting)
        self._waiting.clear()
        self.dropped += count
        return count
