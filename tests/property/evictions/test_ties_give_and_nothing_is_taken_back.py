"""What is shared fairly comes to rest, whatever pods ask for, although every victim comes again; and there

- no queue, and no namespace, could take a pod from another without having more than that one for its weight,
- no queue waits below what it deserves while a job of another has pods to spare that are beyond what that deserves.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any, Final, NamedTuple

import msgspec
from hypothesis import example, given
from hypothesis import strategies as st

from tests.property.clusters import meta
from tests.support.registries import checked_registry
from volcano_py.api.names import GROUP_NAME, HIERARCHY, HIERARCHY_WEIGHTS
from volcano_py.api.objects import (
    Container,
    Node,
    NodeStatus,
    Pod,
    PodGroup,
    PodGroupSpec,
    PodGroupStatus,
    PodSpec,
    PodStatus,
    Queue,
    QueueSpec,
    ResourceQuota,
    ResourceQuotaSpec,
    ResourceRequirements,
)
from volcano_py.config import parse_configuration
from volcano_py.simulation import Simulation

REGISTRY: Final = checked_registry()
RESOURCES: Final = ("cpu", "memory", "nvidia.com/gpu")
TREE: Final = {"a": "root/x/a", "b": "root/x/b", "c": "root/y/c", "d": "root/z"}
"""Queue → its path; the first two are siblings."""
SPOTS: Final = ("ns1", "ns2", "ns3")
HDRF: Final = """
actions: "enqueue, allocate, reclaim, backfill"
tiers:
- plugins: [{name: priority}, {name: gang}, {name: conformance}]
- plugins: [{name: drf, enableHierarchy: true}, {name: predicates}, {name: nodeorder}]
"""
HDRF_FIRST: Final = """
actions: "reclaim, enqueue, allocate"
tiers:
- plugins: [{name: priority}, {name: drf, enableHierarchy: true}, {name: predicates}]
"""
OWNED: Final = """
actions: "{actions}"
tiers:
- plugins: [{{name: priority}}, {{name: gang}}, {{name: conformance}}]
- plugins: [{{name: drf, enablePreemptable: false}}, {{name: predicates}}, {owner}, {{name: nodeorder}}]
"""
OWNERS: Final = ("{name: proportion}", "{name: capacity}", "{name: capacity, enableHierarchy: true}")
ORDERS: Final = ("enqueue, allocate, reclaim, backfill", "enqueue, reclaim, preempt, allocate, backfill")
NAMESPACES: Final = """
actions: "enqueue, allocate, preempt, backfill"
tiers:
- plugins:
  - {name: priority, enablePreemptable: false}
  - {name: gang, enablePreemptable: false, enableJobStarving: false}
  - {name: drf, enableNamespaceOrder: true}
