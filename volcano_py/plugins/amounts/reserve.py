"""Cores and memory that nodes keep for their idle devices: the proportional rule.

A pod that asks for none of the listed devices may go to a node with them as long as, for each device that stays idle,
so many cores and so much memory stay free too. Exactly as much is enough; what several kinds of devices need is not
added up. What counts is what is free now and not promised, without what terminating pods will leave. The rule is
offered by `predicates` and by `resource-strategy-fit`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Annotated, Final

import msgspec
import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from volcano_py.api.reasons import Reason
from volcano_py.api.wording.explain_nodes import insufficient_reason
from volcano_py.framework.placement.refused import Refused
from volcano_py.framework.session import Session
from volcano_py.framework.views import FITS, Codes, Counts, NodeView
from volcano_py.plugins.amounts.node_capacity import Floats
from volcano_py.state.table.axis import CPU, MEMORY
from volcano_py.state.table.table import Rows
from volcano_py.state.task_class import TaskClass

# More tasks of a class, and more of a resource, than there can be.
_PLENTY: Final = 2.0**62

_SECONDARY: Final = (CPU, MEMORY)
_KEPT: Final = ("cpu", "memory")
# Units of the resource axis in one core and in one gigabyte. Volcano multiplies milli-devices by the ratio and by 10^6.
_CORE: Final = 1000
_GIGABYTE: Final = 10**9
# What Volcano takes for a ratio that is not written.
_UNWRITTEN: Final = 1.0


PerDevice = Mapping[str, Annotated[float, Field(ge=0)]]
"""Device → cores or gigabytes for each one, as an argument."""


class Ratio(msgspec.Struct, frozen=True):
    """What is kept for one idle device."""

    cpu: float
    """Cores."""
    memory: float
    """Gigabytes (10^9 bytes)."""


def ratios(devices: Iterable[str], cpu: Mapping[str, float], memory: Mapping[str, float]) -> dict[str, Ratio]:
    """The ratio of each device from arguments that may leave out either part."""
    return {name: Ratio(cpu.get(name, _UNWRITTEN), memory.get(name, _UNWRITTEN)) for name in devices}


def kept_for(secondary: str, device: str) -> str:
    """What a node says that keeps cpu or memory for devices."""
    return f"node(s) kept {secondary} for idle {device}"


class _Device(msgspec.Struct, frozen=True, eq=False):
    """One kind of device in one cycle.

    Amounts are floats: they are compared with whole units of the axis, which floats hold exactly up to 2^53.
    """

    name: str
    position: int
    """On the resource axis."""
    has: NDArray[np.bool_]
    """[N] which nodes have any."""
    needs: tuple[float, float]
    """Millicores and bytes for each idle one."""
    refusals: tuple[int, int]
    """What a node says that keeps cpu, or memory, for them."""

    def spare(self, free: NDArray[np.int64], rows: Rows, resource: int) -> Floats:
        """[K] what a node with `free` [K, R] has of the resource beyond what its idle devices need."""
        needed = np.ceil(np.maximum(free[:, self.position], 0) * self.needs[resource])
        return np.where(self.has[rows], free[:, resource] - needed, _PLENTY)


class Reserve:
    """The rule for some devices in one cycle."""

    def __init__(self, ssn: Session, ratios: Mapping[str, Ratio]) -> None:
        """`ratios`: device → what to keep for each one that is idle. If several devices refuse, the first in this order
        is reported."""
        nodes = ssn.ledger.nodes
        existing = nodes.allocatable[: nodes.size] * nodes.present[: nodes.size, None]
        listed = {name: position for name in ratios if (position := ssn.axis.index(name)) is not None}
        self._asked = np.array(list(listed.values()), dtype=np.intp)
        self._devices = [
            _Device(
                name=name,
                position=position,
                has=existing[:, position] > 0,
                needs=(_exact(ratios[name].cpu, _CORE), _exact(ratios[name].memory, _GIGABYTE)),
                refusals=(_refusal(ssn, kept_for("cpu", name)), _refusal(ssn, kept_for("memory", name))),
            )
            for name, position in listed.items()
            if existing[:, position].any()
        ]
        self._full = (_refusal(ssn, insufficient_reason("cpu")), _refusal(ssn, insufficient_reason("memory")))

    def concerns(self, task_class: TaskClass) -> bool:
        """Whether the rule says anything about the class: it does not ask for a device, and there are some."""
        return bool(self._devices) and not task_class.request[self._asked].any()

    def room(self, task_class: TaskClass, view: NodeView) -> Counts:
        """[K] how many tasks of the class (which the rule concerns) each node takes before it breaks the rule."""
        free, rows = view.free, view.rows
        counts = np.full(len(rows), _PLENTY)
        for device in self._devices:
            for resource in _SECONDARY:
                spare = device.spare(free, rows, resource)
                request = int(task_class.request[resource])
                # A task that asks for none of the resource may come in any number, unless too little is left already.
                fit = np.floor(spare / request) if request else np.where(spare < 0, 0.0, _PLENTY)
                np.minimum(counts, fit, out=counts)
        whole: Counts = np.maximum(counts, 0.0).astype(np.int64)
        return whole

    def refuse(self, task_class: TaskClass, view: NodeView, codes: Codes) -> None:
        """Write into `codes` [K] the refusals of nodes that say yes so far and would break the rule."""
        free, rows = view.free, view.rows
        for device in self._devices:
            for resource in _SECONDARY:
                broken = device.spare(free, rows, resource) < task_class.request[resource]
                if broken.any():
                    broken &= (codes == FITS) & self._large_enough(task_class, view)
                    is_kept = (free[:, device.position] > 0) & (device.needs[resource] > 0)
                    codes[broken & is_kept] = device.refusals[resource]
                    codes[broken & ~is_kept] = self._full[resource]

    def advice(self, refused: Refused) -> list[str]:
        """What would help a class that these nodes refuse."""
        devices = [
            device.name for device in self._devices if any(kept_for(each, device.name) in refused for each in _KEPT)
        ]
        return [
            f"Nodes keep cpu and memory for each idle {device}: wait until the devices are in use, ask for less, or "
            "add nodes without them"
            for device in devices
        ]

    @staticmethod
    def _large_enough(task_class: TaskClass, view: NodeView) -> NDArray[np.bool_]:
        """[K] A node that would be too small even when empty is left to say so itself."""
        request = task_class.request
        large: NDArray[np.bool_] = view.allocatable[:, CPU] >= request[CPU]
        large &= view.allocatable[:, MEMORY] >= request[MEMORY]
        return large


def _refusal(ssn: Session, message: str) -> int:
    return ssn.refusal(Reason.NODES_REFUSE, message)


def _exact(ratio: float, units: int) -> float:
    """A ratio is taken as it is written: 0.1 cores are 100 millicores, not what the binary fraction makes of them."""
    return float(min(Fraction(repr(ratio)) * units, Fraction(_PLENTY)))
