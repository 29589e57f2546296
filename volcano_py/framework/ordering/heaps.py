"""Heaps of queues, jobs and tasks, with keys computed at the push.

An element's own key changes only when a task of it is placed. The actions pop an element, work on it and push it back,
so the heap is always in order.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Heap(Generic[T]):
    """Pops the element with the smallest key. Keys are tuples that end in something unique.

    Entries are flat, because tuples in tuples are slow to compare: the key, the number of the push, the element.
    """

    def __init__(self, key: Callable[[T], tuple[Any, ...]], elements: Iterable[T] = ()) -> None:
        self._key = key
        self._pushes = 0
        self._heap: list[tuple[Any, ...]] = []
        for element in elements:
            self._heap.append((*key(element), self._pushes, element))
            self._pushes += 1
        heapq.heapify(self._heap)

    def __len__(self) -> int:
        return len(self._heap)

    def __iter__(self) -> Iterator[T]:
        """All elements, in no particular order."""
        return (entry[-1] for entry in self._heap)

    def in_order(self) -> Iterator[T]:
        """The elements as they would be popped; each costs about as much as a pop."""
        front = [(self._heap[0], 0)] if self._heap else []
        while front:
            entry, place = heapq.heappop(front)
            yield entry[-1]
            for child in range(2 * place + 1, min(2 * place + 3, len(self._heap))):
                heapq.heappush(front, (self._heap[child], child))

    def push(self, element: T) -> None:
        self._pushes += 1
        heapq.heappush(self._heap, (*self._key(element), self._pushes, element))

    def pop(self) -> T:
        element: T = heapq.heappop(self._heap)[-1]
        return element
