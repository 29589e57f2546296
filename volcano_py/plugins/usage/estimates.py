"""What pods are expected to use before their usage is measured.

estimate = request x request_ratio + (limit - request) x burst_ratio, from 0 to the limit; times risk_factor on a node
that is loaded beyond risk_threshold already.
"""

from __future__ import annotations

import msgspec
import numpy as np
from numpy.typing import NDArray

from volcano_py.api.quantity import LARGEST
from volcano_py.plugins.usage.arguments import UsageArguments
from volcano_py.state.table.axis import CPU, MEMORY, IntVector

Amounts = NDArray[np.int64]
"""[2] or [K, 2]: CPU in millicores, memory in bytes. Whole numbers, so that taking one back restores the sum."""


class Estimate(msgspec.Struct, frozen=True, eq=False):
    """Of one kind of pod: `plain` [2] before, `highest` [2] whatever the risk."""

    plain: NDArray[np.float64]
    highest: NDArray[np.float64]

    def on(self, risky: NDArray[np.bool_], factor: float) -> Amounts:
        """[K, 2] on nodes that are loaded beyond the threshold, or not."""
        scaled = np.minimum(self.plain * np.where(risky, min(factor, LARGEST), 1.0)[:, None], self.highest)
        amounts: Amounts = np.rint(scaled).astype(np.int64)
        return amounts


class Estimator:
    """Makes the estimates of a configuration."""

    def __init__(self, arguments: UsageArguments) -> None:
        self._given = arguments
        self._best_effort = np.array(arguments.best_effort(), dtype=np.float64)
        self._known: dict[tuple[int, int, int, int], Estimate] = {}

    def of(self, request: IntVector, limits: tuple[int, int]) -> Estimate:
        """`request` [R] and the limits (millicores, bytes; 0 for none) of a pod."""
        cpu, memory = int(request[CPU]), int(request[MEMORY])
        key = (cpu, memory, *limits)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._make(np.array((cpu, memory), dtype=np.float64), np.array(limits))
        return found

    def _make(self, request: NDArray[np.float64], limits: NDArray[np.int64]) -> Estimate:
        highest = np.where(limits > 0, limits, float(LARGEST))  # what no pod can ask for, so that sums stay exact
        burst = np.where(limits > 0, np.maximum(limits - request, 0), 0.0)
        asked = request * self._given.request_ratio + burst * self._given.burst_ratio
        plain = np.where(request > 0, asked, self._best_effort)
        return Estimate(np.clip(plain, 0.0, highest), highest)
