"""Amounts under the names that a ResourceQuota uses, as `minResources` of PodGroups has them."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from fractions import Fraction
from typing import Final

import msgspec

from volcano_py.api.objects import Container, PodSpec, ResourceList, ResourceRequirements
from volcano_py.api.quantity import format_binary, format_decimal, to_units
from volcano_py.api.requests import Amounts, pod_requests

_LIMITED: Final = ("cpu", "memory", "ephemeral-storage")


def pod_limits(spec: PodSpec) -> Amounts:
    """Limits of the whole pod: put together as requests are, except that overhead raises only a limit that is there.

    Raises:
        RequestError: a limit is malformed or negative.
    """
    if not spec.resources and not any(container.resources.limits for container in _containers(spec)):
        return {}
    limits = pod_requests(
        PodSpec(
            containers=[_asking_its_limits(container) for container in spec.containers],
            init_containers=[_asking_its_limits(container) for container in spec.init_containers],
            resources=None if spec.resources is None else ResourceRequirements(requests=spec.resources.limits),
        )
    )
    if spec.overhead:
        for name, value in pod_requests(PodSpec(overhead=spec.overhead)).items():
            if name in limits:
                limits[name] += value
    return limits


def quota_usage(pods: int, requests: Amounts, limits: Amounts) -> ResourceList:
    """What this number of pods, with these total requests, counts for in a quota; devices under their own name as
    well.
    """
    count = str(pods)
    amounts: ResourceList = {"pods": count, "count/pods": count}
    for name, value in requests.items():
        amounts[name] = amounts[f"requests.{name}"] = _quantity(name, value)
    for name in _LIMITED:
        if name in limits:
            amounts[f"limits.{name}"] = _quantity(name, limits[name])
    return dict(sorted(amounts.items()))


def _containers(spec: PodSpec) -> Iterable[Container]:
    return itertools.chain(spec.containers, spec.init_containers)


def _asking_its_limits(container: Container) -> Container:
    limits = ResourceRequirements(requests=container.resources.limits)
    return msgspec.structs.replace(container, resources=limits)


def _quantity(name: str, value: Fraction) -> str:
    """Canonical text, rounded up: cpu in millicores, bytes in binary, the rest as plain counts."""
    if name == "cpu":
        return format_decimal(to_units(value, scale=1000), exponent=-3)
    if name in ("memory", "ephemeral-storage") or name.startswith("hugepages-"):
        return format_binary(to_units(value))
    return format_decimal(to_units(value))
