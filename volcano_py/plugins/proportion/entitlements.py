"""What queues would deserve if the pods of all waiting jobs existed, and what others then hold beyond that."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from volcano_py.framework.session import Session
from volcano_py.plugins.amounts.shares import saturated
from volcano_py.plugins.proportion.account import Amounts, QueueAccount
from volcano_py.plugins.proportion.water_filling import divide
from volcano_py.plugins.queues.queue_amounts import not_created
from volcano_py.state.table.axis import PODS


class Entitlements:
    """As of one moment."""

    def __init__(self, ssn: Session, accounts: Mapping[str, QueueAccount]) -> None:
        found = list(accounts.values())
        at = np.array([account.info.slot for account in found], dtype=np.intp)
        missing = not_created(ssn).sums(len(ssn.snapshot.queue_names))[at]
        columns = ((each.request, each.real_capability, each.guarantee, each.held) for each in found)
        request, most, guarantee, held = (np.array(column, dtype=np.int64) for column in zip(*columns, strict=True))
        caps = np.minimum(saturated(request, missing), most)
        busy = np.flatnonzero(caps.any(axis=1))
        weights = [found[position].info.weight for position in busy.tolist()]
        due = np.zeros_like(caps)
        due[busy] = divide(ssn.available, weights, guarantee[busy], caps[busy]).whole
        beyond = np.maximum(held - due, 0)
        beyond[[not account.info.reclaimable for account in found]] = 0
        names = [account.info.name for account in found]
        self._due: dict[str, Amounts] = dict(zip(names, due.tolist(), strict=True))
        self._beyond: dict[str, Amounts] = dict(zip(names, beyond.tolist(), strict=True))
        self._beyond_together: Amounts = beyond.sum(axis=0).tolist()

    def could_reclaim(self, account: QueueAccount, asked: Sequence[int]) -> Amounts:
        """[R] what other queues hold beyond what they are due; nothing if the queue, with its promises and so much
        more, would not stay within what it is due."""
        name = account.info.name
        for dim, wanted in enumerate(asked):
            if wanted and dim != PODS and account.most(dim) + account.inqueue[dim] + wanted > self._due[name][dim]:
                return [0] * len(asked)
        return [all_of - own for all_of, own in zip(self._beyond_together, self._beyond[name], strict=True)]
