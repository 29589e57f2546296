"""What a pod asks of CPUs that are its alone, and how they are to lie on the NUMA nodes of its node.

Only pods of the quality of service Guaranteed get CPUs of their own, and of these only containers that ask for whole
ones. Init containers are left out: what they have is free again when the others start.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Final

import msgspec

from volcano_py.api.names import NUMA_POLICY
from volcano_py.api.objects import Container, Pod, PodSpec, ResourceRequirements
from volcano_py.api.quantity import QuantityError, parse_quantity

BEST_EFFORT: Final = "best-effort"
RESTRICTED: Final = "restricted"
SINGLE: Final = "single-numa-node"
POLICIES: Final = (BEST_EFFORT, RESTRICTED, SINGLE)
"""Those under which it matters where CPUs are, from the loosest to the strictest."""
STRICT: Final = (RESTRICTED, SINGLE)
"""Those under which a node can turn a pod away; `best-effort` admits every pod."""


class CpusAsked(msgspec.Struct, frozen=True, array_like=True, omit_defaults=True):
    """`policy`: one of `POLICIES`, or "" for a pod that names none. `cores`: whole CPUs of each container that asks for
    such, in their order."""

    policy: str = ""
    cores: tuple[int, ...] = ()


def cpus_asked(pod: Pod) -> CpusAsked | None:
    """None for a pod that gets no CPUs of its own and names no policy, and for all that are not Guaranteed."""
    policy = pod.metadata.annotations.get(NUMA_POLICY, "")
    if policy not in POLICIES:
        policy = ""
    if not _is_guaranteed(pod.spec):
        return None
    cores = () if _asks_as_a_whole(pod.spec) else tuple(filter(None, map(_whole_cpus, pod.spec.containers)))
    return CpusAsked(policy, cores) if policy or cores else None


def _whole_cpus(container: Container) -> int:
    """0 for a part of a CPU, or none."""
    resources = container.resources
    amount = _amount(resources.requests.get("cpu", resources.limits.get("cpu", 0)))
    return int(amount) if amount is not None and amount > 0 and amount.denominator == 1 else 0


def _is_guaranteed(spec: PodSpec) -> bool:
    if _asks_as_a_whole(spec):
        return spec.resources is not None and _is_fixed(spec.resources)
    return all(_is_fixed(container.resources) for container in (*spec.containers, *spec.init_containers))


def _asks_as_a_whole(spec: PodSpec) -> bool:
    """Whether the pod has resources of its own, which its containers share: none of them gets CPUs for itself."""
    return spec.resources is not None and bool(spec.resources.requests or spec.resources.limits)


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
