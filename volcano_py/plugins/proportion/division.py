"""Dividing the cluster along a tree of queues: each level as if it were a cluster of its own.

From the leaves up it is worked out what each queue needs: what it asks for, or what those below it need together,
within what it may have, and no less than it is guaranteed. From the top down, what a queue deserves is then divided
among those directly below it (see water_filling). Queues side by side are a tree of one level.
"""

from __future__ import annotations

import msgspec
import numpy as np
from numpy.typing import NDArray

from volcano_py.plugins.amounts.shares import saturated, sums_by_group
from volcano_py.plugins.proportion.water_filling import Division, divide
from volcano_py.plugins.queues.levels import Levels

Amounts = NDArray[np.int64]
Flags = NDArray[np.bool_]


class Claims(msgspec.Struct, frozen=True, eq=False):
    """What Q queues ask for, and by what right, by row.

    Attributes:
        weights: [Q] among siblings.
        request: [Q, R] what leaves hold and ask for.
        fixed: [Q, R] what pods hold that are in the queue itself although no job can start there: it is set aside from
            what the queue deserves.
        guarantee: [Q, R] with what is kept for the queues below.
        most: [Q, R] what each may have; the top's is what there is to divide.
        is_stuck: [Q] whether no job can start in the queue itself.
        is_busy: [Q] whether it takes part: it has jobs, or pods are charged to it.
    """

    weights: NDArray[np.int64]
    request: Amounts
    fixed: Amounts
    guarantee: Amounts
    most: Amounts
    is_stuck: Flags
    is_busy: Flags


def divide_levels(levels: Levels, claims: Claims) -> Division:
    """What each queue deserves; for the top, all that there is (`whole`), and what of that is deserved (`exact`).

    What queues directly below another deserve, together with what is kept for idle ones among them, is never more than
    that queue deserves. Only below the top nothing is kept for idle queues of what several others ask for together.
    """
    is_busy = _busy_below(levels, claims.is_busy)
    needs = _needs(levels, claims)
    exact, whole = np.zeros(needs.shape), np.zeros_like(needs)
    exact[0] = whole[0] = claims.most[0]
    for parent, first, last in _families(levels):
        if not is_busy[parent]:
            continue
        busy = first + np.flatnonzero(is_busy[first:last])
        idle = first + np.flatnonzero(~is_busy[first:last])
        left = whole[parent] - claims.fixed[parent]
        if parent:
            left -= claims.guarantee[idle].sum(axis=0)
        division = divide(np.maximum(left, 0), claims.weights[busy].tolist(), claims.guarantee[busy], needs[busy])
        exact[busy], whole[busy] = division.exact, division.whole
    exact[0] = claims.fixed[0] + exact[levels.up == 0].sum(axis=0)
    return Division(exact, whole)


def _needs(levels: Levels, claims: Claims) -> Amounts:
    """[Q, R] what each queue could use: of idle ones, what is kept for them."""
    needs = saturated(claims.request, claims.fixed)
    for first, last in reversed(levels.spans):
        own = np.maximum(np.minimum(needs[first:last], claims.most[first:last]), claims.guarantee[first:last])
        needs[first:last] = own
        if first:
            needs = saturated(needs, sums_by_group(levels.up[first:last], own, len(needs)))
    return needs


def _busy_below(levels: Levels, is_busy: Flags) -> Flags:
    """[Q] those that are busy, or have a busy queue below them."""
    found = is_busy.copy()
    for first, last in reversed(levels.spans[1:]):
        found[levels.up[first:last][found[first:last]]] = True
    return found


def _families(levels: Levels) -> list[tuple[int, int, int]]:
    """The row of each queue with queues below it, and the first and last (exclusive) row directly below, top down."""
    if len(levels.up) == 1:
        return []  # there is no queue yet
    parents, firsts = np.unique(levels.up[1:], return_index=True)
    ends = [*(firsts[1:] + 1).tolist(), len(levels.up)]
    return list(zip(parents.tolist(), (firsts + 1).tolist(), ends, strict=True))
