"""The account of one queue in a cycle: what it and the queues below it hold, and how far it may go."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from volcano_py.framework.devices.requests import SharedClaim
from volcano_py.plugins.amounts.sparse_requests import SparseRequest
from volcano_py.plugins.queues.base_account import Amounts, BaseAccount
from volcano_py.state.table.axis import PODS


@dataclass(slots=True, eq=False)
class QueueAccount(BaseAccount):
    """`held`, `kept` and `inqueue` follow the cycle; the rest is fixed when the session opens.

    In the accounts for bindings at once, `held` is what tasks hold that are allocated, or are leaving, and `leaving`
    the latter alone; in the others `leaving` is 0.

    Attributes:
        kept: what the queues below are guaranteed and do not hold yet.
        deserved: what it is entitled to.
        has_deserved: where that is an entitlement at all.
        users: claims to devices (namespace/name) that tasks share, and how many of its tasks hold each.
    """

    kept: Amounts
    deserved: Amounts
    has_deserved: list[bool]
    users: Counter[str] = field(init=False, default_factory=Counter)
    _deserving: tuple[tuple[int, int], ...] = field(init=False)
    _is_best_effort: bool = field(init=False)
    _has_guarantees: bool = field(init=False)
    _turn: tuple[float, bool, float] | None = None

    def __post_init__(self) -> None:
        self._deserving = tuple((dim, self.deserved[dim]) for dim, has in enumerate(self.has_deserved) if has)
        self._is_best_effort = not any(amount for dim, amount in self._deserving if dim != PODS)
        self._has_guarantees = any(any(account.guarantee) for account in self.chain)

    @property
    def share(self) -> float:
        """The largest part that it holds of any resource it deserves; 1 when it deserves nothing."""
        if self._is_best_effort:
            return 1.0
        share = 0.0
        for dim, amount in self._deserving:
            held = self.held[dim]
            part = held / amount if amount else float(held > 0)
            if part > share:
                share = part
        return share

    @property
    def turn(self) -> tuple[float, bool, float]:
        """Its key among its siblings: smaller share first, then those that deserve something, then the older."""
        if self._turn is None:
            self._turn = self.share, self._is_best_effort, self.info.created if self.info is not None else 0.0
        return self._turn

    @property
    def exceeds_deserved(self) -> bool:
        """It holds more than it deserves of some resource."""
        return any(self.held[dim] > amount for dim, amount in self._deserving)

    def stays_within_some_deserved(self, asked: SparseRequest) -> bool:
        """Whether it would stay within what it deserves of at least one resource that is asked for."""
        return any(self.held[dim] + wanted <= self.deserved[dim] for dim, wanted in asked if dim != PODS)

    def would_exceed_deserved(self, asked: SparseRequest) -> bool:
        """Whether it would go beyond what it deserves of any resource that is asked for."""
        return any(self.held[dim] + wanted > self.deserved[dim] for dim, wanted in asked if dim != PODS)

    def until_ceiling(self, asked: SparseRequest, total: Amounts) -> float:
        """How many more tasks that ask for `asked` its own ceiling leaves room for at least, whichever of the queues
        below it gets them; `total` [R] is the whole cluster's, which is the nodes' business."""
        return min(
            (
                (self.capability[dim] - self.held[dim] - self.kept[dim]) // units
                for dim, units in asked
                if dim != PODS and (self.kept[dim] > 0 or self.capability[dim] < total[dim])
            ),
            default=math.inf,
        )

    def missing(self, dim: int, more: int = 0) -> int:
        """What is kept for the queue itself: it is guaranteed so much beyond what is kept below it, and what it holds
        and `more`."""
        return max(0, self.guarantee[dim] - self.kept[dim] - self.held[dim] - more)

    def book(self, asked: SparseRequest, count: int) -> bool:
        """`count` more tasks in this queue (fewer, when negative) hold what they ask for; so do all queues above.

        Returns whether some of it is held within a guarantee.
        """
        is_guaranteed = self._has_guarantees and self._book_within_guarantees(asked, count)
        for account in self.chain:
            account._turn = None
            held = account.held
            for dim, amount in asked:
                held[dim] += amount * count
        return is_guaranteed

    def share_claims(self, shared: Sequence[SharedClaim], count: int) -> None:
        """`count` more tasks in this queue (fewer, when negative) use these claims; so do all queues above."""
        for account in self.chain:
            for each in shared:
                before = account.users[each.claim]
                after = account.users[each.claim] = before + count
                change = (after > 0) - (before > 0)
                for dim, units in each.units if change else ():
                    account.held[dim] += change * units

    def once(self, shared: Sequence[SharedClaim]) -> dict[int, int]:
        """What the first task to use these claims adds, by position on the resource axis."""
        added: dict[int, int] = {}
        for each in shared:
            for dim, units in each.units if not self.users[each.claim] else ():
                added[dim] = added.get(dim, 0) + units
        return added

    def _book_within_guarantees(self, asked: SparseRequest, count: int) -> bool:
        """What will be held within a guarantee need not be kept any longer. To be called before it is held."""
        is_any = False
        for dim, amount in asked:
            kept = 0
            for account in self.chain:
                before = account.missing(dim)
                account.kept[dim] += kept
                kept += account.missing(dim, amount * count) - before
            is_any = is_any or kept != 0
        return is_any

    def leave(self, asked: SparseRequest, count: int) -> None:
        """`count` more tasks (fewer, when negative) in this queue are leaving."""
        for account in self.chain:
            for dim, amount in asked:
                account.leaving[dim] += amount * count
