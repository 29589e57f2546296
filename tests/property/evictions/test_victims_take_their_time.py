"""Victims that take seconds to die, two resources that run out, a budget: evictions end all the same."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from typing import Any, Final

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.support.registries import checked_registry
from volcano_py.api.effects import Evict
from volcano_py.api.names import GROUP_NAME
from volcano_py.api.objects import Node, Pod
from volcano_py.cluster.manifests import Document, stored
from volcano_py.cluster.memory import MemoryCluster
from volcano_py.config import parse_configuration
from volcano_py.simulation import Simulation

REGISTRY: Final = checked_registry()
GPU: Final = "nvidia.com/gpu"
# More seconds than any of these clusters needs to come to rest.
ENOUGH: Final = 90
QUIET: Final = 3
"""So many cycles without evictions, and without terminating pods, are the end of them."""

POLICIES: Final = {
    "priorities": """
actions: "enqueue, allocate, preempt, reclaim, backfill"
tiers:
- plugins: [{name: priority}, {name: gang, enablePreemptable: false}, {name: conformance}]
- plugins: [{name: drf, enablePreemptable: false}, {name: predicates}, {name: proportion}, {name: pdb}]
""",
    "capacity": """
actions: "enqueue, allocate, preempt, reclaim, backfill"
tiers:
- plugins: [{name: priority}, {name: gang, enablePreemptable: false}]
- plugins: [{name: capacity}, {name: predicates}, {name: pdb}]
""",
    "capacity in a tree": """
actions: "enqueue, reclaim, allocate, preempt, backfill"
tiers:
- plugins: [{name: priority}, {name: gang, enablePreemptable: false}]
- plugins: [{name: capacity, enableHierarchy: true}, {name: predicates}, {name: pdb}]
""",
    "hdrf and namespaces": """
