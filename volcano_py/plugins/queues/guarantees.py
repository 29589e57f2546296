"""Which guarantees are kept. An amount that no node has is not reserved: that would take it from other queues for
nothing.

Guarantees are accepted resource by resource, the oldest queue's first, as admission would have accepted them. One that
does not fit with those accepted before, within the cluster and within what every queue above may have, is not kept in
that resource at all: nothing is reserved for it and it entitles to nothing. Later ones that are small enough still
are. Of a guarantee beyond the queue's own capability as much is kept as the queue may have.

Everything follows from the queues and nodes of the moment. So a guarantee is kept again as soon as it fits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from volcano_py.api.effects import Event
from volcano_py.api.wording.amounts import amount
from volcano_py.api.wording.explain import invalid_queue
from volcano_py.state.infos import QueueInfo
from volcano_py.state.table.axis import IntVector

Amounts = NDArray[np.int64]

GUARANTEE_NOT_KEPT: Final = "GuaranteeNotKept"
"""Reason of the event about a guarantee of which less is kept than is written. It stops nothing."""
_TOP: Final = 0  # row of the cluster as a whole


class Shortfall(NamedTuple):
    """A guarantee of which less is kept than is written.

    Attributes:
        row: the queue.
        dim: position of the resource on the axis.
        guaranteed: units that are written.
        kept: units that are kept.
        bound: row of what does not hold it: the top, a queue above, or the queue itself.
        limit: units that there may be below `bound`.
        older: units of these that older guarantees take.
    """

    row: int
    dim: int
    guaranteed: int
    kept: int
    bound: int
    limit: int
    older: int


class Kept(msgspec.Struct, frozen=True, eq=False):
    """What is kept of the guarantees of Q queues.

    Attributes:
        own: [Q, R] of each queue's own.
        shortfalls: where that is less than is written.
    """

    own: Amounts
    shortfalls: tuple[Shortfall, ...] = ()

    def missing(self) -> dict[int, Amounts]:
        """Row → [R] what is written for the queue and not kept, of those that miss something."""
        found: dict[int, Amounts] = {}
        for each in self.shortfalls:
            amounts = found.setdefault(each.row, np.zeros(self.own.shape[1], dtype=np.int64))
            amounts[each.dim] = each.guaranteed - each.kept
        return found


def keep(
    own: Amounts,
    effective: Amounts,
    ceilings: Amounts,
    up: NDArray[np.intp],
    oldest_first: Callable[[], Sequence[int]],
) -> Kept:
    """What is kept of guarantees `own` [Q, R].

    Args:
        own: row 0 is the top, which is guaranteed nothing.
        effective: [Q, R] the same with those below: the larger of a queue's own and the sum of those directly below.
        ceilings: [Q, R] what each queue may have by its own capability, not by one above; the cluster in row 0.
        up: [Q] row of the queue above; -1 for the top.
        oldest_first: the rows in order of age; asked only when not everything fits.
    """
    too_many = np.flatnonzero((effective > ceilings).any(axis=0))
    if not len(too_many):
        return Kept(own)
    kept, shortfalls = own.copy(), list[Shortfall]()
    above, rows = up.tolist(), list(oldest_first())
    for dim in too_many.tolist():
        written, limits = own[:, dim].tolist(), ceilings[:, dim].tolist()
        book = _Book(limits, above)
        for row in rows:
            if not written[row]:
                continue
            wanted = min(written[row], limits[row])
            full = book.keep(row, wanted)
            if full is not None:
                kept[row, dim] = 0
                shortfalls.append(Shortfall(row, dim, written[row], 0, *full))
            elif wanted < written[row]:
                kept[row, dim] = wanted
                shortfalls.append(Shortfall(row, dim, written[row], wanted, row, wanted, 0))
    return Kept(kept, tuple(shortfalls))


class _Full(NamedTuple):
    """What has no room for a guarantee."""

    row: int
    limit: int
    older: int


class _Book:
    """Of one resource, what is kept for each queue and for those directly below it. These numbers do not overflow."""

    def __init__(self, limits: Sequence[int], up: Sequence[int]) -> None:
        self._limits, self._up = limits, up
        self._own = [0] * len(limits)
        self._below = [0] * len(limits)

    def keep(self, row: int, units: int) -> _Full | None:
        """Keep so much for a queue, if it can be had on every level above."""
        changed: list[tuple[int, int]] = []
        # What the queues below are guaranteed already is part of it, here and further up.
        more = max(units - self._below[row], 0)
        at = self._up[row]
        while at >= 0 and more:
            before = self._below[at]
            if before + more > self._limits[at]:
                return _Full(at, self._limits[at], before)
            changed.append((at, before + more))
            more = max(before + more, self._own[at]) - max(before, self._own[at])
            at = self._up[at]
        self._own[row] = units
        for at, below in changed:
            self._below[at] = below
        return None


def by_age(infos: Sequence[QueueInfo | None]) -> list[int]:
    """Rows of queues, the oldest first, then by name."""
    found = [(info.created, info.name, row) for row, info in enumerate(infos) if info is not None]
    return [row for _, _, row in sorted(found)]


# -- events ------------------------------------------------------------------------------------------------------------


def not_kept(
    infos: Sequence[QueueInfo | None], kept: Kept, resources: Sequence[str], total: IntVector
) -> Iterator[Event]:
    """An event for each guarantee that is not kept as it is written; `total` [R] is the cluster.

    None while there is no node at all: then no queue can have anything.
    """
    if not total.any():
        return
    for short in kept.shortfalls:
        info = infos[short.row]
        assert info is not None, "only queues that exist are guaranteed anything"
        resource, limit = resources[short.dim], amount(resources[short.dim], short.limit)
        found = f"spec.guarantee.resource[{resource}] is {info.as_written('guarantee', resource)}, but"
        if short.bound == short.row:
            why = f"spec.capability is {limit}: only this much is kept for it; lower one or raise the other"
        else:
            is_cluster = short.bound == _TOP and short.limit == total[short.dim]
            why = _full(infos[short.bound], short, limit, amount(resource, short.older), is_cluster=is_cluster)
        yield Event(info.ref, "Warning", GUARANTEE_NOT_KEPT, invalid_queue(info.name, f"{found} {why}"))


def _full(above: QueueInfo | None, short: Shortfall, limit: str, older: str, *, is_cluster: bool) -> str:
    """What has no room for a guarantee: the cluster, or the queue `above`."""
    if is_cluster or above is None:
        has, of, remedy = f"the cluster has {limit}", f"of the cluster's {limit}", "add nodes"
    else:
        may_have = f"queue {above.name} above it may have"
        has, of, remedy = (
            f"{may_have} {limit}",
            f"of the {limit} that {may_have}",
            f"raise spec.capability of queue {above.name}",
        )
    if not short.older:
        return f"{has}: nothing is kept for it; lower it, or {remedy}"
    return f"{older} {of} are kept for older queues: nothing is kept for it; lower it or theirs, or {remedy}"
