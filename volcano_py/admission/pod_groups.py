"""PodGroups: defaults, and which queue a group may name.

No webhook stands on pods. What a group is refused for because of its queue, it would wait for there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from volcano_py.admission.network import topology_violations
from volcano_py.admission.queue_world import QueueWorld
from volcano_py.admission.violation import Violation, Violations, new_violations
from volcano_py.api.annotations.of_groups import ignored_of_pod_group
from volcano_py.api.names import ROOT_QUEUE
from volcano_py.api.objects import PodGroup
from volcano_py.api.queues.choice import queue_for


def defaults(group: PodGroup, namespace_annotations: Mapping[str, str], default_queue: str) -> dict[str, Any]:
    """What is filled in on CREATE, as a merge patch: the queue of a group that names none."""
    queue = queue_for(group.spec.queue, namespace_annotations, default_queue)
    return {"spec": {"queue": queue}} if queue != group.spec.queue else {}


def validate_create(group: PodGroup, world: QueueWorld, default_queue: str) -> Violations:
    """What is wrong with a new group."""
    return tuple(_breaks(group, world, default_queue))


def validate_update(before: PodGroup, after: PodGroup, world: QueueWorld, default_queue: str) -> Violations:
    """What the update breaks: a group may go to another queue, if that takes work; it may stay in a closed one."""
    return new_violations(validate_create(after, world, default_queue), validate_create(before, world, default_queue))


def ignored_warnings(group: PodGroup) -> Iterator[str]:
    """What is ignored of the group's annotations, labels and fields."""
    return (value.message for value in ignored_of_pod_group(group))


def _breaks(group: PodGroup, world: QueueWorld, default_queue: str) -> Iterator[Violation]:
    spec = group.spec
    if spec.min_member < 0:
        yield _negative("spec.minMember", spec.min_member)
    for role, minimum in sorted(spec.min_task_member.items()):
        if minimum < 0:
            yield _negative(f"spec.minTaskMember[{role}]", minimum)
    yield from queue_violations("spec.queue", spec.queue or default_queue, world)
    yield from topology_violations("spec.networkTopology", spec.network_topology)
    for index, policy in enumerate(spec.sub_group_policy):
        field = f"spec.subGroupPolicy[{index}]"
        size, least = policy.get("subGroupSize"), policy.get("minSubGroups")
        if isinstance(size, int) and size < 1:
            rule, fix = "is too small for a sub-group", "write 1 or more"
            yield Violation(field=f"{field}.subGroupSize", value=str(size), rule=rule, fix=fix)
        if isinstance(least, int) and least < 0:
            yield _negative(f"{field}.minSubGroups", least)
        yield from topology_violations(f"{field}.networkTopology", policy.get("networkTopology"))


def queue_violations(field: str, name: str, world: QueueWorld, written: str = "") -> Iterator[Violation]:
    """The queue that work goes to: it exists, takes new work, and is one that runs work.

    `written`: what the field says, where that is not the queue's name.
    """
    queue = world.queues.get(name)
    if name == ROOT_QUEUE:
        rule, fix = "is the root queue, which runs no work", "name a queue below it"
    elif queue is None:
        rule, fix = "does not exist", "create it first, or name another queue"
    elif not queue.is_open:
        rule, fix = f"is {queue.state} and takes no new work", "open it, or name another queue"
    elif children := world.children(name):
        below = ", ".join(child.name for child in children[:3]) + (", …" if len(children) > 3 else "")
        rule, fix = f"has queues below it ({below}), and only leaf queues run work", "name one of those"
    else:
        return
    value = name if written in ("", name) else f"{written} (queue {name} here)"
    yield Violation(field=field, value=value, rule=rule, fix=fix)


def _negative(field: str, value: int) -> Violation:
    return Violation(field=field, value=str(value), rule="is negative", fix="write 0 or more")
