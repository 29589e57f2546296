"""Work comes and goes, nodes and queues change; after each change every system of fair queues comes to rest, and there

- evictions end, although every victim is created again by its controller: no two queues evict each other in turn,
- nothing was taken of what a queue is guaranteed, nor from a queue that is not reclaimable,
- what queues deserve is no more than there is, on each level of a tree (proportion),
- no pod waits alongside free room unless a ceiling of a queue is in the way, and it says which.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any, ClassVar, Final

import msgspec
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from tests.property.clusters import a_node, meta
from tests.support.registries import checked_registry
from volcano_py.api.names import GROUP_NAME, HIERARCHY, HIERARCHY_WEIGHTS
from volcano_py.api.objects import (
    Container,
    Node,
    Pod,
    PodGroup,
    PodGroupSpec,
    PodSpec,
    Queue,
    QueueGuarantee,
    QueueSpec,
    ResourceQuota,
    ResourceQuotaSpec,
    ResourceRequirements,
)
from volcano_py.config import parse_configuration
from volcano_py.simulation import Simulation

REGISTRY: Final = checked_registry()
RECLAIM: Final = """
actions: "enqueue, allocate, reclaim, backfill"
tiers:
- plugins: [{{name: priority}}, {{name: gang, enableReclaimable: false}}]
- plugins: [{owner}, {{name: predicates}}]
"""
PREEMPT: Final = """
actions: "enqueue, allocate, preempt, backfill"
tiers:
- plugins: [{name: priority, enablePreemptable: false}, {name: gang, enablePreemptable: false}]
- plugins: [{name: drf, enableNamespaceOrder: true}, {name: predicates}]
"""
PLACES: Final = {"q1": "org/one", "q2": "org/two", "q3": "other"}
"""Queue → where it stands in a tree; the first two are siblings."""
NAMESPACES: Final = ("ns1", "ns2")
CEILINGS: Final = ("OverDeserved", "OverCapability", "ClusterOvercommitted")
# More cycles than any of these clusters needs.
ENOUGH: Final = 60

AMOUNTS: Final = st.integers(1, 6)


@dataclass(frozen=True)
class Job:
    """A PodGroup of `pods` pods, of which `minimum` have to run together."""

    name: str
    namespace: str
    queue: str
    pods: int
    minimum: int
    cpu: int


class FairQueues(RuleBasedStateMachine):
    """The rules; the systems below differ in their configuration."""

    configuration: ClassVar[str]
    owns_ceilings: ClassVar[bool] = True
    """Whether a queue may leave room to others although it has work."""
    department: ClassVar[QueueSpec] = QueueSpec(deserved={"cpu": 6})
    """The queue above two others."""

    def __init__(self) -> None:
        super().__init__()
        parsed = parse_configuration(self.configuration, REGISTRY.catalogue())
        assert parsed.config is not None, parsed.problems
        self.queues = {name: a_queue(name) for name in PLACES}
        nodes = [a_node("n0", 4), a_node("n1", 3)]
        org = Queue(metadata=meta("org", 9), spec=self.department)
        queues = [("Queue", each) for each in (org, *self.queues.values())]
        self.simulation = Simulation([*(("Node", each) for each in nodes), *queues], parsed.config, REGISTRY)
        self.cluster = self.simulation.cluster
        self.jobs: dict[str, Job] = {}
        self.made = 0
        self.seen = 0

    # -- what may happen -------------------------------------------------------------------------------------------

    @precondition(lambda self: len(self.jobs) < 7)
    @rule(
        queue=st.sampled_from(sorted(PLACES)),
        namespace=st.sampled_from(NAMESPACES),
        pods=st.integers(1, 6),
        cpu=st.sampled_from((1, 1, 2)),
        is_gang=st.booleans(),
    )
    def work_comes(self, queue: str, namespace: str, pods: int, cpu: int, is_gang: bool) -> None:
        self.made += 1
        job = Job(f"j{self.made}", namespace, queue, pods, pods if is_gang else 1, cpu)
        self.jobs[job.name] = job
        spec = PodGroupSpec(min_member=job.minimum, queue=queue)
        self.cluster.put("PodGroup", PodGroup(metadata=meta(job.name, 0, namespace), spec=spec))
        for number in range(pods):
            self.cluster.put("Pod", a_pod(job, str(number)))
        self.come_to_rest()

    @precondition(lambda self: self.jobs)
    @rule(which=st.integers(0, 6))
    def work_is_done(self, which: int) -> None:
        job = self.jobs.pop(sorted(self.jobs)[which % len(self.jobs)])
        for pod in self.pods():
            if job_of(pod) == job.name:
                self.cluster.remove("Pod", pod.metadata.key)
        self.cluster.remove("PodGroup", f"{job.namespace}/{job.name}")
        self.come_to_rest()

    @rule(name=st.sampled_from(("n1", "n2")), cpu=st.integers(1, 4))
    def a_node_comes_or_goes(self, name: str, cpu: int) -> None:
        """Pods of a node that goes are created again by their controllers."""
        if self.cluster.get("Node", name, Node) is None:
            self.cluster.put("Node", a_node(name, cpu))
        else:
            for pod in self.pods():
                if pod.spec.node_name == name:
                    self.cluster.remove("Pod", pod.metadata.key)
                    self.make_again(self.jobs[job_of(pod)])
            self.cluster.remove("Node", name)
        self.come_to_rest()

    @rule(
        name=st.sampled_from(sorted(PLACES)),
        weight=st.integers(1, 3),
        deserved=AMOUNTS,
        guaranteed=st.integers(0, 3),
        beyond=st.none() | st.integers(0, 3),
        reclaimable=st.booleans(),
    )
    def a_queue_is_edited(self, name: str, reclaimable: bool, **amounts: Any) -> None:
        self.queues[name] = a_queue(name, reclaimable=reclaimable, **amounts)
        self.cluster.put("Queue", self.queues[name])
        self.come_to_rest()

    @rule(namespace=st.sampled_from(NAMESPACES), weight=st.sampled_from(("1", "3", "0", "NaN", "1e400")))
    def a_quota_is_edited(self, namespace: str, weight: str) -> None:
        spec = ResourceQuotaSpec(hard={"volcano.sh/namespace.weight": weight})
        self.cluster.put("ResourceQuota", ResourceQuota(metadata=meta("weight", 0, namespace), spec=spec))
        self.come_to_rest()

    # -- what must hold --------------------------------------------------------------------------------------------

    def come_to_rest(self) -> None:
        for _ in range(ENOUGH):
            held = self.held()
            moved = self.simulation.step()
            self.check_victims(held)
            assert self.simulation.state.drift() == 0
            assert not self.simulation.reports[-1].plugin_errors
            evicted = self.cluster.evictions[self.seen :]
            self.seen += len(evicted)
            for key in evicted:
                self.make_again(self.jobs[key.split("/")[1].partition("-")[0]])
            if not moved and not evicted:
                break
        else:
            raise AssertionError(f"it does not come to rest: {self.cluster.evictions[-8:]}")
        self.check_rest()

    def check_victims(self, before: Counter[str]) -> None:
        """Guarantees that the nodes cannot keep count as absent: which of them those are is not looked at here."""
        cpus = sum(int(node.status.allocatable["cpu"]) for node in self.cluster.objects("Node", Node))
        can_be_kept = sum(map(guarantee_of, self.queues.values())) <= cpus
        left = self.held()
        losing = {self.jobs[key.split("/")[1].partition("-")[0]].queue for key in self.cluster.evictions[self.seen :]}
        for name in losing if "reclaim" in self.configuration else ():
            spec = self.queues[name].spec
            guaranteed = guarantee_of(self.queues[name]) if can_be_kept else 0
            assert spec.reclaimable, f"{name} is not reclaimable"
            assert left[name] >= min(before[name], guaranteed), f"{name} held {before[name]} and keeps {left[name]}"

    def check_rest(self) -> None:
        free = self.free()
        waiting = [pod for pod in self.pods() if not pod.spec.node_name and self.jobs[job_of(pod)].minimum == 1]
        for pod in waiting:
            if max(free.values(), default=0) >= cpu_of(pod):
                reported = [each.message for each in pod.status.conditions]
                assert self.owns_ceilings, f"{pod.metadata.name} waits beside {free}: {reported}"
                assert any(message.startswith(CEILINGS) for message in reported), reported

    # -- helpers ---------------------------------------------------------------------------------------------------

    def pods(self) -> list[Pod]:
        return self.cluster.objects("Pod", Pod)

    def make_again(self, job: Job) -> None:
        self.made += 1
        self.cluster.put("Pod", a_pod(job, f"again{self.made}"))

    def held(self) -> Counter[str]:
        """CPUs by queue of the pods that have a node and stay there."""
        held: Counter[str] = Counter()
        for pod in self.pods():
            if pod.spec.node_name and pod.metadata.deletion_timestamp is None:
                held[self.jobs[job_of(pod)].queue] += cpu_of(pod)
        return held

    def free(self) -> dict[str, int]:
        """Free CPUs by node."""
        nodes = self.cluster.objects("Node", Node)
        free = {node.metadata.name: int(node.status.allocatable["cpu"]) for node in nodes}
        for pod in self.pods():
            if pod.spec.node_name:
                free[pod.spec.node_name] -= cpu_of(pod)
        return free


def guarantee_of(queue: Queue) -> int:
    return int(queue.spec.guarantee.resource.get("cpu", 0))


def a_queue(
    name: str,
    *,
    weight: int = 1,
    deserved: int = 2,
    guaranteed: int = 0,
    beyond: int | None = None,
    reclaimable: bool = True,
) -> Queue:
    """It says what any of the systems respects. `beyond`: how much more than it deserves it may have."""
    path = PLACES[name]
    annotations = {HIERARCHY: f"root/{path}", HIERARCHY_WEIGHTS: f"1{'/1' * path.count('/')}/{weight}"}
    spec = QueueSpec(
        weight=weight,
        deserved={"cpu": deserved},
        guarantee=QueueGuarantee(resource={"cpu": min(guaranteed, deserved)} if guaranteed else {}),
        capability={} if beyond is None else {"cpu": deserved + beyond},
        reclaimable=reclaimable,
        parent="org" if path.startswith("org/") else "",
    )
    metadata = msgspec.structs.replace(meta(name, 9), annotations=annotations)
    return Queue(metadata=metadata, spec=spec)


def a_pod(job: Job, number: str) -> Pod:
    container = Container(resources=ResourceRequirements(requests={"cpu": job.cpu}))
    return Pod(
        metadata=meta(f"{job.name}-{number}", 0, job.namespace, annotations={GROUP_NAME: job.name}),
        spec=PodSpec(scheduler_name="volcano", containers=[container]),
    )


def job_of(pod: Pod) -> str:
    return pod.metadata.name.partition("-")[0]


def cpu_of(pod: Pod) -> int:
    return int(pod.spec.containers[0].resources.requests["cpu"])


class ByProportion(FairQueues):
    configuration = RECLAIM.format(owner="{name: proportion}")

    def check_rest(self) -> None:
        super().check_rest()
        total = 1000 * sum(int(node.status.allocatable["cpu"]) for node in self.cluster.objects("Node", Node))
        guaranteed = sum(1000 * int(each.spec.guarantee.resource.get("cpu", 0)) for each in self.queues.values())
        if guaranteed <= total:
            reports = self.simulation.reports[-1].queues
            assert sum(report.deserved.get("cpu", 0) for report in reports.values()) <= total


class ByProportionInATree(FairQueues):
    configuration = RECLAIM.format(owner="{name: proportion, enableHierarchy: true}")
    department = QueueSpec(capability={"cpu": 5})

    def check_rest(self) -> None:
        """What siblings deserve together is their parent's, and what they hold is never more than it may have."""
        super().check_rest()
        held, reports = self.held(), self.simulation.reports[-1].queues
        deserved = {name: report.deserved.get("cpu", 0) for name, report in reports.items()}
        assert held["q1"] + held["q2"] <= 5
        assert deserved["q1"] + deserved["q2"] <= deserved["org"] <= 5000
        assert deserved["org"] + deserved["q3"] <= deserved["root"]


