"""For which queues guarantees keep resources: named in messages to jobs that these resources are refused to."""

from __future__ import annotations

from collections.abc import Sequence

from volcano_py.api.wording.holders import Holders
from volcano_py.plugins.capacity.account import QueueAccount
from volcano_py.plugins.capacity.accounts import Accounts


class Reserved:
    """What is kept for queues by their own guarantees. `names` are those of the resource axis.

    Thousands of jobs may get the message in a cycle, so the text is made once for all of them, and again only when what
    is held within guarantees has changed.
    """

    def __init__(self, names: Sequence[str], accounts: Accounts) -> None:
        self._names, self._accounts = names, accounts
        self._guaranteed: dict[int, list[QueueAccount]] = {}
        self._missing: dict[tuple[int, int], Holders] = {}
        self._own: dict[tuple[int, int], Holders] = {}
        self._held_down: dict[tuple[int, int], str] = {}

    def changed(self) -> None:
        """What queues hold of their guarantees has changed."""
        self._missing.clear()

    def from_others(self, asking: QueueAccount, bound: QueueAccount, dim: int) -> str:
        """Of what is kept below `bound` and not held yet, all but what is kept for `asking` and the queues above it.

        What a queue is guaranteed beyond what it and those below need is kept for it alone: so the parts add up to
        what the bound reserves.
        """
        key = bound.row, dim
        if key not in self._missing:
            missing = ((each, each.guarantee[dim] - each.needed[dim]) for each in self._of(dim))
            parts = [(each.name, units) for each, units in missing if units > 0 and _is_below(each, bound)]
            self._missing[key] = Holders(self._names[dim], parts)
        return self._missing[key].summary([each.name for each in asking.chain])

    def holding_down(self, account: QueueAccount, dim: int) -> str:
        """The guarantees that leave `account` no more than its real capability: those of its siblings, and of the
        siblings of queues above it as far as they are held down in turn."""
        key = account.row, dim
        if key not in self._held_down:
            top = account
            while top.parent is not None and (top is account or top.real_capability[dim] < top.capability[dim]):
                top = top.parent
            own = [each.name for each in account.chain]
            if account.children:
                own += [each.name for each in self._of(dim) if each is not account and account in each.chain]
            self._held_down[key] = self._own_below(top, dim).summary(own)
        return self._held_down[key]

    def _own_below(self, top: QueueAccount, dim: int) -> Holders:
        """What is kept for each queue below `top`, and not for those below it."""
        key = top.row, dim
        if key not in self._own:
            found = [each for each in self._of(dim) if _is_below(each, top)]
            below = dict.fromkeys((each.row for each in (*found, *top.chain)), 0)
            for each in found:
                below[each.above[0].row] += each.guarantee[dim]
            parts = [(each.name, each.guarantee[dim] - below[each.row]) for each in found]
            self._own[key] = Holders(self._names[dim], [part for part in parts if part[1] > 0])
        return self._own[key]

    def _of(self, dim: int) -> list[QueueAccount]:
        """Queues that are guaranteed something of a resource; so are all above them."""
        if dim not in self._guaranteed:
            self._guaranteed[dim] = [each for each in self._accounts.by_row[1:] if each.guarantee[dim]]
        return self._guaranteed[dim]


def _is_below(account: QueueAccount, above: QueueAccount) -> bool:
    return above.row == 0 or above in account.chain
