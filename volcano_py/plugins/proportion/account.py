"""The account of one queue in a cycle: what it holds, what it deserves, and how far it may go."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from volcano_py.framework.eviction.units import Verdict
from volcano_py.plugins.amounts.sparse_requests import SparseRequest
from volcano_py.plugins.queues.base_account import Amounts, BaseAccount
from volcano_py.state.status import TaskStatus
from volcano_py.state.table.axis import PODS


@dataclass(slots=True, eq=False)
class QueueAccount(BaseAccount):
    """`held`, `used`, `leaving` and `inqueue` follow the cycle; the rest is fixed when the session opens.

    Attributes:
        written: capability as written; UNLIMITED where nothing is.
        used: requests of tasks that are allocated, or leaving.
        request: all that it holds and what its pending tasks ask for, when the session opens.
        deserved: its exact part of the cluster.
        ceiling: `deserved` rounded down to whole units, for comparisons.
        reported: the same without what only pods claim that could start nowhere; queues side by side have no more
            together than there is.
        limited_by: the queues above it whose ceilings hold for it: without a top that is the whole cluster, which is
            the nodes' business.
    """

    written: Amounts
    used: Amounts
    request: Amounts
    deserved: list[float]
    ceiling: Amounts
    reported: Amounts
    limited_by: tuple[QueueAccount, ...] = ()
    _deserving: tuple[int, ...] = field(init=False)

    def __post_init__(self) -> None:
        self._deserving = tuple(dim for dim, amount in enumerate(self.deserved) if amount > 0)

    @property
    def limiting(self) -> tuple[QueueAccount, ...]:
        """The queues whose ceilings hold for it, its own first."""
        return (self, *self.limited_by)

    @property
    def share(self) -> float:
        """The largest part that it holds, now or once promises are kept, of any resource it deserves."""
        share = 0.0
        for dim in self._deserving:  # (asked of each queue on the way after every turn)
            held, used = self.held[dim], self.used[dim]
            part = (held if held > used else used) / self.deserved[dim]
            if part > share:
                share = part
        return share

    @property
    def is_overused(self) -> bool:
        """It holds all that it deserves, of every resource."""
        for dim in self._deserving:
            amount = self.deserved[dim]
            if self.held[dim] < amount and self.used[dim] < amount:
                return False
        return True

    def until_overused(self, asked: SparseRequest) -> float:
        """How many more tasks that ask for `asked` it may get at least before it is."""
        units, tasks = dict(asked), 0.0
        for dim in self._deserving:
            if (lacking := self.deserved[dim] - self.most(dim)) > 0:
                tasks = max(tasks, lacking // units[dim] if dim in units else math.inf)
        return tasks

    def until_ceiling(self, asked: SparseRequest, available: Amounts) -> float:
        """How many more tasks that ask for `asked` its own ceiling leaves room for, which `available` [R] does not."""
        return min(
            (
                (self.ceiling[dim] - self.most(dim)) // units
                for dim, units in asked
                if dim != PODS and self.ceiling[dim] < available[dim]
            ),
            default=math.inf,
        )

    @property
    def is_beyond(self) -> bool:
        """It holds more than it deserves of something. Places for pods are no excess."""
        return any(
            held > most for dim, (held, most) in enumerate(zip(self.held, self.ceiling, strict=True)) if dim != PODS
        )

    def gives(self, asked: SparseRequest, taken: Amounts) -> bool:
        """Whether it may lose a pod that holds `asked` once `taken` has gone: it holds more than it deserves of some
        of that, and keeps all that it is guaranteed."""
        left = [(dim, self.held[dim] - taken[dim], units) for dim, units in asked]
        return any(held > self.ceiling[dim] for dim, held, _ in left if dim != PODS) and all(
            held - units >= self.guarantee[dim] for dim, held, units in left if self.guarantee[dim]
        )

    def judge(self, request: Amounts, core: Amounts, lacking: Sequence[bool]) -> Verdict:
        """Whether it may lose pods that hold `request` [R] together, for a job that lacks some resources [R].

        When all but their `core` [R] is gone, it still holds more than it deserves of one of these resources; and it
        keeps all that it is guaranteed. If it then holds less than it deserves of anything, only as a last resort.
        """
        asked = [(dim, units) for dim, units in enumerate(request) if units and dim != PODS]
        if not any(
            lacking[dim] and core[dim] and self.held[dim] - units + core[dim] > self.ceiling[dim]
            for dim, units in asked
        ):
            return Verdict.NO
        if not self.keeps_guarantee(request):
            return Verdict.NO
        falls_short = any(self.held[dim] - units < self.ceiling[dim] <= self.held[dim] for dim, units in asked)
        return Verdict.LAST_RESORT if falls_short else Verdict.YES

    def most(self, dim: int) -> int:
        """What it holds of a resource, now or once those that leave are gone and those with a promise are there:
        deleting pods with a long grace period frees nothing."""
        return max(self.held[dim], self.used[dim])

    def book(self, asked: SparseRequest, count: int, status: TaskStatus) -> None:
        """`count` more tasks in this queue (fewer, when negative) hold what they ask for, as they were put into
        `status` or taken back from it; so do all queues above."""
        is_used, is_leaving = status is TaskStatus.ALLOCATED, status is TaskStatus.RELEASING
        for account in self.chain:
            if account.info is None:
                return  # nothing is asked of a top that is no queue
            held, used = account.held, account.used
            for dim, amount in asked:
                held[dim] += amount * count
                if is_used:
                    used[dim] += amount * count
                elif is_leaving:
                    account.leaving[dim] -= amount * count
