"""What the ResourceClaims of a pod require of its node: the part of a pod's class that they make.

As with volumes, a claim that only one pod uses is described by what it asks for, so that the pods of a gang with a
claim each are one class. A claim that several pods use has its name in it: what is decided for one of them holds for
the others.
"""

from __future__ import annotations

import msgspec

from volcano_py.api.devices.claims import DeviceToleration
from volcano_py.api.objects import ContainerRequest, NodeSelector

ALL: int = 0
"""As a count: every device that is selected, at least one."""


class Ask(msgspec.Struct, frozen=True, array_like=True):
    """One way to satisfy a request.

    Attributes:
        name: `request`, or `request/alternative`; what the result calls it.
        device_class: its name, for messages.
        expressions: CEL, of the class and then of the request. All must hold.
        count: how many devices, or `ALL`.
        capacity: what is needed of each capacity, by name and as written.
        is_admin: devices that others use will do, and stay usable for others.
    """

    name: str
    device_class: str
    expressions: tuple[str, ...] = ()
    tolerations: tuple[DeviceToleration, ...] = ()
    count: int = 1
    is_admin: bool = False
    capacity: tuple[tuple[str, str], ...] = ()


class Request(msgspec.Struct, frozen=True, array_like=True):
    """`ways` are alternatives in the order of preference; most requests have one."""

    name: str
    ways: tuple[Ask, ...]


class Constraint(msgspec.Struct, frozen=True, array_like=True):
    """Devices of these requests (`request` or `request/alternative`; none: all) have one value of the attribute, as
    `domain/name`, or, if `is_distinct`, each another."""

    requests: tuple[str, ...]
    attribute: str
    is_distinct: bool = False


class DeviceNeed(msgspec.Struct, frozen=True, array_like=True, tag=True):
    """One claim of a pod."""


class DeviceTrouble(DeviceNeed, frozen=True):
    """The claim keeps the pod from every node; `message` names it and says what to do. `is_unsupported`: because it
    asks for something that is not evaluated."""

    message: str = ""
    is_unsupported: bool = False


class GivenDevices(DeviceNeed, frozen=True):
    """A claim that has its devices: from which nodes they can be used (None: all). `claim` (namespace/name) is set when
    several pods use it. `devices`: how many of which device class it takes from others. `mappings`: of a claim to
    extended resources of the pod, as in the pod's status."""

    claim: str = ""
    nodes: NodeSelector | None = None
    devices: tuple[tuple[str, int], ...] = ()
    mappings: tuple[ContainerRequest, ...] = ()


class OpenDevices(DeviceNeed, frozen=True):
    """A claim that gets its devices when the pod has a node. `claim` is set when several pods use it."""

    claim: str = ""
    requests: tuple[Request, ...] = ()
    constraints: tuple[Constraint, ...] = ()


class ExtendedDevices(DeviceNeed, frozen=True):
    """An extended resource that a DeviceClass offers. On nodes that have it themselves it is an amount like any other;
    on others, devices of the class stand in for it, which a claim gets when the pod has a node. `mappings`: which
    container uses which request."""

    resource: str = ""
    requests: tuple[Request, ...] = ()
    mappings: tuple[ContainerRequest, ...] = ()