actions: "enqueue, allocate, preempt, reclaim"
tiers:
- plugins: [{name: priority, enablePreemptable: false}, {name: gang, enableReclaimable: false}]
- plugins: [{name: drf, enableHierarchy: true, enableNamespaceOrder: true}, {name: predicates}, {name: pdb}]
""",
}
QUEUES: Final = {"q1": "org/one", "q2": "org/two", "q3": "other"}
PRIORITIES: Final = {"low": 1, "high": 100}
AMOUNTS: Final = st.fixed_dictionaries({"cpu": st.integers(1, 6)}, optional={GPU: st.integers(0, 4)})

Object = dict[str, Any]


class SlowCluster(MemoryCluster):
    """Evicted pods stay for as many seconds as their annotation `grace` says."""

    def __init__(self, sink: Any) -> None:
        super().__init__(sink)
        self.now = 0.0
        self.leaving: dict[str, float] = {}
        """Pod → when it is gone."""

    def _evict(self, evict: Evict) -> None:
        pod = self.get("Pod", evict.pod.key, Pod)
        assert pod is not None
        assert pod.metadata.deletion_timestamp is None, f"{evict.pod.key} was evicted twice"
        gone = self.now + int(pod.metadata.annotations["grace"])
        self.leaving[evict.pod.key] = gone
        self.evictions.append(evict.pod.key)
        metadata = msgspec.structs.replace(pod.metadata, deletion_timestamp=datetime.fromtimestamp(gone, tz=UTC))
        self.put("Pod", msgspec.structs.replace(pod, metadata=metadata))

    def settle(self, now: float | None = None) -> None:
        for key in [key for key, gone in self.leaving.items() if gone <= self.now]:
            del self.leaving[key]
            self.remove("Pod", key)
        super().settle(now)


class World:
    """A cluster with the controllers of its jobs and of its budget."""

    def __init__(self, objects: list[Object], budget: int, policy: str) -> None:
        self.jobs: dict[str, Object] = {}
        self.made = 0
        self.budget = budget
        self.classes: list[Object] = [
            {"kind": "PriorityClass", "metadata": {"name": name}, "value": value} for name, value in PRIORITIES.items()
        ]
        parsed = parse_configuration(POLICIES[policy], REGISTRY.catalogue())
        assert parsed.config is not None, parsed.problems
        documents = [Document("generated", number, body) for number, body in enumerate([*self.classes, *objects])]
        self.simulation = Simulation(stored(documents), parsed.config, REGISTRY)
        cluster = self.simulation.cluster
        assert isinstance(cluster, SlowCluster)
        self.cluster = cluster

    def submit(self, job: Object) -> None:
        self.jobs[job["name"]] = job
        spec = {"minMember": job["min"], "queue": job["queue"], "priorityClassName": job["priority"]}
        self._put({"kind": "PodGroup", "metadata": {"name": job["name"], "namespace": job["namespace"]}, "spec": spec})
        self._make_pods()

    def come_to_rest(self) -> None:
        quiet = 0
        for _ in range(ENOUGH):
            seen = len(self.cluster.evictions)
            self._step()
            quiet = 0 if len(self.cluster.evictions) > seen or self.cluster.leaving else quiet + 1
            self._make_pods()
            if quiet == QUIET:
                return
        raise AssertionError(f"still evicting: {self.cluster.evictions[-8:]}")

    def _step(self) -> None:
        covered = {pod.metadata.key for pod in self._pods() if _is_covered(pod)}
        allowed = max(0, len(covered) - self.budget)
        self._put(
            {
                "kind": "PodDisruptionBudget",
                "metadata": {"name": "b", "namespace": "ns1"},
                "spec": {"minAvailable": self.budget, "selector": {"matchLabels": {"app": "x"}}},
                "status": {"disruptionsAllowed": allowed},
            }
        )
        self.cluster.now = self.simulation.now + 1.0
        seen = len(self.cluster.evictions)
        self.simulation.step()
        assert len(covered & set(self.cluster.evictions[seen:])) <= allowed
        assert self.simulation.state.drift() == 0
        assert not self.simulation.reports[-1].plugin_errors
        self._check_nodes()

    def _check_nodes(self) -> None:
        """Pods that are leaving hold what they have until they are gone."""
        held: Counter[tuple[str, str]] = Counter()
        for pod in self._pods():
            for resource, amount in pod.spec.containers[0].resources.requests.items():
                held[pod.spec.node_name, resource] += int(amount)
        for node in self.cluster.objects("Node", Node):
            for resource in ("cpu", GPU):
                assert held[node.metadata.name, resource] <= int(node.status.allocatable.get(resource, 0))

    def _make_pods(self) -> None:
        """A pod that is leaving is replaced at once."""
        there = Counter(_job_of(pod) for pod in self._pods() if pod.metadata.deletion_timestamp is None)
        for name, job in self.jobs.items():
            for _ in range(job["pods"] - there[name]):
                self.made += 1
                self._put(_pod(job, self.made))

    def _pods(self) -> list[Pod]:
        return self.cluster.objects("Pod", Pod)

    def _put(self, body: Object) -> None:
        documents = [Document("new", number, each) for number, each in enumerate([*self.classes, body])]
        for kind, obj in stored(documents):
            if kind != "PriorityClass":
                self.cluster.put(kind, obj)


def _is_covered(pod: Pod) -> bool:
    is_running = pod.status.phase == "Running" and pod.metadata.deletion_timestamp is None
    return is_running and pod.metadata.namespace == "ns1" and pod.metadata.labels.get("app") == "x"


def _job_of(pod: Pod) -> str:
    return pod.metadata.annotations[GROUP_NAME]


def _pod(job: Object, number: int) -> Object:
    requests = {resource: amount for resource, amount in job["request"].items() if amount}
    return {
        "kind": "Pod",
        "metadata": {
            "name": f"{job['name']}-{number}",
            "namespace": job["namespace"],
            "labels": {"app": "x"},
            "annotations": {GROUP_NAME: job["name"], "grace": str(job["grace"])},
        },
        "spec": {
            "schedulerName": "volcano",
            "priorityClassName": job["priority"],
            "containers": [{"name": "main", "resources": {"requests": requests}}],
        },
    }


@st.composite
def clusters(draw: st.DrawFn) -> list[Object]:
    sizes = draw(st.lists(st.tuples(st.integers(2, 6), st.integers(0, 4)), min_size=1, max_size=2))
    nodes = [
        {
            "kind": "Node",
            "metadata": {"name": f"n{index}"},
            "status": {"allocatable": {"cpu": cpus, GPU: gpus, "pods": 110}},
        }
        for index, (cpus, gpus) in enumerate(sizes)
    ]
    org: Object = {"kind": "Queue", "metadata": {"name": "org"}, "spec": {"deserved": draw(AMOUNTS)}}
    return [*nodes, org, *(draw(queues(name, path)) for name, path in QUEUES.items())]


@st.composite
def queues(draw: st.DrawFn, name: str, path: str) -> Object:
    weights = "/".join(str(draw(st.integers(1, 3))) for _ in range(path.count("/") + 2))
    annotations = {"volcano.sh/hierarchy": f"root/{path}", "volcano.sh/hierarchy-weights": weights}
    spec: Object = {"weight": draw(st.integers(1, 3)), "deserved": draw(AMOUNTS)}
    if "/" in path:
        spec["parent"] = "org"
    return {"kind": "Queue", "metadata": {"name": name, "annotations": annotations}, "spec": spec}


@st.composite
def jobs(draw: st.DrawFn) -> list[Object]:
    """The first two are modest and large, so that there is something to take from them."""
    made: list[Object] = []
    for number in range(draw(st.integers(3, 5))):
        is_first = number < 2
        pods = draw(st.integers(3, 6) if is_first else st.integers(1, 3))
        made.append(
            {
                "name": f"j{number}",
                "namespace": draw(st.sampled_from(("ns1", "ns1", "ns2"))),
                "queue": draw(st.sampled_from(("q1", "q3") if is_first else sorted(QUEUES))),
                "pods": pods,
                "min": 1 if is_first else draw(st.integers(1, pods)),
                "request": {"cpu": draw(st.integers(1, 2)), GPU: draw(st.sampled_from((0, 0, 1)))},
                "priority": "low" if is_first else draw(st.sampled_from(sorted(PRIORITIES))),
                "grace": draw(st.sampled_from((0, 1, 3))),
            }
        )
    return made


def _promised_below_a_ceiling() -> dict[str, Any]:
    """A pod of j3 has a place below what its queue deserves, once a pod of j0 is gone."""
    objects: list[Object] = [
        {"kind": "Node", "metadata": {"name": "n0"}, "status": {"allocatable": {"cpu": 6, GPU: 0, "pods": 110}}},
        *({"kind": "Queue", "metadata": {"name": name}, "spec": {"weight": 1}} for name in ("q1", "q2", "q3")),
    ]
    work = [
        _work("j0", "q1", 3, 1, priority="low", grace=1),
        _work("j1", "q1", 3, 1, gpu=1, priority="low"),
        _work("j2", "q2", 1, 2, priority="high"),
        _work("j3", "q1", 2, 2, priority="high"),
        _work("j4", "q1", 1, 1, priority="high"),
    ]
    return {"objects": objects, "work": work, "budget": 0, "policy": "priorities"}


def _work(name: str, queue: str, pods: int, cpu: int, *, priority: str, gpu: int = 0, grace: int = 0) -> Object:
    request = {"cpu": cpu, GPU: gpu}
    return {
        "name": name,
        "namespace": "ns1",
        "queue": queue,
        "pods": pods,
        "min": 1,
        "request": request,
        "priority": priority,
        "grace": grace,
    }


@settings(max_examples=max(10, settings().max_examples // 2), deadline=None)
@example(**_promised_below_a_ceiling())
@given(objects=clusters(), work=jobs(), budget=st.integers(0, 2), policy=st.sampled_from(sorted(POLICIES)))
def test_evictions_end_though_victims_linger_and_are_created_again_at_once(
    objects: list[Object], work: list[Object], budget: int, policy: str
) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("volcano_py.simulation.MemoryCluster", SlowCluster)
        world = World(objects, budget, policy)
    for job in work:
        world.submit(job)
        world.come_to_rest()
