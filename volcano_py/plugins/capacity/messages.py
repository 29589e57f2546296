"""Messages of the capacity plugin: whose ceiling stops a job."""

from __future__ import annotations

from collections.abc import Sequence

from volcano_py.api.reasons import Reason
from volcano_py.api.wording.amounts import amount, numbers
from volcano_py.api.wording.explain_ceilings import Ceiling, over_ceiling
from volcano_py.plugins.capacity.account import QueueAccount
from volcano_py.plugins.capacity.accounts import Accounts
from volcano_py.plugins.capacity.headroom import Bound
from volcano_py.plugins.capacity.reserved import Reserved
from volcano_py.state.task_class import Refusal


class Refusals:
    """Sentences about ceilings. `names` are those of the resource axis, `total` what the cluster has, or, if given, the
    `shard`."""

    def __init__(self, names: Sequence[str], total: Sequence[int], accounts: Accounts, shard: str = "") -> None:
        self._names, self._shard = names, shard
        self._total = total
        self._reserved = Reserved(names, accounts.by_row)

    def guarantees_changed(self) -> None:
        """What queues hold of their guarantees has changed."""
        self._reserved.changed()

    def no_room(self, asking: QueueAccount, bound: Bound, wanted: int, *, by_gang: bool) -> Refusal:
        """One more task of `asking`, or `by_gang` a whole gang, exceeds the bound."""
        account, dim = bound.account, bound.dim
        if not bound.reserved:
            text = over_ceiling(
                account.name,
                self._names[dim],
                allocated=account.held[dim],
                asked=wanted,
                ceiling=account.capability[dim],
                kind=Ceiling.CAPABILITY,
                by_gang=by_gang,
                above=_above(asking, account),
                holder=self._leaving(account, dim),
            )
            return Refusal(Reason.OVER_CAPABILITY, text)
        # What guarantees of others leave is reported for the queue that competes with them, not for the one above both.
        below = bound.below
        text = over_ceiling(
            below.name,
            self._names[dim],
            allocated=below.held[dim],
            asked=wanted,
            ceiling=max(below.held[dim] + bound.left, 0),
            kind=Ceiling.REAL_CAPABILITY,
            by_gang=by_gang,
            above=_above(asking, below),
            holder=", ".join(filter(None, (self._leaving(below, dim), self._holding(account, dim)))),
            kept=self._reserved.from_others(asking, account, dim),
        )
        return Refusal(Reason.OVER_CAPABILITY, text)

    def not_enqueued(self, asking: QueueAccount, account: QueueAccount, dim: int, wanted: int, inqueue: int) -> Refusal:
        """A job of `asking` would claim more than `account`, its queue or one above it, may have, with so much promised
        (`inqueue`) that counts."""
        limit, surplus = account.real_capability[dim], account.surplus[dim]
        if limit == self._total[dim]:
            reason, kind = Reason.CLUSTER_OVERCOMMITTED, Ceiling.CLUSTER
        elif limit == account.capability[dim]:
            reason, kind = Reason.OVER_CAPABILITY, Ceiling.CAPABILITY
        else:
            reason, kind = Reason.OVER_CAPABILITY, Ceiling.REAL_CAPABILITY
        resource = self._names[dim]
        text = over_ceiling(
            account.name,
            resource,
            allocated=account.firm[dim],
            asked=wanted,
            ceiling=limit,
            kind=kind,
            inqueue=inqueue,
            shard=self._shard,
            above=_above(asking, account),
            holder=f"and {amount(resource, surplus)} beyond minResources, not counted" if surplus else "",
            kept=self._reserved.holding_down(account, dim) if kind is Ceiling.REAL_CAPABILITY else "",
        )
        return Refusal(reason, text)

    def _leaving(self, account: QueueAccount, dim: int) -> str:
        """Some of what is held will be free soon."""
        units = account.leaving[dim]
        return f"{amount(self._names[dim], units)} by terminating pods" if units else ""

    def _holding(self, account: QueueAccount, dim: int) -> str:
        whose = f"queue {account.name}" if account.name else "all queues"
        held, ceiling = numbers(self._names[dim], account.held[dim], account.capability[dim])
        return f"{whose}: {held} of {ceiling}"


def _above(asking: QueueAccount, account: QueueAccount) -> str:
    return "" if account is asking else asking.name
