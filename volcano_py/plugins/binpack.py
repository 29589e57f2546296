"""binpack: prefer the fullest nodes, so that others stay free for large pods.

Per resource that the pod asks for and that has a weight: the part of the node that would be in use with the pod on it.
The score is the weighted mean of the parts, times 100, times the plugin's weight. Resources with no or no configured
weight do not count; with a weight of 0 they count in the divisor only.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from typing import Annotated, Any, Final, Self

import msgspec
import numpy as np
from numpy.typing import NDArray
from pydantic import Field, ValidationInfo, model_validator

from volcano_py.config.arguments import Arguments, advise, argument
from volcano_py.config.flags import Flags
from volcano_py.config.values import AtLeast, ResourceNames
from volcano_py.framework.plugin import Plugin
from volcano_py.framework.session import Session
from volcano_py.framework.views import NodeView, Scores
from volcano_py.plugins.amounts.node_capacity import HIGHEST, NodeCapacity, total, with_one_more
from volcano_py.state.task_class import TaskClass

_LARGEST: Final = 2**31 - 1
Weight = Annotated[int, AtLeast(0, otherwise=1), Field(le=_LARGEST)]


class BinpackArguments(Arguments):
    weight: Annotated[int, Field(ge=-_LARGEST, le=_LARGEST)] = argument(
        "binpack.weight", 1, "Weight of the whole score; 0 switches it off."
    )
    cpu: Weight = argument("binpack.cpu", 1, "Weight of cpu.")
    memory: Weight = argument("binpack.memory", 1, "Weight of memory.")
    resources: ResourceNames = argument("binpack.resources", (), "Other resources that count.")
    resource_weights: Mapping[str, Weight] = argument(
        "binpack.resources.<name>", {}, "Weight of one of `binpack.resources` (1 when missing or negative)."
    )

    @model_validator(mode="after")
    def _listed(self, info: ValidationInfo) -> Self:
        for name in self.resource_weights:
            if name not in self.resources:
                advise(info, f"binpack.resources.{name} has no effect: {name} is not listed in binpack.resources")
        return self

    def weights(self) -> dict[str, int]:
        """Resource name → weight of all that count."""
        others = {name: self.resource_weights.get(name, 1) for name in self.resources}
        return {**others, "cpu": self.cpu, "memory": self.memory}


class _Asked(msgspec.Struct, frozen=True, eq=False):
    """The D resources that count for a class."""

    positions: NDArray[np.intp]
    """[D] on the resource axis."""
    request: NDArray[np.int64]
    """[D]"""
    weights: NDArray[np.float64]
    """[D, 1]"""
    counts: NDArray[np.bool_]
    """[D, 1] which weights are not 0."""
    weight: float
    """Their sum."""
    capacity: NodeCapacity


class Binpack(Plugin):
    """See the module."""

    name = "binpack"
    sees_jobs_alike = True
    evictions_last = True
    arguments_type = BinpackArguments

    def __init__(self, arguments: Any, flags: Flags) -> None:
        super().__init__(arguments, flags)
        self._highest = HIGHEST * float(arguments.weight)
        self._asked_by: dict[int, _Asked | None] = {}
        self._capacities: dict[tuple[int, ...], NodeCapacity] = {}

    def on_session_open(self, ssn: Session) -> None:
        self._nodes = ssn.ledger.nodes
        self._weights = np.full(len(ssn.axis), -1.0)
        for name, weight in self.arguments.weights().items():
            if (position := ssn.axis.index(name)) is not None:
                self._weights[position] = weight

    def node_order(self, task_class: TaskClass, view: NodeView) -> Scores:
        asked, rows = self._asked(task_class), view.rows
        if asked is None:
            return np.zeros(len(rows))
        capacity = asked.capacity
        used = with_one_more(view.used[:, asked.positions], asked.request)
        exceeded = (used > capacity.of(rows)) & asked.counts
        parts = used * asked.weights
        parts /= capacity.divisors(rows)
        if not capacity.complete:
            has = capacity.has(rows)
            parts, exceeded = parts * has, exceeded & has
        scores = total(parts) / asked.weight * self._highest
        scores[reduce(np.logical_or, exceeded)] = 0.0
        return scores

    def _asked(self, task_class: TaskClass) -> _Asked | None:
        """None when the class asks for nothing that counts, or nothing has a weight."""
        if task_class.row not in self._asked_by:
            self._asked_by[task_class.row] = self._examine(task_class)
        return self._asked_by[task_class.row]

    def _examine(self, task_class: TaskClass) -> _Asked | None:
        requested = task_class.requested
        positions = requested[self._weights[requested] >= 0]
        weights = self._weights[positions]
        weight = float(weights.sum())
        if not weight or not self._highest:
            return None
        key = tuple(positions.tolist())
        capacity = self._capacities.get(key)
        if capacity is None:
            capacity = self._capacities[key] = NodeCapacity(self._nodes, positions)
        column = weights[:, None]
        return _Asked(positions, task_class.request[positions], column, column > 0, weight, capacity)
