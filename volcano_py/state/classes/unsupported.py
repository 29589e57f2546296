"""What a pod requires that has to be chosen for it: without a plugin that does, it waits with a reason.

Preferences may be ignored, requirements may not.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Final

from volcano_py.api.wording import explain
from volcano_py.state.cards.asked import RESOURCES, Sharing
from volcano_py.state.numa.asked import STRICT, CpusAsked

_ARGUMENTS: Final[Mapping[Sharing, str]] = MappingProxyType(
    {
        Sharing.VGPU: "deviceshare.VGPUEnable",
        Sharing.GPU_MEMORY: "deviceshare.GPUSharingEnable",
        Sharing.GPU_NUMBER: "deviceshare.GPUNumberEnable",
    }
)
"""What turns on that cards are chosen."""


def not_chosen(cards: Collection[str], *, uses_devices: bool, policy: str, instead: Collection[str] = ()) -> str | None:
    """What a pod waits with, for people, that requires parts of cards (these resources), devices by claims, or CPUs
    aligned by a NUMA `policy` ("" for none): no plugin chooses them, but perhaps cards by other resources, `instead`.
    A session in which one does takes this problem away (framework.calls.chosen)."""
    if policy:
        return explain.cpus_not_aligned(policy)
    if cards:
        return _without_cards(cards, instead)
    return explain.devices_not_chosen() if uses_devices else None


def strict_policy(cpus: CpusAsked | None) -> str:
    """The NUMA policy of a pod if nodes can fail it, else ""."""
    return cpus.policy if cpus is not None and cpus.policy in STRICT else ""


def _without_cards(resources: Collection[str], instead: Collection[str]) -> str:
    listed, known = (" and ".join(sorted(each)) for each in (resources, instead))
    for sharing, argument in _ARGUMENTS.items():
        if RESOURCES[sharing].issuperset(resources):
            return explain.cards_not_chosen(listed, argument, known)
    return explain.unsupported(f"{listed} (Volcano's plugin deviceshare)")
