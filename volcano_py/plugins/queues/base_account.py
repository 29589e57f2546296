"""The account of a queue, as far as all plugins that own queues keep it: its place, and how far it may go."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from volcano_py.state.infos import QueueInfo
from volcano_py.state.queues.queue_tree import Fault

Amounts = list[int]
"""[R] whole units. Lists, as single values of short vectors are looked at in every turn of every job."""


@dataclass(slots=True, eq=False)
class BaseAccount:
    """One queue of a tree, or of several side by side. All sums include the queues below.

    `held`, `leaving` and `inqueue` follow the cycle; the rest is fixed when the session opens.

    Attributes:
        info: None for the top when no queue stands for it.
        row: its row in `QueueRows`.
        fault: why the queue has no place in the tree, if so.
        children: queues directly below it.
        above: the queues above it, the nearest first, the top last.
        held: requests of tasks that are allocated, or promised what is being released.
        leaving: requests of tasks that are leaving.
        capability: own or inherited; UNLIMITED where there is none.
        guarantee: what is kept for it and the queues below.
        real_capability: capability within what the guarantees of others leave.
        firm: what jobs hold within their minResources, and what is leaving, when the session opens.
        surplus: what they hold beyond.
        inqueue: what admitted jobs may still claim of their minResources.
    """

    name: str
    info: QueueInfo | None
    row: int
    fault: Fault | None
    children: tuple[str, ...]
    above: tuple[Self, ...]
    held: Amounts
    leaving: Amounts
    capability: Amounts
    guarantee: Amounts
    real_capability: Amounts
    firm: Amounts
    surplus: Amounts
    inqueue: Amounts

    @property
    def parent(self) -> Self | None:
        return self.above[0] if self.above else None

    @property
    def chain(self) -> tuple[Self, ...]:
        """Itself, and all above it."""
        return (self, *self.above)

    @property
    def may_give(self) -> bool:
        """Its pods can be reclaimed: it is a leaf with a place in the tree, and reclaimable."""
        return self.info is not None and self.info.reclaimable and self.fault is None and not self.children

    def keeps_guarantee(self, request: Sequence[int]) -> bool:
        """Whether it holds what it is guaranteed when `request` [R] is gone."""
        return all(
            self.held[dim] - units >= self.guarantee[dim]
            for dim, units in enumerate(request)
            if units and self.guarantee[dim]
        )

    def loses_guarantee(self, request: Sequence[int], claimant: Self) -> bool:
        """Whether it, or a queue above it alone, falls below its guarantee when `claimant` gets `request` [R]."""
        return not all(each.keeps_guarantee(request) for each in self.chain if each not in claimant.chain)

    def promise(self, amounts: Amounts) -> None:
        """A job that may claim these was admitted."""
        for account in self.chain:
            account.inqueue = [promised + more for promised, more in zip(account.inqueue, amounts, strict=True)]


def in_common(account: BaseAccount, other: BaseAccount) -> int:
    """How many queues the two have above them both; siblings have the most."""
    return sum(above in other.chain for above in account.chain)
