"""What queues would deserve if the pods of all waiting jobs existed, and what others then hold beyond that."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from volcano_py.framework.session import Session
from volcano_py.plugins.amounts.shares import saturated, sums_by_group
from volcano_py.plugins.proportion.account import QueueAccount
from volcano_py.plugins.proportion.accounts import Accounts
from volcano_py.plugins.proportion.division import divide_levels
from volcano_py.plugins.queues.base_account import Amounts
from volcano_py.plugins.queues.queue_amounts import not_created
from volcano_py.state.table.axis import PODS


class Entitlements:
    """As of one moment."""

    def __init__(self, ssn: Session, accounts: Accounts) -> None:
        levels, claims = accounts.rows.levels, accounts.claims
        missing = np.where(claims.is_stuck[:, None], 0, accounts.rows.alone(*not_created(ssn)))
        request = saturated(claims.request, missing)
        is_asking = np.any(np.minimum(request, claims.most), axis=1)
        claims = msgspec.structs.replace(
            claims, request=request, is_busy=np.where(claims.is_stuck, claims.is_busy, is_asking)
        )
        due = divide_levels(levels, claims).whole
        held = np.array([each.held for each in accounts.by_row], dtype=np.int64)
        given = np.maximum(held - due, 0)
        given[[not each.may_give and not each.children for each in accounts.by_row]] = 0
        below = np.zeros_like(given)
        # A queue with others below it gives no more than it has too much, and they have.
        for first, last in reversed(levels.spans[1:]):
            inner = np.array([bool(each.children) for each in accounts.by_row[first:last]], dtype=np.bool_)
            given[first:last][inner] = np.minimum(given[first:last], below[first:last])[inner]
            below += sums_by_group(levels.up[first:last], given[first:last], len(given))
        self._due: list[Amounts] = due.tolist()
        self._given: list[Amounts] = given.tolist()
        self._below: list[Amounts] = below.tolist()

    def due(self, account: QueueAccount) -> Amounts:
        """[R] what the queue would deserve."""
        return self._due[account.row]

    def could_reclaim(self, account: QueueAccount, asked: Sequence[int]) -> Amounts:
        """[R] what other queues hold beyond what they are due; nothing if the queue, with its promises and so much
        more, would not stay within what it is due."""
        found = [0] * len(asked)
        due = self.due(account)
        for dim, wanted in enumerate(asked):
            if wanted and dim != PODS and account.most(dim) + account.inqueue[dim] + wanted > due[dim]:
                return found
        for each, above in zip(account.chain, account.above, strict=False):
            siblings = zip(self._below[above.row], self._given[each.row], strict=True)
            found = [amount + all_of - own for amount, (all_of, own) in zip(found, siblings, strict=True)]
        return found
