"""What nodes have of some resources, in a layout for scores that are computed thousands of times a cycle.

Arrays are [D, N] and float64: one contiguous row per resource, so that each step of a score is one fast loop over the
nodes. Floats hold the integers of the books exactly up to 2^53, which is 8 PiB of memory on one node.
"""

from __future__ import annotations

from functools import reduce
from typing import Final

import numpy as np
from numpy.typing import NDArray

from volcano_py.state.table.columns import NodeTable
from volcano_py.state.table.table import Rows

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
Positions = slice | NDArray[np.intp]
"""Positions on the resource axis."""

HIGHEST: Final = 100
"""kube-scheduler's MaxNodeScore: a single score, before it is weighted, is from 0 to this."""


class NodeCapacity:
    """Allocatable amounts, which stay as they are for the cycle.

    Attributes:
        complete: every existing node has something of each of the resources, so masks can be left out.
    """

    def __init__(self, nodes: NodeTable, positions: Positions) -> None:
        self._amounts: Floats = nodes.allocatable[: nodes.size, positions].T.astype(np.float64, order="C")
        self._divisors = np.where(self._amounts > 0, self._amounts, 1.0)
        self._has = self._amounts > 0
        self.complete = bool(self._has[:, nodes.present[: nodes.size]].all())

    def of(self, rows: Rows) -> Floats:
        """[D, K] amounts."""
        return self._amounts.take(rows, axis=1)

    def divisors(self, rows: Rows) -> Floats:
        """[D, K] amounts, 1 in place of 0."""
        return self._divisors.take(rows, axis=1)

    def has(self, rows: Rows) -> Mask:
        """[D, K] whether a node has any."""
        return self._has.take(rows, axis=1)


def with_one_more(used: NDArray[np.int64], request: NDArray[np.int64]) -> Floats:
    """[D, K] what is in use ([K, D]) with one more request ([D]); [C, D, K] for several requests ([C, D])."""
    amounts: Floats = used.T.astype(np.float64, order="C")
    return amounts + request[..., None]


def total(values: Floats) -> Floats:
    """[K] the rows of [D, K] added in their order; [C, K] for [C, D, K]."""
    summed: Floats = reduce(np.add, (values[..., dim, :] for dim in range(values.shape[-2])))
    return summed
