"""What a pod requires that is not evaluated yet: such a pod waits with a reason, and is not placed without it.

Preferences may be ignored, requirements may not.
"""

from __future__ import annotations

from collections.abc import Collection
from fractions import Fraction
from typing import Final

from volcano_py.api.names import NUMA_POLICY
from volcano_py.api.objects import Pod, PodSpec, ResourceRequirements
from volcano_py.api.quantity import QuantityError, parse_quantity
from volcano_py.api.wording import explain
from volcano_py.state.cards.asked import PARTS_OF_CARDS, VGPU

_STRICT_POLICIES: Final = frozenset({"restricted", "single-numa-node"})
"""Those under which a node can turn a pod away; `best-effort` admits every pod."""


def unsupported(pod: Pod, asked: Collection[str], *, uses_devices: bool) -> str | None:
    """What the pod requires that is not evaluated, for people; `asked` are the resources it asks something of."""
    if (feature := _feature(pod)) is not None:
        return explain.unsupported(feature)
    return not_chosen(PARTS_OF_CARDS.intersection(asked), uses_devices=uses_devices)


def not_chosen(cards: Collection[str], *, uses_devices: bool) -> str | None:
    """What a pod waits with that requires nothing else than parts of cards (these resources) and devices by claims: no
    plugin chooses them. A session in which one does takes this problem away (framework.calls.chosen_cards)."""
    if cards:
        return _without_cards(cards)
    return explain.devices_not_chosen() if uses_devices else None


def _without_cards(resources: Collection[str]) -> str:
    listed = " and ".join(sorted(resources))
    if VGPU.issuperset(resources):
        return explain.cards_not_chosen(listed)
    return explain.unsupported(f"{listed} (Volcano's plugin deviceshare)")


def strict_numa_policy(pod: Pod) -> str:
    """The pod's NUMA policy if nodes can fail it, else ""."""
    policy = pod.metadata.annotations.get(NUMA_POLICY, "")
    return policy if policy in _STRICT_POLICIES else ""


def _feature(pod: Pod) -> str | None:
    policy = strict_numa_policy(pod)
    if policy and _is_guaranteed(pod.spec):
        return f"annotation {NUMA_POLICY}: {policy} (Volcano's plugin numa-aware)"
    return None


def _is_guaranteed(spec: PodSpec) -> bool:
    """Whether the pod's quality of service is Guaranteed: no other pod gets CPUs of its own, which could be aligned."""
    if spec.resources is not None and (spec.resources.requests or spec.resources.limits):
        return _is_fixed(spec.resources)
    return all(_is_fixed(container.resources) for container in (*spec.containers, *spec.init_containers))


def _is_fixed(resources: ResourceRequirements) -> bool:
    """Whether cpu and memory are limited to just what is asked for."""
    for name in ("cpu", "memory"):
        limit = resources.limits.get(name)
        if limit is None or not _amount(limit) or _amount(resources.requests.get(name, limit)) != _amount(limit):
            return False
    return True


def _amount(text: str | int | float) -> Fraction | None:
    """None for what is reported as unreadable elsewhere."""
    try:
        return parse_quantity(text)
    except QuantityError:
        return None
