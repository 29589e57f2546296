"""Read API objects into the values that the state keeps. Never raises: unreadable fields are reported and left out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

import msgspec
import numpy as np
from msgspec.structs import replace

from volcano_py.api.annotations.of_nodes import VGPU_REGISTER, oversubscribed, unreadable_of_node
from volcano_py.api.annotations.reading import Unreadable
from volcano_py.api.bounds import GROUP_RESOURCES, GROUP_TASKS, RESOURCES_LIMITED
from volcano_py.api.effects import ObjectRef
from volcano_py.api.objects import Node, PodGroup, Queue, ResourceList
from volcano_py.api.quantity import Rounding
from volcano_py.api.reasons import Reason
from volcano_py.api.wording.explain import invalid_field
from volcano_py.api.wording.resource_names import is_of_devices, limits_devices
from volcano_py.state.cards.offered import gpus_of
from volcano_py.state.infos import JobInfo, NodeInfo, QueueInfo, ceiling, job_info, read_amounts
from volcano_py.state.queues.hierarchy import read_hierarchy
from volcano_py.state.table.axis import LARGEST_SUM, ResourceAxis, TooManyResourcesError
from volcano_py.state.task_class import Refusal
from volcano_py.state.topology.limits import read_topology

_NOT_NEGATIVE: Final = "write 0 or more"


class ParsedNode(msgspec.Struct, frozen=True):
    """A node as far as scheduling goes; equal readings need no work."""

    info: NodeInfo
    allocatable: Mapping[str, int]
    problems: tuple[str, ...]
    unreadable: tuple[Unreadable, ...] = ()

    def differs_in_images_only(self, other: ParsedNode) -> bool:
        """Whether no pod can have become placeable: images move scores, and nodes pull them all the time."""
        return replace(self, info=replace(self.info, images=other.info.images)) == other


class ParsedJob(msgspec.Struct, frozen=True):
    info: JobInfo
    min_resources: Mapping[str, int] | None

    def refused(self, problem: Refusal) -> ParsedJob:
        """The same with a problem."""
        return replace(self, info=replace(self.info, problem=problem))


class ParsedQueue(msgspec.Struct, frozen=True):
    info: QueueInfo
    axis: ResourceAxis


def read_node(node: Node) -> ParsedNode:
    """Allocatable is rounded down; oversubscribed cpu and memory that a node agent announces are added."""
    units, problems = read_amounts(node.status.allocatable, "status.allocatable", Rounding.DOWN)
    for resource, extra in oversubscribed(node.metadata).items():
        units[resource] = units.get(resource, 0) + extra
    gpus, unusable = gpus_of(node)
    info = NodeInfo(
        name=node.metadata.name,
        labels=node.metadata.labels,
        taints=tuple(node.spec.taints),
        unschedulable=node.spec.unschedulable,
        images={name: image.size_bytes for image in node.status.images for name in image.names},
        cards=VGPU_REGISTER.value(node.metadata.annotations) or (),
        gpus=gpus,
    )
    return ParsedNode(info, units, (*problems, *unusable), unreadable_of_node(node.metadata))


def read_job(group: PodGroup, default_queue: str) -> ParsedJob:
    """A PodGroup; one whose amounts cannot be read, or that needs what is not evaluated yet, gets a problem."""
    if too_large := _too_large(group):
        # of the rest, which is never used, none is read or kept
        group = replace(group, spec=replace(group.spec, min_task_member={}, min_resources={}))
        return ParsedJob(job_info(group, default_queue, Refusal(Reason.INVALID_POD_GROUP, too_large)), {})
    unusable = [*_negative_minimums(group)]
    units: dict[str, int] | None = None
    if group.spec.min_resources is not None:
        # (how many devices a job needs of ResourceClaims, its pods say)
        amounts = _without(_quota_names(group.spec.min_resources))
        units, unreadable = read_amounts(
            amounts, "spec.minResources", Rounding.UP, LARGEST_SUM, of_negative=_NOT_NEGATIVE
        )
        unusable += unreadable
    topology, wrong = read_topology(group.spec)
    unusable += wrong
    problem = Refusal(Reason.INVALID_POD_GROUP, unusable[0]) if unusable else None
    return ParsedJob(job_info(group, default_queue, problem, topology), units)


def _too_large(group: PodGroup) -> str:
    """What is beyond a bound, "" for nothing."""
    spec = group.spec
    for field, entries, bound in (
        ("spec.minTaskMember", spec.min_task_member, GROUP_TASKS),
        ("spec.minResources", spec.min_resources or {}, GROUP_RESOURCES),
    ):
        if len(entries) > bound.most:
            return f"{field} has {len(entries)} entries: at most {bound.most} are evaluated; leave some out"
    return ""


def _negative_minimums(group: PodGroup) -> Iterator[str]:
    """Under another CRD than ours, and in manifests, such values are possible."""
    if group.spec.min_member < 0:
        yield invalid_field("spec.minMember", group.spec.min_member, _NOT_NEGATIVE)
    for task, least in group.spec.min_task_member.items():
        if least < 0:
            yield invalid_field(f"spec.minTaskMember.{task}", least, _NOT_NEGATIVE)


def read_queue(queue: Queue, slot: int, axis: ResourceAxis) -> ParsedQueue:
    """A queue on an axis that has the resource names it speaks of."""
    spec = queue.spec
    problems: list[str] = []

    def amounts(field: str, given: ResourceList) -> dict[str, int]:
        path, so = f"spec.{field}", "; it counts as absent"
        units, unreadable = read_amounts(given, path, Rounding.DOWN, LARGEST_SUM, of_unreadable=so)
        problems.extend(unreadable)
        return units

    capability = amounts("capability", _without(spec.capability, lambda name: not limits_devices(name)))
    deserved = amounts("deserved", _without(spec.deserved))
    guarantee = amounts("guarantee.resource", _without(spec.guarantee.resource))
    try:
        axis = axis.with_names({**capability, **deserved, **guarantee}, RESOURCES_LIMITED.most)
    except TooManyResourcesError as error:
        problems.append(str(error))
    weight = spec.weight
    if weight < 1:
        problems.append(f"spec.weight: {weight} is below 1; it counts as 1")
        weight = 1
    hierarchy, misplaced = read_hierarchy(queue.metadata.annotations)
    problems.extend(misplaced)
    info = QueueInfo(
        name=queue.metadata.name,
        slot=slot,
        ref=ObjectRef("Queue", "", queue.metadata.name, queue.metadata.uid),
        weight=weight,
        priority=spec.priority,
        reclaimable=spec.reclaimable is not False,
        parent=spec.parent,
        state=queue.status.state,
        created=queue.metadata.created,
        capability=ceiling(axis, capability),
        deserved=axis.vector(deserved),
        has_deserved=np.array([name in deserved for name in axis.names], dtype=np.int64),
        guarantee=axis.vector(guarantee),
        allocated=queue.status.allocated,
        annotations=queue.metadata.annotations,
        labels=queue.metadata.labels,
        spec_affinity=spec.affinity,
        hierarchy=hierarchy,
        problems=tuple(problems),
        conditions=tuple(queue.status.conditions),
        written={"capability": spec.capability, "deserved": spec.deserved, "guarantee": spec.guarantee.resource},
    )
    return ParsedQueue(info, axis)


def _without(given: ResourceList, is_left_out: Callable[[str], bool] = lambda _: True) -> ResourceList:
    """The amounts without those of devices of ResourceClaims that are `is_left_out`: they have no effect."""
    return {name: text for name, text in given.items() if not (is_of_devices(name) and is_left_out(name))}


def _quota_names(amounts: Mapping[str, str | int | float]) -> dict[str, str | int | float]:
    """minResources may speak as a ResourceQuota does (`requests.cpu`); limits do not count."""
    plain: dict[str, str | int | float] = {}
    for name, value in amounts.items():
        if name.startswith("requests."):
            plain.setdefault(name.removeprefix("requests."), value)
        elif not name.startswith("limits."):
            plain[name] = value
    return plain
