"""Nodes uncordoned or added, a priority, an action switched on."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Final

from msgspec.structs import replace

from volcano_py.api.objects import Node, ObjectMeta, PriorityClass
from volcano_py.api.wording.summarize import counted, plural
from volcano_py.explain.model import Remedy
from volcano_py.explain.remedies.candidate import Candidate, helps
from volcano_py.explain.target import Target
from volcano_py.explain.world import Change, World
from volcano_py.plugins.predicates.taints import UNSCHEDULABLE

_MOST_SHAPES: Final = 3
_MOST_LEFT_OUT: Final = 8
_MOST_NODES: Final = 64
_HOSTNAME: Final = "kubernetes.io/hostname"


def cordoned_nodes(world: World, target: Target) -> Iterator[Candidate]:
    """As few of the cordoned nodes as are enough."""
    cordoned = sorted(
        (node for node in world.objects("Node", Node) if node.spec.unschedulable), key=lambda node: node.metadata.name
    )[:_MOST_NODES]
    if not cordoned or not helps(world, target, _uncordoned(cordoned)):
        return
    low, high = 1, len(cordoned)
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if helps(world, target, _uncordoned(cordoned[:middle])) else (middle + 1, high)
    enough = cordoned[:low]
    for node in enough[: min(low - 1, _MOST_LEFT_OUT)]:  # without the last one, those before it are not enough
        others = [each for each in enough if each is not node]
        enough = others if helps(world, target, _uncordoned(others)) else enough
    yield _uncordoned(enough)


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


def _uncordoned(nodes: Sequence[Node]) -> Candidate:
    names = [node.metadata.name for node in nodes]
    changes = []
    for node in nodes:
        taints = [taint for taint in node.spec.taints if taint.key != UNSCHEDULABLE.key]
        spec = replace(node.spec, unschedulable=False, taints=taints)
        changes.append(Change("Node", node.metadata.name, replace(node, spec=spec)))
    text = f"uncordon {plural('node', len(names))} {', '.join(names)} (kubectl uncordon {' '.join(names)})"
    return Candidate(Remedy("uncordon", text), tuple(changes))


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
