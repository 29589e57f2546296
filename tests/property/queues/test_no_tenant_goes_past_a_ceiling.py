"""Whatever tenants do to their PodGroups, annotations and pods, and whenever the scheduler is started again: a queue is
charged for exactly the pods that were bound in it and are not gone, and it, and those above it, never exceed their
ceilings.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

import msgspec
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tests.support.queues.queue_trees import queue
from tests.support.registries import checked_registry
from tests.support.sessions import NOW, gang, node, priority_class
from volcano_py.api.effects import Bind, Evict
from volcano_py.api.names import CHARGED_QUEUE, GROUP_NAME
from volcano_py.api.objects import Pod, PodGroup
from volcano_py.cluster.memory import MemoryCluster
from volcano_py.config import parse_configuration
from volcano_py.scheduler import Scheduler
from volcano_py.simulation import Simulation
from volcano_py.state.cluster_state import ClusterState

REGISTRY: Final = checked_registry()
CONFIGURATION: Final = """
actions: "{actions}"
tiers:
- plugins: [{{name: priority}}, {{name: gang, enablePreemptable: false}}]
- plugins: [{{name: {owner}}}, {{name: predicates}}]
"""
OWNERS: Final = ["capacity", "capacity, enableHierarchy: true", "proportion"]
ACTIONS: Final = ["enqueue, allocate, backfill, preempt, reclaim", "enqueue, reclaim, preempt, allocate, backfill"]
CEILINGS: Final = {"left": 4, "right": 3, "above": 5}
QUEUES: Final = ["left", "right", "free"]
FINISHED: Final = ("Succeeded", "Failed")


class RecordingCluster(MemoryCluster):
    """Remembers the queue of every binding. Evicted pods stay until a user lets them go."""

    def __init__(self, sink: Any) -> None:
        super().__init__(sink)
        self.bound_in: dict[str, str] = {}

    def _bind(self, bind: Bind) -> None:
        self.bound_in[bind.pod.uid] = bind.queue
        super()._bind(bind)

    def _evict(self, evict: Evict) -> None:
        self.evictions.append(evict.pod.key)
        pod = self.get("Pod", evict.pod.key, Pod)
        if pod is not None:
            self.put("Pod", leaving(pod))


class Tenants(RuleBasedStateMachine):
    """With the policy that guards annotations the scheduler may be started again at any time. Without it the tenants
    forge them, and what it has seen once has to do."""

    @initialize(owner=st.sampled_from(OWNERS), actions=st.sampled_from(ACTIONS), guarded=st.booleans())
    def start(self, owner: str, actions: str, guarded: bool) -> None:
        parsed = parse_configuration(CONFIGURATION.format(owner=owner, actions=actions), REGISTRY.catalogue())
        assert parsed.config is not None, parsed.problems
        objects = [
            *(node(name, cpu="8") for name in ("n1", "n2")),
            queue("above", capability=CEILINGS["above"], deserved=2),
            *(queue(name, "above", capability=CEILINGS[name], deserved=1) for name in ("left", "right")),
            queue("free", deserved=2),
            priority_class("urgent", 1000),
        ]
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr("volcano_py.simulation.MemoryCluster", RecordingCluster)
            items = [(type(each).__name__, each) for each in objects]
            self.simulation = Simulation(items, parsed.config, REGISTRY)
        self.in_tree = "Hierarchy" in owner
        self.guarded = guarded
        self.made = 0

    @property
    def cluster(self) -> RecordingCluster:
        assert isinstance(self.simulation.cluster, RecordingCluster)
        return self.simulation.cluster

    def pods(self) -> list[Pod]:
        return self.cluster.objects("Pod", Pod)

    def pod(self, which: int) -> Pod | None:
        pods = self.pods()
        return pods[which % len(pods)] if pods else None

    def group(self, which: int) -> PodGroup | None:
        groups = self.cluster.objects("PodGroup", PodGroup)
        return groups[which % len(groups)] if groups else None

    # -- what tenants do -------------------------------------------------------------------------------------------

    @rule(
        queue=st.sampled_from(QUEUES),
        pods=st.integers(1, 4),
        cpu=st.integers(1, 2),
        minimum=st.integers(1, 2),
        urgent=st.booleans(),
    )
    def submit(self, queue: str, pods: int, cpu: int, minimum: int, urgent: bool) -> None:
        self.made += 1
        for each in gang(
            f"job{self.made}",
            pods=pods,
            queue=queue,
            cpu=str(cpu),
            min_member=min(minimum, pods),
            min_resources={"cpu": str(cpu * min(minimum, pods))},
            priority_class="urgent" if urgent else "",
            group_phase="Pending",
        ):
            self.cluster.put(type(each).__name__, each)
        self.simulation.step()

    @rule(which=st.integers(0, 99))
    def delete_a_group(self, which: int) -> None:
        if (group := self.group(which)) is not None:
            self.cluster.remove("PodGroup", group.metadata.key)

    @rule(which=st.integers(0, 99), queue=st.sampled_from([*QUEUES, "nowhere"]))
    def move_a_group(self, which: int, queue: str) -> None:
        if (group := self.group(which)) is not None:
            spec = msgspec.structs.replace(group.spec, queue=queue)
            self.cluster.put("PodGroup", msgspec.structs.replace(group, spec=spec))

    @rule(which=st.integers(0, 99), other=st.integers(0, 99), named=st.booleans())
    def put_a_pod_into_another_group(self, which: int, other: int, named: bool) -> None:
        pod, group = self.pod(which), self.group(other)
        if pod is not None and group is not None and not (self.guarded and pod.spec.node_name):
            self._annotate(pod, GROUP_NAME, group.metadata.name if named else "")

    @precondition(lambda self: not self.guarded)
    @rule(which=st.integers(0, 99), queue=st.sampled_from([*QUEUES, "nowhere", ""]))
    def forge_what_a_pod_is_charged_to(self, which: int, queue: str) -> None:
        if (pod := self.pod(which)) is not None:
            self._annotate(pod, CHARGED_QUEUE, queue)

    @rule(which=st.integers(0, 99))
    def delete_a_pod_with_a_long_grace(self, which: int) -> None:
        if (pod := self.pod(which)) is not None:
            self.cluster.put("Pod", leaving(pod))
            self.simulation.step()

    # -- what happens ----------------------------------------------------------------------------------------------

    @rule(which=st.integers(0, 99), phase=st.sampled_from(FINISHED))
    def a_pod_ends(self, which: int, phase: str) -> None:
        pod = self.pod(which)
        if pod is not None and pod.spec.node_name:
            self.cluster.put(
                "Pod", msgspec.structs.replace(pod, status=msgspec.structs.replace(pod.status, phase=phase))
            )

    @rule(which=st.integers(0, 99))
    def a_deleted_pod_is_gone(self, which: int) -> None:
        pods = [each for each in self.pods() if each.metadata.deletion_timestamp is not None]
        if pods:
            self.cluster.remove("Pod", pods[which % len(pods)].metadata.key)

    @rule()
    def time_passes(self) -> None:
        self.simulation.step()

    @precondition(lambda self: self.guarded)
    @rule()
    def the_scheduler_is_started_again(self) -> None:
        state = ClusterState()
        self.simulation.state = self.cluster._sink = state
        self.simulation._scheduler = Scheduler(REGISTRY, self.cluster.apply)
        for kind, objects in self.cluster._objects.items():
            state.replace(kind, list(objects.values()))

    # -- what must hold --------------------------------------------------------------------------------------------

    @invariant()
    def queues_are_charged_for_the_pods_that_were_bound_in_them(self) -> None:
        charged: Counter[str] = Counter()
        for pod in self.pods():
            if pod.spec.node_name and pod.status.phase not in FINISHED:
                cpu = int(pod.spec.containers[0].resources.requests["cpu"])
                charged[self.cluster.bound_in[pod.metadata.uid]] += cpu
        snapshot = self.simulation.state.snapshot(NOW.timestamp())
        used = snapshot.ledger.queues.used()[:, 0].tolist()
        found = {name: cpu // 1000 for name, cpu in zip(snapshot.queue_names, used, strict=True) if cpu}
        assert found == dict(charged)
        assert self.simulation.state.drift() == 0
        if self.in_tree:
            charged["above"] = charged["left"] + charged["right"]
        assert {name: cpu for name, cpu in charged.items() if cpu > CEILINGS.get(name, NO_LIMIT)} == {}

    @invariant()
    def no_plugin_fails(self) -> None:
        assert not any(report.plugin_errors for report in self.simulation.reports[-1:])

    def _annotate(self, pod: Pod, key: str, value: str) -> None:
        annotations = {name: each for name, each in pod.metadata.annotations.items() if name != key}
        if value:
            annotations[key] = value
        metadata = msgspec.structs.replace(pod.metadata, annotations=annotations)
        self.cluster.put("Pod", msgspec.structs.replace(pod, metadata=metadata))


NO_LIMIT: Final = 1000


def leaving(pod: Pod) -> Pod:
    """The pod while it is being deleted."""
    return msgspec.structs.replace(pod, metadata=msgspec.structs.replace(pod.metadata, deletion_timestamp=NOW))


Tenants.TestCase.settings = settings(max_examples=settings().max_examples, stateful_step_count=30)
TestTenants = Tenants.TestCase
