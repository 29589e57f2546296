"""What a pod asks of CPUs that are its alone, and how they are to lie on the NUMA nodes of its node.

Only pods of the quality of service Guaranteed get CPUs of their own, and of these only containers that ask for whole
ones. Init containers are left out, as what they have is free again when the others start, but not those that run all
the time (sidecars).
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import msgspec

from volcano_py.api.names import NUMA_POLICY
from volcano_py.api.objects import Pod, PodSpec, ResourceRequirements
from volcano_py.api.quantity import LARGEST, Nano, QuantityError, parse_nano

BEST_EFFORT: Final = "best-effort"
RESTRICTED: Final = "restricted"
SINGLE: Final = "single-numa-node"
POLICIES: Final = (BEST_EFFORT, RESTRICTED, SINGLE)
"""Those under which it matters where CPUs are, from the loosest to the strictest."""
STRICT: Final = (RESTRICTED, SINGLE)
"""Those under which a node can turn a pod away; `best-effort` admits every pod."""

_ONE: Final = parse_nano(1)


class CpusAsked(msgspec.Struct, frozen=True, array_like=True, omit_defaults=True):
    """`policy`: one of `POLICIES`, or "" for a pod that names none. `cores`: whole CPUs of each container that asks for
    such, in the order in which they start."""

    policy: str = ""
    cores: tuple[int, ...] = ()


def cpus_asked(pod: Pod) -> CpusAsked | None:
    """None for a pod that gets no CPUs of its own and names no policy, and for all that are not Guaranteed."""
    policy = pod.metadata.annotations.get(NUMA_POLICY, "")
    if policy not in POLICIES:
        policy = ""
    if not _is_guaranteed(pod.spec):
        return None
    cores = () if _asks_as_a_whole(pod.spec) else _whole_cpus(pod.spec)
    return CpusAsked(policy, cores) if policy or cores else None


def _whole_cpus(spec: PodSpec) -> tuple[int, ...]:
    """Of a Guaranteed pod: containers that ask for a part of a CPU are left out."""
    sidecars = [each for each in spec.init_containers if each.restart_policy == "Always"]
    found = [_whole(each.resources.limits["cpu"]) for each in (*sidecars, *spec.containers)]
    return tuple([cores for cores in found if cores])


def _is_guaranteed(spec: PodSpec) -> bool:
    if _asks_as_a_whole(spec):
        return spec.resources is not None and _is_fixed(spec.resources)
    return all(map(_is_fixed, [each.resources for each in (*spec.containers, *spec.init_containers)]))


def _asks_as_a_whole(spec: PodSpec) -> bool:
    """Whether the pod has resources of its own, which its containers share: none of them gets CPUs for itself."""
    return spec.resources is not None and bool(spec.resources.requests or spec.resources.limits)


def _is_fixed(resources: ResourceRequirements) -> bool:
    """Whether cpu and memory are limited to just what is asked for."""
    limits, requests = resources.limits, resources.requests
    if "cpu" not in limits or "memory" not in limits:
        return False
    cpu, memory = limits["cpu"], limits["memory"]
    return _is_same(cpu, requests.get("cpu", cpu)) and _is_same(memory, requests.get("memory", memory))


def _is_same(limit: str | int | float, request: str | int | float) -> bool:
    """Whether both are one amount, and not 0. Most are written alike."""
    amount = _amount(limit)
    return amount > 0 and (request == limit or _amount(request) == amount)


# A cluster uses few distinct quantities, over and over.
@lru_cache(maxsize=4096)
def _whole(text: str | int | float) -> int:
    """0 for a part of a CPU; at most `LARGEST`, as absurd amounts are reported elsewhere."""
    amount = _amount(text)
    return min(int(amount // _ONE), LARGEST) if amount % _ONE == 0 else 0


@lru_cache(maxsize=4096)
def _amount(text: str | int | float) -> Nano:
    """0 for what is reported as unreadable elsewhere."""
    try:
        return parse_nano(text)
    except QuantityError:
        return 0
