"""What decide mode is measured with: the plain backlog, and clusters and pods that are harder to decide about."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
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
from volcano_py.bench.loads.cases import Case
from volcano_py.bench.loads.mixed_load import MIXED, mixed_cases
from volcano_py.bench.loads.network_load import GANG, network_cases
from volcano_py.bench.loads.preemption_load import preemption_cases
from volcano_py.bench.loads.queue_loads import tree_cases
from volcano_py.bench.loads.reclaim_load import reclaim_cases
from volcano_py.bench.loads.workload import Workload
from volcano_py.cluster.manifests import Stored
from volcano_py.config import default_configuration_text

CLASSES: Final = 500
ZONES: Final = 10
NODE_SIZES: Final = (1_250, 2_500, 5_000, 10_000)
POD_SIZES: Final = (2_500, 5_000, 10_000, 20_000)
"""For how the cost grows with the one while the other stays as it is."""

_GPU: Final = "nvidia.com/gpu"
_JOB: Final = "bench/job"
_HOST: Final = "kubernetes.io/hostname"
_ZONE: Final = "topology.kubernetes.io/zone"

STRATEGY_CONFIGURATION: Final = default_configuration_text().replace(
    "  - name: nodeorder\n",
    f"""\
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
""",
)

Change = Callable[[int, Stored], Stored]
"""Makes of the n-th object of its kind another one."""


@dataclass(frozen=True, slots=True)
class DecideLoad:
    """`cases` makes of what the command line asks for what is measured; some loads have a size of their own."""

    title: str
    cases: Callable[[Workload], Sequence[Case]]
    has_own_size: bool = False


def _plain(workload: Workload) -> list[Case]:
    return [Case("volcano-py", workload.items)]


def _altered(change: Change, configuration: str = "") -> Callable[[Workload], list[Case]]:
    """The plain load with every node and pod changed."""

    def items(workload: Workload) -> Iterator[Stored]:
        counts = dict.fromkeys(("Node", "Pod"), 0)
        for kind, obj in workload.items():
            if kind in counts:
                yield change(counts[kind], (kind, obj))
                counts[kind] += 1
            else:
                yield kind, obj

    return lambda workload: [Case("volcano-py", partial(items, workload), configuration)]


def _sizes(workload: Workload) -> list[Case]:
    """Growing numbers of nodes for the pods that were asked for, then of pods for the nodes."""
    growing = [replace(workload, nodes=nodes) for nodes in NODE_SIZES]
    growing += [replace(workload, pods=pods) for pods in POD_SIZES]
    return [Case(f"{each.nodes} × {each.pods}", each.items) for each in growing]


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


def _by_wish(number: int, item: Stored) -> Stored:
    """Every job over zones and nodes, as far as that goes."""
    kind, obj = _over_zones(number, item)
    if not isinstance(obj, Pod):
        return kind, obj
    wishes = [
        TopologySpreadConstraint(
            topology_key=key, max_skew=1, when_unsatisfiable="ScheduleAnyway", label_selector=_own_job(obj)
        )
        for key in (_ZONE, _HOST)
    ]
    return kind, msgspec.structs.replace(
        obj, spec=msgspec.structs.replace(obj.spec, topology_spread_constraints=wishes)
    )


def _own_job(pod: Pod) -> LabelSelector:
    return LabelSelector(match_labels={_JOB: pod.metadata.annotations[names.GROUP_NAME]})


def _of_a_job(pod: Pod, affinity: Affinity | None, constraints: list[TopologySpreadConstraint]) -> Pod:
    labels = {**pod.metadata.labels, _JOB: pod.metadata.annotations[names.GROUP_NAME]}
    spec = msgspec.structs.replace(pod.spec, affinity=affinity, topology_spread_constraints=constraints)
    metadata = msgspec.structs.replace(pod.metadata, labels=labels)
    return msgspec.structs.replace(pod, metadata=metadata, spec=spec)


DECIDE_LOADS: Final[Mapping[str, DecideLoad]] = MappingProxyType(
    {
        "backlog": DecideLoad("equal pods", _plain),
        MIXED: DecideLoad("nodes, pods and gangs as in GPU clusters", mixed_cases),
        "classes": DecideLoad(f"pods of {CLASSES} classes", _altered(_in_many_classes)),
        "strategy": DecideLoad(
            "resource-strategy-fit with retention", _altered(_with_gpu_nodes, STRATEGY_CONFIGURATION)
        ),
        "apart": DecideLoad("anti-affinity within each job", _altered(_apart)),
        "zones": DecideLoad(f"each job spread over {ZONES} zones", _altered(_over_zones)),
        "wishes": DecideLoad(
            f"each job spread over {ZONES} zones and all nodes, by ScheduleAnyway", _altered(_by_wish)
        ),
        "topology": DecideLoad(f"gangs of {GANG}, each in one of the racks of a tree of HyperNodes", network_cases),
        "sizes": DecideLoad("growing with nodes, and with pods", _sizes),
        "trees": DecideLoad(
            "20,000 jobs of one pod in 1,000 queues of a tree with 4 levels", lambda _: tree_cases(), has_own_size=True
        ),
        "preemption": DecideLoad(
            "500 pods wait for 1,000 nodes (unless said) that are full", lambda _: preemption_cases(), has_own_size=True
        ),
        "reclaim": DecideLoad(
            "the same between queues, by each plugin that divides the cluster",
            lambda _: reclaim_cases(),
            has_own_size=True,
        ),
    }
)
