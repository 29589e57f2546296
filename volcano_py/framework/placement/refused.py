"""The refusals of all nodes for a class that none of them takes: for plugins that advise what would help."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from volcano_py.framework.cluster_copy import ClusterCopy
from volcano_py.framework.views import FITS, Codes
from volcano_py.state.table.table import Rows


class Refused:
    """The messages of refusals, and which nodes, and how many, gave each as their first. Nodes that do not exist, or
    only lack room, are left out."""

    def __init__(self, cluster: ClusterCopy, codes: Codes) -> None:
        """`codes` [N]"""
        self._codes = codes
        self._present = cluster.ledger.nodes.present
        self._codes_of: dict[str, list[int]] = {}
        self._counts: dict[str, int] = {}
        for code, count in counted(codes[self._present]):
            if code != FITS:
                message = cluster.refusal_of(code).message
                self._codes_of.setdefault(message, []).append(code)
                self._counts[message] = self._counts.get(message, 0) + count

    def __contains__(self, message: object) -> bool:
        return message in self._counts

    def __iter__(self) -> Iterator[str]:
        return iter(self._counts)

    def __len__(self) -> int:
        return len(self._counts)

    def count(self, message: str) -> int:
        """How many nodes gave this message."""
        return self._counts.get(message, 0)

    def mask(self, message: str) -> NDArray[np.bool_]:
        """[N] the nodes that gave this message."""
        mask = np.zeros(len(self._codes), dtype=np.bool_)
        for code in self._codes_of.get(message, ()):
            mask |= self._codes == code
        return mask & self._present

    def rows(self, message: str) -> Rows:
        """[K] the same as rows, ascending."""
        return np.flatnonzero(self.mask(message))


def counted(codes: Codes) -> list[tuple[int, int]]:
    """Each code and how often it occurs, ascending. Where all nodes say the same, a comparison is enough."""
    if len(codes) and (codes == codes[0]).all():
        return [(int(codes[0]), len(codes))]
    different, counts = np.unique(codes, return_counts=True)
    return list(zip(different.tolist(), counts.tolist(), strict=True))
