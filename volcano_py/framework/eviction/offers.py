"""Which of the candidates on a node plugins are asked about, and in which order."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from volcano_py.framework.eviction.draft import Draft
from volcano_py.framework.eviction.shortage import NodeShortage
from volcano_py.framework.job import Task
from volcano_py.state.table.axis import IntVector
from volcano_py.state.table.ledger import Rows


def blockers(draft: Draft, task: Task, node: int, shortage: NodeShortage, candidates: Rows) -> list[int]:
    """The candidates without which alone the task may come, where a predicate refuses it (a port is taken, say).

    Plugins do not say because of which pods they refuse, so each candidate is tried.
    """
    found: list[int] = []
    if not shortage.is_refused() or shortage.passes_predicates():
        return found
    mark = draft.checkpoint()
    for candidate in candidates.tolist():
        draft.evict(candidate, task, node)
        if shortage.passes_predicates():
            found.append(candidate)
        draft.rollback(mark)
    return found


def offers(shortage: NodeShortage, candidates: Rows, missing: IntVector, in_the_way: list[int]) -> Iterator[Rows]:
    """The selections of candidates that plugins are asked about until one will do.

    What a gang, a queue or a budget can spare goes to the first that are offered. So candidates in the way come
    before others, alone and with those that hold some of what is missing; then all that free something useful; then
    those that hold enough alone.
    """
    holds = shortage.requests_of(candidates)
    if in_the_way:
        blocking = np.isin(candidates, in_the_way)
        yield candidates[blocking]
        yield candidates[blocking | (holds[:, missing > 0] > 0).any(axis=1)]
    some = _useful(shortage, holds, missing)
    yield candidates[some]
    enough = (holds >= missing).all(axis=1)
    if 0 < enough.sum() < some.sum():
        yield candidates[enough]


def _useful(shortage: NodeShortage, holds: NDArray[np.int64], missing: IntVector) -> NDArray[np.bool_]:
    """[K] which of the candidates that hold so much [K, R] have some of what is missing, or of what a ceiling leaves
    short."""
    useful = missing > 0
    some: NDArray[np.bool_] = np.any(holds[:, useful] > 0, axis=1)
    if some.all():
        return some  # mostly: the ceilings need not be asked again
    if (short := shortage.short_below_ceilings()) is not None:
        useful[short[0]] = True
        some |= holds[:, short[0]] > 0
    # Where a predicate refuses the task, it is not known which candidates free something useful.
    if not useful.any() or shortage.is_refused():
        some[:] = True
    return some
