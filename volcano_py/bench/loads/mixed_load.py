"""The mixed load: nodes and pods of many types, with selectors, priorities, spreads and gangs, as a GPU cluster has.

Nodes, what pods ask for, and how large gangs are: rows of published traces. Our own assumptions: a job has a pod for
each GPU that it asked for, and all its pods are alike; the quality of service sets the priority; services are spread
over zones, as far as that goes.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

from volcano_py.api import names
from volcano_py.bench.loads.cases import Case
from volcano_py.bench.loads.gpu_trace import TENTHS, Machine, Shape, gang_sizes, machines, shapes
from volcano_py.bench.loads.objects import NAMESPACE
from volcano_py.bench.loads.workload import QUEUE, Workload
from volcano_py.cluster.manifests import Document, Stored, stored
from volcano_py.local.nodes import simulated_node

Body = dict[str, Any]

MIXED: Final = "mixed"
"""Its name on the command line."""

ZONES: Final = 10
PRIORITIES: Final = {"LS": 1000, "Guaranteed": 750, "Burstable": 500, "BE": 0}
"""By quality of service."""
SPREAD: Final = ("LS", range(2, 17))
"""Quality of the pods that are spread over zones, and the sizes of their gangs."""

_GPU: Final = "nvidia.com/gpu"
_MODEL: Final = "nvidia.com/gpu.product"
_ZONE: Final = "topology.kubernetes.io/zone"
_JOB: Final = "bench/job"
_SMALLEST_PART: Final = 20  # no gang has more than this part of all pods: few pods are mixed, too


@dataclass(frozen=True, slots=True)
class Job:
    """A gang of equal pods."""

    name: str
    size: int
    shape: Shape

    @property
    def priority_class(self) -> str:
        return f"bench-{self.shape.quality.lower()}"

    @property
    def is_spread(self) -> bool:
        quality, sizes = SPREAD
        return self.shape.quality == quality and self.size in sizes


@dataclass(frozen=True)
class MixedWorkload:
    """`pods` pods for `nodes` nodes, the same ones each time."""

    nodes: int
    pods: int

    @classmethod
    def of(cls, workload: Workload) -> MixedWorkload:
        """As many nodes and pods as were asked for."""
        return cls(workload.nodes, workload.pods)

    @cached_property
    def machines(self) -> list[Machine]:
        """One for each node, in the shares of the trace and well mixed."""
        known = machines()
        found = [known[index * len(known) // self.nodes] for index in range(self.nodes)]
        random.Random(1).shuffle(found)
        return found

    @cached_property
    def jobs(self) -> list[Job]:
        """With gangs as large as jobs of one trace and pods as those of the other, one after the other and again from
        the first, until there are as many pods as asked for."""
        largest = max(1, self.pods // _SMALLEST_PART)
        sizes = itertools.cycle([size for size in gang_sizes() if size <= largest])
        kinds, there = itertools.cycle(shapes()), {machine.model for machine in self.machines}
        found: list[Job] = []
        left = self.pods
        while left:
            size, shape = min(next(sizes), left), next(kinds)
            # A model that the cluster lacks is not asked for.
            models = tuple(model for model in shape.models if model in there)
            found.append(Job(f"gang-{len(found):06d}", size, replace(shape, models=models)))
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
                "metadata": {"name": f"bench-{quality.lower()}"},
                "value": value,
                "preemptionPolicy": "Never",
            }
            for quality, value in PRIORITIES.items()
        ]

    def group_bodies(self, queue: str) -> list[Body]:
        return [
            {
                "apiVersion": names.SCHEDULING_API,
                "kind": "PodGroup",
                "metadata": {"name": job.name},
                "spec": {"minMember": job.size, "queue": queue, "priorityClassName": job.priority_class},
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


def _node(index: int, machine: Machine) -> Body:
    allocatable = _amounts(machine.cpu_milli, machine.memory_mib, TENTHS * machine.gpus)
    labels = {_ZONE: f"zone-{index % ZONES}"}
    if machine.model:
        labels[_MODEL] = machine.model
    return simulated_node(f"node-{index:05d}", allocatable=allocatable, labels=labels)


def _amounts(cpu_milli: int, memory_mib: int, tenths: int) -> dict[str, str]:
    """GPUs are counted in tenths, as NVIDIA's device plugin reports them where ten pods may share one."""
    gpus = {_GPU: str(tenths)} if tenths else {}
    return {"cpu": f"{cpu_milli}m", "memory": f"{memory_mib}Mi", **gpus}


def _pod(job: Job, member: int, scheduler: str) -> Body:
    requests = _amounts(job.shape.cpu_milli, job.shape.memory_mib, job.shape.tenths)
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
            "priorityClassName": job.priority_class,
            **_placement(job),
            "containers": [{"name": "main", "image": "bench", "resources": resources}],
        },
    }


def _placement(job: Job) -> Body:
    """The parts of a pod's spec that say where it may run, and where it does so rather."""
    found: Body = {}
    models = job.shape.models
    if len(models) == 1:
        found["nodeSelector"] = {_MODEL: models[0]}
    elif models:
        among = {"key": _MODEL, "operator": "In", "values": list(models)}
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
