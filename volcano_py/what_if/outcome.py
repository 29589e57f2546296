"""What becomes of a cluster when the scheduler runs until nothing changes."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from volcano_py.api.effects import Evict
from volcano_py.api.names import GROUP_NAME
from volcano_py.api.objects import OwnerReference, Pod, PodGroup
from volcano_py.api.report import Amounts, QueueReport
from volcano_py.api.wording.pod_message import why_pod_waits
from volcano_py.simulation import Simulation
from volcano_py.what_if.controllers import replace_evicted


class Waiting(msgspec.Struct, frozen=True):
    """Why the pods of a PodGroup wait: the code of the reason, and the sentence."""

    reason: str
    message: str


class Outcome(msgspec.Struct, frozen=True):
    """The cluster at the end of a run. PodGroups and pods are namespace/name."""

    placed: Mapping[str, frozenset[str]]
    """PodGroup → its pods that have a node."""
    waiting: Mapping[str, frozenset[str]]
    """PodGroup → its pods that have none."""
    reasons: Mapping[str, Waiting]
    """PodGroup with pods that wait → why."""
    evictions: Mapping[str, Evict]
    """Pod → its last eviction in the run."""
    groups: Mapping[str, str]
    """Evicted pod → its PodGroup."""
    owners: Mapping[str, OwnerReference | None]
    """PodGroup → its controlling owner."""
    queues: Mapping[str, QueueReport]
    idle: Amounts
    """Resource → what no pod has requested, of nodes that take pods."""
    cycles: int
    settled: bool
    """Whether the last cycle changed nothing; else the run was ended."""


def outcome_of(simulation: Simulation, most_cycles: int) -> Outcome:
    """Run the simulation until nothing changes, or so many cycles. Controllers create evicted pods again."""
    settled = False
    for _ in range(most_cycles):
        before = simulation.cluster.changes
        waits = simulation.step()
        replace_evicted(simulation.cluster)
        if settled := not (waits or simulation.cluster.changes != before):
            break
    placed: dict[str, set[str]] = {}
    waiting: dict[str, set[str]] = {}
    messages: dict[str, str] = {}
    for pod in _work(simulation):
        group = _group_of(pod)
        (placed if pod.spec.node_name else waiting).setdefault(group, set()).add(pod.metadata.key)
        if not pod.spec.node_name:
            messages.setdefault(group, why_pod_waits(pod))
    last = simulation.reports[-1] if simulation.reports else None
    pending = {job.name: _of_message(job.message) for job in (last.pending if last is not None else ())}
    evictions = {effect.pod.key: effect for effect in simulation.cluster.evict_effects}
    return Outcome(
        placed={group: frozenset(pods) for group, pods in placed.items()},
        waiting={group: frozenset(pods) for group, pods in waiting.items()},
        reasons={group: pending.get(group) or _of_message(messages[group]) for group in waiting},
        evictions=evictions,
        groups={pod: effect.group.key if effect.group is not None else "" for pod, effect in evictions.items()},
        owners={
            group.metadata.key: group.metadata.controller for group in simulation.cluster.objects("PodGroup", PodGroup)
        },
        queues=last.queues if last is not None else {},
        idle=_idle(simulation),
        cycles=len(simulation.reports),
        settled=settled,
    )


def _work(simulation: Simulation) -> list[Pod]:
    """The scheduler's own pods that run or wait, by name."""
    ours = (
        pod
        for pod in simulation.cluster.objects("Pod", Pod)
        if pod.spec.scheduler_name in simulation.state.scheduler_names and pod.status.phase in ("Pending", "Running")
    )
    return sorted(ours, key=lambda pod: pod.metadata.key)


def _group_of(pod: Pod) -> str:
    return f"{pod.metadata.namespace}/{pod.metadata.annotations.get(GROUP_NAME, '')}"


def _of_message(message: str) -> Waiting:
    reason, colon, sentence = message.partition(": ")
    return Waiting(reason, sentence) if colon else Waiting("", message)


def _idle(simulation: Simulation) -> Amounts:
    snapshot = simulation.state.snapshot(simulation.now)
    nodes = simulation.state.ledger.nodes
    takes_pods = [row for row, info in enumerate(snapshot.nodes) if nodes.present[row] and not info.unschedulable]
    has = simulation.offered()
    free, there = has.idle(takes_pods, nodes.used), has.allocatable[takes_pods].sum(axis=0)
    return {name: int(free[dim]) for dim, name in enumerate(simulation.state.ledger.axis.names) if there[dim] > 0}
