"""For which queues guarantees keep resources: named in messages to jobs that these resources are refused to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, TypeVar

from volcano_py.api.wording.holders import Holders
from volcano_py.plugins.queues.base_account import BaseAccount

A = TypeVar("A", bound=BaseAccount)


class KeptForOthers(Generic[A]):
    """What is kept for queues by their own guarantees. `names` are those of the resource axis, `accounts` all by row.

    Thousands of jobs may get the message in a cycle, so the text is made once for all of them.
    """

    def __init__(self, names: Sequence[str], accounts: Sequence[A]) -> None:
        self._names, self._accounts = names, accounts
        self._guaranteed: dict[int, list[A]] = {}
        self._own: dict[tuple[int, int], Holders] = {}
        self._held_down: dict[tuple[int, int], str] = {}

    def holding_down(self, account: A, dim: int) -> str:
        """The guarantees that leave `account` no more than its real capability: those of its siblings, and of the
        siblings of queues above it as far as they are held down in turn."""
        key = account.row, dim
        if key not in self._held_down:
            top = account
            while top.parent is not None and (top is account or top.real_capability[dim] < top.capability[dim]):
                top = top.parent
            own = [each.name for each in account.chain]
            if account.children:
                own += [each.name for each in self.guaranteed(dim) if each is not account and account in each.chain]
            self._held_down[key] = self._own_below(top, dim).summary(own)
        return self._held_down[key]

    def guaranteed(self, dim: int) -> list[A]:
        """Queues that are guaranteed something of a resource; so are all above them."""
        if dim not in self._guaranteed:
            self._guaranteed[dim] = [each for each in self._accounts[1:] if each.guarantee[dim]]
        return self._guaranteed[dim]

    def _own_below(self, top: A, dim: int) -> Holders:
        """What is kept for each queue below `top`, and not for those below it."""
        key = top.row, dim
        if key not in self._own:
            found = [each for each in self.guaranteed(dim) if is_below(each, top)]
            below = dict.fromkeys((each.row for each in (*found, *top.chain)), 0)
            for each in found:
                below[each.above[0].row] += each.guarantee[dim]
            parts = [(each.name, each.guarantee[dim] - below[each.row]) for each in found]
            self._own[key] = Holders(self._names[dim], [part for part in parts if part[1] > 0])
        return self._own[key]


def is_below(account: BaseAccount, above: BaseAccount) -> bool:
    """Whether `account` is below `above`, or is it."""
    return above.row == 0 or above in account.chain
