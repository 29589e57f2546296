"""Guard for domain scores: a plugin that fails while it looks ahead is logged and counted, and scores 0 after that."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from volcano_py.framework.calls.answer_checks import NonsenseError
from volcano_py.framework.domain_scores import DomainScore, DomainScoreAhead, Population, on_grid, sum_of
from volcano_py.framework.views import NodeView, Scores
from volcano_py.state.task_class import TaskClass

if TYPE_CHECKING:
    from volcano_py.framework.calls.dispatch import Call


def domain_score_of(calls: Sequence[Call], task_class: TaskClass, view: NodeView) -> DomainScore | None:
    """The domain scores of all plugins for the class; None when it has none. `view` has all nodes."""
    found = [_guarded(call, domain_score) for call in calls if (domain_score := call(task_class, view)) is not None]
    return sum_of(found) if found else None


def _guarded(call: Call, domain_score: DomainScore) -> DomainScore:
    return DomainScore(domain_score.groups, domain_score.size, lambda: _Guarded(call, domain_score))


class _Guarded:
    """Once the plugin has failed or returned nonsense, all nodes score 0 and stay in their groups."""

    def __init__(self, call: Call, domain_score: DomainScore) -> None:
        self._call = call
        self._groups = domain_score.size
        self._ahead: DomainScoreAhead | None = None
        try:
            self._ahead = domain_score.ahead()
        except BaseException as error:
            call.failed(error)

    def scores(self, population: Population) -> Scores:
        if self._ahead is not None:
            try:
                scores = on_grid(self._ahead.scores(population))
                # one NaN or infinity makes the sum one
                if scores.shape == population.shape and np.isfinite(scores.sum()):
                    return scores
                raise NonsenseError(f"{scores} are not finite scores of {len(population)} groups")
            except BaseException as error:
                self._give_up(error)
        return np.zeros(len(population))

    def place(self, group: int) -> int:
        if self._ahead is not None:
            try:
                after = self._ahead.place(group)
                if not 0 <= after <= self._groups:
                    raise NonsenseError(f"group {after} does not exist; the next new group is {self._groups}")
                self._groups = max(self._groups, after + 1)
                return after
            except BaseException as error:
                self._give_up(error)
        return group

    def _give_up(self, error: BaseException) -> None:
        self._ahead = None
        self._call.failed(error)
