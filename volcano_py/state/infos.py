"""What the scheduler remembers of each object outside the columns: frozen values, shared between snapshots."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

import msgspec

from volcano_py.api.annotations.known import PREEMPTABLE, RUNNING_ESTIMATE
from volcano_py.api.annotations.reading import Unreadable
from volcano_py.api.annotations.vgpu import Card
from volcano_py.api.effects import ObjectRef
from volcano_py.api.objects import Condition, OwnerReference, PodGroup, ResourceList, Taint
from volcano_py.api.quantity import LARGEST, QuantityError, Rounding, parse_quantity
from volcano_py.state.queues.hierarchy import Hierarchy
from volcano_py.state.table.axis import LARGEST_SUM, UNLIMITED, IntVector, ResourceAxis
from volcano_py.state.table.units import whole_units
from volcano_py.state.task_class import Refusal
from volcano_py.state.topology.limits import GroupTopology

_NUMBER_AT_THE_END: Final = re.compile(r"(\d{1,18})$")

_LONGEST_AMOUNT = 40  # characters of a user's text that a message quotes


class TaskInfo(msgspec.Struct, frozen=True, gc=False):
    """One pod."""

    ref: ObjectRef
    group: str
    ours: bool
    role: str
    gates: tuple[str, ...]
    nominated_node: str
    preemptable: bool
    preemption_policy: str
    priority_class: str
    labels: Mapping[str, str]
    condition: Condition | None
    """The pod's PodScheduled condition while it is False."""
    on_its_way: tuple[str, str] | None = None
    """Reason and message that were handed to the status writer since."""
    cooldown: float = 0.0
    """Seconds after it was scheduled for which it asks not to be evicted (`volcano.sh/cooldown-time`)."""
    claims: tuple[str, ...] = ()
    """The PersistentVolumeClaims it uses, as namespace/name, in the order of its class's `volumes`."""
    device_claims: tuple[str, ...] = ()
    """The ResourceClaims it uses, as namespace/name, in the order of its class's `devices`, unless one of these is a
    trouble. (A pod that has a node has no troubles: a claim that does not exist is here alone.)"""
    says_preemptable: bool = False
    """`volcano.sh/preemptable: "true"` is written on the pod."""
    uses_revocable: bool = False
    """It may use revocable nodes: `volcano.sh/revocable-zone` is `*`, or absent while it says it is preemptable."""
    named_queue: str = ""
    """`scheduling.volcano.sh/queue-name`: the queue of the PodGroup that is generated for it."""
    limits: tuple[int, int] = (0, 0)
    """Millicores and bytes that its containers may use at most, 0 where one of them has no limit."""
    priority: int = 1
    """Its place in the order of its job's pods: `volcano.sh/task-priority`, else the pod's priority, else 1."""
    has_controller: bool = False
    """Another object owns it as its controller, and will create a pod in its place."""
    unreadable: tuple[Unreadable, ...] = ()
    """What of its annotations and labels cannot be read."""

    @property
    def key(self) -> str:
        return f"{self.ref.namespace}/{self.ref.name}"

    @property
    def reported(self) -> tuple[str, str]:
        """Reason and message of why it is not scheduled, as the API server has them or is about to."""
        if self.on_its_way is not None:
            return self.on_its_way
        return (self.condition.reason, self.condition.message) if self.condition is not None else ("", "")


class JobInfo(msgspec.Struct, frozen=True):
    """One PodGroup. `problem` is set when it cannot be scheduled as it is."""

    ref: ObjectRef
    queue: str
    min_member: int
    min_task_member: Mapping[str, int]
    priority_class: str
    conditions: tuple[Condition, ...]
    phase: str
    counts: tuple[int, int, int]
    """status.running, succeeded and failed as the API server has them."""
    annotations: Mapping[str, str]
    labels: Mapping[str, str]
    is_provisional: bool = False
    """Phase, conditions and counts were not written, as bindings under way were about to change them."""
    preemptable: bool = True
    """False when the PodGroup protects its pods from eviction, whatever their own annotations are."""
    problem: Refusal | None = None
    min_resources: ResourceList = msgspec.field(default_factory=dict)
    """spec.minResources as written; the job table has what of it is counted on nodes."""
    owner: OwnerReference | None = None
    """The controlling one."""
    is_in_default_queue: bool = False
    """The queue is the default one."""
    topology: GroupTopology | None = None
    """How near to each other its pods have to be, and how they are divided; None when nothing is said."""

    @property
    def key(self) -> str:
        return f"{self.ref.namespace}/{self.ref.name}"

    @property
    def name(self) -> str:
        """What users call it: a PodGroup that a controller made is named after its owner's UID."""
        return self.owner.name if self.owner is not None else self.ref.name


