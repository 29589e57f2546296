"""The rows that are shown of a cluster, as frozen values."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from volcano_py.api.names import (
    DEFAULT_QUEUE,
    ROOT_QUEUE,
    UNSCHEDULABLE,
)
from volcano_py.api.objects import Node, Pod, PodGroup, Queue, ResourceList
from volcano_py.api.quantity import QuantityError, Rounding, parse_quantity
from volcano_py.api.reasons import Reason
from volcano_py.api.requests import RequestError, pod_requests
from volcano_py.api.wording.owned import telling_owner
from volcano_py.api.wording.pod_message import why_pod_waits
from volcano_py.operator.podgroups.generated_group import GroupRules, generated_key, is_ours, names_group, wants_group
from volcano_py.state.table.units import whole_units

SETTLED_PHASES: Final = frozenset({"Running", "Completed"})
"""Phases of a PodGroup that waits for nothing."""

_FINISHED: Final = frozenset({"Succeeded", "Failed"})
_RULES: Final = GroupRules()  # those of the scheduler on the local control plane

Units = Mapping[str, int]
"""Resource name → millicores, bytes or a count."""


@dataclass(frozen=True, slots=True)
class PodRow:
    """A pod. `phase` is `Terminating` from its deletion on, as in kubectl; `why` is its message while it waits."""

    key: str
    group: str
    """namespace/name of its PodGroup, whether there is one of that name or not, or ""."""
    ours: bool
    """It asks for the scheduler."""
    phase: str
    node: str
    labels: Mapping[str, str]
    units: Units
    why: str

    @property
    def waits(self) -> bool:
        """For a node."""
        return not self.node and self.phase == "Pending"


@dataclass(frozen=True, slots=True)
class QueueRow:
    """A queue, and how many of the pods in it and below it run. `depth` counts the queues above it, without root."""

    name: str
    depth: int
    state: str
    weight: int
    allocated: Units
    capability: Units
    running: int
    pods: int


@dataclass(frozen=True, slots=True)
class MissingQueueRow:
    """A queue that does not exist: how many PodGroups name it, and how many of their pods run."""

    name: str
    groups: int
    running: int
    pods: int


@dataclass(frozen=True, slots=True)
class GroupRow:
    """A PodGroup; `why` it waits, or some of its pods do.

    `name` is namespace/name; that of its owner, whose kind is `owner`, where it is known by that.
    """

    key: str
    name: str
    owner: str
    queue: str
    phase: str
    minimum: int
    pods: int
    bound: int
    waiting: int
    running: int
    finished: int
    why: str


@dataclass(frozen=True, slots=True)
class LoneRow:
    """Pods that wait without a PodGroup: `name` is the first, `others` how many more wait for the same."""

    name: str
    others: int
    why: str


@dataclass(frozen=True, slots=True)
class NodeRow:
    """A node: what it has, what the pods on it ask for, and which they are (namespace/name)."""

    name: str
    allocatable: Units
    used: Units
    pods: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class EventRow:
    """An event about an object (Kind/name), seen `count` times until now. One about a PodGroup names the owner that
    this is known by."""

    at: datetime
    warning: bool
    about: str
    reason: str
    message: str
    count: int


@dataclass(frozen=True, slots=True)
class Overview:
    """One moment of the cluster; events oldest first."""

    queues: tuple[QueueRow, ...] = ()
    missing: tuple[MissingQueueRow, ...] = ()
    groups: tuple[GroupRow, ...] = ()
    alone: tuple[LoneRow, ...] = ()
    nodes: tuple[NodeRow, ...] = ()
    pods: tuple[PodRow, ...] = ()
    events: tuple[EventRow, ...] = ()


def overview(
    *,
    nodes: Iterable[Node],
    queues: Iterable[Queue],
    groups: Iterable[PodGroup],
    pods: Iterable[PodRow],
    events: Iterable[EventRow],
) -> Overview:
    """The rows: queues as a tree, PodGroups by age, the rest by name."""
    groups, queues = list(groups), list(queues)
    sorted_pods = tuple(sorted(pods, key=lambda pod: pod.key))
    members: defaultdict[str, list[PodRow]] = defaultdict(list)
    for pod in sorted_pods:
        members[pod.group].append(pod)
    by_age = sorted(groups, key=lambda group: (group.metadata.created, group.metadata.key))
    rows = tuple(_group_row(group, members[group.metadata.key]) for group in by_age)
    return Overview(
        queues=tuple(_queue_rows(queues, rows)),
        missing=tuple(_missing_rows({queue.metadata.name for queue in queues}, rows)),
        groups=rows,
        alone=tuple(_lone_rows(members, {group.metadata.key for group in groups})),
        nodes=tuple(_node_rows(nodes, sorted_pods)),
        pods=sorted_pods,
        events=tuple(_by_owner(sorted(events, key=lambda event: event.at), rows)),
    )


def _by_owner(events: Iterable[EventRow], groups: Iterable[GroupRow]) -> Iterator[EventRow]:
    """An event about a PodGroup is shown as one about the owner that it is known by."""
    owners = {
        f"PodGroup/{group.key.rpartition('/')[2]}": f"{group.owner}/{group.name.rpartition('/')[2]}"
        for group in groups
        if group.owner
    }
    for event in events:
        yield replace(event, about=owners.get(event.about, event.about))


def pod_row(pod: Pod) -> PodRow:
    """What is shown and counted of a pod."""
    named = names_group(pod)
    try:
        units, _ = whole_units(pod_requests(pod.spec, pod.status), Rounding.UP)
    except RequestError:
        units = {}  # the scheduler reports it
    return PodRow(
        key=pod.metadata.key,
        group=f"{pod.metadata.namespace}/{named}" if named else generated_key(pod) if wants_group(pod, _RULES) else "",
        ours=is_ours(pod, _RULES),
        phase="Terminating" if pod.metadata.deletion_timestamp else pod.status.phase,
        node=pod.spec.node_name,
        labels=pod.metadata.labels,
        units=units,
        why=why_pod_waits(pod),
    )


def _group_row(group: PodGroup, pods: Sequence[PodRow]) -> GroupRow:
    metadata = group.metadata
    owner = telling_owner(metadata.key, metadata.controller)
    phase = group.status.phase or "Pending"
    return GroupRow(
        key=metadata.key,
        name=f"{metadata.namespace}/{owner.name if owner else metadata.name}",
        owner=owner.kind if owner else "",
        queue=group.spec.queue or DEFAULT_QUEUE,
        phase=phase,
        minimum=group.spec.min_member,
        pods=len(pods),
        bound=sum(bool(pod.node) for pod in pods),
        waiting=sum(pod.waits for pod in pods),
        running=sum(pod.phase == "Running" for pod in pods),
        finished=sum(pod.phase in _FINISHED for pod in pods),
        why=_why(group, phase, pods),
    )


def _why(group: PodGroup, phase: str, pods: Sequence[PodRow]) -> str:
    if phase not in SETTLED_PHASES:
        for condition in group.status.conditions:
            if condition.type == UNSCHEDULABLE and condition.status == "True":
                return condition.message
    return next((pod.why for pod in pods if pod.why), "")


def _lone_rows(members: Mapping[str, Sequence[PodRow]], groups: Set[str]) -> Iterator[LoneRow]:
    """Pods of ours whose PodGroup is not there (yet), by name: one row for each PodGroup and reason."""
    rows: dict[tuple[str, str], list[str]] = {}
    for key, pods in members.items():
        for pod in pods if key not in groups else ():
            if pod.ours and pod.waits:
                rows.setdefault((key, pod.why), []).append(pod.key)
    for (_, why), names in sorted(rows.items(), key=lambda row: row[1]):
        yield LoneRow(names[0], len(names) - 1, why)


def _queue_rows(queues: Iterable[Queue], groups: Iterable[GroupRow]) -> Iterator[QueueRow]:
    by_name = {queue.metadata.name: queue for queue in queues}
    running: defaultdict[str, int] = defaultdict(int)
    pods: defaultdict[str, int] = defaultdict(int)
    for group in groups:
        for name in _with_ancestors(group.queue, by_name):
            running[name] += group.running
            pods[name] += group.pods
    for name, depth in _tree(by_name):
        queue = by_name[name]
        allocated = _units(queue.status.allocated)
        yield QueueRow(
            name=name,
            depth=depth,
            state=queue.status.state,
            weight=queue.spec.weight,
            allocated={resource: units for resource, units in allocated.items() if resource != "pods"},
            capability=_units(queue.spec.capability),
            running=running[name],
            pods=pods[name],
        )


def _missing_rows(queues: Set[str], groups: Iterable[GroupRow]) -> Iterator[MissingQueueRow]:
    """Queues that PodGroups name which run, or which wait for the queue: queues arrive by a watch of their own, and may
    be late."""
    named: defaultdict[str, list[GroupRow]] = defaultdict(list)
    for group in groups if queues else ():
        if group.queue not in queues and (group.running or group.why.startswith(Reason.QUEUE_NOT_FOUND)):
            named[group.queue].append(group)
    for name, of_queue in sorted(named.items()):
        running, pods = sum(group.running for group in of_queue), sum(group.pods for group in of_queue)
        yield MissingQueueRow(name, len(of_queue), running, pods)


def _with_ancestors(name: str, queues: Mapping[str, Queue]) -> Iterator[str]:
    """The queue and those above it, each once even when they form a circle."""
    seen: set[str] = set()
    while name in queues and name not in seen:
        seen.add(name)
        yield name
        name = queues[name].spec.parent


def _tree(queues: Mapping[str, Queue]) -> Iterator[tuple[str, int]]:
    """Each queue but root below its parent, with its depth; those without a way to root come last, at the top level."""
    children: defaultdict[str, list[str]] = defaultdict(list)
    for name in sorted(queues, reverse=True):
        if name != ROOT_QUEUE:
            children[queues[name].spec.parent or ROOT_QUEUE].append(name)
    seen = {ROOT_QUEUE}
    below = [(name, 0) for name in children[ROOT_QUEUE]]
    while below:
        name, depth = below.pop()
        seen.add(name)
        yield name, depth
        below.extend((child, depth + 1) for child in children[name])
    for name in sorted(queues.keys() - seen):
        yield name, 0


def _node_rows(nodes: Iterable[Node], pods: Iterable[PodRow]) -> Iterator[NodeRow]:
    there: defaultdict[str, list[PodRow]] = defaultdict(list)
    for pod in pods:
        if pod.node and pod.phase not in _FINISHED:
            there[pod.node].append(pod)
    for node in sorted(nodes, key=lambda node: node.metadata.name):
        used: defaultdict[str, int] = defaultdict(int)
        for pod in there[node.metadata.name]:
            for resource, units in pod.units.items():
                used[resource] += units
        yield NodeRow(
            name=node.metadata.name,
            allocatable=_units(node.status.allocatable),
            used=dict(used),
            pods=tuple(pod.key for pod in there[node.metadata.name]),
        )


def _units(amounts: ResourceList) -> dict[str, int]:
    """What cannot be read is not shown; to complain is the scheduler's."""
    try:
        units, _ = whole_units({name: parse_quantity(text) for name, text in amounts.items()}, Rounding.DOWN)
    except QuantityError:
        return {}
    return units
