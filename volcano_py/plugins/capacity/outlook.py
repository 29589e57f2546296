"""The keys of queues, and how much they take, as tasks of one class are placed."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from volcano_py.framework.ordering.outlook import Level
from volcano_py.framework.votes import PLENTY
from volcano_py.plugins.amounts.shares import shares_ahead
from volcano_py.plugins.amounts.sparse_requests import SparseRequest
from volcano_py.plugins.capacity.account import QueueAccount
from volcano_py.plugins.capacity.accounts import Accounts
from volcano_py.plugins.queues.base_account import Amounts


class QueueOutlook:
    """See the module.

    `accountings` are the accounts and, if anything is leaving, those for bindings at once; `total` [R] is what the
    whole cluster has, and `shut` are queues in which nothing starts.
    """

    def __init__(
        self, accountings: Sequence[Accounts], asked: SparseRequest, total: Amounts, shut: Collection[str]
    ) -> None:
        self._accountings = accountings
        self._asked = asked
        self._total = total
        self._shut = shut

    def keys(self, level: Level) -> Sequence[NDArray[Any]]:
        """By the larger of what a queue will hold and what it holds now, as in its turns."""
        names = [path[-1] for path in level.nodes]
        turns = [self._turns([each.by_name[name] for name in names], level) for each in self._accountings]
        share, is_best_effort, created = np.max(turns, axis=0)
        if self._accountings[0].tree is not None:
            return share, is_best_effort, created
        infos = [self._accountings[0].by_name[name].info for name in names]
        priorities = np.array([0 if info is None else info.priority for info in infos])
        return -priorities[level.of], share, is_best_effort, created

    def _turns(self, accounts: Sequence[QueueAccount], level: Level) -> NDArray[np.float64]:
        """[3, K] what `QueueAccount.turn` will be."""
        of, placed = level.of, level.placed
        now, is_best_effort, created = np.array([account.turn for account in accounts], dtype=np.float64).T[:, of]
        has = np.array([account.has_deserved for account in accounts])
        deserved = np.where(has, [account.deserved for account in accounts], 0)
        held = np.array([account.held for account in accounts])
        shares = shares_ahead(held, deserved, self._asked, of, placed)
        for dim, units in self._asked:  # of what a queue deserves nothing of, anything is a whole share
            is_any = held[of, dim] + placed * units > 0
            shares[is_any & (has & (deserved == 0))[of, dim] & (shares < 1.0)] = 1.0
        return np.stack((np.where(is_best_effort > 0, 1.0, np.maximum(now, shares)), is_best_effort, created))

    def most(self, path: tuple[str, ...]) -> int:
        if path and path[-1] in self._shut:
            return 0
        accounts = [each.by_name[path[-1]] if path else each.by_row[0] for each in self._accountings]
        return int(min(PLENTY.count, *[account.until_ceiling(self._asked, self._total) for account in accounts]))
