"""How far each queue may grow, derived from the top down, level by level.

The algebra, resource by resource. A `capability` that is absent is that of the queue above; the top's is the cluster. A
`guarantee` that is absent is what the queues below are guaranteed, and one that cannot be kept counts as absent.
"""

from __future__ import annotations

import msgspec
import numpy as np
from numpy.typing import NDArray

from volcano_py.plugins.amounts.shares import sums_by_group
from volcano_py.plugins.queues.guarantees import Kept, by_age, keep
from volcano_py.plugins.queues.levels import Levels, QueueRows
from volcano_py.state.table.axis import UNLIMITED, IntVector

Amounts = NDArray[np.int64]


class Reach(msgspec.Struct, frozen=True, eq=False):
    """[Q, R] by row.

    Attributes:
        written: the queue's own capability; UNLIMITED where there is none.
        capability: the least on the way up to the top, and UNLIMITED where there is none; for the top, the cluster's.
        guarantee: what is kept of the own, and no less than what is kept for the queues below together.
        real_capability: capability within what the guarantees of others leave of the cluster.
        kept: what is kept of each queue's own guarantee.
    """

    written: Amounts
    capability: Amounts
    guarantee: Amounts
    real_capability: Amounts
    kept: Kept


def reach(rows: QueueRows, total: IntVector) -> Reach:
    """Of all queues; `total` [R] is the cluster."""
    levels = rows.levels
    written = rows.column("capability", len(total), int(UNLIMITED))
    guarantee = rows.column("guarantee", len(total))
    faults = rows.tree.faults if rows.tree is not None else {}
    # The top's follows from those of the queues below it, and nothing is kept for jobs that cannot start.
    guarantee[[row for row, name in enumerate(levels.names) if not row or name in faults]] = 0
    ceilings = written.copy()
    ceilings[0] = np.minimum(written[0], total)
    kept, guarantee, of_children = _guarantees(rows, guarantee, ceilings)
    capability, real = written.copy(), ceilings.copy()
    for first, last in levels.spans[1:]:
        up = levels.up[first:last]
        capability[first:last] = np.minimum(written[first:last], capability[up])
        left = np.maximum(real[up] - of_children[up], 0) + guarantee[first:last]
        real[first:last] = np.minimum(np.minimum(capability[first:last], real[up]), left)
    capability[0] = ceilings[0]
    return Reach(written, capability, guarantee, real, kept)


def _guarantees(rows: QueueRows, own: Amounts, ceilings: Amounts) -> tuple[Kept, Amounts, Amounts]:
    """What is kept of guarantees `own` [Q, R]; [Q, R] what comes of it for each queue; and for those directly below."""
    levels = rows.levels
    effective, of_children = _from_below(levels, own)
    kept = keep(own, effective, ceilings, levels.up, lambda: by_age(rows.infos))
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
