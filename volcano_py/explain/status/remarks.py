"""What is said beside the reason: what is ignored, what the user may not expect, and nodes that are lost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from volcano_py.api.annotations.known import unreadable_of_pod
from volcano_py.api.annotations.of_groups import ignored_of_pod_group
from volcano_py.api.objects import Node
from volcano_py.api.reasons import Reason
from volcano_py.api.volumes import SELECTED_NODE, PersistentVolumeClaim
from volcano_py.api.wording.summarize import counted, plural, summarize
from volcano_py.explain.target import Target, as_captured, inherited_from, job_of, queues_above
from volcano_py.explain.world import World
from volcano_py.operator.podgroups.misplaced_keys import Marked, misplaced
from volcano_py.state.volumes.needs import claims_of

_NOT_READY: Final = frozenset({"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"})
_NO_REPLICAS: Final = "all tasks of the Job have 0 replicas: raise replicas of a task for it to have pods"
_EXTENDER: Final = "extender"
_MOST_VALUES: Final = 10  # that are different; each pod may have its own


def ignored(world: World, target: Target) -> tuple[str, ...]:
    """What is ignored of the PodGroup and its pods, as their events say it; equal values of pods together."""
    unreadable = () if target.found is None else ignored_of_pod_group(target.found)
    group = dict.fromkeys((*(each.message for each in unreadable), *world.ignored("PodGroup", target.group)))
    names: dict[str, list[str]] = {}
    for pod in target.pods:
        values = (each.message for each in unreadable_of_pod(pod.metadata))
        for message in dict.fromkeys((*values, *world.ignored("Pod", pod.metadata.key))):
            names.setdefault(message, []).append(pod.metadata.name)
    of_group = [f"PodGroup {target.group}: {message}" for message in group]
    of_pods = [f"{plural('pod', len(pods))} {summarize(pods)}: {message}" for message, pods in names.items()]
    more = len(of_pods) - _MOST_VALUES
    return (*of_group, *of_pods[:_MOST_VALUES], *([f"{counted(more, 'more value')} of pods"] if more > 0 else ()))


def ignored_of_queues(world: World, queue: str) -> tuple[str, ...]:
    """What cannot be read or used of the queue and those above it."""
    return tuple(text for name in queues_above(world, queue) for text in world.ignored_of_queue(name))


def hints(world: World, target: Target, *, waits: bool) -> tuple[str, ...]:
    """What its user may not expect."""
    missing_queue = () if waits else _missing_queue(world, target)
    no_replicas = (_NO_REPLICAS,) if is_without_replicas(world, target) else ()
    to_come = _volumes_to_come(world, target)
    return (*no_replicas, *missing_queue, *to_come, *_misplaced(world, target), *_not_asked(world))


def _volumes_to_come(world: World, target: Target) -> Iterator[str]:
    """The claims for whose volumes its pods are not bound yet: nothing else says that, as these pods have their places.
    In the copy, every provisioner has done its work."""
    pods: dict[str, list[str]] = {}
    for pod in as_captured(world, target):
        for key in () if pod.spec.node_name else claims_of(pod):
            pods.setdefault(key, []).append(pod.metadata.name)
    claims = world.captured("PersistentVolumeClaim", PersistentVolumeClaim) if pods else ()
    waiting = [each for each in claims if each.metadata.key in pods and not each.is_bound]
    ordered = [each for each in waiting if each.metadata.annotations.get(SELECTED_NODE)]
    for claim in ordered[:_MOST_VALUES]:
        names, node = pods[claim.metadata.key], claim.metadata.annotations[SELECTED_NODE]
        yield (
            f"{plural('pod', len(names))} {summarize(names)}: bound once claim {claim.metadata.key} of StorageClass "
            f"{claim.class_name} has its volume, which is to be created for node {node}. If that takes long, look at "
            f"kubectl -n {claim.metadata.namespace} describe pvc {claim.metadata.name} and at the provisioner"
        )
    if (more := len(ordered) - _MOST_VALUES) > 0:
        yield f"{counted(more, 'more claim')} without {'its volume' if more == 1 else 'their volumes'}"


def _not_asked(world: World) -> tuple[str, ...]:
    """That an extender is configured, and has not taken part in this."""
    remark = world.report.remarks.get(_EXTENDER)
    return (f"plugin {_EXTENDER}: {remark}",) if remark else ()


def is_without_replicas(world: World, target: Target) -> bool:
    """Whether it is a Job that is to have no pods."""
    job = None if target.pods else job_of(world, target)
    return job is not None and job.replicas == 0


def _misplaced(world: World, target: Target) -> tuple[str, ...]:
    """Keys of the workload that are read elsewhere."""
    group = target.found
    if group is None:
        return ()
    _, owner = inherited_from(world, group) or (None, None)
    return misplaced(Marked(group, target.pods, owner, job_of(world, target)), world.rules)


def _missing_queue(world: World, target: Target) -> Iterator[str]:
    """That its queue does not exist, of a workload that runs all the same; nothing where no queue could be read."""
    if any(kind == "Queue" for kind, _ in world.items):
        for job in world.report.pending:
            if job.name == target.group and job.reason is Reason.QUEUE_NOT_FOUND:
                yield f"{job.message}. Running pods keep their places, and no other pod starts"


def lost_nodes(world: World, pods: Mapping[str, int]) -> tuple[str, ...]:
    """Of these nodes (name → pods there), those on which pods may not run any more."""
    known = {node.metadata.name: node for node in world.captured("Node", Node)}
    found = []
    for name, count in pods.items() if known else ():
        there = f"the {counted(count, 'pod')} there"
        if name not in known:
            found.append(f"node {name} does not exist any more, so {there} cannot run")
        elif any(taint.key in _NOT_READY for taint in known[name].spec.taints):
            found.append(f"node {name} is not ready, so {there} may not run: look at kubectl describe node {name}")
    return tuple(found)
