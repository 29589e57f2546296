"""Which queue may reclaim, and which queues have to give.

A queue may reclaim while it, or (`ancestorReclaimLevel`) a queue above it, stays within what it deserves of something
that is asked for. Two rules make an exchange final. A queue that would exceed what it deserves of one resource to get
what it deserves of another takes only from queues that exceed theirs in everything they lose. A queue that takes by the
right of a queue above takes only from outside of that queue. Otherwise two queues would take the same places from each
other in turn.
"""

from __future__ import annotations

import msgspec

from volcano_py.plugins.amounts.sparse_requests import SparseRequest
from volcano_py.plugins.capacity.account import QueueAccount
from volcano_py.state.table.axis import PODS


class ReclaimRight(msgspec.Struct, frozen=True):
    """What is asked for, and by what right.

    Attributes:
        account: the queue of the task that reclaims.
        entitled: the queue, or one above it, that stays within what it deserves; None when there is none.
        goes_beyond: `entitled` would exceed what it deserves of something else that is asked for.
        level: how many queues above take part.
    """

    account: QueueAccount
    asked: SparseRequest
    entitled: QueueAccount | None
    goes_beyond: bool
    level: int

    @classmethod
    def of(cls, account: QueueAccount, asked: SparseRequest, level: int) -> ReclaimRight:
        entitled = _entitled(account, asked, level)
        return cls(account, asked, entitled, (entitled or account).would_exceed_deserved(asked), level)

    @property
    def is_within_capability(self) -> bool:
        """Whether the queue itself may have it at all. Queues above may be full of what others give."""
        account = self.account
        return all(
            account.held[dim] + wanted <= account.real_capability[dim] for dim, wanted in self.asked if dim != PODS
        )

    @property
    def deserves_none(self) -> bool:
        """The queue deserves nothing of what is asked for."""
        return not any(self.account.has_deserved[dim] for dim, _ in self.asked if dim != PODS)

    def spares(self, account: QueueAccount) -> bool:
        """Nothing can be taken from the queue: itself, one without a place in the tree, or under the same right.

        A mistake in the tree stops jobs, it does not cost pods.
        """
        return (
            account is self.account
            or account.fault is not None
            or bool(account.children)
            or (self.entitled is not self.account and self.entitled in account.chain)
        )

    def are_kin(self, account: QueueAccount) -> bool:
        """Whether the two queues have a queue other than root above them within the level."""
        return any(above in self._above for above in _above(account, self.level))

    def judged(self, account: QueueAccount) -> list[QueueAccount]:
        """Queues above `account` that must exceed what they deserve, too, for it to give."""
        return [above for above in _above(account, self.level) if above not in self.account.chain]

    def kept(self, account: QueueAccount) -> list[QueueAccount]:
        """Queues above `account` that lose what it gives, and have something guaranteed."""
        return [above for above in account.chain[1:-1] if any(above.guarantee) and above not in self.account.chain]

    @property
    def _above(self) -> tuple[QueueAccount, ...]:
        return _above(self.account, self.level)


def _above(account: QueueAccount, level: int) -> tuple[QueueAccount, ...]:
    """The nearest `level` queues above, without root."""
    return account.chain[1 : min(level + 1, len(account.chain) - 1)]


def _entitled(account: QueueAccount, asked: SparseRequest, level: int) -> QueueAccount | None:
    for each in rightful(account, level):
        if each.stays_within_some_deserved(asked):
            return each
    return None


def rightful(account: QueueAccount, level: int) -> tuple[QueueAccount, ...]:
    """The queues by whose right `account` may reclaim: itself, and the nearest `level` above it."""
    return account, *_above(account, level)
