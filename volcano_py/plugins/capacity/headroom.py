"""How much more a queue may take: the least that is left below its ceiling and the ceilings above it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from volcano_py.plugins.capacity.account import QueueAccount
from volcano_py.plugins.capacity.requests import Asked
from volcano_py.state.table.axis import PODS


class Bound(NamedTuple):
    """What one queue of the chain leaves of one resource.

    Attributes:
        account: the queue whose ceiling it is.
        below: the queue on the way to it, one level down; the account itself for the queue that asks.
        dim: position of the resource on the axis.
        left: units that may still be taken.
        reserved: units of the ceiling that are kept for the guarantees of others.
    """

    account: QueueAccount
    below: QueueAccount
    dim: int
    left: int
    reserved: int


def tightest(account: QueueAccount, asked: Asked, total: list[int]) -> tuple[int, Bound | None]:
    """How many more tasks may come, and what stops the next one; None where only the nodes do.

    Places for pods are the nodes' business, as in Volcano; so is what only the whole cluster bounds.
    """
    count, tight = 2**31, None
    for dim, wanted in asked.units:
        if dim == PODS:
            continue
        for bound in bounds(account, dim, total[dim]):
            fits = bound.left // wanted
            # Of equal bounds the highest is reported: the others follow from it.
            if fits <= count:
                count, tight = fits, bound
    return (count, tight) if not asked.shared else _with_shared(account, asked, total, count, tight)


def _with_shared(
    account: QueueAccount, asked: Asked, total: list[int], count: int, tight: Bound | None
) -> tuple[int, Bound | None]:
    """The same where tasks share claims to devices, which count once in each queue."""
    each_asks = dict(asked.units)
    for dim in {dim: None for claim in asked.shared for dim, _ in claim.units}:
        for bound in bounds(account, dim, total[dim]):
            once, wanted = bound.account.once(asked.shared).get(dim, 0), each_asks.get(dim, 0)
            if not once and not wanted:
                continue
            left = bound.left - once
            fits = 0 if left < 0 else left // wanted if wanted else count
            if fits <= count:
                count, tight = fits, bound
    return count, tight


def bounds(account: QueueAccount, dim: int, total: int) -> Iterator[Bound]:
    """The bounds of a queue for one resource, from its own up; `total` is the whole cluster's amount.

    Each queue's ceiling holds for what it and the queues below hold, and for what they are guaranteed and do not hold
    yet: that is kept for them. A queue's own guarantees are kept for it on the way up, so they are had in any case.
    """
    own = 0  # guaranteed to the queues met so far, and not held by them yet
    below = account
    for each in account.chain:
        held, ceiling = each.held[dim], each.capability[dim]
        reserved = each.kept[dim] - own
        if reserved > 0 or ceiling < total:
            left = ceiling - held
            yield Bound(each, below, dim, max(left - reserved, min(own, left)), reserved)
        own += each.missing(dim)
        below = each
