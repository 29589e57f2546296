"""A daemon lives for months: whatever comes and goes, the state and the scheduler keep no more of it than at first.

Every generation has names, labels, requests and preferences that no other has, as the work of a real cluster does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import pytest

from tests.support.measuring.holdings import holdings
from tests.support.placement.volumes import HOST, LOCAL, ZONE, claim, storage_class, using, volume
from tests.support.registries import checked_registry
from tests.support.sessions import gang, node, pod, pod_group, priority_class, queue
from volcano_py.api.objects import (
    Affinity,
    ApiObject,
    LabelSelector,
    Namespace,
    Node,
    NodeAffinity,
    NodeMetrics,
    NodeSelectorTerm,
    ObjectMeta,
    OwnerReference,
    PodAffinity,
    PodAffinityTerm,
    PreferredSchedulingTerm,
    ResourceQuota,
    ResourceQuotaSpec,
    SelectorRequirement,
    Toleration,
    TopologySpreadConstraint,
)
from volcano_py.api.workloads import (
    PodDisruptionBudget,
    PodDisruptionBudgetSpec,
    Service,
    ServiceSpec,
    Workload,
    WorkloadSpec,
)
from volcano_py.cluster.memory import MemoryCluster
from volcano_py.config import default_configuration_text, parse_configuration
from volcano_py.scheduler import Scheduler
from volcano_py.state.cluster_state import ClusterState

_CYCLES = 3
"""So many place everything that has a place, and give the rest a reason."""

RICH = """
actions: "enqueue, allocate, backfill, preempt, reclaim"
tiers:
- plugins:
  - name: priority
  - name: gang
  - name: conformance
  - name: pdb
  - name: sla
  - name: tdm
- plugins:
  - name: drf
  - name: overcommit
  - name: predicates
  - name: capacity
  - name: nodeorder
  - name: binpack
  - name: task-topology
  - name: usage
  - name: resourcequota
