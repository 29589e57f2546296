"""Devices that stand in for extended resources on nodes that do not have these themselves (KEP 5004).

For a cycle, such a node has as much of the resource as it has devices of the class that offers it. So whatever compares
amounts needs to know nothing of devices: room on nodes, sums of queues, totals. That is the most that the node can
give; which devices are free is the question of the plugin that chooses devices.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from volcano_py.framework.views import Counts
from volcano_py.state.table.axis import IntVector
from volcano_py.state.table.ledger import Ledger
from volcano_py.state.table.table import Rows

_Nodes = Rows | NDArray[np.bool_] | Sequence[int]


class StandIns(msgspec.Struct, frozen=True, eq=False):
    """Of one resource: devices that only one node can use [N], and how many more all can use. `left_out`: why devices
    do not count, in sentences without a full stop."""

    own: Counts
    common: int = 0
    left_out: tuple[str, ...] = ()


class Offered(msgspec.Struct, frozen=True, eq=False):
    """What nodes have with devices.

    Attributes:
        allocatable: [N, R].
        common: [R] how much of that several nodes have together.
        has_common: [N, R] which nodes those are.
    """

    allocatable: NDArray[np.int64]
    common: IntVector
    has_common: NDArray[np.bool_]

    def counted_again(self, nodes: _Nodes) -> IntVector:
        """[R] how much is counted too often in the sum of what these nodes have."""
        again: IntVector = self.common * (self.has_common[nodes].sum(axis=0) - 1).clip(min=0)
        return again

    def total(self, nodes: _Nodes) -> IntVector:
        """[R] what these nodes have together."""
        total: IntVector = self.allocatable[nodes].sum(axis=0) - self.counted_again(nodes)
        return total

    def idle(self, nodes: _Nodes, used: NDArray[np.int64]) -> IntVector:
        """[R] what these nodes have together that is not `used` [N, R]."""
        idle: IntVector = (self.allocatable[nodes] - used[nodes]).clip(min=0).sum(axis=0) - self.counted_again(nodes)
        return idle.clip(min=0)


def offered(allocatable: NDArray[np.int64], present: NDArray[np.bool_], devices: Mapping[int, StandIns]) -> Offered:
    """What nodes have that have `allocatable` [N, R] themselves, with these `devices` (by position of the resource on
    the axis), which may be those of a moment ago: nodes that have come since then have none."""
    with_devices, common = allocatable.copy(), np.zeros(allocatable.shape[1], dtype=np.int64)
    has_common = np.zeros(allocatable.shape, dtype=np.bool_)
    for dim, each in devices.items():
        known = len(each.own)
        without = np.flatnonzero(present[:known] & (allocatable[:known, dim] == 0))
        with_devices[without, dim] = each.own[without] + each.common
        common[dim], has_common[without, dim] = each.common, True
    return Offered(with_devices, common, has_common)


def offered_in(ledger: Ledger, devices: Mapping[str, StandIns]) -> Offered:
    """The same of the nodes of a ledger, which may be another than that of the cycle that found the `devices`; these
    are by resource."""
    dim_of = {name: dim for dim, name in enumerate(ledger.axis.names)}
    known = {dim_of[name]: each for name, each in devices.items() if name in dim_of}
    return offered(ledger.nodes.allocatable, ledger.nodes.present, known)
