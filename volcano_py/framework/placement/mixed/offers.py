"""What each node offers to one task of each class: its score, or nothing.

For classes where a placed task changes no other node than its own. Offers are kept in the order of ties, so the node
that a task takes is simply the first of the best. A node that was touched is evaluated again for all classes that are
asked for, at once, and for the others when they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from volcano_py.framework.placement.class_state import distinct
from volcano_py.framework.placement.evaluator import Evaluator
from volcano_py.framework.views import FITS, Scores
from volcano_py.state.table.table import Rows
from volcano_py.state.task_class import TaskClass

NOTHING: Final = -np.inf
"""The offer of a node that does not take the class, or has no room for it."""

# Classes times nodes whose offers are kept, at nine bytes each; beyond it all are dropped.
_MOST_KEPT: Final = 10_000_000
# Of these evaluated in one go, so that what is worked out in between stays in the processor's cache.
_MOST_AT_ONCE: Final = 32_768
# Past this share of touched nodes, evaluating a class again is cheaper than updating rows.
_REFRESH_ALL_ABOVE: Final = 0.25


class Offers:
    """See the module."""

    def __init__(self, evaluator: Evaluator, tie_rank: NDArray[np.int64]) -> None:
        """`tie_rank` [N] decides among equal scores, the lower rank first."""
        self._evaluator = evaluator
        self.node_at: Rows = np.argsort(tie_rank, kind="stable")
        """[N] the node at each place."""
        self._place_of = np.empty_like(self.node_at)
        self._place_of[self.node_at] = np.arange(len(self.node_at))
        self._slots: dict[int, int] = {}
        """Row of a class → where its offers are kept."""
        self._positions: list[int] = []
        """Of each slot, the entry in the log of touched nodes as of which its offers hold."""
        self._offers: Scores = np.empty((0, len(tie_rank)))
        self._willing = np.empty((0, len(tie_rank)), dtype=np.bool_)
        """[slots, N], by place: whether the node takes the class, regardless of its room."""
        self._is_refused: list[bool] = []
        """Of each slot, whether any node does not."""

    def slots(self, classes: Sequence[TaskClass], log: list[int]) -> Rows:
        """[C] where the offers of these distinct classes are, which are up to date now."""
        if (len(self._slots) + len(classes)) * len(self.node_at) > _MOST_KEPT:
            self._slots, self._positions, self._is_refused = {}, [], []
        new = [each for each in classes if each.row not in self._slots]
        if new:
            self._add(new, len(log))
        slots = [self._slots[each.row] for each in classes]
        for behind in self._by_age(slots, len(log)):
            touched = log[min(self._positions[slots[index]] for index in behind) :]
            everything = len(touched) > _REFRESH_ALL_ABOVE * len(self.node_at)
            rows = self._evaluator.all_rows if everything else distinct(touched, len(self.node_at))
            self._evaluate([classes[index] for index in behind], [slots[index] for index in behind], rows, len(log))
        return np.array(slots)

    def take(self, slots: Sequence[int]) -> tuple[Rows, Scores]:
        """[K] places and scores of the nodes that tasks of these slots take one after the other, each another node;
        fewer than slots when there is none for the next."""
        places, scores = np.empty(len(slots), dtype=np.intp), np.empty(len(slots))
        for count, slot in enumerate(slots):
            offers, taken = self._offers[slot], places[:count]
            kept = offers[taken]  # (row by row: the same nodes in all rows would be far apart in memory)
            offers[taken] = NOTHING
            place = offers.argmax()
            scores[count], places[count] = offers[place], place
            offers[taken] = kept
            if scores[count] == NOTHING:
                return places[:count], scores[:count]
        return places, scores

    def after(self, classes: Sequence[TaskClass], slots: Rows, places: Rows, placed: Sequence[TaskClass]) -> Scores:
        """[C, K] what the nodes at `places` [K] offer to the classes once each holds one more task of `placed` [K]."""
        offers = self._evaluator.offers(classes, self.node_at[places], placed)
        return self._of_willing(slots[:, None], places, offers)

    def _add(self, classes: Sequence[TaskClass], position: int) -> None:
        first, count = len(self._slots), len(classes)
        if first + count > len(self._offers):
            room = max(first + count, 2 * len(self._offers)) - first
            self._offers = np.concatenate((self._offers[:first], np.empty((room, len(self.node_at)))))
            self._willing = np.concatenate((self._willing[:first], np.empty((room, len(self.node_at)), dtype=np.bool_)))
        for slot, task_class in enumerate(classes, first):
            self._slots[task_class.row] = slot
            self._willing[slot] = self._evaluator.codes_of_all(task_class)[self.node_at] == FITS
            self._is_refused.append(not self._willing[slot].all())
        self._positions.extend([position] * count)
        self._evaluate(classes, list(range(first, first + count)), self._evaluator.all_rows, position)

    def _by_age(self, slots: Sequence[int], position: int) -> Iterable[list[int]]:
        """The indexes of outdated slots, those together that lag about equally far behind."""
        by_age: dict[int, list[int]] = {}
        for index, slot in enumerate(slots):
            if age := position - self._positions[slot]:
                by_age.setdefault(age.bit_length(), []).append(index)
        return by_age.values()

    def _evaluate(self, classes: Sequence[TaskClass], slots: Sequence[int], rows: Rows, position: int) -> None:
        """Work out what the nodes `rows` offer as of `position`, for some classes at a time."""
        places, at_once = self._place_of[rows], max(1, _MOST_AT_ONCE // max(1, len(rows)))
        for first in range(0, len(classes), at_once):
            own = np.array(slots[first : first + at_once])[:, None]
            offers = self._evaluator.offers(classes[first : first + at_once], rows)
            self._offers[own, places] = self._of_willing(own, places, offers)
        for slot in slots:
            self._positions[slot] = position

    def _of_willing(self, slots: Rows, places: Rows, offers: Scores) -> Scores:
        """[C, K] the offers of nodes at `places` [K] to the classes of `slots` [C, 1], without those that refuse."""
        if not any(self._is_refused[slot] for slot in slots[:, 0].tolist()):
            return offers
        return np.where(self._willing[slots, places], offers, NOTHING)
