"""What a pod asks for, as kube-scheduler counts it.

Source: Kubernetes' documentation of init containers, sidecar containers (KEP-753), pod overhead (KEP-688), pod-level
resources (KEP-2837) and in-place resize (KEP-1287).
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from types import MappingProxyType
from typing import Final

from volcano_py.api.objects import (
    Container,
    ContainerStatus,
    PodSpec,
    PodStatus,
    ResourceList,
    ResourceRequirements,
)
from volcano_py.api.quantity import QuantityError, parse_quantity

Amounts = dict[str, Fraction]


class RequestError(ValueError):
    """A request that cannot be read; the text names the field, what was found and what is right."""


# What can be asked for a pod as a whole, but for huge pages: their limit counts whatever containers ask for.
_SUMMED_UP: Final = frozenset({"cpu", "memory"})
_RESIZE_PENDING: Final = "PodResizePending"
_NOBODY: Final = PodStatus()
_NOTHING: Final[Mapping[str, Fraction]] = MappingProxyType({})


def pod_requests(spec: PodSpec, status: PodStatus = _NOBODY, *, missing: Mapping[str, Fraction] = _NOTHING) -> Amounts:
    """Requests of the whole pod by resource name, in Kubernetes' units (cores, bytes), without the `pods` count.

    Args:
        status: tells what a resize that is under way has come to.
        missing: what a container counts with when it does not ask for any of that resource, not even for 0.

    Raises:
        RequestError: a quantity is malformed or negative.
    """
    resize = _Resize(status)
    total = _of_containers(spec, resize, missing)
    if spec.resources is not None:
        total.update(resize.of_pod(_of_pod(spec, spec.resources)))
    _add(total, _parse(spec.overhead, "spec.overhead"))
    return total


def _of_containers(spec: PodSpec, resize: _Resize, missing: Mapping[str, Fraction] = _NOTHING) -> Amounts:
    running: Amounts = {}
    for index, container in enumerate(spec.containers):
        asked = resize.of(container, _container(container, f"spec.containers[{index}]"))
        _add(running, {**missing, **asked})
    peak: Amounts = {}
    sidecars: Amounts = {}
    for index, container in enumerate(spec.init_containers):
        asked = _container(container, f"spec.initContainers[{index}]")
        if container.restart_policy == "Always":
            asked = {**missing, **resize.of(container, asked)}
            _add(sidecars, asked)
            _add(running, asked)
            _raise_to(peak, sidecars)
        else:
            asked = {**missing, **asked}
            _add(asked, sidecars)
            _raise_to(peak, asked)
    _raise_to(running, peak)
    return running


def _of_pod(spec: PodSpec, resources: ResourceRequirements) -> Amounts:
    """What is asked for the pod as a whole. As the API server stores it, a limit without a request stands for what the
    containers ask for, and where none of them asks for itself."""
    limits = _parse(resources.limits, "spec.resources.limits")
    of_containers = _of_containers(spec, _Resize(_NOBODY)) if limits else _NOTHING
    limits.update((name, of_containers[name]) for name in _SUMMED_UP if name in limits and name in of_containers)
    return {**limits, **_parse(resources.requests, "spec.resources.requests")}


def resize_of(status: PodStatus) -> tuple[object, ...]:
    """All of a pod's status that `pod_requests` looks at."""
    containers = (*status.container_statuses, *status.init_container_statuses)
    return (
        [(each.name, each.allocated_resources, each.resources) for each in containers if each.resources is not None],
        status.allocated_resources,
        status.resources,
        [condition.reason for condition in status.conditions if condition.type == _RESIZE_PENDING],
    )


class _Resize:
    """While a resize is under way the pod may hold any of: asked, granted, running with. The largest counts, unless
    the node has said that what is asked can never be: then it holds one of the other two."""

    def __init__(self, status: PodStatus) -> None:
        self._status = status
        self._containers: dict[str, ContainerStatus] = {
            each.name: each for each in (*status.container_statuses, *status.init_container_statuses)
        }
        self._infeasible = any(
            condition.type == _RESIZE_PENDING and condition.reason == "Infeasible" for condition in status.conditions
        )

    def of(self, container: Container, asked: Amounts) -> Amounts:
        """What counts of a container that asks for so much."""
        status = self._containers.get(container.name)
        if status is None or status.resources is None:
            return asked
        path = f"status.containerStatuses[{container.name}]"
        granted = _parse(status.allocated_resources, f"{path}.allocatedResources")
        return self._largest(asked, granted, _parse(status.resources.requests, f"{path}.resources.requests"))

    def of_pod(self, asked: Amounts) -> Amounts:
        """The same of what is asked for the pod as a whole."""
        status = self._status
        if status.resources is None:
            return asked
        granted = _parse(status.allocated_resources, "status.allocatedResources")
        largest = self._largest(asked, granted, _parse(status.resources.requests, "status.resources.requests"))
        return {name: largest.get(name, Fraction(0)) for name in asked}

    def _largest(self, asked: Amounts, granted: Amounts, actual: Amounts) -> Amounts:
        largest: Amounts = {} if self._infeasible else dict(asked)
        _raise_to(largest, granted)
        _raise_to(largest, actual)
        return largest


def _container(container: Container, path: str) -> Amounts:
    resources = container.resources
    if not resources.requests and not resources.limits:
        return {}
    # A missing request equals the limit, as the API server stores it.
    return _parse({**resources.limits, **resources.requests}, f"{path}.resources.requests")


def _parse(amounts: ResourceList, path: str) -> Amounts:
    parsed: Amounts = {}
    for name, text in amounts.items():
        try:
            value = parse_quantity(text)
        except QuantityError as error:
            raise RequestError(f"{path}.{name}: {error}") from error
        if value < 0:
            raise RequestError(f"{path}.{name}: {text} is negative; it must be 0 or more")
        parsed[name] = value
    return parsed


def _add(total: Amounts, more: Mapping[str, Fraction]) -> None:
    for name, value in more.items():
        total[name] = total.get(name, Fraction(0)) + value


def _raise_to(total: Amounts, floor: Mapping[str, Fraction]) -> None:
    for name, value in floor.items():
        if value > total.get(name, Fraction(0)):
            total[name] = value
