"""Labels, taints and images of all nodes as columns, so that a selector is evaluated once per distinct value.

Built once per `nodes_version` and shared by the cycles in which nodes stay as they are; columns appear when first
asked for.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from volcano_py.api.objects import Taint
from volcano_py.state.infos import NodeInfo

ABSENT = -1


class LabelColumn:
    """One label key: `codes` [N] point into `values`, ABSENT where a node lacks the label."""

    def __init__(self, nodes: Sequence[NodeInfo], key: str) -> None:
        slots: dict[str, int] = {}
        codes = [ABSENT] * len(nodes)
        for row, node in enumerate(nodes):
            value = node.labels.get(key)
            if value is not None:
                codes[row] = slots.setdefault(value, len(slots))
        self.codes: NDArray[np.int32] = np.array(codes, dtype=np.int32)
        self.values: list[str] = list(slots)

    def where(self, wanted: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """[N] nodes whose value is marked in `wanted` [number of values]; nodes without the label are not."""
        if not len(wanted):
            return np.zeros(len(self.codes), dtype=np.bool_)
        found: NDArray[np.bool_] = wanted[self.codes] & (self.codes != ABSENT)
        return found


class NodeIndex:
    """Columns over the node rows of one snapshot."""

    def __init__(self, nodes: Sequence[NodeInfo], version: int) -> None:
        self.nodes = nodes
        self.version = version
        self._labels: dict[str, LabelColumn] = {}
        self._images: dict[str, NDArray[np.int64]] = {}
        distinct: dict[tuple[Taint, ...], int] = {}
        self.taint_codes: NDArray[np.int32] = np.array(
            [distinct.setdefault(node.taints, len(distinct)) for node in nodes], dtype=np.int32
        )
        """[N] which of `taint_sets` a node has."""
        self.taint_sets: list[tuple[Taint, ...]] = list(distinct)
        self.unschedulable: NDArray[np.bool_] = np.array([node.unschedulable for node in nodes], dtype=np.bool_)
        self.names: NDArray[np.object_] = np.array([node.name for node in nodes], dtype=np.object_)
        self.name_rank: NDArray[np.int64] = np.empty(len(nodes), dtype=np.int64)
        self.name_rank[np.argsort(self.names, kind="stable")] = np.arange(len(nodes))
        self.rows: dict[str, int] = {node.name: row for row, node in enumerate(nodes) if node.name}

    def label(self, key: str) -> LabelColumn:
        column = self._labels.get(key)
        if column is None:
            column = self._labels[key] = LabelColumn(self.nodes, key)
        return column

    def image_sizes(self, image: str) -> NDArray[np.int64]:
        """[N] bytes of the image on each node, 0 where it is absent."""
        sizes = self._images.get(image)
        if sizes is None:
            sizes = np.array([node.images.get(image, 0) for node in self.nodes], dtype=np.int64)
            self._images[image] = sizes
        return sizes
