"""What a cycle decides, as values that the live cluster and the simulated one carry out.

Every effect names its object by UID as well, so that a later object of the same name is never touched. A cycle makes
tens of thousands of them: as structs of msgspec they cost a fifth of what frozen dataclasses do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import msgspec

from volcano_py.api.devices.claims import Allocation
from volcano_py.api.objects import Condition, ContainerRequest
from volcano_py.api.reasons import Reason

NO_ANNOTATIONS: Final[Mapping[str, str]] = {}


class ObjectRef(msgspec.Struct, frozen=True, gc=False):
    """An object of the API: `kind`, `namespace` ("" when cluster-scoped), `name`, `uid`."""

    kind: str
    namespace: str
    name: str
    uid: str

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


class ClaimBinding(msgspec.Struct, frozen=True):
    """A PersistentVolumeClaim gets the PersistentVolume `volume`, or, if "", one that is made for the pod's node."""

    claim: ObjectRef
    volume: str = ""


class ExtendedClaim(msgspec.Struct, frozen=True):
    """What a ResourceClaim for extended resources of a pod asks for, and what the pod's status says of it.

    Attributes:
        requests: name, device class and count.
        mappings: which container uses which request.
    """

    requests: tuple[tuple[str, str, int], ...]
    mappings: tuple[ContainerRequest, ...]


class DeviceBinding(msgspec.Struct, frozen=True):
    """A ResourceClaim is reserved for the pod. `allocation`: what it gets; None if it has its devices already.
    `extended` is set for the claim to extended resources of the pod, which is created first if it has no UID."""

    claim: ObjectRef
    allocation: Allocation | None = None
    extended: ExtendedClaim | None = None

    @property
    def creates(self) -> bool:
        """Whether the claim does not exist yet."""
        return self.extended is not None and not self.claim.uid


class Bind(msgspec.Struct, frozen=True):
    """POST `pods/binding`: the pod goes to `node`. Pods of one gang share `job`, the PodGroup as namespace/name.

    `queue`, `created` (the pod's, in seconds since the epoch) and `job_created` (its PodGroup's) are for metrics. The
    pod is bound once the claims of `claims` are; if that takes longer than `claims_within` seconds, the binding has
    failed. The API server writes `annotations` on the pod together with the node. The claims of `devices` are written
    before the pod is bound.
    """

    pod: ObjectRef
    node: str
    job: str
    queue: str = ""
    created: float = 0.0
    claims: tuple[ClaimBinding, ...] = ()
    claims_within: float = 600.0
    job_created: float = 0.0
    annotations: Mapping[str, str] = msgspec.field(default_factory=dict)
    devices: tuple[DeviceBinding, ...] = ()


class Evict(msgspec.Struct, frozen=True):
    """Mark the pod (Ready=False, DisruptionTarget=True) and delete it with its own grace period.

    `action` is what Volcano puts into the event's reason text (`preempt`, `reclaim`); `message` says for which pod, and
    why. `claimant` is that pod.
    """

    pod: ObjectRef
    group: ObjectRef | None
    action: str
    message: str
    claimant: ObjectRef | None = None


class PodCondition(msgspec.Struct, frozen=True):
    """PodScheduled=False with `reason` and `message`; `nominated_node` is written only when not empty."""

    pod: ObjectRef
    reason: str
    message: str
    code: Reason
    nominated_node: str = ""


class PodGroupStatusUpdate(msgspec.Struct, frozen=True):
    """The scheduler's own fields of a PodGroup's status (merge patch).

    `provisional`: it holds until the bindings of the same cycle are carried out, and need not be written.
    """

    group: ObjectRef
    phase: str
    conditions: tuple[Condition, ...]
    running: int
    succeeded: int
    failed: int
    provisional: bool = False


class OpenGate(msgspec.Struct, frozen=True):
    """Take the scheduling gate `queue-allocation-gate` off the pod, which has no other: its queue has room."""

    pod: ObjectRef


class ReleaseDevices(msgspec.Struct, frozen=True):
    """Clear the devices of a ResourceClaim that only waiting pods use. `pods`: those for which it is reserved. If it is
    reserved for others as well, or one of these has a node by then, it stays as it is."""

    claim: ObjectRef
    pods: tuple[ObjectRef, ...] = ()


class QueueAllocated(msgspec.Struct, frozen=True):
    """`status.allocated` of a queue, quantities as canonical text."""

    queue: str
    allocated: Mapping[str, str]


class QueueConditions(msgspec.Struct, frozen=True):
    """`status.conditions` of a queue, as a whole."""

    queue: ObjectRef
    conditions: tuple[Condition, ...]


class Event(msgspec.Struct, frozen=True):
    """A Kubernetes event; `type` is Normal or Warning. `at` is when it was, in seconds since the epoch; None is now.

    `action` is what was done about the object, and `related` the object for which.
    """

    about: ObjectRef
    type: str
    reason: str
    message: str
    at: float | None = None
    action: str = ""
    related: ObjectRef | None = None


Effect = (
    Bind
    | Evict
    | OpenGate
    | ReleaseDevices
    | PodCondition
    | PodGroupStatusUpdate
    | QueueAllocated
    | QueueConditions
    | Event
)

Emit = Callable[[Sequence[Effect]], None]
"""Passes effects on, in the order in which they are to be carried out."""

JsonObject = dict[str, Any]
