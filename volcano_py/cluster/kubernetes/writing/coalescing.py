"""A waiting room with one seat for each key: what comes later takes the seat of what came before."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final, Generic, TypeVar

from volcano_py.cluster.kubernetes.writing.turns import Turns

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Lane(Generic[K, V]):
    """Where workers take what is in this lane of a queue: a `Source`."""

    def __init__(self, queue: CoalescingQueue[K, V], limit: int) -> None:
        self._queue = queue
        self.turns: Turns[K] = Turns(limit)
        """The keys of values that may be taken, and of some that another lane has handed out."""

    def take(self) -> tuple[str, tuple[K, V]] | None:
        """The next value whose key is not taken, with its namespace; see `Turns.take`."""
        while (found := self.turns.take()) is not None:
            namespace, key = found
            if self._queue.may_take(key):
                return namespace, (key, self._queue.hand_out(namespace, key))
            self.turns.done(namespace)
        return None

    def done(self, namespace: str) -> None:
        """See `Turns.done`."""
        self.turns.done(namespace)


class CoalescingQueue(Generic[K, V]):
    """Newest value per key, in turns by namespace. When full, the oldest of the namespace with the most makes room.

    A key that has been taken is not handed out again before it is `release`d, so that an older value cannot be written
    over a newer one. `limit` is that of `Turns`, of each lane.

    Attributes:
        lane: of the values that are not urgent.
        urgent: of those that are, which therefore wait for no slot that others hold.
    """

    def __init__(self, capacity: int, limit: int) -> None:
        if capacity < 1:
            raise ValueError(f"a queue needs room for at least 1, not {capacity}")
        self.dropped = 0
        """How many had to make room."""
        self.lane: Final = Lane(self, limit)
        self.urgent: Final = Lane(self, limit)
        self._capacity = capacity
        self._values: dict[K, V] = {}
        self._hurried: set[K] = set()
        """Keys of waiting values that are urgent."""
        self._taken: dict[K, str] = {}
        """Keys that are not released yet, with their namespaces."""

    def __len__(self) -> int:
        return len(self._values)

    def __contains__(self, key: K) -> bool:
        return key in self._values

    def is_waiting(self, key: K) -> bool:
        """Whether a value waits for this key, or has been taken and is not done with."""
        return key in self._values or key in self._taken

    def is_taken(self, key: K) -> bool:
        """Whether a value of this key has been taken and is not done with."""
        return key in self._taken

    def get(self, key: K) -> V | None:
        """What waits for this key."""
        return self._values.get(key)

    def put(self, namespace: str, key: K, value: V, *, urgent: bool = False) -> V | None:
        """Let the value wait; it keeps the place of the one it replaces, or comes into the lane of the urgent ones.
        Returns what had to make room for it."""
        is_new, hurries = key not in self._values, urgent and key not in self._hurried
        if urgent:
            self._hurried.add(key)
        self._values[key] = value
        if (is_new or hurries) and key not in self._taken:
            self._line_up(namespace, key)
        return self._make_room() if len(self._values) > self._capacity else None

    def may_take(self, key: K) -> bool:
        """Whether a value waits for this key that is not taken."""
        return key in self._values and key not in self._taken

    def hand_out(self, namespace: str, key: K) -> V:
        """Take the value of this key."""
        self._taken[key] = namespace
        self._hurried.discard(key)
        return self._values.pop(key)

    def release(self, key: K) -> None:
        """The key may be handed out again."""
        namespace = self._taken.pop(key)
        if key in self._values:
            self._line_up(namespace, key)

    def remove(self, key: K) -> V | None:
        """Drop what waits for this key, and return it; its place in a lane is passed over."""
        self._hurried.discard(key)
        return self._values.pop(key, None)

    def clear(self) -> int:
        """Drop all that wait. Returns how many."""
        count = len(self._values)
        self._values.clear()
        self._hurried.clear()
        for lane in (self.lane, self.urgent):
            for _ in lane.turns.drain():
                """Their values are gone."""
        self.dropped += count
        return count

    def _line_up(self, namespace: str, key: K) -> None:
        lane = self.urgent if key in self._hurried else self.lane
        lane.turns.add(namespace, key)

    def _make_room(self) -> V | None:
        for lane in (self.lane, self.urgent):
            while len(lane.turns):
                key = lane.turns.give_up_oldest()
                if self.may_take(key):
                    self.dropped += 1
                    self._hurried.discard(key)
                    return self._values.pop(key)
        return None
