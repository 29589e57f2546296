"""Capability, guarantee and deserved amounts of each queue, derived from root down, level by level.

The algebra, resource by resource. A `capability` that is absent is that of the queue above; root's is the cluster. A
`guarantee` that is absent is what the queues below are guaranteed, and one that cannot be kept counts as absent. A
`deserved` that is absent is no entitlement, while one of 0 is an entitlement to nothing: whatever is held beyond it can
be reclaimed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from volcano_py.plugins.amounts.shares import saturated, sums_by_group
from volcano_py.plugins.queues.guarantees import Kept, by_age, keep
from volcano_py.state.infos import QueueInfo
from volcano_py.state.queues.queue_tree import QueueTree
from volcano_py.state.table.axis import LARGEST_SUM, UNLIMITED, IntVector

Amounts = NDArray[np.int64]


class Levels(msgspec.Struct, frozen=True):
    """Queues in rows, each after the one above it; a level is a run of rows.

    Attributes:
        names: [Q] row → queue.
        up: [Q] row of the queue above; -1 for the first.
        spans: first and last (exclusive) row of each level, the first level being the top alone.
    """

    names: tuple[str, ...]
    up: NDArray[np.intp]
    spans: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, names: Sequence[str], parents: Mapping[str, str]) -> Levels:
        """`names` begins with the top and has every other queue after its parent, level by level."""
        rows = {name: row for row, name in enumerate(names)}
        up = np.array([rows[parents[name]] if name in parents else -1 for name in names], dtype=np.intp)
        spans, first = [(0, 1)], 1
        while first < len(names):
            # Parents of a level are all in the one before; those of the next come after them.
            last = first + int(np.searchsorted(up[first:], spans[-1][1]))
            spans.append((first, last))
            first = last
        return cls(tuple(names), up, tuple(spans))

    def add_up(self, amounts: Amounts) -> Amounts:
        """[Q, R] each queue's amounts and those of all queues below it."""
        total = amounts.copy()
        for first, last in reversed(self.spans[1:]):
            total = saturated(total, sums_by_group(self.up[first:last], total[first:last], len(total)))
        return total


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


def limits_in_tree(levels: Levels, infos: Sequence[QueueInfo | None], total: IntVector, tree: QueueTree) -> Limits:
    """Of queues below root; `infos` [Q] has None for a root that does not exist. `total` [R] is the cluster."""
    shape = (len(infos), len(total))
    ceilings = _column(infos, "capability", shape, UNLIMITED)
    ceilings[0] = np.minimum(ceilings[0], total)
    guarantee = _column(infos, "guarantee", shape)
    # Root's follows from those of the queues below it, and nothing is kept for jobs that cannot start.
    guarantee[[row for row, name in enumerate(levels.names) if not row or name in tree.faults]] = 0
    kept, guarantee, of_children = _guarantees(levels, guarantee, ceilings, infos)
    capability = ceilings.copy()
    real = capability.copy()
    for first, last in levels.spans[1:]:
        up = levels.up[first:last]
        capability[first:last] = np.minimum(ceilings[first:last], capability[up])
        left = np.maximum(real[up] - of_children[up], 0) + guarantee[first:last]
        real[first:last] = np.minimum(np.minimum(capability[first:last], real[up]), left)
    deserved, excessive = _deserved(levels, infos, ceilings, total)
    deserved = np.maximum(deserved, guarantee)
    has_deserved = (_column(infos, "has_deserved", shape) > 0) | (guarantee > 0)
    if len(levels.spans) > 1:
        # Root's entitlements follow from those of the queues below it.
        inside = [row for row in range(*levels.spans[1]) if levels.names[row] not in tree.faults]
        deserved[0] = sums_by_group(np.zeros(len(inside), dtype=np.intp), deserved[inside], 1)[0]
        has_deserved[0] = has_deserved[inside].any(axis=0)
    return Limits(capability, guarantee, deserved, has_deserved, real, kept, excessive)


def limits_side_by_side(levels: Levels, infos: Sequence[QueueInfo | None], total: IntVector) -> Limits:
    """Of queues without a tree; row 0 stands for the cluster."""
    shape = (len(infos), len(total))
    capability = _column(infos, "capability", shape, UNLIMITED)
    capability[0] = total
    kept, guarantee, _ = _guarantees(levels, _column(infos, "guarantee", shape), capability, infos)
    real = np.minimum(np.maximum(total - guarantee[0], 0) + guarantee, capability)
    real[0] = total
    deserved = np.maximum(np.minimum(_column(infos, "deserved", shape), real), guarantee)
    has_deserved = (_column(infos, "has_deserved", shape) > 0) | (guarantee > 0)
    return Limits(capability, guarantee, deserved, has_deserved, real, kept, np.zeros(shape, dtype=np.bool_))


def _guarantees(
    levels: Levels, own: Amounts, ceilings: Amounts, infos: Sequence[QueueInfo | None]
) -> tuple[Kept, Amounts, Amounts]:
    """What is kept of guarantees `own` [Q, R]; [Q, R] what comes of it for each queue; and for those directly below."""
    effective, of_children = _from_below(levels, own)
    kept = keep(own, effective, ceilings, levels.up, lambda: by_age(infos))
    if kept.shortfalls:
        effective, of_children = _from_below(levels, kept.own)
    return kept, effective, of_children


def _from_below(levels: Levels, own: Amounts) -> tuple[Amounts, Amounts]:
    """[Q, R] effective guarantees, from the leaves up; and the sums of those directly below each queue."""
    guarantee, of_children = own.copy(), np.zeros_like(own)
    for first, last in reversed(levels.spans[1:]):
        sums = sums_by_group(levels.up[first:last], guarantee[first:last], len(own))
        np.maximum(of_children, sums, out=of_children)  # rows of other levels are 0 in `sums`
        np.maximum(guarantee, sums, out=guarantee)
    return guarantee, of_children


def _deserved(
    levels: Levels, infos: Sequence[QueueInfo | None], ceilings: Amounts, total: IntVector
) -> tuple[Amounts, NDArray[np.bool_]]:
    """[Q, R] what queues of a tree deserve, and where that is cut to what a queue may ever have.

    A share of an amount that no queue can have is always the least, so that sibling queues would get nothing: where
    admission would refuse it, it counts as what the queue may have, or the queue above deserves; and what is beyond any
    cluster counts as this one. Amounts that are merely larger than the cluster stay, as do their ratios.
    """
    shape = ceilings.shape
    written = _column(infos, "deserved", shape)
    deserved = np.minimum(np.where(written >= LARGEST_SUM, total, written), ceilings)
    excessive = deserved < written
    bounds = np.full(shape, UNLIMITED, dtype=np.int64)
    for first, last in levels.spans[1:]:
        up = levels.up[first:last]
        own = np.minimum(deserved[first:last], bounds[up])
        deserved[first:last] = own
        bounds[first:last] = np.minimum(np.where(own > 0, own, bounds[up]), ceilings[first:last])
    return deserved, excessive


def _column(infos: Sequence[QueueInfo | None], field: str, shape: tuple[int, int], fill: Any = 0) -> Amounts:
    """[Q, R] a field of each queue; `fill` for what does not exist."""
    none = np.full(shape[1], fill, dtype=np.int64)
    rows = [none if info is None else getattr(info, field) for info in infos]
    column: Amounts = np.array(rows, dtype=np.int64).reshape(shape)
    return column
