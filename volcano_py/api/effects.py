"""What a cycle wants done in the outside world, as values: the live cluster and the simulated one carry them out.

Every effect names its object by UID as well, so that a namesake that came later is never touched.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from volcano_py.api.objects import Condition
from volcano_py.api.reasons import Reason


@dataclass(frozen=True, slots=True)
class ObjectRef:
    """An object of the API: `kind`, `namespace` ("" when cluster-scoped), `name`, `uid`."""

    kind: str
    namespace: str
    name: str
    uid: str

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


@dataclass(frozen=True, slots=True)
class ClaimBinding:
    """A PersistentVolumeClaim gets the PersistentVolume `volume`, or, if "", one that is made for the pod's node."""

    claim: ObjectRef
    volume: str = ""


@dataclass(frozen=True, slots=True)
class Bind:
    """POST `pods/binding`: the pod goes to `node`. Pods of one gang share `job`, the PodGroup as namespace/name.

    `queue`, `created` (the pod's, in seconds since the epoch) and `job_created` (its PodGroup's) are for metrics. The
    pod is bound once the claims of `claims` are; if that takes longer than `claims_within` seconds, the binding has
    failed.
    """

    pod: ObjectRef
    node: str
    job: str
    queue: str = ""
    created: float = 0.0
    claims: tuple[ClaimBinding, ...] = ()
    claims_within: float = 600.0
    job_created: float = 0.0


@dataclass(frozen=True, slots=True)
class Evict:
    """Mark the pod (Ready=False, DisruptionTarget=True) and delete it with its own grace period.

    `action` is what Volcano puts into the event's reason text (`preempt`, `reclaim`); `message` says for whom and why.
    """

    pod: ObjectRef
    group: ObjectRef | None
    action: str
    message: str


@dataclass(frozen=True, slots=True)
class PodCondition:
    """PodScheduled=False with `reason` and `message`; `nominated_node` is written only when not empty."""

    pod: ObjectRef
    reason: str
    message: str
    code: Reason
    nominated_node: str = ""


@dataclass(frozen=True, slots=True)
class PodGroupStatusUpdate:
    """The scheduler's own fields of a PodGroup's status (merge patch)."""

    group: ObjectRef
    phase: str
    conditions: tuple[Condition, ...]
    running: int
    succeeded: int
    failed: int


@dataclass(frozen=True, slots=True)
class QueueAllocated:
    """`status.allocated` of a queue, quantities as canonical text."""

    queue: str
    allocated: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Event:
    """A Kubernetes event; `type` is Normal or Warning."""

    about: ObjectRef
    type: str
    reason: str
    message: str


Effect = Bind | Evict | PodCondition | PodGroupStatusUpdate | QueueAllocated | Event

JsonObject = dict[str, Any]
