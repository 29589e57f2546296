"""What a queue of the tree could reclaim for a job whose pods do not exist yet, roughly.

Sides are compared where the paths of two queues part, by what the queues below them hold together. A side gives until
it has no more for its weight than the other side with the job. Nothing is rescaled: that depends on pods.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from volcano_py.plugins.drf.job_shares import largest_part
from volcano_py.plugins.drf.layout import Layout, Path, parting
from volcano_py.state.infos import QueueInfo
from volcano_py.state.table.axis import IntVector

# What floats of shares are off by, in units of a resource.
_ROUNDING = 1e-6


class _Givers(NamedTuple):
    """Where the path of a queue parts from those of others: the nodes on its own path, with the ratios of the other
    sides; and [G, R] what the others hold."""

    sides: list[tuple[Path, float]]
    held: NDArray[np.int64]


class Entitlements:
    """As of one moment."""

    def __init__(
        self, layout: Layout, queues: Mapping[str, QueueInfo], held: Mapping[str, IntVector], total: IntVector
    ) -> None:
        """`held` [R] by queue; `total` [R] is what queues can share."""
        self._layout = layout
        self._held = held
        self._givers: dict[str, _Givers] = {}
        self._totals = [float(amount) for amount in total.tolist()]
        self._holders = [
            (name, path)
            for name, path in layout.paths.items()
            if name not in layout.refused and queues[name].reclaimable and held[name].any()
        ]
        self._below: dict[Path, IntVector] = {}
        for name, path in layout.paths.items():
            if name not in layout.refused:
                for depth in range(1, len(path) + 1):
                    self._below[path[:depth]] = self._below.get(path[:depth], np.zeros_like(total)) + held[name]

    def could_reclaim(self, queue: str, wanted: IntVector) -> list[int]:
        """[R] what others could give to the queue for `wanted` [R] more."""
        if queue in self._layout.refused:
            return [0] * len(self._totals)
        if queue not in self._givers:
            self._givers[queue] = self._givers_for(queue)
        givers = self._givers[queue]
        parts = [max(1 - self._ratio(side, wanted) / ratio, 0.0) if ratio else 0.0 for side, ratio in givers.sides]
        given: list[int] = np.ceil(np.array(parts) @ givers.held - _ROUNDING).astype(np.int64).tolist()
        return given

    def _givers_for(self, queue: str) -> _Givers:
        """The queues that may give, grouped by where their paths part from that of the queue, and by the other side."""
        held: dict[tuple[Path, Path], IntVector] = {}
        for name, path in self._holders:
            if name != queue and (sides := parting(self._layout.paths[queue], path)) is not None:
                held[sides] = held.get(sides, 0) + self._held[name]
        ratios = [(mine, self._ratio(theirs)) for mine, theirs in held]
        return _Givers(ratios, np.array(list(held.values()), dtype=np.int64).reshape(len(held), len(self._totals)))

    def _ratio(self, side: Path, wanted: IntVector | int = 0) -> float:
        """What is held below a node, with `wanted` [R] more, over its weight."""
        return largest_part(self._below[side] + wanted, self._totals) / self._layout.weights[side]
