"""Cores and memory that nodes keep for their idle devices: the proportional rule.

A pod that asks for none of the listed devices may go to a node with them as long as, for each device that stays idle,
so many cores and so much memory stay free too. Exactly as much is enough; what several kinds of devices need is not
added up. What counts is what is free now and promised to nobody, not what terminating pods will leave. The rule is
offered by `predicates` and by `resource-strategy-fit`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Final

import numpy as np
from numpy.typing import NDArray

from volcano_py.api.explain import insufficient_reason
from volcano_py.api.reasons import Reason
from volcano_py.config.values import AtLeast
from volcano_py.framework.session import Session
from volcano_py.framework.views import FITS, Codes, Counts, NodeView
from volcano_py.state.axis import CPU, MEMORY
from volcano_py.state.task_class import TaskClass

# More tasks than there can be, and more of a resource than any node has (with room for sums of both).
_PLENTY: Final = np.int64(2**62)
_MOST: Final = np.int64(2**61)

_SECONDARY: Final = slice(CPU, MEMORY + 1)
_NAMES: Final = ("cpu", "memory")
# Units of the resource axis in one core and in one gigabyte. Volcano multiplies milli-devices by the ratio and by 10^6.
_CORE: Final = 1000
_GIGABYTE: Final = 10**9
# What Volcano takes for a ratio that is not written, or below 0.
_UNWRITTEN: Final = 1.0


PerDevice = Mapping[str, Annotated[float, AtLeast(0, otherwise=_UNWRITTEN)]]
"""Device → cores or gigabytes for each one, as an argument."""


@dataclass(frozen=True, slots=True)
class Ratio:
    """What one idle device needs beside it."""

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


class Reserve:
    """The rule for some devices in one cycle."""

    def __init__(self, ssn: Session, ratios: Mapping[str, Ratio]) -> None:
        """`ratios`: device → what to keep for each one that is idle. The first device in its order is the one told."""
        nodes = ssn.ledger.nodes
        listed = {name: position for name in ratios if (position := ssn.axis.index(name)) is not None}
        self._asked = np.array(list(listed.values()), dtype=np.intp)
        existing = nodes.allocatable[: nodes.size] * nodes.present[: nodes.size, None]
        devices = [name for name, position in listed.items() if existing[:, position].any()]
        self._devices = np.array([listed[name] for name in devices], dtype=np.intp)
        self._has: NDArray[np.bool_] = existing[:, self._devices] > 0
        # A ratio is taken as it is written: 0.1 cores are 100 millicores, not what the binary fraction makes of them.
        self._needs = np.array(
            [(_exact(ratios[name].cpu, _CORE), _exact(ratios[name].memory, _GIGABYTE)) for name in devices]
        )
        self._kept = np.array(
            [[ssn.refusal(Reason.NODES_REFUSE, kept_for(other, name)) for other in _NAMES] for name in devices],
            dtype=np.int32,
        )
        self._full = np.array(
            [ssn.refusal(Reason.NODES_REFUSE, insufficient_reason(other)) for other in _NAMES], dtype=np.int32
        )

    def concerns(self, task_class: TaskClass) -> bool:
        """Whether the rule says anything about the class: it does not ask for a device, and there are some."""
        return bool(len(self._devices)) and not task_class.request[self._asked].any()

    def room(self, task_class: TaskClass, view: NodeView) -> Counts:
        """[K] how many tasks of the class (which the rule concerns) each node takes before it breaks the rule."""
        free = view.free
        spare = free[:, _SECONDARY] - self._needed(view, free).max(axis=1)
        counts = np.where((spare < 0).any(axis=1), 0, _PLENTY)
        for resource, request in enumerate(task_class.request[_SECONDARY].tolist()):
            if request:
                np.minimum(counts, spare[:, resource] // request, out=counts)
        return np.maximum(counts, 0)

    def refuse(self, task_class: TaskClass, view: NodeView, codes: Codes) -> None:
        """Write into `codes` [K] the refusals of nodes that say yes so far and would break the rule."""
        free, request = view.free, task_class.request[_SECONDARY]
        needed = self._needed(view, free)
        left = free[:, _SECONDARY] - request
        # A node that would be too small even when empty is left to say so itself.
        large_enough = np.all(view.allocatable[:, _SECONDARY] >= request, axis=1)
        broken: NDArray[np.bool_] = (left[:, None] < needed) & large_enough[:, None, None]
        nodes = np.flatnonzero(broken.any(axis=(1, 2)) & (codes == FITS))
        if not len(nodes):
            return
        first = broken[nodes].reshape(len(nodes), -1).argmax(axis=1)
        device, resource = np.divmod(first, len(_NAMES))
        is_kept = needed[nodes, device, resource] > 0
        codes[nodes] = np.where(is_kept, self._kept[device, resource], self._full[resource])

    def _needed(self, view: NodeView, free: NDArray[np.int64]) -> NDArray[np.int64]:
        """[K, D, 2] what the idle devices of each kind need; where there is no such device, nothing can break."""
        amounts = np.ceil(np.maximum(free[:, self._devices], 0)[:, :, None] * self._needs)
        needed: NDArray[np.int64] = np.minimum(amounts, float(_MOST)).astype(np.int64)
        needed[~self._has[view.rows]] = -_MOST
        return needed


def _exact(ratio: float, units: int) -> float:
    return float(min(Fraction(repr(ratio)) * units, Fraction(int(_MOST))))
