"""Task rows grouped by node, for questions about all nodes at once."""

from __future__ import annotations

import msgspec
import numpy as np
from numpy.typing import NDArray

from volcano_py.state.table.table import Rows


class RowsByNode(msgspec.Struct, frozen=True, eq=False):
    """Task rows sorted by node.

    Attributes:
        rows: [K]
        nodes: [M] the nodes that have any of them, ascending.
        starts: [M + 1] where the rows of each node begin, then K.
    """

    rows: Rows
    nodes: Rows
    starts: Rows

    @classmethod
    def of(cls, rows: Rows, node_of: NDArray[np.int32]) -> RowsByNode:
        """`rows` must be sorted by `node_of`, which has the node of every task row."""
        where = node_of[rows]
        is_start = np.ones(len(rows) + 1, dtype=np.bool_)
        is_start[1:-1] = where[1:] != where[:-1]
        starts = np.flatnonzero(is_start)
        return cls(rows, where[starts[:-1]].astype(np.intp), starts)

    def on(self, node: int) -> Rows:
        """The rows on a node, which must be one of `nodes`."""
        place = int(np.searchsorted(self.nodes, node))
        return self.rows[self.starts[place] : self.starts[place + 1]]

    def sums(self, amounts: NDArray[np.int64]) -> NDArray[np.int64]:
        """[M] sums of `amounts` [K] by node."""
        sums: NDArray[np.int64] = np.add.reduceat(amounts, self.starts[:-1])
        return sums

    def where(self, keep: NDArray[np.bool_]) -> RowsByNode:
        """The rows on the nodes that are marked in `keep` [M]."""
        sizes = np.diff(self.starts)
        starts = np.concatenate(([0], np.cumsum(sizes[keep])))
        return RowsByNode(self.rows[np.repeat(keep, sizes)], self.nodes[keep], starts)
