"""What a queue of the tree could reclaim for a job whose pods do not exist yet, roughly.

Sides are compared where the paths of two queues part, by what the queues below them hold together. A side gives until
it has no more for its weight than the other side with the job. Nothing is rescaled: that depends on pods.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from volcano_py.plugins.drf.job_shares import largest_part
from volcano_py.plugins.drf.layout import Layout, Path, parting
from volcano_py.state.infos import QueueInfo
from volcano_py.state.table.axis import IntVector

# What floats of shares are off by, in units of a resource.
_ROUNDING = 1e-6


class Entitlements:
    """As of one moment."""

    def __init__(
        self, layout: Layout, queues: Mapping[str, QueueInfo], held: Mapping[str, IntVector], total: IntVector
    ) -> None:
        """`held` [R] by queue; `total` [R] is what queues can share."""
        self._layout = layout
        self._queues = queues
        self._held = held
        self._totals = [float(amount) for amount in total.tolist()]
        self._below: dict[Path, IntVector] = {}
        for name, path in layout.paths.items():
            if name not in layout.refused:
                for depth in range(1, len(path) + 1):
                    self._below[path[:depth]] = self._below.get(path[:depth], np.zeros_like(total)) + held[name]

    def could_reclaim(self, queue: str, wanted: IntVector) -> list[int]:
        """[R] what others could give to the queue for `wanted` [R] more."""
        given = [0] * len(self._totals)
        if queue in self._layout.refused:
            return given
        for name, path in self._layout.paths.items():
            sides = None if name == queue else parting(self._layout.paths[queue], path)
            if sides is None or name in self._layout.refused or not self._queues[name].reclaimable:
                continue
            mine, theirs = self._ratio(sides[0], wanted), self._ratio(sides[1])
            part = 1 - mine / theirs if theirs > mine else 0.0
            given = [
                so_far + math.ceil(units * part - _ROUNDING)
                for so_far, units in zip(given, self._held[name].tolist(), strict=True)
            ]
        return given

    def _ratio(self, side: Path, wanted: IntVector | int = 0) -> float:
        """What is held below a node, with `wanted` [R] more, over its weight."""
        return largest_part(self._below[side] + wanted, self._totals) / self._layout.weights[side]
