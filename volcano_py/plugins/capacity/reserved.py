"""For which queues guarantees keep what is not held yet: named in messages to jobs that it is refused to."""

from __future__ import annotations

from collections.abc import Sequence

from volcano_py.api.wording.holders import Holders
from volcano_py.plugins.capacity.account import QueueAccount
from volcano_py.plugins.queues.kept_for_others import KeptForOthers, is_below


class Reserved(KeptForOthers[QueueAccount]):
    """With what is missing of guarantees, which is worked out again when what is held within them has changed."""

    def __init__(self, names: Sequence[str], accounts: Sequence[QueueAccount]) -> None:
        super().__init__(names, accounts)
        self._missing: dict[tuple[int, int], Holders] = {}

    def changed(self) -> None:
        """What queues hold of their guarantees has changed."""
        self._missing.clear()

    def from_others(self, asking: QueueAccount, bound: QueueAccount, dim: int) -> str:
        """Of what is kept below `bound` and not held yet, all but what is kept for `asking` and the queues above it.

        What a queue is guaranteed beyond what it and those below need is kept for it alone: so the parts add up to
        what the bound reserves.
        """
        key = bound.row, dim
        if key not in self._missing:
            missing = ((each, each.missing(dim)) for each in self.guaranteed(dim))
            parts = [(each.name, units) for each, units in missing if units and is_below(each, bound)]
            self._missing[key] = Holders(self._names[dim], parts)
        return self._missing[key].summary([each.name for each in asking.chain])
