"""A waiting room with one seat for each key: what comes later takes the seat of what came before."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeVar

from volcano_py.cluster.kubernetes.writing.turns import Turns

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class CoalescingQueue(Generic[K, V]):
    """Newest value per key, in turns by namespace. When full, the oldest of the namespace with the most makes room.

    A key that has been taken is not handed out again before it is `release`d, so that an older value cannot be written
    over a newer one. `limit` is that of `Turns`.
    """

    def __init__(self, capacity: int, limit: int) -> None:
        if capacity < 1:
            raise ValueError(f"a queue needs room for at least 1, not {capacity}")
        self.dropped = 0
        """How many had to make room."""
        self._capacity = capacity
        self._values: dict[K, V] = {}
        self._turns: Turns[K] = Turns(limit)
        """The keys of values that may be taken."""
        self._taken: dict[K, str] = {}
        """Keys that are not released yet, with their namespaces."""

    def __len__(self) -> int:
        return len(self._values)

    def __contains__(self, key: K) -> bool:
        return key in self._values

    def is_waiting(self, key: K) -> bool:
        """Whether a value waits for this key, or has been taken and is not done with."""
        return key in self._values or key in self._taken

    def get(self, key: K) -> V | None:
        """What waits for this key."""
        return self._values.get(key)

    def put(self, namespace: str, key: K, value: V) -> V | None:
        """Let the value wait; it keeps the place of the one it replaces. Returns what had to make room for it."""
        if key not in self._values and key not in self._taken:
            self._turns.add(namespace, key)
        self._values[key] = value
        if len(self._values) <= self._capacity or not len(self._turns):
            return None
        self.dropped += 1
        return self._values.pop(self._turns.give_up_oldest())

    def take(self) -> tuple[str, tuple[K, V]] | None:
        """The next value whose key is not taken, with its namespace; see `Turns.take`."""
        found = self._turns.take()
        if found is None:
            return None
        namespace, key = found
        self._taken[key] = namespace
        return namespace, (key, self._values.pop(key))

    def release(self, key: K) -> None:
        """The key may be handed out again."""
        namespace = self._taken.pop(key)
        if key in self._values:
            self._turns.add(namespace, key)

    def done(self, namespace: str) -> None:
        """See `Turns.done`."""
        self._turns.done(namespace)

    def clear(self) -> int:
        """Drop all that wait. Returns how many."""
        count = len(self._values)
        self._values.clear()
        for _ in self._turns.drain():
            """Their values are gone."""
        self.dropped += count
        return count
