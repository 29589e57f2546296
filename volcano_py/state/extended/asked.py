"""What a pod asks of extended resources, as requests of a ResourceClaim. Source: KEP 5004.

Containers that run together have a request each. An init container that ends before the others start uses the devices
of the containers after it; only what these do not have is requested for it, once for all such containers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from volcano_py.api.devices.claims import CLASS_AS_RESOURCE
from volcano_py.api.objects import Container, ContainerRequest, Pod
from volcano_py.api.quantity import QuantityError, parse_quantity

_ANOTHER: Final = "requests."
"""The beginning of names by which quotas limit resources; no resource has such a name."""


class Asked(msgspec.Struct, frozen=True):
    """What a pod asks of one extended resource: names of requests with their counts, and which container uses which."""

    requests: tuple[tuple[str, int], ...] = ()
    mappings: tuple[ContainerRequest, ...] = ()


def extended_resources(pod: Pod) -> tuple[str, ...]:
    """Names of what the pod asks for that device classes can offer, in their order."""
    found = {
        name
        for container in (*pod.spec.init_containers, *pod.spec.containers)
        for given in (container.resources.requests, container.resources.limits)
        for name in given
        if "/" in name and _can_be_offered(name)
    }
    return tuple(sorted(found)) if found else ()


def _can_be_offered(name: str) -> bool:
    if name.startswith(CLASS_AS_RESOURCE):
        return True
    return "kubernetes.io/" not in name and not name.startswith(_ANOTHER)


def asked_of(pod: Pod, resource: str) -> Asked:
    """What the pod asks of the resource."""
    containers = [*pod.spec.init_containers, *pod.spec.containers]
    first = len(pod.spec.init_containers)
    needs = [(at, each, count) for at, each in enumerate(containers) if (count := _count(each, resource))]
    lasting = [need for need in needs if need[0] >= first or need[1].restart_policy == "Always"]
    own = {at: (_name(at, each, resource), count) for at, each, count in lasting}
    mappings = [_mapping(each, resource, own[at][0]) for at, each, _ in lasting]
    more: list[tuple[str, int]] = []
    uses_more: list[Container] = []
    for at, each, count in needs:
        if at in own:
            continue
        left = count
        for name, there in (request for other, request in own.items() if other > at):
            if left > 0:
                mappings.append(_mapping(each, resource, name))
                left -= there
        if left > 0:
            more.append((_name(at, each, resource), left))
            uses_more.append(each)
    extra = [max(more, key=lambda request: request[1])] if more else []  # (the first of equals)
    mappings += [_mapping(each, resource, extra[0][0]) for each in uses_more]
    return Asked(tuple(sorted([*extra, *own.values()])), tuple(mappings))


def _name(at: int, container: Container, resource: str) -> str:
    """Of the request for the container, which is the one at that position, init containers first."""
    return f"container-{at}-request-{sorted(_amounts(container)).index(resource)}"


def _mapping(container: Container, resource: str, request: str) -> ContainerRequest:
    return ContainerRequest(container_name=container.name, resource_name=resource, request_name=request)


def _count(container: Container, resource: str) -> int:
    """0 for what cannot be read: the pod is refused for that elsewhere."""
    try:
        amount = parse_quantity(_amounts(container).get(resource, 0))
    except QuantityError:
        return 0
    return int(amount) if amount > 0 and amount.denominator == 1 else 0


def _amounts(container: Container) -> Mapping[str, str | int | float]:
    """A missing request equals the limit, as the API server stores it."""
    return {**container.resources.limits, **container.resources.requests}
