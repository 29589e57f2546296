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

# To look at a queue or a job, and to order its turn, takes a tenth of the time of a turn by itself, and what does not
# depend on their number takes some ten turns. All that wait are ordered, but nodes may have room for few of them.
_PART: Final = 1 / 16
_FEWEST: Final = 32


class OrderedTurns:
    """Takes many turns of single pods in the order in which they would come one by one."""

    def __init__(self, ssn: Session, by_queue: Mapping[str, Waiting[Work]], singles: SingleTurns) -> None:
        self._by_queue = by_queue
        self._singles = singles
        self._ahead = TurnsAhead(ssn)
        self._next_at = _FEWEST + sum(map(len, by_queue.values())) * _PART
        """How many pods have been placed when it pays to order turns."""
        self._patience = 1

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
        turns = self._ahead.of(task_class, fronts).tolist()
        firsts = [iter(alike) for alike in works]
        taken = self._singles.take_all([next(firsts[queue]) for queue in turns])
        worth = _FEWEST + (len(queues) + sum(map(len, works))) * _PART
        # Where it was of little use, it is tried less often from now on.
        self._patience = 1 if taken > worth else self._patience * 4
        self._next_at = self._singles.placed - taken + worth * self._patience
        for queue in turns[:taken]:
            self._by_queue[queues[queue].name].pop()
        return [queue for queue in queues if self._by_queue[queue.name]]
