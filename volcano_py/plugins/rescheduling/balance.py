"""Which nodes have a low load, which a high one, and how much may move from these to those.

All amounts are whole numbers, CPU in millicores and memory in bytes, so that thresholds are met exactly. What is in use
is what was measured; on nodes with a low load, also what pods request that have come since, and on others without what
pods request that are leaving: they take their time, and are measured until they are gone.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from volcano_py.plugins.amounts.measured_load import Parts
from volcano_py.plugins.rescheduling.strategies import LowNodeUtilization

Amounts = NDArray[np.int64]
"""[2] or [K, 2]: CPU in millicores, memory in bytes."""
Flags = NDArray[np.bool_]
_ALL = 100
_MOST: Final = 100.0
"""Times a node that can be in use of it: no measurement says more, and what does must not overflow."""


class Balance:
    """One run of the strategy.

    Attributes:
        low: [N] nodes that take pods: schedulable, and below all thresholds.
        high: [N] the others that are above one of the targets.
        measured: [N] nodes of which the load is known, as far as the strategy goes by it.
        budget: [2] what the nodes with a low load can still take before they reach the targets.
    """

    def __init__(
        self,
        strategy: LowNodeUtilization,
        load: Parts,
        capacity: Amounts,
        *,
        coming: Amounts,
        leaving: Amounts,
        schedulable: Flags,
    ) -> None:
        """`load`, `capacity`, `coming`, `leaving` [N, 2]: what was measured, NaN for nothing; what nodes have; what
        pods request that are not measured yet, and those that are leaving. `schedulable` [N]."""
        self._capacity = capacity
        thresholds, self._targets = np.array(strategy.thresholds.both), np.array(strategy.targets.both)
        goes_by = np.minimum(thresholds, self._targets) < _ALL
        self.measured: Flags = ((np.isfinite(load) & (capacity > 0)) | ~goes_by).all(axis=1)
        self.measured &= np.isfinite(load).any(axis=1)
        used: Amounts = np.rint(np.minimum(np.nan_to_num(load), _MOST) * capacity).astype(np.int64)
        expected = used + coming
        self._used: Amounts = used - leaving
        is_below = (expected * _ALL < thresholds * capacity) | ~goes_by
        self.low: Flags = self.measured & schedulable & is_below.all(axis=1)
        self.high: Flags = self.measured & ~self.low & (self._used * _ALL > self._targets * capacity).any(axis=1)
        room = np.maximum(self._targets * capacity // _ALL - expected, 0)
        self.budget: Amounts = room[self.low].sum(axis=0)

    def most_loaded_first(self, rows: NDArray[np.intp], rank: NDArray[np.int64]) -> list[int]:
        """The nodes by the sum of both parts in use, the highest first; `rank` [N] decides among equals."""
        parts = (self._used[rows] / np.maximum(self._capacity[rows], 1)).sum(axis=1)
        ordered: list[int] = rows[np.lexsort((rank[rows], -parts))].tolist()
        return ordered

    def is_spent(self) -> bool:
        """Whether the nodes with a low load have no room any more."""
        return bool((self.budget <= 0).any())

    def too_much(self, node: int) -> Flags:
        """[2] of what the node still has its target, or more than that, in use."""
        over: Flags = self._used[node] * _ALL >= self._targets * self._capacity[node]
        return over

    def affords(self, request: Amounts) -> bool:
        """Whether the room is enough for a pod that requests so much."""
        return bool((request <= self.budget).all())

    def take(self, node: int, request: Amounts) -> None:
        """A pod leaves the node for one with a low load."""
        self.budget -= request
        self._used[node] -= request
