"""Whether a job may be admitted: within what its queue, and every queue above it, may have."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from volcano_py.plugins.capacity.account import QueueAccount
from volcano_py.state.table.axis import PODS


def first_exceeded(
    account: QueueAccount, wanted: Sequence[int], inqueue: Callable[[QueueAccount], Sequence[int]], *, in_tree: bool
) -> tuple[QueueAccount, int] | None:
    """The first queue, from its own up, that cannot promise `wanted` [R] as well, and the resource.

    `inqueue` returns what counts of a queue's promises.

    What jobs hold beyond their minResources does not count: it can be had back. Nor does a full queue above refuse a
    job as long as the queues below it stay within what they deserve: what fills it is then beyond what others deserve,
    and only an admitted job can reclaim it.
    """
    asked = [(dim, amount) for dim, amount in enumerate(wanted) if amount and dim != PODS]
    entitled: set[int] = set()
    for each in account.chain if in_tree else (account,):
        for dim, amount in asked:
            claimed = each.firm[dim] + inqueue(each)[dim] + amount
            if claimed > each.real_capability[dim] and dim not in entitled:
                return each, dim
        within = {dim for dim, amount in asked if _stays_within_deserved(each, dim, inqueue(each)[dim] + amount)}
        entitled = within if each is account else entitled & within
    return None


def _stays_within_deserved(account: QueueAccount, dim: int, claimed: int) -> bool:
    return account.firm[dim] + account.surplus[dim] + claimed <= account.deserved[dim]
