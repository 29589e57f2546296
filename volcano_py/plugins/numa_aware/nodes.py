"""What Numatopologies say of the nodes, as columns: the same for the whole cycle."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from volcano_py.framework.cluster_copy import ClusterCopy
from volcano_py.plugins.numa_aware.hints import Policies
from volcano_py.state.numa.asked import POLICIES, SINGLE, STRICT
from volcano_py.state.numa.info import NumaInfo
from volcano_py.state.numa.layout import Layout
from volcano_py.state.table.table import Rows

Mask = NDArray[np.bool_]
_OTHER = -1
_STRICT = [POLICIES.index(name) for name in STRICT]


class NumaNodes:
    """By node row.

    Attributes:
        infos: [N] None for nodes without an object.
        exists: [N] whether there is one.
        is_static: [N] whether pods get CPUs of their own.
        policy: [N] position in `POLICIES`; -1 for none of them.
        has_layout: [N]
        has_listed: [N] whether the object lists any CPU as free.
        is_kept: [N] whether it matters where CPUs are: they are followed there.
        width: the most NUMA nodes that a node has, 1 at least.
    """

    def __init__(self, cluster: ClusterCopy) -> None:
        known = cluster.snapshot.numa.nodes
        names = [info.name for info in cluster.snapshot.nodes]
        self.infos: list[NumaInfo | None] = [known.get(name) for name in names] if known else [None] * len(names)
        self.exists: Mask = np.array([info is not None for info in self.infos], dtype=np.bool_)
        self.policy = np.full(len(names), _OTHER, dtype=np.int64)
        self._slot = np.zeros(len(names), dtype=np.int64)
        self._layout = np.full(len(names), _OTHER, dtype=np.int64)
        self.is_static, self.has_listed = (np.zeros(len(names), dtype=np.bool_) for _ in range(2))
        self._layouts = list[Layout]()
        slots, numbers = {"": 0}, dict[int, int]()
        for row in np.flatnonzero(self.exists).tolist():
            info = self.infos[row]
            assert info is not None, "a node without an object"
            self.is_static[row], self.has_listed[row] = info.is_static, info.listed != 0
            self._slot[row] = slots.setdefault(info.policy, len(slots))
            self.policy[row] = POLICIES.index(info.policy) if info.policy in POLICIES else _OTHER
            if info.layout is not None:
                number = numbers.setdefault(id(info.layout), len(self._layouts))
                if number == len(self._layouts):
                    self._layouts.append(info.layout)
                self._layout[row] = number
        self._names = [*slots]
        self.has_layout: Mask = self._layout != _OTHER
        self.is_kept: Mask = self.is_static & self.has_layout & (self.policy != _OTHER)
        self.width = max((len(layout.ids) for layout in self._layouts), default=1)

    def layout(self, row: int) -> Layout:
        """The layout of a node that has one."""
        return self._layouts[int(self._layout[row])]

    def by_layout(self, rows: Rows) -> Iterator[tuple[Layout, Rows]]:
        """Positions [K] in `rows`, which are all kept, by their layout."""
        numbers = self._layout[rows]
        for number in np.unique(numbers).tolist():
            yield self._layouts[number], np.flatnonzero(numbers == number)

    def by_policy(self, rows: Rows) -> Iterator[tuple[str, Mask]]:
        """The topology manager's policies of the nodes `rows`, and which of them [K] have each."""
        slots = self._slot[rows]
        for slot in np.unique(slots).tolist():
            yield self._names[slot], slots == slot

    def policies(self, rows: Rows) -> Policies:
        """[K] those of the nodes `rows`."""
        policy = self.policy[rows]
        return Policies(np.isin(policy, _STRICT), policy == POLICIES.index(SINGLE))
