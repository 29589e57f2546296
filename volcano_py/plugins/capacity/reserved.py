"""For whom guarantees keep what others may not have: those who are told of it want to know whose they are."""

from __future__ import annotations

from volcano_py.plugins.capacity.account import QueueAccount
from volcano_py.plugins.capacity.opening import Accounts

Parts = list[tuple[str, int]]
"""Queue → units that are kept for it, and not for the queues below it."""


class Reserved:
    """What is kept for queues by their own guarantees."""

    def __init__(self, accounts: Accounts) -> None:
        self._accounts = accounts
        self._guaranteed: dict[int, list[tuple[QueueAccount, int]]] = {}
        self._holding_down: dict[tuple[int, int], Parts] = {}

    def from_others(self, asking: QueueAccount, bound: QueueAccount, dim: int) -> Parts:
        """Of what is kept below `bound` and not held yet, all but what is kept for `asking` and the queues above it.

        What a queue is guaranteed beyond what it and those below need is kept for it alone: so the parts add up to
        what the bound reserves.
        """
        return [
            (each.name, missing)
            for each, _ in self._of(dim)
            if (missing := each.guarantee[dim] - each.needed[dim]) > 0
            and bound in each.chain
            and each not in asking.chain
        ]

    def holding_down(self, account: QueueAccount, dim: int) -> Parts:
        """The guarantees that leave `account` no more than its real capability: those beside it, and beside the queues
        above it as far as they are held down in turn."""
        key = account.row, dim
        if key not in self._holding_down:
            top = account
            while top.parent is not None and (top is account or top.real_capability[dim] < top.capability[dim]):
                top = top.parent
            self._holding_down[key] = [
                (each.name, part)
                for each, part in self._of(dim)
                if part and top in each.chain and account not in each.chain and each not in account.chain
            ]
        return self._holding_down[key]

    def _of(self, dim: int) -> list[tuple[QueueAccount, int]]:
        """Queues that are guaranteed something of a resource, and how much of it is not for the queues below them."""
        if dim not in self._guaranteed:
            found = [each for each in self._accounts.by_row[1:] if each.guarantee[dim]]
            below = dict.fromkeys(range(len(self._accounts.by_row)), 0)
            for each in found:
                below[each.above[0].row] += each.guarantee[dim]
            self._guaranteed[dim] = [(each, max(each.guarantee[dim] - below[each.row], 0)) for each in found]
        return self._guaranteed[dim]