class NodeInfo(msgspec.Struct, frozen=True):
    """One node's unchanging side; its numbers are in the node table."""

    name: str
    labels: Mapping[str, str] = msgspec.field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    unschedulable: bool = False
    images: Mapping[str, int] = msgspec.field(default_factory=dict)
    """Image name → size in bytes."""
    cards: tuple[Card, ...] = ()
    """The GPUs that it lets pods share as HAMi's device plugin does, in their order."""
    gpus: tuple[Card, ...] = ()
    """The same of Volcano's older device plugin."""


class QueueInfo(msgspec.Struct, frozen=True, eq=False):
    """One queue. `slot` is its id in the job table's `queue` column.

    The algebra of amounts, used everywhere: a ceiling (`capability`) that is absent is unlimited, and so is a cpu or
    memory ceiling of 0; an entitlement (`deserved`, `guarantee`) that is absent is 0, and `has_deserved` is true
    for an explicit 0.
    """

    name: str
    slot: int
    ref: ObjectRef
    weight: int
    priority: int
    reclaimable: bool
    parent: str
    state: str
    created: float
    capability: IntVector
    deserved: IntVector
    has_deserved: IntVector
    guarantee: IntVector
    allocated: ResourceList
    """status.allocated as the API server has it."""
    annotations: Mapping[str, str]
    labels: Mapping[str, str]
    spec_affinity: Mapping[str, object] | None = None
    hierarchy: Hierarchy = ()
    problems: tuple[str, ...] = ()
    conditions: tuple[Condition, ...] = ()
    """status.conditions as the API server has them."""
    written: Mapping[str, ResourceList] = msgspec.field(default_factory=dict)
    """`capability`, `deserved` and `guarantee` as the API server has them, for messages."""

    def as_written(self, entitlement: str, resource: str) -> str:
        """An amount in its author's words: `9E` is easier to find than what it is capped at."""
        text = str(self.written[entitlement].get(resource, "0"))
        return text if len(text) <= _LONGEST_AMOUNT else f"{text[:_LONGEST_AMOUNT]}…"

    @property
    def is_open(self) -> bool:
        """A queue that no controller has given a state counts as open."""
        return self.state in {"", "Open"}


def number_at_the_end(name: str) -> int:
    """`train-12` → 12, `train12` → 12; 0 when there is none. Of more than 18 digits, the last ones."""
    match = _NUMBER_AT_THE_END.search(name)
    return int(match[1]) if match else 0


def running_estimate(annotations: Mapping[str, str]) -> float:
    """Seconds that the pods of a PodGroup are said to run; 0 when nothing is said, or no duration above 0."""
    return RUNNING_ESTIMATE.value(annotations) or 0.0


def job_info(
    group: PodGroup, default_queue: str, problem: Refusal | None, topology: GroupTopology | None = None
) -> JobInfo:
    meta, spec, status = group.metadata, group.spec, group.status
    return JobInfo(
        ref=ObjectRef("PodGroup", meta.namespace, meta.name, meta.uid),
        queue=spec.queue or default_queue,
        min_member=max(0, spec.min_member),
        min_task_member=dict(spec.min_task_member),
        priority_class=spec.priority_class_name,
        conditions=tuple(status.conditions),
        phase=status.phase,
        counts=(status.running, status.succeeded, status.failed),
        annotations=meta.annotations,
        labels=meta.labels,
        preemptable=PREEMPTABLE.value(meta.annotations, meta.labels) is not False,
        problem=problem,
        min_resources=spec.min_resources or {},
        owner=meta.controller,
        is_in_default_queue=spec.queue in ("", default_queue),
        topology=topology,
    )


def read_amounts(
    amounts: ResourceList,
    path: str,
    rounding: Rounding,
    most: int = LARGEST,
    *,
    of_unreadable: str = "",
    of_negative: str = "it counts as absent",
) -> tuple[dict[str, int], list[str]]:
    """A resource list as whole units, capped at `most`; what is unreadable is left out, reported as `path.name: …`."""
    parsed, problems = {}, []
    for name, text in amounts.items():
        try:
            value = parse_quantity(text)
        except QuantityError as error:
            problems.append(f"{path}.{name}: {error}{of_unreadable}")
            continue
        if value < 0:
            problems.append(f"{path}.{name}: {text} is negative; {of_negative}")
            continue
        parsed[name] = value
    units, _ = whole_units(parsed, rounding, most)
    return units, problems


def ceiling(axis: ResourceAxis, units: Mapping[str, int]) -> IntVector:
    """A ceiling as a row: absent names, cpu or memory of 0, and what is beyond any cluster are UNLIMITED."""
    row = axis.vector(units)
    for position, name in enumerate(axis.names):
        if name not in units or row[position] >= LARGEST_SUM or (name in {"cpu", "memory"} and row[position] == 0):
            row[position] = UNLIMITED
    return row
