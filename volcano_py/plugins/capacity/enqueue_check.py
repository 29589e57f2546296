"""Whether a job may be admitted: within what its queue, and every queue above it, may have."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from volcano_py.plugins.capacity.account import QueueAccount
from volcano_py.state.table.axis import PODS


def first_exceeded(
    account: QueueAccount,
    wanted: Sequence[int],
    inqueue: Callable[[QueueAccount], Sequence[int]],
    *,
    in_tree: bool,
    freed: Sequence[int] = (),
) -> tuple[QueueAccount, int] | None:
    """The first queue, from its own up, that cannot promise `wanted` [R] as well, and the resource.

    `inqueue` returns what counts of a queue's promises; `freed` [R] is what its own queue could have back.

    What jobs hold beyond their minResources does not count: it can be had back. Nor does a full queue above refuse a
    job as long as the queues below it stay within what they deserve: what fills it is then beyond what others deserve,
    and only an admitted job can reclaim it.
    """
    freed = freed or [0] * len(wanted)
    asked = [(dim, amount) for dim, amount in enumerate(wanted) if amount and dim != PODS]
    entitled: set[int] = set()
    for each in account.chain if in_tree else (account,):
        for dim, amount in asked:
            claimed = each.firm[dim] + inqueue(each)[dim] + amount - freed[dim]
            if claimed > each.real_capability[dim] and dim not in entitled:
                return each, dim
        within = {dim for dim, amount in asked if _stays_within_deserved(each, dim, inqueue(each)[dim] + amount)}
        entitled = within if each is account else entitled & within
    return None


def _stays_within_deserved(account: QueueAccount, dim: int, claimed: int) -> bool:
    return account.firm[dim] + account.surplus[dim] + claimed <= account.deserved[dim]


class Beyond:
    """What queues that may give hold beyond what they deserve, as of one moment."""

    def __init__(self, accounts: Sequence[QueueAccount]) -> None:
        self._of = {
            each.name: [max(held - deserved, 0) for held, deserved in zip(each.held, each.deserved, strict=True)]
            for each in accounts
            if each.may_give
        }
        self._together = [sum(amounts) for amounts in zip(*self._of.values(), strict=True)]

    def could_reclaim(self, rightful: Sequence[QueueAccount], asked: Sequence[int]) -> list[int]:
        """[R] what it is of other queues; nothing if none of the `rightful`, the job's queue and those above it that
        have a say, would stay within what it deserves with so much more."""
        wanted = [(dim, amount) for dim, amount in enumerate(asked) if amount and dim != PODS]
        nothing = [0] * len(asked)
        if not self._of or not any(_would_stay_within(each, wanted) for each in rightful):
            return nothing
        own = self._of.get(rightful[0].name, nothing)
        return [all_of - mine for all_of, mine in zip(self._together, own, strict=True)]


def _would_stay_within(account: QueueAccount, wanted: Sequence[tuple[int, int]]) -> bool:
    """Of everything that it deserves some of; it has to deserve something that is asked for."""
    deserving = [(dim, amount) for dim, amount in wanted if account.has_deserved[dim]]
    return bool(deserving) and all(
        account.held[dim] + account.inqueue[dim] + amount <= account.deserved[dim] for dim, amount in deserving
    )