"""
"""More than the default: what keeps something of its own."""


class Life:
    """A cluster in memory, without controllers, and its scheduler."""

    def __init__(self, configuration: str, standing: Sequence[ApiObject]) -> None:
        registry = checked_registry()
        parsed = parse_configuration(configuration, registry.catalogue())
        assert parsed.config is not None, parsed.problems
        self._configuration = parsed.config
        self.state = ClusterState()
        self._cluster = MemoryCluster(self.state)
        self.scheduler = Scheduler(registry, self._cluster.apply, seed=1)
        self._now = 1_800_000_000.0
        self._put(standing)

    def generation(self, objects: Sequence[ApiObject]) -> int:
        """They come, are scheduled, and go again, the oldest first. How many pods were bound."""
        before = len(self._cluster.binds)
        self._put(objects)
        for _ in range(_CYCLES):
            self.cycle()
        for obj in objects:
            self._cluster.remove(type(obj).__name__, obj.metadata.key)  # type: ignore[attr-defined]
        self.cycle()
        return len(self._cluster.binds) - before

    def cycle(self) -> None:
        self._now += 1.0
        self.scheduler.run_cycle(self.state.snapshot(self._now), self._configuration)
        self._cluster.settle()

    def holdings(self) -> Counter[str]:
        return holdings(self.state, self.scheduler, but_for=[self._cluster])

    def _put(self, objects: Sequence[ApiObject]) -> None:
        for obj in objects:
            self._cluster.put(type(obj).__name__, obj)


def generation(number: int) -> Iterator[ApiObject]:
    """Work of all sorts. Nothing in it is called or asks as anything before did."""
    mark = {"run": f"run-{number}"}
    namespace, host = f"team-{number}", f"node-{number}"
    yield Namespace(metadata=ObjectMeta(name=namespace, uid=f"namespace-{number}", labels=mark))
    yield ResourceQuota(
        metadata=ObjectMeta(namespace=namespace, name="quota", uid=f"quota-{number}"),
        spec=ResourceQuotaSpec(hard={"cpu": f"{100 + number}"}),
    )
    yield node(host, cpu="8", labels={HOST: host, ZONE: f"zone-{number}", **mark})
    yield NodeMetrics(metadata=ObjectMeta(name=host, uid=f"metrics-{number}"), usage={"cpu": f"{number}m"})
    yield priority_class(f"urgent-{number}", number)
    yield queue(f"queue-{number}", weight=1 + number % 7)
    yield from _gangs(number, namespace, mark)
    yield from _selected(number, namespace)
    yield from _with_claims(number, host)


def _gangs(number: int, namespace: str, mark: dict[str, str]) -> Iterator[ApiObject]:
    common: dict[str, Any] = {"namespace": namespace, "queue": f"queue-{number}", "labels": mark}
    itself = LabelSelector(match_labels=mark)
    yield from gang("plain", pods=3, cpu=f"{100 + number}m", priority_class=f"urgent-{number}", **common)
    yield from gang("roles", pods=2, cpu="100m", role=f"worker-{number}", annotations={"seen": f"{number}"}, **common)
    together = PodAffinity(required=[PodAffinityTerm(label_selector=itself, topology_key=ZONE)])
    yield from gang("near", pods=2, cpu="100m", affinity=Affinity(pod_affinity=together), **common)
    wish = PreferredSchedulingTerm(
        weight=5,
        preference=NodeSelectorTerm(
            match_expressions=[SelectorRequirement(key="run", operator="In", values=[f"run-{number}"])]
        ),
    )
    yield from gang(
        "wish", pods=1, cpu="100m", affinity=Affinity(node_affinity=NodeAffinity(preferred=[wish])), **common
    )
    spread = TopologySpreadConstraint(topology_key=ZONE, label_selector=itself, max_skew=1 + number)
    yield from gang("spread", pods=2, cpu="100m", spread=[spread], **common)
    yield from gang("picky", pods=1, cpu="100m", node_selector=mark, **common)
    yield from gang(
        "brave", pods=1, cpu="100m", tolerations=[Toleration(key=f"k{number}", operator="Exists")], **common
    )
    yield from gang("giant", pods=2, cpu=f"{100 + number}", **common)
    yield from gang("stray", pods=1, cpu="1", namespace=namespace, queue=f"no-queue-{number}")
    yield pod("before-its-group", namespace=namespace, group=f"not-yet-{number}", cpu="1")
    yield pod_group("empty", namespace=namespace, queue=f"queue-{number}", phase="Pending", min_member=1 + number)
    yield PodDisruptionBudget(
        metadata=ObjectMeta(namespace=namespace, name="budget", uid=f"budget-{number}"),
        spec=PodDisruptionBudgetSpec(selector=itself, min_available=1),
    )


def _selected(number: int, namespace: str) -> Iterator[ApiObject]:
    """Pods that a Service and their owner speak of."""
    labels = {"app": f"web-{number}"}
    yield Service(
        metadata=ObjectMeta(namespace=namespace, name="web", uid=f"service-{number}"), spec=ServiceSpec(selector=labels)
    )
    owner = ObjectMeta(namespace=namespace, name="web", uid=f"owner-{number}")
    selector = LabelSelector(match_labels=labels)
    yield ReplicaSet(metadata=owner, kind="ReplicaSet", spec=WorkloadSpec(selector=selector))
    group, *pods = gang("web", pods=3, cpu="100m", namespace=namespace, queue=f"queue-{number}", labels=labels)
    yield group
    reference = OwnerReference("apps/v1", "ReplicaSet", "web", f"owner-{number}", controller=True)
    for each in pods:
        metadata = msgspec.structs.replace(each.metadata, owner_references=[reference])  # type: ignore[attr-defined]
        yield msgspec.structs.replace(each, metadata=metadata)


class ReplicaSet(Workload, frozen=True):
    """A workload by the name of its kind, under which the state takes it."""


def _with_claims(number: int, host: str) -> Iterator[ApiObject]:
    yield volume(f"disk-{number}", on=[host])
    yield claim(f"data-{number}")
    yield pod_group(f"data-{number}")
    yield using(pod(f"data-{number}", group=f"data-{number}", cpu="100m"), f"data-{number}")


STANDING = (
    queue("default"),
    storage_class(LOCAL),
    *(node(f"base-{each}", labels={HOST: f"base-{each}"}) for each in range(2)),
)


@pytest.mark.parametrize(
    ("configuration", "nodes_come", "generations"),
    [
        pytest.param(default_configuration_text(), True, 14, id="default"),
        pytest.param(RICH, True, 14, id="rich"),
        pytest.param(RICH, False, 30, id="nodes stay"),
    ],
)
def test_generation_after_generation_the_same_is_kept(configuration: str, nodes_come: bool, generations: int) -> None:
    """Once tables and free lists have their size, and what a hundred cycles have not used is dropped."""
    life = Life(configuration, STANDING)
    kept: list[Counter[str]] = []
    for number in range(generations):
        objects = [obj for obj in generation(number) if nodes_come or not isinstance(obj, Node | NodeMetrics)]
        assert life.generation(objects) >= 10
        if generations - number in (1, 4):
            kept.append(life.holdings())
    assert kept[0] == kept[1]
