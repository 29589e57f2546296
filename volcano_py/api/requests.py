"""What a pod asks for, as kube-scheduler counts it.

Source: Kubernetes' documentation of init containers, sidecar containers (KEP-753), pod overhead (KEP-688), pod-level
resources (KEP-2837) and in-place resize (KEP-1287).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction

from volcano_py.api.objects import Container, ContainerStatus, PodSpec, ResourceList
from volcano_py.api.quantity import QuantityError, parse_quantity

Amounts = dict[str, Fraction]


class RequestError(ValueError):
    """A request that cannot be read; the text names the field, what was found and what is right."""


def pod_requests(spec: PodSpec, statuses: Iterable[ContainerStatus] = ()) -> Amounts:
    """Requests of the whole pod by resource name, in Kubernetes' units (cores, bytes), without the `pods` count.

    Raises:
        RequestError: a quantity is malformed or negative.
    """
    granted = {status.name: status for status in statuses}
    running: Amounts = {}
    for index, container in enumerate(spec.containers):
        asked = _container(container, f"spec.containers[{index}]")
        if (status := granted.get(container.name)) is not None:
            asked = _resized(asked, status)
        _add(running, asked)
    peak: Amounts = {}
    sidecars: Amounts = {}
    for index, container in enumerate(spec.init_containers):
        asked = _container(container, f"spec.initContainers[{index}]")
        if container.restart_policy == "Always":
            _add(sidecars, asked)
            _add(running, asked)
            _raise_to(peak, sidecars)
        else:
            _add(asked, sidecars)
            _raise_to(peak, asked)
    _raise_to(running, peak)
    if spec.resources is not None:
        pod_level = _with_limits(spec.resources.requests, spec.resources.limits)
        running.update(_parse(pod_level, "spec.resources.requests"))
    _add(running, _parse(spec.overhead, "spec.overhead"))
    return running


def _container(container: Container, path: str) -> Amounts:
    resources = container.resources
    if not resources.requests and not resources.limits:
        return {}
    return _parse(_with_limits(resources.requests, resources.limits), f"{path}.resources.requests")


def _with_limits(requests: ResourceList, limits: ResourceList) -> ResourceList:
    """A missing request equals the limit, as the API server stores it."""
    return {**limits, **requests} if limits else requests


def _resized(asked: Amounts, status: ContainerStatus) -> Amounts:
    """While a resize is under way the pod may hold any of: asked, granted, running with. Count the largest."""
    path = f"status.containerStatuses[{status.name}]"
    _raise_to(asked, _parse(status.allocated_resources, f"{path}.allocatedResources"))
    if status.resources is not None:
        _raise_to(asked, _parse(status.resources.requests, f"{path}.resources.requests"))
    return asked


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
