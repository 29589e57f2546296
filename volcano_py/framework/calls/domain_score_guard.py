"""What plugins lean to, guarded: one that fails while it looks ahead is named, and keeps nobody from their wishes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from volcano_py.framework.calls.answer_checks import NonsenseError
from volcano_py.framework.domain_scores import Leaning, LeaningAhead, Population, on_grid, together
from volcano_py.framework.views import NodeView, Scores
from volcano_py.state.task_class import TaskClass

if TYPE_CHECKING:
    from volcano_py.framework.calls.dispatch import Call


def leaning_of(calls: Sequence[Call], task_class: TaskClass, view: NodeView) -> Leaning | None:
    """The leanings of all plugins for the class together; None when it has none. `view` has all nodes."""
    found = [_guarded(call, leaning) for call in calls if (leaning := call(task_class, view)) is not None]
    return together(found) if found else None


def _guarded(call: Call, leaning: Leaning) -> Leaning:
    return Leaning(leaning.groups, leaning.size, lambda: _Guarded(call, leaning))


class _Guarded:
    """Once it has failed, or answered nonsense, nodes are worth the same to it, and stay in their groups."""

    def __init__(self, call: Call, leaning: Leaning) -> None:
        self._call = call
        self._groups = leaning.size
        self._ahead: LeaningAhead | None = None
        try:
            self._ahead = leaning.ahead()
        except BaseException as error:
            call.failed(error)

    def scores(self, population: Population) -> Scores:
        if self._ahead is not None:
            try:
                scores = on_grid(self._ahead.scores(population))
                # (the sum of numbers that are none is none)
                if scores.shape == population.shape and np.isfinite(scores.sum()):
                    return scores
                raise NonsenseError(f"{scores} are no scores of {len(population)} groups")
            except BaseException as error:
                self._give_up(error)
        return np.zeros(len(population))

    def place(self, group: int) -> int:
        if self._ahead is not None:
            try:
                after = self._ahead.place(group)
                if not 0 <= after <= self._groups:
                    raise NonsenseError(f"{after} is no group, nor the next new one, which is {self._groups}")
                self._groups = max(self._groups, after + 1)
                return after
            except BaseException as error:
                self._give_up(error)
        return group

    def _give_up(self, error: BaseException) -> None:
        self._ahead = None
        self._call.failed(error)
