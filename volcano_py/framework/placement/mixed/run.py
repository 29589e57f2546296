"""A run of single tasks of many classes, planned ahead with the same result as one by one.

Each task takes the best node for its class at that moment, and changes nothing but that node. So it takes either the
best of the nodes that the run has not touched yet, or one that it has. The plan assumes the former, evaluates what the
touched nodes would then offer to the classes after them, all at once, and ends with the first task that does better on
one of these.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from volcano_py.framework.placement.evaluator import Evaluator
from volcano_py.framework.placement.mixed.offers import NOTHING, Offers
from volcano_py.state.table.table import Rows
from volcano_py.state.task_class import TaskClass

# How many tasks are planned at a time: half as many again as the last plan held for, and no more than this. Beyond it,
# comparing each task with all before it costs more than another look at the nodes.
_LONGEST: Final = 128
# A plan that holds for fewer tasks is not worth its cost, as where pods are packed: each does best on a node that was
# just touched. Then so many tasks are placed one by one, before another plan of `_LEAST` tasks is tried.
_LEAST: Final = 6
_PAUSE: Final = 128
_NONE: Final = np.zeros(0, dtype=np.intp)


class MixedRun:
    """The classes that will be asked for next, and the nodes that are planned for them.

    The expectation may be wrong: a plan holds only while just its own tasks touch nodes, and as long as the classes
    come in the order in which they were expected.
    """

    def __init__(self, evaluator: Evaluator, tie_rank: NDArray[np.int64]) -> None:
        self._evaluator = evaluator
        self._offers = Offers(evaluator, tie_rank)
        self._is_plain: dict[int, bool] = {}
        self._expected: Sequence[TaskClass] = ()
        self._next = 0
        self._plan: Rows = _NONE
        """The nodes of the expected tasks from `_first` on."""
        self._first = 0
        self._taken: list[int] = []
        """The nodes of the plan that were given out last, when the log was `_seen` long."""
        self._seen = 0
        self._reach = _LONGEST
        self._paused = 0
        """How many more tasks are not planned."""

    def expect(self, classes: Sequence[TaskClass]) -> None:
        """Tasks of these classes will be placed next, one after the other."""
        self._expected, self._next = classes, 0
        self._drop()

    @property
    def is_over(self) -> bool:
        """Whether no further task is expected."""
        return self._next >= len(self._expected)

    def next(self, task_class: TaskClass, count: int, log: list[int]) -> Rows | None:
        """Nodes for up to `count` tasks of the class; None when it was not expected, or no node has room for it now."""
        if not self._expected or not self._comes_next(task_class):
            return None
        if self._paused:
            self._paused -= 1
            self._next += 1
            return None
        if self._next >= self._first + len(self._plan) or log[self._seen :] != self._taken:
            self._look_ahead(log)
        start, most = self._next - self._first, len(self._expected)
        end = start
        while end < min(start + count, len(self._plan)) and self._first + end < most:
            if self._expected[self._first + end].row != task_class.row:
                break
            end += 1
        nodes = self._plan[start:end]
        self._next += len(nodes)
        self._taken, self._seen = nodes.tolist(), len(log)
        return nodes if len(nodes) else None

    def _comes_next(self, task_class: TaskClass) -> bool:
        """Whether the class is still expected; tasks before it were given up, so their places are free."""
        expected = self._expected
        if self._next < len(expected) and expected[self._next].row == task_class.row:
            return True
        for index in range(self._next, len(expected)):
            if expected[index].row == task_class.row:
                self._next = index
                self._drop()
                return True
        self.expect(())
        return False

    def _drop(self) -> None:
        self._plan, self._first = _NONE, self._next

    def _look_ahead(self, log: list[int]) -> None:
        """Plan the next tasks as of now."""
        self._drop()
        run: list[TaskClass] = []
        for task_class in self._expected[self._next : self._next + self._reach]:
            if not self._plain(task_class) or not self._evaluator.may_fit(task_class, len(log)):
                break
            run.append(task_class)
        if not run:
            return
        classes = list({each.row: each for each in run}.values())
        number = {each.row: index for index, each in enumerate(classes)}
        which = np.array([number[each.row] for each in run])
        slots = self._offers.slots(classes, log)
        places, scores = self._offers.take(slots[which].tolist())
        run, which = run[: len(places)], which[: len(places)]
        if len(run) > 1:
            touched = self._offers.after(classes, slots, places, run)[which]
            places = _corrected(places, scores, touched)
        self._plan = self._offers.node_at[places]
        self._reach = min(_LONGEST, max(_LEAST, len(places) + len(places) // 2))
        if len(places) < min(_LEAST, len(run)):
            self._paused = _PAUSE

    def _plain(self, task_class: TaskClass) -> bool:
        plain = self._is_plain.get(task_class.row)
        if plain is None:
            plain = self._is_plain[task_class.row] = self._evaluator.is_plain(task_class)
        return plain


def _corrected(places: Rows, scores: NDArray[np.float64], touched: NDArray[np.float64]) -> Rows:
    """[L] `places` [K] up to the first task that does better on a node of an earlier one, which it takes instead.

    `scores` [K] of the nodes at the places before; `touched` [K, K] what each task is offered there by the node of each
    other one, after that one.
    """
    earlier = np.where(np.tri(len(places), k=-1, dtype=np.bool_), touched, NOTHING)
    own = scores[:, None]
    better = (earlier > own) | ((earlier == own) & (places < places[:, None]))
    wrong = better.any(axis=1)
    if not wrong.any():
        return places
    first = int(wrong.argmax())
    best = earlier[first].max()
    return np.append(places[:first], places[earlier[first] == best].min())
