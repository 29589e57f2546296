"""Devices that stand in for extended resources on nodes that do not have these themselves (KEP 5004).

For a cycle, such a node has as much of the resource as it has devices of the class that offers it. So whatever compares
amounts needs to know nothing of devices: room on nodes, sums of queues, totals. That is the most that the node can
give; which devices are free is the question of the plugin that chooses devices.
"""

from __future__ import annotations

import msgspec

from volcano_py.framework.views import Counts


class StandIns(msgspec.Struct, frozen=True, eq=False):
    """Of one resource: devices that only one node can use [N], and how many more all can use. `left_out`: why devices
    do not count, in sentences without a full stop."""

    own: Counts
    common: int = 0
    left_out: tuple[str, ...] = ()