class ByCapacity(FairQueues):
    configuration = RECLAIM.format(owner="{name: capacity}")


class ByCapacityInATree(FairQueues):
    configuration = RECLAIM.format(owner="{name: capacity, enableHierarchy: true}")


class ByHdrf(FairQueues):
    configuration = RECLAIM.format(owner="{name: drf, enableHierarchy: true}")
    owns_ceilings = False

    def check_victims(self, before: Counter[str]) -> None:
        """Guarantees are none of its business; reclaimable matters to all."""
        for key in self.cluster.evictions[self.seen :]:
            assert self.queues[self.jobs[key.split("/")[1].partition("-")[0]].queue].spec.reclaimable


class ByNamespaces(FairQueues):
    configuration = PREEMPT
    owns_ceilings = False


FEW: Final = settings(max_examples=max(4, settings().max_examples // 6), stateful_step_count=12)

ByProportion.TestCase.settings = FEW
ByProportionInATree.TestCase.settings = FEW
ByCapacity.TestCase.settings = FEW
ByCapacityInATree.TestCase.settings = FEW
ByHdrf.TestCase.settings = FEW
ByNamespaces.TestCase.settings = FEW

TestProportion = ByProportion.TestCase
TestProportionInATree = ByProportionInATree.TestCase
TestCapacity = ByCapacity.TestCase
TestCapacityInATree = ByCapacityInATree.TestCase
TestHdrf = ByHdrf.TestCase
TestNamespaces = ByNamespaces.TestCase
