"""What decide mode is measured with: the plain backlog, and clusters and pods that are harder to decide about."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final

import msgspec

from volcano_py.api import names
from volcano_py.api.objects import (
    Affinity,
    LabelSelector,
    Node,
    Pod,
    PodAffinity,
    PodAffinityTerm,
    ResourceRequirements,
    TopologySpreadConstraint,
)
from volcano_py.bench.workload import Workload
from volcano_py.cluster.manifests import Stored

CLASSES: Final = 500
ZONES: Final = 10
SIZES: Final = (1_250, 2_500, 5_000, 10_000)
"""Numbers of nodes, for how the cost grows with them."""

_GPU: Final = "nvidia.com/gpu"
_JOB: Final = "bench/job"
_HOST: Final = "kubernetes.io/hostname"
_ZONE: Final = "topology.kubernetes.io/zone"

STRATEGY_CONFIGURATION: Final = f"""\
actions: "enqueue, allocate, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
  - name: conformance
- plugins:
  - name: overcommit
  - name: drf
  - name: predicates
  - name: proportion
  - name: resource-strategy-fit
    arguments:
      resourceStrategyFitWeight: 10
      resources:
        cpu: {{type: LeastAllocated, weight: 1}}
        memory: {{type: LeastAllocated, weight: 1}}
        {_GPU}: {{type: MostAllocated, weight: 2}}
      sra:
        policy: retention
        resources: {_GPU}
        retention: {{weight: 10, {_GPU}: 1}}
"""

Change = Callable[[int, Stored], Stored]
"""Makes of the n-th object of its kind another one."""


@dataclass(frozen=True, slots=True)
class DecideLoad:
    """`change` alters the plain workload; `configuration` takes the place of the default one; `sizes` are numbers of
    nodes, each a run, in place of the one asked for."""

    title: str
    change: Change | None = None
    configuration: str = ""
    sizes: Sequence[int] = ()

    def workloads(self, workload: Workload) -> list[Workload]:
        """One for each run."""
        return [replace(workload, nodes=size) for size in self.sizes] or [workload]

    def items(self, workload: Workload) -> list[Stored]:
        """All objects of a run, as an API server would have them."""
        items = workload.items()
        if self.change is None:
            return items
        counts = dict.fromkeys(("Node", "Pod"), 0)
        changed: list[Stored] = []
        for kind, obj in items:
            if kind in counts:
                changed.append(self.change(counts[kind], (kind, obj)))
                counts[kind] += 1
            else:
                changed.append((kind, obj))
        return changed


def _in_many_classes(number: int, item: Stored) -> Stored:
    """Every pod of a gang is of another class, and so is every later one until there are enough."""
    kind, obj = item
    if not isinstance(obj, Pod):
        return item
    [container] = obj.spec.containers
    requests = {**container.resources.requests, "memory": f"{1024 + number % CLASSES}Mi"}
    container = msgspec.structs.replace(container, resources=ResourceRequirements(requests=requests))
    return kind, msgspec.structs.replace(obj, spec=msgspec.structs.replace(obj.spec, containers=[container]))


def _with_gpu_nodes(number: int, item: Stored) -> Stored:
    """Every other node has GPUs, which every fourth pod asks for."""
    kind, obj = item
    if isinstance(obj, Node) and number % 2:
        allocatable = {**obj.status.allocatable, _GPU: "8"}
        return kind, msgspec.structs.replace(obj, status=msgspec.structs.replace(obj.status, allocatable=allocatable))
    if isinstance(obj, Pod) and number % 4 == 0:
        [container] = obj.spec.containers
        requests = {**container.resources.requests, _GPU: "1"}
        container = msgspec.structs.replace(container, resources=ResourceRequirements(requests=requests))
        return kind, msgspec.structs.replace(obj, spec=msgspec.structs.replace(obj.spec, containers=[container]))
    return item


def _apart(_number: int, item: Stored) -> Stored:
    """No two pods of a job on one node."""
    kind, obj = item
    if not isinstance(obj, Pod):
        return item
    term = PodAffinityTerm(topology_key=_HOST, label_selector=_own_job(obj))
    affinity = Affinity(pod_anti_affinity=PodAffinity(required=[term]))
    return kind, _of_a_job(obj, affinity, [])


def _over_zones(number: int, item: Stored) -> Stored:
    """Every job evenly over the zones."""
    kind, obj = item
    if isinstance(obj, Node):
        labels = {**obj.metadata.labels, _ZONE: f"zone-{number % ZONES}"}
        return kind, msgspec.structs.replace(obj, metadata=msgspec.structs.replace(obj.metadata, labels=labels))
    if not isinstance(obj, Pod):
        return item
    constraint = TopologySpreadConstraint(topology_key=_ZONE, max_skew=1, label_selector=_own_job(obj))
    return kind, _of_a_job(obj, None, [constraint])


def _own_job(pod: Pod) -> LabelSelector:
    return LabelSelector(match_labels={_JOB: pod.metadata.annotations[names.GROUP_NAME]})


def _of_a_job(pod: Pod, affinity: Affinity | None, constraints: list[TopologySpreadConstraint]) -> Pod:
    labels = {**pod.metadata.labels, _JOB: pod.metadata.annotations[names.GROUP_NAME]}
    spec = msgspec.structs.replace(pod.spec, affinity=affinity, topology_spread_constraints=constraints)
    metadata = msgspec.structs.replace(pod.metadata, labels=labels)
    return msgspec.structs.replace(pod, metadata=metadata, spec=spec)


DECIDE_LOADS: Final[Mapping[str, DecideLoad]] = MappingProxyType(
    {
        "backlog": DecideLoad("alike pods"),
        "classes": DecideLoad(f"pods of {CLASSES} classes", change=_in_many_classes),
        "strategy": DecideLoad(
            "resource-strategy-fit with retention", change=_with_gpu_nodes, configuration=STRATEGY_CONFIGURATION
        ),
        "apart": DecideLoad("anti-affinity within each job", change=_apart),
        "zones": DecideLoad(f"each job spread over {ZONES} zones", change=_over_zones),
        "sizes": DecideLoad("growing with nodes", sizes=SIZES),
    }
)
