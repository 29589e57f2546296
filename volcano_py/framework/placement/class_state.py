"""The evaluation of a class of tasks over all nodes, and the nodes offered to it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

import msgspec
import numpy as np

from volcano_py.framework.domain_filters import DomainFilter
from volcano_py.framework.domain_scores import DomainScore
from volcano_py.framework.job import FitError
from volcano_py.framework.placement.class_filters import DomainFilters
from volcano_py.framework.placement.sweep import Plan
from volcano_py.framework.plugin import Reach
from volcano_py.framework.views import Codes, Counts, Scores
from volcano_py.state.table.table import Rows
from volcano_py.state.task_class import TaskClass

if TYPE_CHECKING:
    from volcano_py.framework.calls.dispatch import Call

# For fewer rows than this, a set is faster than marks over all nodes.
_FEW_ROWS: Final = 128
_WIDTH: Final = {reach: width for width, reach in enumerate(Reach)}


class ClassState(msgspec.Struct):
    """One class over all nodes, as of entry `position` of the log of touched nodes."""

    task_class: TaskClass
    predicate_reach: Reach
    batch_reach: Reach
    codes: Codes
    fit: Counts
    """[N] how many tasks fit into what is free and not promised to others."""
    room: Counts
    """[N] how many of these pass the predicates."""
    position: int
    bounds: list[Call] | None
    """The calls that say how many tasks a node takes before its answer changes; None: ask again after each task."""
    filters: DomainFilters | None
    """What closes groups of nodes as tasks are placed; `codes` and `room` leave it out. None: nothing does."""
    scores: Scores | None = None
    """[N] as of the same position; None until it is asked for."""
    plan: Plan = msgspec.field(default_factory=Plan)
    full_at: int = -1
    """The position as of which no node has room, nor will have once what is being released is free."""
    misfit: tuple[int, FitError] | None = None
    """Why no node takes the class, as of a position."""

    def open_room(self) -> Counts:
        """[N] the room of nodes that no domain filter closes."""
        return self.room if self.filters is None else self.filters.open_room(self.room)

    def replace_by(self, fresh: ClassState) -> None:
        """Take over a new evaluation; the plan stays."""
        self.codes, self.fit, self.room, self.scores = fresh.codes, fresh.fit, fresh.room, fresh.scores
        self.bounds, self.filters, self.position = fresh.bounds, fresh.filters, fresh.position

    def found_full(self, position: int) -> None:
        """As of `position`, no node has room, nor will have."""
        self.full_at = position

    def explained(self, position: int, error: FitError) -> None:
        """As of `position`, this is why no node takes the class."""
        self.misfit = (position, error)

    def refusals(self) -> Codes:
        """[N] `codes`, then those of the domain filters."""
        return self.codes if self.filters is None else self.filters.refuse(self.codes)


class Candidates(msgspec.Struct, frozen=True, eq=False):
    """The nodes offered to the next tasks of a class.

    Attributes:
        state: the evaluation of the class.
        room: [N] how many tasks each node takes while its domain filters are open; 0 where it is not offered.
        filters: the domain filters of the class; None when it has none.
        open: [K] the nodes with room that the filters leave open.
        domain_score: the domain score of the class; None when it has none.
    """

    state: ClassState
    room: Counts
    filters: DomainFilters | None
    open: Rows
    domain_score: DomainScore | None

    @property
    def with_room(self) -> Rows:
        """[M] the nodes with room, regardless of the filters."""
        return np.flatnonzero(self.room)

    @property
    def sole_filter(self) -> tuple[Call, DomainFilter] | None:
        return None if self.filters is None else self.filters.sole


def reaches_of(calls: list[Call], question: str, task_class: TaskClass) -> list[Reach]:
    """The reach that each plugin declares for the class; the widest when it fails."""
    return [call.ask(question, task_class, otherwise=Reach.DOMAIN) for call in calls]


def distinct(rows: list[int], size: int) -> Rows:
    """The rows, all below `size`, without duplicates, in any order; in a third of the time of numpy's `unique`."""
    if len(rows) < _FEW_ROWS:
        return np.fromiter(set(rows), dtype=np.intp)
    marked = np.zeros(size, dtype=np.bool_)
    marked[rows] = True
    return np.flatnonzero(marked)


def widest(least: Reach, reaches: Iterable[Reach]) -> Reach:
    return max((least, *reaches), key=lambda reach: _WIDTH.get(reach, len(_WIDTH)))
