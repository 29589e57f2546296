"""How much of nodes is really in use, as it was measured; a snapshot has it by node.

Measurements come in two forms: as parts of a node (Prometheus), and as amounts (metrics-server, `NodeMetrics`). An
amount becomes a part of what the node has allocatable, as in `kubectl top nodes`. Of both the younger holds.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import msgspec
import structlog

from volcano_py.api.objects import NodeMetrics
from volcano_py.api.quantity import Rounding
from volcano_py.state.infos import read_amounts
from volcano_py.state.table.axis import CPU, MEMORY
from volcano_py.state.table.change import Change
from volcano_py.state.table.stores import ObjectStore

if TYPE_CHECKING:
    from volcano_py.api.objects import ApiObject
    from volcano_py.state.nodes.nodes import Nodes
    from volcano_py.state.table.ledger import Ledger

log = structlog.get_logger(__name__)

FRESH_FOR: Final = 300.0
"""Seconds for which a measurement counts (Volcano's)."""
_COUNTED: Final = ("cpu", "memory")


class Load(msgspec.Struct, frozen=True):
    """What of a node is in use: `cpu` and `memory` as parts of it (0.8 is 80 %), None where it was not measured."""

    cpu: float | None
    memory: float | None
    measured: float
    """When, in seconds since the epoch."""


class Loads:
    """Store of measurements."""

    def __init__(self, ledger: Ledger, nodes: Nodes) -> None:
        self._ledger = ledger
        self._nodes = nodes
        self._objects: ObjectStore[NodeMetrics] = ObjectStore()
        self._parts: dict[str, Load] = {}
        self._known: tuple[int, Mapping[str, Load]] | None = None
        """The answer of `by_node` while nodes are as they were at that version; None when something was measured."""

    def upsert(self, metrics: NodeMetrics) -> Change:
        old = self._objects.put(metrics)
        self._known = None
        if old is None or old.usage != metrics.usage:
            for problem in read_amounts(_usage(metrics), "usage", Rounding.UP)[1]:
                log.warning("a node's load cannot be read", node=metrics.metadata.name, problem=problem)
        return Change.DECISION if old is None or old.usage != metrics.usage else Change.NONE

    def delete(self, metrics: NodeMetrics) -> Change:
        self._known = None
        return Change.NONE if self._objects.take(metrics) is None else Change.DECISION

    def known(self) -> list[ApiObject]:
        return [*self._objects.all()]

    def measured(self, loads: Mapping[str, Load]) -> Change:
        """Parts of nodes, by name; those of nodes that are gone are forgotten."""
        before = self._parts
        kept = {name: load for name, load in before.items() if self._nodes.existing_row(name) is not None}
        self._parts, self._known = {**kept, **loads}, None
        moved = any(_values(load) != _values(before.get(name)) for name, load in loads.items())
        return Change.DECISION if moved else Change.NONE

    def by_node(self) -> Mapping[str, Load]:
        """The youngest measurement of each node that exists. Worked out once, not for every snapshot."""
        if self._known is None or self._known[0] != self._nodes.version:
            self._known = (self._nodes.version, self._by_node())
        return self._known[1]

    def _by_node(self) -> Mapping[str, Load]:
        existing = self._nodes.existing_row
        found = {name: load for name, load in self._parts.items() if existing(name) is not None}
        for metrics in self._objects.all():
            name = metrics.metadata.name
            row = existing(name)
            if row is None or metrics.timestamp is None:
                continue
            known, moment = found.get(name), metrics.timestamp.timestamp()
            if known is None or known.measured < moment:
                found[name] = self._as_parts(metrics, row, moment)
        return found

    def _as_parts(self, metrics: NodeMetrics, row: int, moment: float) -> Load:
        units, _ = read_amounts(_usage(metrics), "usage", Rounding.UP)
        allocatable = self._ledger.nodes.allocatable[row].tolist()

        def part(name: str, position: int) -> float | None:
            used, whole = units.get(name), allocatable[position]
            return used / whole if used is not None and whole > 0 else None

        return Load(part("cpu", CPU), part("memory", MEMORY), moment)


def _usage(metrics: NodeMetrics) -> dict[str, str | int | float]:
    return {name: text for name, text in metrics.usage.items() if name in _COUNTED}


def _values(load: Load | None) -> tuple[float | None, float | None]:
    return (None, None) if load is None else (load.cpu, load.memory)
