"""What queues hold beyond what they deserve: what a job that waits for admission could reclaim."""

from __future__ import annotations

from collections.abc import Sequence

from volcano_py.plugins.capacity.account import QueueAccount
from volcano_py.state.table.axis import PODS


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
