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
from volcano_py.plugins.proportion.accounts import Accounts
from volcano_py.plugins.queues.base_account import Amounts


class QueueOutlook:
    """See the module; `shut` are queues in which nothing starts."""

    def __init__(self, accounts: Accounts, asked: SparseRequest, available: Amounts, shut: Collection[str]) -> None:
        self._accounts = accounts
        self._asked = asked
        self._available = available
        self._shut = shut

    def keys(self, level: Level) -> Sequence[NDArray[Any]]:
        accounts = [self._accounts.by_name[path[-1]] for path in level.nodes]
        held = np.array([list(map(max, account.held, account.used)) for account in accounts])
        deserved = np.array([account.deserved for account in accounts])
        shares = shares_ahead(held, deserved, self._asked, level.of, level.placed)
        if self._accounts.rows.tree is not None:
            return (shares,)
        priorities = [0 if account.info is None else account.info.priority for account in accounts]
        return -np.array(priorities)[level.of], shares

    def most(self, path: tuple[str, ...]) -> int:
        account = self._accounts.by_name[path[-1]] if path else self._accounts.by_row[0]
        if account.info is None:
            return PLENTY.count
        if account.name in self._shut:
            return 0
        most = min(account.until_overused(self._asked), account.until_ceiling(self._asked, self._available))
        return int(min(most, PLENTY.count))
