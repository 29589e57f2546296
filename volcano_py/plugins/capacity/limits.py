"""What each queue deserves and how far it may grow, derived from root down, level by level.

The algebra of `capability` and `guarantee` is in `queues/reach.py`. A `deserved` that is absent is no entitlement,
while one of 0 is an entitlement to nothing: whatever is held beyond it can be reclaimed.
"""

from __future__ import annotations

import msgspec
import numpy as np
from numpy.typing import NDArray

from volcano_py.plugins.amounts.shares import sums_by_group
from volcano_py.plugins.queues.guarantees import Kept
from volcano_py.plugins.queues.levels import QueueRows
from volcano_py.plugins.queues.reach import Reach, reach
from volcano_py.state.queues.queue_tree import QueueTree
from volcano_py.state.table.axis import LARGEST_SUM, UNLIMITED, IntVector

Amounts = NDArray[np.int64]


class Limits(msgspec.Struct, frozen=True):
    """[Q, R] by row.

    Attributes:
        capability: own or inherited, never above that of a queue above; UNLIMITED where there is none.
        guarantee: what is kept of the own, and no less than what is kept for the queues below together.
        deserved: own, and no less than the guarantee; 0 where `has_deserved` is false.
        real_capability: capability within what the guarantees of others leave.
        kept: what is kept of each queue's own guarantee.
        excessive: where more is deserved than the queue may ever have, so that it counts as less than is written.
    """

    capability: Amounts
    guarantee: Amounts
    deserved: Amounts
    has_deserved: NDArray[np.bool_]
    real_capability: Amounts
    kept: Kept
    excessive: NDArray[np.bool_]


def limits_of(rows: QueueRows, total: IntVector) -> Limits:
    """`total` [R] is the cluster."""
    found = reach(rows, total)
    if rows.tree is None:
        return _side_by_side(rows, total, found)
    return _in_tree(rows, rows.tree, total, found)


def _in_tree(rows: QueueRows, tree: QueueTree, total: IntVector, found: Reach) -> Limits:
    levels, guarantee = rows.levels, found.guarantee
    capability = np.minimum(found.capability, found.capability[0])
    deserved, excessive = _deserved(rows, np.vstack((found.capability[:1], found.written[1:])), total)
    deserved = np.maximum(deserved, guarantee)
    has_deserved = _has_deserved(rows, guarantee)
    if len(levels.spans) > 1:
        # Root's entitlements follow from those of the queues below it.
        inside = [row for row in range(*levels.spans[1]) if levels.names[row] not in tree.faults]
        deserved[0] = sums_by_group(np.zeros(len(inside), dtype=np.intp), deserved[inside], 1)[0]
        has_deserved[0] = has_deserved[inside].any(axis=0)
    return Limits(capability, guarantee, deserved, has_deserved, found.real_capability, found.kept, excessive)


def _side_by_side(rows: QueueRows, total: IntVector, found: Reach) -> Limits:
    """Row 0 stands for the cluster."""
    own = rows.column("deserved", len(total))
    deserved = np.maximum(np.minimum(own, found.real_capability), found.guarantee)
    nothing = np.zeros(own.shape, dtype=np.bool_)
    has_deserved = _has_deserved(rows, found.guarantee)
    return Limits(found.capability, found.guarantee, deserved, has_deserved, found.real_capability, found.kept, nothing)


def _has_deserved(rows: QueueRows, guarantee: Amounts) -> NDArray[np.bool_]:
    has: NDArray[np.bool_] = (rows.column("has_deserved", guarantee.shape[1]) > 0) | (guarantee > 0)
    return has


def _deserved(rows: QueueRows, ceilings: Amounts, total: IntVector) -> tuple[Amounts, NDArray[np.bool_]]:
    """[Q, R] what queues of a tree deserve, and where that is cut to what a queue may ever have.

    A share of an amount that no queue can have is always the least, so that sibling queues would get nothing: where
    admission would refuse it, it counts as what the queue may have, or the queue above deserves; and what is beyond any
    cluster counts as this one. Amounts that are only larger than the cluster stay, as do their ratios.
    """
    levels, shape = rows.levels, ceilings.shape
    written = rows.column("deserved", shape[1])
    deserved = np.minimum(np.where(written >= LARGEST_SUM, total, written), ceilings)
    excessive = deserved < written
    bounds = np.full(shape, UNLIMITED, dtype=np.int64)
    for first, last in levels.spans[1:]:
        up = levels.up[first:last]
        own = np.minimum(deserved[first:last], bounds[up])
        deserved[first:last] = own
        bounds[first:last] = np.minimum(np.where(own > 0, own, bounds[up]), ceilings[first:last])
    return deserved, excessive
