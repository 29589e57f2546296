"""The mixed load: nodes and pods of many types, with selectors, priorities, spreads and gangs, as a GPU cluster has."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, TypeVar

from volcano_py.api import names
from volcano_py.bench.loads.cases import Case
from volcano_py.bench.loads.gpu_trace import (
    BEST_EFFORT,
    BURSTABLE,
    KINDS,
    LATENCY_SENSITIVE,
    MACHINES,
    SPREAD,
    Machine,
    Shape,
    gang_sizes,
)
from volcano_py.bench.loads.objects import NAMESPACE
from volcano_py.bench.loads.workload import QUEUE, Workload
from volcano_py.cluster.manifests import Document, Stored, stored
from volcano_py.local.nodes import simulated_node

Body = dict[str, Any]
_T = TypeVar("_T")

MIXED: Final = "mixed"
"""Its name on the command line."""

ZONES: Final = 10
PRIORITIES: Final = {LATENCY_SENSITIVE: 1000, BURSTABLE: 500, BEST_EFFORT: 0}

_GPU: Final = "nvidia.com/gpu"
_PER_GPU: Final = 10  # as NVIDIA's device plugin reports a GPU that ten pods may share
_MODEL: Final = "nvidia.com/gpu.product"
_ZONE: Final = "topology.kubernetes.io/zone"
_JOB: Final = "bench/job"
_SMALLEST_PART: Final = 20  # no gang has more than this part of all pods: few pods are mixed, too


@dataclass(frozen=True, slots=True)
class Job:
    """A gang of equal pods. `models` are the GPUs that it may have; none means any."""

    name: str
    size: int
    shape: Shape
    models: tuple[str, ...]
    quality: str

    @property
    def is_spread(self) -> bool:
        quality, sizes = SPREAD
        return self.quality == quality and self.size in sizes


@dataclass(frozen=True)
class MixedWorkload:
    """`pods` pods for `nodes` nodes, the same ones each time. GPUs are counted in tenths: pods can share them."""

    nodes: int
    pods: int

    @classmethod
    def of(cls, workload: Workload) -> MixedWorkload:
        """As many nodes and pods as were asked for."""
        return cls(workload.nodes, workload.pods)

    @cached_property
    def machines(self) -> list[Machine]:
        """One for each node, in the shares of the trace and well mixed."""
        whole = sum(machine.share for machine in MACHINES)
        wanted = [self.nodes * machine.share / whole for machine in MACHINES]
        counts = [int(count) for count in wanted]
        rest = sorted(range(len(wanted)), key=lambda index: counts[index] - wanted[index])
        for index in rest[: self.nodes - sum(counts)]:
            counts[index] += 1
        found = [machine for machine, count in zip(MACHINES, counts, strict=True) for _ in range(count)]
        random.Random(1).shuffle(found)
        return found

    @cached_property
    def jobs(self) -> list[Job]:
        """With gangs as large as jobs of a trace, one after the other and again from the first, and pods drawn by the
        shares of another, until there are as many pods as asked for."""
        chance = random.Random(2)
        largest = max(1, self.pods // _SMALLEST_PART)
        sizes = itertools.cycle([size for size in gang_sizes() if size <= largest])
        there = {machine.model for machine in self.machines}
        found: list[Job] = []
        left = self.pods
        while left:
            size = min(next(sizes), left)
            kind = _drawn(chance, [(each.share, each) for each in KINDS])
            shape = _drawn(chance, [(each.share, each) for each in kind.shapes])
            # A model that the cluster lacks is not asked for.
            models = tuple(model for model in _drawn(chance, kind.models) if model in there)
            found.append(Job(f"gang-{len(found):06d}", size, shape, models, _drawn(chance, kind.qualities)))
            left -= size
        return found

    def node_bodies(self) -> list[Body]:
        return [_node(index, machine) for index, machine in enumerate(self.machines)]

    def priority_classes(self) -> list[Body]:
        """They set the order alone: kube-scheduler would otherwise evict."""
        return [
            {
                "apiVersion": "scheduling.k8s.io/v1",
                "kind": "PriorityClass",
                "metadata": {"name": name},
                "value": value,
                "preemptionPolicy": "Never",
            }
            for name, value in PRIORITIES.items()
        ]

    def group_bodies(self, queue: str) -> list[Body]:
        return [
            {
                "apiVersion": names.SCHEDULING_API,
                "kind": "PodGroup",
                "metadata": {"name": job.name},
                "spec": {"minMember": job.size, "queue": queue, "priorityClassName": job.quality},
            }
            for job in self.jobs
        ]

    def pod_bodies(self, scheduler: str) -> list[Body]:
        return [_pod(job, member, scheduler) for job in self.jobs for member in range(job.size)]

    def items(self) -> Iterator[Stored]:
        """All objects, as an API server would have them."""
        queue = {"apiVersion": names.SCHEDULING_API, "kind": "Queue", "metadata": {"name": QUEUE}}
        bodies = [queue, *self.priority_classes(), *self.node_bodies()]
        for body in (*self.group_bodies(QUEUE), *self.pod_bodies(names.DEFAULT_SCHEDULER_NAME)):
            body["metadata"]["namespace"] = NAMESPACE
            bodies.append(body)
        yield from stored(Document("mixed", number, body) for number, body in enumerate(bodies))


def mixed_cases(workload: Workload) -> list[Case]:
    return [Case("volcano-py", MixedWorkload.of(workload).items)]


def _drawn(chance: random.Random, choices: Sequence[tuple[float, _T]]) -> _T:
    [found] = chance.choices([value for _, value in choices], [share for share, _ in choices])
    return found


def _node(index: int, machine: Machine) -> Body:
    allocatable = {"cpu": str(machine.cpu), "memory": f"{machine.memory}Gi"}
    labels = {_ZONE: f"zone-{index % ZONES}"}
    if machine.gpus:
        allocatable[_GPU] = str(_PER_GPU * machine.gpus)
        labels[_MODEL] = machine.model
    return simulated_node(f"node-{index:05d}", allocatable=allocatable, labels=labels)


def _pod(job: Job, member: int, scheduler: str) -> Body:
    requests = {"cpu": str(job.shape.cpu), "memory": f"{job.shape.memory}Gi"}
    if job.shape.tenths:
        requests[_GPU] = str(job.shape.tenths)
    resources = {"requests": requests, "limits": {_GPU: requests[_GPU]} if _GPU in requests else {}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": f"{job.name}-{member}",
            "annotations": {names.GROUP_NAME: job.name},
            "labels": {_JOB: job.name},
        },
        "spec": {
            "schedulerName": scheduler,
            "terminationGracePeriodSeconds": 0,
            "priorityClassName": job.quality,
            **_placement(job),
            "containers": [{"name": "main", "image": "bench", "resources": resources}],
        },
    }


def _placement(job: Job) -> Body:
    """The parts of a pod's spec that say where it may run, and where it does so rather."""
    found: Body = {}
    if len(job.models) == 1:
        found["nodeSelector"] = {_MODEL: job.models[0]}
    elif job.models:
        among = {"key": _MODEL, "operator": "In", "values": list(job.models)}
        terms = {"nodeSelectorTerms": [{"matchExpressions": [among]}]}
        found["affinity"] = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    if job.is_spread:
        found["topologySpreadConstraints"] = [
            {
                "topologyKey": _ZONE,
                "maxSkew": 1,
                "whenUnsatisfiable": "ScheduleAnyway",
                "labelSelector": {"matchLabels": {_JOB: job.name}},
            }
        ]
    return found
