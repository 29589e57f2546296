"""Extended resources for which devices stand in: on which nodes, and which devices that takes.

A node that has the resource itself needs no devices for it. So one class of pods can need devices on some nodes and
none on others; clusters that move from device plugins to ResourceClaims have nodes of both kinds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec
import numpy as np

from volcano_py.api.effects import ExtendedClaim
from volcano_py.framework.cluster_copy import ClusterCopy
from volcano_py.framework.devices.stand_ins import StandIns
from volcano_py.framework.session import Session
from volcano_py.plugins.predicates.devices.counting import Counting, counting
from volcano_py.plugins.predicates.devices.matching import matches_in
from volcano_py.plugins.predicates.devices.places import NETWORK, places
from volcano_py.plugins.predicates.devices.rooms import OnNodes
from volcano_py.plugins.predicates.devices.sharing import Costs
from volcano_py.plugins.predicates.devices.use import all_free
from volcano_py.state.devices.needs import Ask, ExtendedDevices, OpenDevices
from volcano_py.state.nodes.terms import Mask
from volcano_py.state.table.table import Rows
from volcano_py.state.task_class import TaskClass

_encode: Final = msgspec.msgpack.Encoder().encode


def stand_ins(cluster: ClusterCopy, memory: dict[str, Any], asks: Mapping[int, Ask]) -> dict[int, StandIns]:
    """By position on the resource axis, for one device each: the devices that nodes have, whoever uses them. `memory`
    is the plugin's, from cycle to cycle. Kept while nodes and devices stay as they are."""
    key = ("devices that stand in for resources", str(cluster.snapshot.devices.version), _encode(sorted(asks.items())))
    return cluster.nodes.kept.keep(key, lambda: _Counted(_count(cluster, memory, asks))).by_dim


class _Counted(msgspec.Struct, frozen=True, eq=False):
    by_dim: dict[int, StandIns]

    @property
    def nbytes(self) -> int:
        return sum(each.own.nbytes + sum(map(len, each.left_out)) for each in self.by_dim.values())


def _count(cluster: ClusterCopy, memory: dict[str, Any], asks: Mapping[int, Ask]) -> dict[int, StandIns]:
    picture = cluster.snapshot.devices
    matches, where = matches_in(memory, picture), places(cluster.nodes, picture)
    counts: Counting = counting(cluster.nodes, picture)
    free, size = all_free(picture), len(cluster.nodes.nodes)
    usable = counts.affordable(free) & (where.node < size)
    is_common = where.node == NETWORK
    node_of = np.minimum(where.node, max(size - 1, 0))
    on_nodes = OnNodes(counts.whole, counts.whole.left(free.used), free, node_of, size)
    found: dict[int, StandIns] = {}
    for dim, ask in asks.items():
        matched = matches.mask(ask)
        selectable = matched.selectable & usable
        times = Costs(picture, ask.capacity, selectable).times(free.left, len(selectable))
        common = int(times[selectable & is_common].sum())
        left_out = (*(error.message for error in matched.errors), *(fault.message for fault in picture.faults))
        found[dim] = StandIns(on_nodes.most(selectable & ~is_common, times), common, tuple(dict.fromkeys(left_out)))
    return found


class Extended:
    """Of one session."""

    def __init__(self, ssn: Session) -> None:
        self._ssn = ssn
        self._masks: dict[str, Mask] = {}
        self._kinds: dict[int, list[tuple[OpenDevices, ...]]] = {}

    def at(self, task_class: TaskClass, node: int) -> tuple[ExtendedDevices, ...]:
        """What such a pod needs devices for on the node."""
        return tuple(need for need in task_class.extended if self._mask(need.resource)[node])

    def groups(self, task_class: TaskClass, rows: Rows) -> Iterator[tuple[tuple[OpenDevices, ...], Rows]]:
        """What such a pod needs on these nodes, as of claims, each with positions in `rows` [K]."""
        groups: list[tuple[tuple[ExtendedDevices, ...], Rows]] = [((), np.arange(len(rows)))]
        for need in task_class.extended:
            stands_in, divided = self._mask(need.resource)[rows], groups
            groups = []
            for needed, at in divided:
                with_devices = stands_in[at]
                groups += [(needed, at[~with_devices]), ((*needed, need), at[with_devices])]
            groups = [group for group in groups if len(group[1])] or divided
        for needed, at in groups:
            yield as_claim(needed), at

    def kinds(self, task_class: TaskClass) -> list[tuple[OpenDevices, ...]]:
        """What such a pod needs on any node, as of claims."""
        if task_class.row not in self._kinds:
            rows = np.flatnonzero(self._ssn.ledger.nodes.present)
            self._kinds[task_class.row] = [needs for needs, _ in self.groups(task_class, rows)]
        return self._kinds[task_class.row]

    def _mask(self, resource: str) -> Mask:
        """[N] nodes on which devices stand in for the resource."""
        if resource not in self._masks:
            dim = self._ssn.axis.names.index(resource)
            themselves = self._ssn.snapshot.ledger.nodes.allocatable[:, dim]
            self._masks[resource] = themselves != self._ssn.ledger.nodes.allocatable[:, dim]
        return self._masks[resource]


def as_claim(needs: Sequence[ExtendedDevices]) -> tuple[OpenDevices, ...]:
    """The claim that these make together; none if there are none of them."""
    if not needs:
        return ()
    requests = sorted((request for need in needs for request in need.requests), key=lambda request: request.name)
    return (OpenDevices(requests=tuple(requests)),)


def claimed(needs: Sequence[ExtendedDevices]) -> ExtendedClaim:
    """What that claim asks for."""
    ways = [request.ways[0] for (claim,) in [as_claim(needs)] for request in claim.requests]
    mappings = tuple(mapping for need in needs for mapping in need.mappings)
    return ExtendedClaim(tuple((way.name, way.device_class, way.count) for way in ways), mappings)
