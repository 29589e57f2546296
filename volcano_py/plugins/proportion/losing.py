"""Which queues lose what is reclaimed from one."""

from __future__ import annotations

from collections.abc import Mapping

from volcano_py.plugins.proportion.account import QueueAccount


class Losing(dict[int, tuple[QueueAccount, ...]]):
    """Queue slot → the queues that lose to `reclaimer` what is taken there: the queue itself, and those above it that
    are not above the reclaimer as well. None for queues where nothing is taken: a mistake in the tree stops jobs, it
    does not cost pods.
    """

    def __init__(self, by_slot: Mapping[int, QueueAccount], reclaimer: QueueAccount) -> None:
        super().__init__()
        self._by_slot, self._spared = by_slot, frozenset(each.row for each in reclaimer.above)

    def __missing__(self, slot: int) -> tuple[QueueAccount, ...]:
        account, found = self._by_slot.get(slot), tuple[QueueAccount, ...]()
        if account is not None and account.fault is None and not account.children:
            found = tuple(each for each in account.chain if each.row not in self._spared)
        self[slot] = found
        return found
