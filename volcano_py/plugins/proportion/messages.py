"""Messages of the proportion plugin: whose ceiling stops a job, and what the ceiling comes from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from volcano_py.api.reasons import Reason
from volcano_py.api.wording.amounts import amount
from volcano_py.api.wording.explain_ceilings import Ceiling, over_ceiling
from volcano_py.plugins.proportion.account import QueueAccount
from volcano_py.plugins.queues.kept_for_others import KeptForOthers
from volcano_py.state.task_class import Refusal


class Refusals:
    """Sentences about the ceilings of `bound`, which is the queue `asking` or one above it.

    `names` are those of the resource axis, `total` what the cluster has, or, if given, the `shard`;
    `accounts` are all, by row.
    """

    def __init__(
        self, names: Sequence[str], total: Sequence[int], accounts: Sequence[QueueAccount], shard: str = ""
    ) -> None:
        self._names, self._total, self._shard = names, total, shard
        self._kept_for_others = KeptForOthers(names, accounts)

    def over_deserved(
        self, asking: QueueAccount, bound: QueueAccount, dim: int, wanted: int, *, at_once: bool, by_gang: bool
    ) -> Refusal:
        """One more task, or `by_gang` a whole gang, exceeds what the queue deserves, or could ever get; `at_once`:
        while what is leaving is still there."""
        units = bound.leaving[dim] if at_once else 0
        going = f"{amount(self._names[dim], units)} by terminating pods" if units else ""
        held = bound.used[dim] if at_once else bound.held[dim]
        most = bound.real_capability[dim]
        limit = most if wanted > most else bound.ceiling[dim]
        return self._refusal(asking, bound, dim, wanted, limit, allocated=held, holder=going, by_gang=by_gang)

    def over_capability(
        self, asking: QueueAccount, bound: QueueAccount, dim: int, wanted: int, inqueue: int
    ) -> Refusal:
        """A job would claim more than the queue may have, with so much promised (`inqueue`) that counts."""
        surplus, held = bound.surplus[dim], bound.firm[dim]
        beyond = f"and {amount(self._names[dim], surplus)} beyond minResources, not counted" if surplus else ""
        limit = bound.real_capability[dim]
        return self._refusal(asking, bound, dim, wanted, limit, allocated=held, inqueue=inqueue, holder=beyond)

    def _refusal(
        self, asking: QueueAccount, bound: QueueAccount, dim: int, wanted: int, limit: int, **numbers: Any
    ) -> Refusal:
        """The sentence, by what the limit comes from: the first of the queue's bounds that it equals."""
        if limit == bound.written[dim]:
            reason, kind = Reason.OVER_CAPABILITY, Ceiling.CAPABILITY
        elif limit == self._total[dim]:
            reason, kind = Reason.CLUSTER_OVERCOMMITTED, Ceiling.CLUSTER
        elif limit == bound.real_capability[dim]:
            reason, kind = Reason.OVER_CAPABILITY, Ceiling.REAL_CAPABILITY
        else:
            reason, kind = Reason.OVER_DESERVED, Ceiling.DESERVED
        above = "" if bound is asking else asking.name
        kept = self._kept_for_others.holding_down(bound, dim) if kind is Ceiling.REAL_CAPABILITY else ""
        resource = self._names[dim]
        text = over_ceiling(
            bound.name,
            resource,
            asked=wanted,
            ceiling=limit,
            kind=kind,
            above=above,
            kept=kept,
            shard=self._shard,
            **numbers,
        )
        return Refusal(reason, text)
