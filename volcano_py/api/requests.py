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
from volcano_py.api.quantity import Nano, QuantityError, from_nano, parse_nano

Amounts = dict[str, Fraction]


class RequestError(ValueError):
    """A request that cannot be read; the text names the field, what was found and what is right."""


# What can be asked for a pod as a whole, but for huge pages: their limit counts whatever containers ask for.
_SUMMED_UP: Final = frozenset({"cpu", "memory"})
_RESIZE_PENDING: Final = "PodResizePending"
_UNKNOWN_STATUS: Final = PodStatus()
_NOTHING: Final[Mapping[str, Nano]] = MappingProxyType({})
_Nanos = dict[str, Nano]


def pod_requests(spec: PodSpec, status: PodStatus = _UNKNOWN_STATUS) -> Amounts:
    """Requests of the whole pod by resource name, in Kubernetes' units (cores, bytes), without the `pods` count.

    Args:
        status: how far a resize has got.

    Raises:
        RequestError: a quantity is malformed or negative.
    """
    return PodRequests(spec, status).total()


class PodRequests:
    """What a pod asks for, each quantity read once.

    Raises:
        RequestError: a quantity is malformed or negative.
    """

    def __init__(self, spec: PodSpec, status: PodStatus = _UNKNOWN_STATUS) -> None:
        resize = _Resize(status)
        self._containers = _Containers(spec, resize)
        self._of_pod = {} if spec.resources is None else resize.of_pod(_of_pod(spec, spec.resources))
        self._overhead = _parse(spec.overhead, "spec.overhead")

    def total(self, missing: Mapping[str, Nano] | None = None) -> Amounts:
        """By resource name; of those in `missing` alone where it is given: a container counts with that amount when it
        does not ask for any of that resource, not even for 0."""
        total = self._containers.total(missing)
        total.update(self._of_pod)
        _add(total, self._overhead)
        return {name: from_nano(value) for name, value in total.items() if missing is None or name in missing}


class _Containers:
    """What each container asks for, in billionths."""

    def __init__(self, spec: PodSpec, resize: _Resize) -> None:
        self._running = [
            resize.of(container, _container(container, f"spec.containers[{index}]"))
            for index, container in enumerate(spec.containers)
        ]
        self._at_start: list[tuple[bool, _Nanos]] = []
        """Of each init container, in their order: whether it stays as a sidecar."""
        for index, container in enumerate(spec.init_containers):
            asked, stays = _container(container, f"spec.initContainers[{index}]"), container.restart_policy == "Always"
            self._at_start.append((stays, resize.of(container, asked) if stays else asked))

    def total(self, missing: Mapping[str, Nano] | None = None) -> _Nanos:
        """The larger of what all need that run together, and of what an init container needs with the sidecars before
        it. Sidecars run with all others, so that their sum at the start is never the larger one."""
        running: _Nanos = {}
        for asked in self._running:
            _add(running, _with(asked, missing))
        peak: _Nanos = {}
        sidecars: _Nanos = {}
        for stays, asked in self._at_start:
            if stays:
                _add(sidecars, _with(asked, missing))
            else:
                _raise_to(peak, {name: value + sidecars.get(name, 0) for name, value in _with(asked, missing).items()})
        _add(running, sidecars)
        _raise_to(running, peak)
        return running


def _with(asked: _Nanos, missing: Mapping[str, Nano] | None) -> _Nanos:
    return asked if missing is None else {name: asked.get(name, value) for name, value in missing.items()}


def _of_pod(spec: PodSpec, resources: ResourceRequirements) -> _Nanos:
    """What is asked for the pod as a whole. As the API server stores it, a limit without a request is also what the
    containers ask for, and where none of them asks for itself."""
    limits = _parse(resources.limits, "spec.resources.limits")
    of_containers = _Containers(spec, _Resize(_UNKNOWN_STATUS)).total() if limits else _NOTHING
    limits.update((name, of_containers[name]) for name in _SUMMED_UP if name in limits and name in of_containers)
    return {**limits, **_parse(resources.requests, "spec.resources.requests")}


def resize_of(status: PodStatus) -> tuple[object, ...]:
    """All of a pod's status that `pod_requests` looks at."""
    containers = status.container_statuses + status.init_container_statuses
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

    def of(self, container: Container, asked: _Nanos) -> _Nanos:
        """What counts of a container that asks for so much."""
        status = self._containers.get(container.name)
        if status is None or status.resources is None:
            return asked
        path = f"status.containerStatuses[{container.name}]"
        granted = _parse(status.allocated_resources, f"{path}.allocatedResources")
        return self._largest(asked, granted, _parse(status.resources.requests, f"{path}.resources.requests"))

    def of_pod(self, asked: _Nanos) -> _Nanos:
        """The same of what is asked for the pod as a whole."""
        status = self._status
        if status.resources is None:
            return asked
        granted = _parse(status.allocated_resources, "status.allocatedResources")
        largest = self._largest(asked, granted, _parse(status.resources.requests, "status.resources.requests"))
        return {name: largest.get(name, 0) for name in asked}

    def _largest(self, asked: _Nanos, granted: _Nanos, actual: _Nanos) -> _Nanos:
        largest: _Nanos = {} if self._infeasible else dict(asked)
        _raise_to(largest, granted)
        _raise_to(largest, actual)
        return largest


def _container(container: Container, path: str) -> _Nanos:
    resources = container.resources
    if not resources.requests and not resources.limits:
        return {}
    # A missing request equals the limit, as the API server stores it.
    return _parse({**resources.limits, **resources.requests}, f"{path}.resources.requests")


def _parse(amounts: ResourceList, path: str) -> _Nanos:
    parsed: _Nanos = {}
    for name, text in amounts.items():
        try:
            value = parse_nano(text)
        except QuantityError as error:
            raise RequestError(f"{path}.{name}: {error}") from error
        if value < 0:
            raise RequestError(f"{path}.{name}: {text} is negative; it must be 0 or more")
        parsed[name] = value
    return parsed


def _add(total: _Nanos, more: Mapping[str, Nano]) -> None:
    for name, value in more.items():
        total[name] = total.get(name, 0) + value


def _raise_to(total: _Nanos, floor: Mapping[str, Nano]) -> None:
    for name, value in floor.items():
        if value > total.get(name, 0):
            total[name] = value
