"""Turns of single pods that are ordered many at a time, instead of asking after each of them which queue is next."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from volcano_py.actions.turns.single import SingleTurns
from volcano_py.actions.turns.turn import Work
from volcano_py.framework.ordering.namespace_order import Waiting
from volcano_py.framework.ordering.turns_ahead import Front, TurnsAhead
from volcano_py.framework.session import Session
from volcano_py.state.infos import QueueInfo

# Ordering a turn ahead takes a tenth of the time of taking one by itself. All jobs that wait are ordered, and nodes may
# have room for few of them. So they are ordered again only when as large a part of them has been placed.
_PART: Final = 1 / 16


class OrderedTurns:
    """Takes many turns of single pods in the order in which they would come one by one."""

    def __init__(self, ssn: Session, by_queue: Mapping[str, Waiting[Work]], singles: SingleTurns) -> None:
        self._by_queue = by_queue
        self._singles = singles
        self._ahead = TurnsAhead(ssn)
        self._next_at = sum(map(len, by_queue.values())) * _PART
        """How many pods have been placed when it pays to order turns."""

    @property
    def pay(self) -> bool:
        return self._singles.placed >= self._next_at and self._singles.task_class is not None and self._ahead.are_known

    def take(self, queues: Iterable[QueueInfo]) -> list[QueueInfo]:
        """Take the next turns of these queues, as far as they are certain. Returns the queues with jobs left."""
        task_class = self._singles.task_class
        assert task_class is not None, "a series is needed, and pays only then"
        queues = [queue for queue in queues if self._by_queue[queue.name]]
        works = [self._singles.alike(self._by_queue[queue.name].in_order()) for queue in queues]
        fronts = [
            Front(queue, len(alike), len(alike) == len(self._by_queue[queue.name]))
            for queue, alike in zip(queues, works, strict=True)
        ]
        self._next_at = self._singles.placed + max(1.0, sum(map(len, works)) * _PART)
        turns = self._ahead.of(task_class, fronts).tolist()
        firsts = [iter(alike) for alike in works]
        taken = self._singles.take_all([next(firsts[queue]) for queue in turns])
        for queue in turns[:taken]:
            self._by_queue[queues[queue].name].pop()
        return [queue for queue in queues if self._by_queue[queue.name]]