- plugins: [{name: predicates}, {name: proportion}, {name: nodeorder}]
"""
# More cycles than any of these clusters needs: a place that was promised for nothing is held for sixty.
ENOUGH: Final = 200


Amounts = tuple[int, int, int]
"""Of each of the resources."""


class Job(NamedTuple):
    """A PodGroup; its pods ask for so much of each of the resources, and the first `running` have a node."""

    name: str
    namespace: str
    queue: str
    minimum: int
    asks: Amounts
    on: tuple[str, ...]

    @property
    def pods(self) -> int:
        return len(self.on)


class Cluster(NamedTuple):
    """Nodes have, and queues deserve, so much of each of the resources; weights are those of queues and namespaces."""

    nodes: dict[str, Amounts]
    weights: dict[str, int]
    deserved: dict[str, Amounts]
    jobs: list[Job]


SIZES: Final = st.tuples(st.integers(2, 10), st.integers(2, 10), st.integers(0, 6))


@st.composite
def clusters(draw: st.DrawFn) -> Cluster:
    """Up to two nodes; jobs that fill them as far as they go, and others that wait."""
    nodes = {f"n{number}": size for number, size in enumerate(draw(st.lists(SIZES, min_size=1, max_size=2)))}
    free = {name: list(size) for name, size in nodes.items()}
    weights = {name: draw(st.integers(1, 3)) for name in (*TREE, "x", "y", *SPOTS)}
    deserved = {name: draw(SIZES) for name in (*TREE, "x", "y")}
    jobs = [draw(_jobs(f"j{number}", free)) for number in range(draw(st.integers(2, 7)))]
    return Cluster(nodes, weights, deserved, jobs)


@st.composite
def _jobs(draw: st.DrawFn, name: str, free: dict[str, list[int]]) -> Job:
    pods = draw(st.integers(1, 6))
    asks = draw(st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 2)).filter(any))
    places: list[str] = []
    if draw(st.booleans()):
        for node, left in free.items():
            while len(places) < pods and all(have >= want for have, want in zip(left, asks, strict=True)):
                left[:] = [have - want for have, want in zip(left, asks, strict=True)]
                places.append(node)
    on = (*places, *[""] * (pods - len(places)))
    minimum = draw(st.sampled_from((1, 1, pods))) if len(places) in (0, pods) else 1
    return Job(name, draw(st.sampled_from(SPOTS)), draw(st.sampled_from(sorted(TREE))), minimum, asks, on)


class World:
    """A cluster in which every evicted pod is created again by its controller."""

    def __init__(self, cluster: Cluster, configuration: str, *, by_namespace: bool) -> None:
        parsed = parse_configuration(configuration, REGISTRY.catalogue())
        assert parsed.config is not None, parsed.problems
        self.jobs = {job.name: job for job in cluster.jobs}
        if by_namespace:
            self.jobs = {name: job._replace(queue="a") for name, job in self.jobs.items()}
        objects: list[tuple[str, Any]] = [("Node", _node(name, size)) for name, size in cluster.nodes.items()]
        objects += [("Queue", _queue(name, cluster)) for name in (*TREE, "x", "y")]
        objects += [("ResourceQuota", _quota(name, cluster.weights[name])) for name in SPOTS]
        for job in self.jobs.values():
            objects.append(("PodGroup", _group(job)))
            objects += [("Pod", _pod(job, str(number), node)) for number, node in enumerate(job.on)]
        self.simulation = Simulation(objects, parsed.config, REGISTRY)
        self._seen = self._made = 0

    def come_to_rest(self) -> None:
        cluster = self.simulation.cluster
        for _ in range(ENOUGH):
            moved = self.simulation.step()
            assert self.simulation.state.drift() == 0
            assert not self.simulation.reports[-1].plugin_errors
            evicted = cluster.evictions[self._seen :]
            self._seen += len(evicted)
            for key in evicted:
                self._made += 1
                cluster.put("Pod", _pod(self.jobs[_job_of(key)], f"again{self._made}"))
            if not moved and not evicted:
                return
        raise AssertionError(f"it does not come to rest: {cluster.evictions[-8:]}")

    def waiting(self, by: Callable[[Job], str]) -> Counter[str]:
        """Pods that have none."""
        pods = self.simulation.cluster.objects("Pod", Pod)
        return Counter(by(self.jobs[_job_of(pod.metadata.key)]) for pod in pods if not pod.spec.node_name)

    def spares(self, queue: str) -> bool:
        """Whether a job of the queue has more pods than its minimum."""
        placed = self.placed(lambda job: job.name)
        return any(placed[name] > job.minimum for name, job in self.jobs.items() if job.queue == queue)

    def placed(self, by: Callable[[Job], str]) -> Counter[str]:
        """Pods that have a node."""
        pods = self.simulation.cluster.objects("Pod", Pod)
        return Counter(by(self.jobs[_job_of(pod.metadata.key)]) for pod in pods if pod.spec.node_name)


def _node(name: str, size: Amounts) -> Node:
    amounts = {resource: str(amount) for resource, amount in zip(RESOURCES, size, strict=True)}
    return Node(metadata=meta(name, 0), status=NodeStatus(allocatable={**amounts, "pods": "110"}))


def _queue(name: str, cluster: Cluster) -> Queue:
    nodes = TREE.get(name, f"root/{name}").split("/")
    weights = "/".join(str(cluster.weights.get(node, 1)) for node in nodes)
    spec = QueueSpec(
        weight=cluster.weights[name],
        deserved={resource: str(amount) for resource, amount in zip(RESOURCES, cluster.deserved[name], strict=True)},
        parent=nodes[-2] if len(nodes) > 2 else "",
    )
    # (those above others would be ends of paths otherwise)
    annotations = {HIERARCHY: "/".join(nodes), HIERARCHY_WEIGHTS: weights} if name in TREE else {}
    return Queue(metadata=msgspec.structs.replace(meta(name, 9), annotations=annotations), spec=spec)


def _quota(namespace: str, weight: int) -> ResourceQuota:
    spec = ResourceQuotaSpec(hard={"volcano.sh/namespace.weight": str(weight)})
    return ResourceQuota(metadata=meta("weight", 0, namespace), spec=spec)


def _group(job: Job) -> PodGroup:
    return PodGroup(
        metadata=meta(job.name, 5, job.namespace),
        spec=PodGroupSpec(min_member=job.minimum, queue=job.queue),
        status=PodGroupStatus(phase="Running" if any(job.on) else "Pending"),
    )


def _pod(job: Job, number: str, node: str = "") -> Pod:
    requests: dict[str, str | int | float] = {
        name: str(amount) for name, amount in zip(RESOURCES, job.asks, strict=True) if amount
    }
    return Pod(
        metadata=meta(f"{job.name}-{number}", 0, job.namespace, annotations={GROUP_NAME: job.name}),
        spec=PodSpec(
            scheduler_name="volcano",
            node_name=node,
            containers=[Container(resources=ResourceRequirements(requests=requests))],
        ),
        status=PodStatus(phase="Running" if node else "Pending"),
    )


def _job_of(key: str) -> str:
    return key.partition("/")[2].partition("-")[0]


CIRCLE: Final = Cluster(
    nodes={"n0": (2, 2, 0), "n1": (7, 7, 0)},
    weights={"b": 3, **dict.fromkeys(("a", "c", "d", "x", "y", *SPOTS), 1)},
    deserved=dict.fromkeys((*TREE, "x", "y"), (1, 1, 1)),
    jobs=[
        Job("j0", "ns1", "c", 1, (0, 1, 0), ("",)),
        Job("j1", "ns1", "b", 1, (3, 0, 0), ("n1", "n1", "")),
        Job("j2", "ns1", "c", 1, (3, 1, 0), ("",)),
        Job("j3", "ns1", "c", 1, (1, 0, 0), ("",) * 4),
        Job("j4", "ns1", "a", 1, (1, 1, 0), ("n0", "n0", "n1", "")),
        Job("j5", "ns1", "b", 1, (0, 0, 1), ("",)),
        Job("j6", "ns1", "b", 1, (0, 2, 0), ("",) * 3),
    ],
)
"""b took three CPUs from c, that one from a, and that one from b, as memory counted only while some of it was free."""


@example(CIRCLE, HDRF_FIRST)
@given(clusters(), st.sampled_from((HDRF, HDRF_FIRST)))
def test_queues_of_the_tree_come_to_rest(cluster: Cluster, configuration: str) -> None:
    World(cluster, configuration, by_namespace=False).come_to_rest()


@given(clusters())
def test_namespaces_come_to_rest(cluster: Cluster) -> None:
    World(cluster, NAMESPACES, by_namespace=True).come_to_rest()


@given(clusters(), st.sampled_from(OWNERS), st.sampled_from(ORDERS))
def test_queues_that_deserve_amounts_or_parts_come_to_rest(cluster: Cluster, owner: str, actions: str) -> None:
    World(cluster, OWNED.format(owner=owner, actions=actions), by_namespace=False).come_to_rest()


# -- what holds at rest, where every pod asks for one CPU --------------------------------------------------------------


@st.composite
def unit_jobs(draw: st.DrawFn) -> Cluster:
    """One full node, and more pods of elastic jobs than it has room for."""
    cpus = draw(st.integers(2, 24))
    weights = {name: draw(st.integers(1, 4)) for name in (*TREE, "x", "y", *SPOTS)}
    deserved = {name: (draw(st.integers(1, 12)), 0, 0) for name in (*TREE, "x", "y")}
    owners = st.tuples(st.sampled_from(SPOTS), st.sampled_from(sorted(TREE)))
    first, *others = [draw(owners) for _ in range(draw(st.integers(2, 5)))]
    jobs = [Job("j0", *first, 1, (1, 0, 0), ("n0",) * cpus)]
    jobs += [
        Job(f"j{n}", *owner, 1, (1, 0, 0), ("",) * draw(st.integers(1, cpus))) for n, owner in enumerate(others, 1)
    ]
    return Cluster({"n0": (cpus, 64, 0)}, weights, deserved, jobs)


@given(unit_jobs())
def test_no_queue_of_the_tree_waits_for_what_a_tie_would_give(cluster: Cluster) -> None:
    world = World(cluster, HDRF, by_namespace=False)
    world.come_to_rest()
    held = world.placed(lambda job: job.queue)
    waiting = world.waiting(lambda job: job.queue)
    for mine in waiting:
        for other in held:
            path, theirs = (TREE[name].split("/") for name in (mine, other))
            if mine != other and world.spares(other):
                level = next(depth for depth, pair in enumerate(zip(path, theirs, strict=False)) if len(set(pair)) == 2)
                side, victim = (
                    sum(held[name] for name in TREE if TREE[name].split("/")[: level + 1] == nodes[: level + 1])
                    for nodes in (path, theirs)
                )
                weights = (cluster.weights.get(nodes[level], 1) for nodes in (path, theirs))
                assert _would_have_more(side, victim, *weights), f"{mine} takes nothing from {other}: {held}"


@given(unit_jobs())
def test_no_namespace_waits_for_what_a_tie_would_give(cluster: Cluster) -> None:
    world = World(cluster, NAMESPACES, by_namespace=True)
    world.come_to_rest()
    held, weights = world.placed(lambda job: job.namespace), cluster.weights
    for mine in world.waiting(lambda job: job.namespace):
        for other in held:
            if mine != other:
                message = f"{mine} takes nothing from {other}: {held}"
                assert _would_have_more(held[mine], held[other], weights[mine], weights[other]), message


def _would_have_more(mine: int, theirs: int, my_weight: int, their_weight: int) -> bool:
    """Whether one side would have more for its weight if it took one from the other."""
    return (mine + 1) * their_weight > (theirs - 1) * my_weight


@given(unit_jobs(), st.sampled_from(OWNERS), st.sampled_from(ORDERS))
def test_no_queue_waits_below_what_it_deserves_while_others_have_more(
    cluster: Cluster, owner: str, actions: str
) -> None:
    world = World(cluster, OWNED.format(owner=owner, actions=actions), by_namespace=False)
    world.come_to_rest()
    held = world.placed(lambda job: job.queue)
    reports = world.simulation.reports[-1].queues
    deserved = {name: reports[name].deserved.get("cpu", 0) // 1000 for name in TREE}
    for mine in world.waiting(lambda job: job.queue):
        for other in held:
            if held[mine] < deserved[mine] and held[other] > deserved[other]:
                assert not world.spares(other), f"{held} of {deserved}"
