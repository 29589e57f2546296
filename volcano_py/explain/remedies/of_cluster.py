"""More nodes, a priority, an action switched on."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from volcano_py.api.objects import Node, ObjectMeta, PriorityClass
from volcano_py.api.wording.summarize import counted
from volcano_py.explain.model import Remedy
from volcano_py.explain.remedies.candidate import Candidate, helps
from volcano_py.explain.target import Target
from volcano_py.explain.world import Change, World

_MOST_SHAPES: Final = 3
_MOST_NODES: Final = 64
_HOSTNAME: Final = "kubernetes.io/hostname"


def more_nodes(world: World, target: Target) -> Iterator[Candidate]:
    """For the first shape that helps, as few nodes of it as are enough."""
    shapes: dict[str, Node] = {}
    for node in world.objects("Node", Node):
        if not node.spec.unschedulable:
            shapes.setdefault(str(sorted(node.status.allocatable.items())), node)
    most = min(max(len(target.waiting), 1), _MOST_NODES)
    for node in list(shapes.values())[:_MOST_SHAPES]:
        low, high = 1, most
        if not helps(world, target, _nodes(node, high)):
            continue
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if helps(world, target, _nodes(node, middle)) else (middle + 1, high)
        yield _nodes(node, low)
        return


def higher_priority(world: World, target: Target) -> Iterator[Candidate]:
    """Above all others, where that is not so yet."""
    others = [job.priority for job in world.jobs.values() if job.key != target.group]
    own = max((pod.spec.priority or 0 for pod in target.waiting), default=0)
    group = target.found
    if group is None or not others or max(others) < own or not target.waiting:
        return
    value = max(others) + 1
    name = f"above-{max(others)}"
    changes = [
        Change("PriorityClass", name, PriorityClass(metadata=_meta(name), value=value)),
        Change("PodGroup", target.group, replace(group, spec=replace(group.spec, priority_class_name=name))),
    ]
    for pod in target.waiting:
        spec = replace(pod.spec, priority=value, priority_class_name=name)
        changes.append(Change("Pod", pod.metadata.key, replace(pod, spec=spec)))
    text = f"give it a PriorityClass of {value} or more: other jobs have up to {max(others)}"
    yield Candidate(Remedy("priority", text), tuple(changes))


def other_actions(world: World, target: Target) -> Iterator[Candidate]:  # noqa: ARG001
    """reclaim or preempt, where the configuration has neither."""
    configuration = world.configuration
    for action in ("reclaim", "preempt"):
        if action not in configuration.actions and f"gang{action}" not in configuration.actions:
            changed = dataclasses.replace(configuration, actions=(*configuration.actions, action))
            text = f"add the action {action} to the scheduler's configuration: it evicts pods of others"
            yield Candidate(Remedy(action, text), configuration=changed)


def _nodes(like: Node, count: int) -> Candidate:
    nodes = []
    for number in range(count):
        name = f"{like.metadata.name}-more-{number}"
        labels = {**like.metadata.labels, **({_HOSTNAME: name} if _HOSTNAME in like.metadata.labels else {})}
        metadata = replace(like.metadata, name=name, uid=f"node-{name}", labels=labels)
        nodes.append(Change("Node", name, replace(like, metadata=metadata)))
    return Candidate(Remedy("nodes", f"add {counted(count, 'node')} like {like.metadata.name}"), tuple(nodes))


def _meta(name: str) -> ObjectMeta:
    return ObjectMeta(name=name, uid=f"priority-{name}")
