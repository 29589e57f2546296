"""The simulated cluster: effects are carried out at once, kubelets take no time, and controllers do their part."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from tests.support.registries import checked_registry
from tests.support.sessions import NAMESPACE, gang, node, pod, pod_group, queue
from tests.unit.state.watched import deleted, on, with_meta, with_spec
from volcano_py.api.effects import (
    Bind,
    Event,
    Evict,
    ObjectRef,
    PodCondition,
    PodGroupStatusUpdate,
    QueueAllocated,
)
from volcano_py.api.names import GROUP_NAME, QUEUE_NAME
from volcano_py.api.objects import ApiObject, Namespace, ObjectMeta, OwnerReference, Pod, PodGroup, Queue
from volcano_py.api.reasons import Reason
from volcano_py.api.workloads import Workload
from volcano_py.cluster.memory import MemoryCluster
from volcano_py.config import default_configuration_text, parse_configuration
from volcano_py.simulation import CYCLE_SECONDS, Simulation


class Remembers:
    """A sink."""

    def __init__(self) -> None:
        self.heard: list[str] = []

    def upsert(self, kind: str, obj: Any) -> None:
        self.heard.append(f"{kind} {obj.metadata.name}")

    def delete(self, kind: str, obj: Any) -> None:
        self.heard.append(f"{kind} {obj.metadata.name} is gone")

    def replace(self, kind: str, objects: Sequence[ApiObject]) -> None:
        raise AssertionError("a cluster in memory is not listed")


@pytest.fixture
def sink() -> Remembers:
    return Remembers()


@pytest.fixture
def cluster(sink: Remembers) -> MemoryCluster:
    """A waiting pod, one that runs, their group and a queue."""
    cluster = MemoryCluster(sink)
    for obj in (pod_group("g"), pod("waits", group="g"), pod("runs", group="g", on="n1"), queue("default")):
        cluster.put(type(obj).__name__, obj)
    sink.heard.clear()
    cluster.changes = 0
    return cluster


def ref(name: str, uid: str = "") -> ObjectRef:
    return ObjectRef("Pod", NAMESPACE, name, uid or pod(name).metadata.uid)


def kept(cluster: MemoryCluster, name: str) -> Pod:
    found = cluster.get("Pod", f"{NAMESPACE}/{name}", Pod)
    assert found is not None
    return found


# -- effects -----------------------------------------------------------------------------------------------------


def test_a_bound_pod_has_its_node_and_runs_from_the_next_moment_on(cluster: MemoryCluster) -> None:
    cluster.apply([Bind(ref("waits"), "n1", "team/g")])
    assert cluster.binds == {"team/waits": "n1"}
    assert (kept(cluster, "waits").spec.node_name, kept(cluster, "waits").status.phase) == ("n1", "Pending")
    cluster.settle()
    assert kept(cluster, "waits").status.phase == "Running"


def test_an_evicted_pod_is_terminating_and_gone_the_next_moment(cluster: MemoryCluster, sink: Remembers) -> None:
    cluster.apply([Evict(ref("runs"), None, "preempt", "for another")])
    assert cluster.evictions == ["team/runs"]
    assert kept(cluster, "runs").metadata.deletion_timestamp is not None
    cluster.settle()
    assert cluster.get("Pod", "team/runs", Pod) is None
    assert sink.heard == ["Pod runs", "Pod runs is gone"]


def test_a_pod_that_terminates_by_itself_takes_its_time(cluster: MemoryCluster) -> None:
    cluster.put("Pod", deleted(pod("leaves", group="g", on="n1")))
    cluster.settle()
    assert kept(cluster, "leaves").status.phase == "Running"


def test_a_namesake_of_an_evicted_pod_is_another_pod(cluster: MemoryCluster) -> None:
    cluster.apply([Evict(ref("runs"), None, "preempt", "for another")])
    cluster.settle()
    cluster.put("Pod", with_meta(deleted(pod("runs", group="g", on="n1")), uid="new"))
    cluster.settle()
    assert kept(cluster, "runs").metadata.uid == "new"


def test_effects_on_namesakes_are_not_carried_out(cluster: MemoryCluster, sink: Remembers) -> None:
    other = ref("waits", "another")
    reported = PodCondition(other, "Unschedulable", "full", Reason.NODES_REFUSE)
    cluster.apply([Bind(other, "n1", "team/g"), Evict(ref("runs", "another"), None, "preempt", ""), reported])
    assert (cluster.binds, cluster.evictions, sink.heard) == ({}, [], [])


def test_conditions_and_the_nominated_node_are_written_and_taken_off_when_the_pod_runs(cluster: MemoryCluster) -> None:
    cluster.apply([PodCondition(ref("waits"), "Unschedulable", "full", Reason.NODES_REFUSE, "n2")])
    cluster.apply([PodCondition(ref("waits"), "Schedulable", "soon", Reason.GANG_INCOMPLETE)])
    status = kept(cluster, "waits").status
    assert [(condition.type, condition.reason) for condition in status.conditions] == [("PodScheduled", "Schedulable")]
    assert status.nominated_node_name == "n2", "an empty name leaves it"
    cluster.apply([Bind(ref("waits"), "n1", "team/g")])
    cluster.settle()
    (condition,) = kept(cluster, "waits").status.conditions
    assert (condition.type, condition.status) == ("Ready", "True")


def test_statuses_of_groups_and_queues_are_written(cluster: MemoryCluster) -> None:
    group = ObjectRef("PodGroup", NAMESPACE, "g", "group-team-g")
    cluster.apply([PodGroupStatusUpdate(group, "Running", (), 2, 1, 0), QueueAllocated("default", {"cpu": "2"})])
    stored, seen = cluster.get("PodGroup", "team/g", PodGroup), cluster.get("Queue", "default", Queue)
    assert stored is not None
    assert seen is not None
    assert (stored.status.phase, stored.status.running, stored.status.succeeded) == ("Running", 2, 1)
    assert (seen.status.allocated, seen.status.state) == ({"cpu": "2"}, "Open")


def test_events_are_kept_in_order(cluster: MemoryCluster) -> None:
    events = [Event(ref("waits"), "Normal", reason, "") for reason in ("One", "Two")]
    cluster.apply(events)
    assert cluster.events == events


def test_what_changes_nothing_is_no_change(cluster: MemoryCluster, sink: Remembers) -> None:
    cluster.put("Pod", pod("waits", group="g"))
    cluster.remove("Pod", "team/unknown")
    assert (cluster.changes, sink.heard) == (0, [])
    cluster.put("Pod", on(pod("waits", group="g"), "n1"))
    cluster.remove("Pod", "team/waits")
    assert (cluster.changes, sink.heard) == (2, ["Pod waits", "Pod waits is gone"])


# -- a cluster that lives ----------------------------------------------------------------------------------------

REGISTRY = checked_registry()
DEFAULT = parse_configuration(default_configuration_text(), REGISTRY.catalogue()).config
assert DEFAULT is not None


def simulated(*objects: Any) -> Simulation:
    flat = [obj for each in objects for obj in (each if isinstance(each, list) else [each])]
    assert DEFAULT is not None
    return Simulation([(type(obj).__name__, obj) for obj in flat], DEFAULT, REGISTRY)


def group_of(simulation: Simulation, name: str) -> PodGroup:
    """The PodGroup that a pod names."""
    found = simulation.cluster.get("Pod", f"{NAMESPACE}/{name}", Pod)
    assert found is not None
    group = simulation.cluster.get("PodGroup", f"{NAMESPACE}/{found.metadata.annotations[GROUP_NAME]}", PodGroup)
    assert group is not None
    return group


def test_the_queues_that_every_cluster_has_are_created() -> None:
    queues = {seen.metadata.name: seen.spec.reclaimable for seen in simulated().cluster.objects("Queue", Queue)}
    assert queues == {"root": False, "default": True}
    mine = simulated(queue("default", weight=7)).cluster.get("Queue", "default", Queue)
    assert mine is not None
    assert mine.spec.weight == 7


def test_a_bare_pod_gets_a_group_of_its_own() -> None:
    simulation = simulated(node("n1"), pod("a", cpu="1"), pod("b", cpu="1"))
    simulation.step()
    assert group_of(simulation, "a").metadata.name == "podgroup-pod-team-a"
    assert group_of(simulation, "a").spec.min_member == 1
    assert set(simulation.cluster.binds) == {"team/a", "team/b"}


def test_pods_of_one_owner_share_a_group_with_its_minimum() -> None:
    owner = OwnerReference(api_version="apps/v1", kind="ReplicaSet", name="web", uid="rs", controller=True)
    meta = ObjectMeta(
        name="web", namespace=NAMESPACE, uid="rs", annotations={"scheduling.volcano.sh/group-min-member": "2"}
    )
    members = [with_meta(pod(f"web-{index}", cpu="1"), owner_references=[owner]) for index in range(2)]
    simulation = simulated(node("n1"), members)
    simulation.cluster.put("ReplicaSet", Workload(metadata=meta, kind="ReplicaSet"))
    simulation.step()
    assert group_of(simulation, "web-0") == group_of(simulation, "web-1")
    assert group_of(simulation, "web-0").spec.min_member == 2


def test_a_namespace_has_a_queue_for_the_groups_that_are_made_for_its_pods_and_no_others() -> None:
    namespace = Namespace(metadata=ObjectMeta(name=NAMESPACE, uid="ns", annotations={QUEUE_NAME: "team-q"}))
    simulation = simulated(
        namespace,
        queue("team-q"),
        node("n1"),
        pod_group("g", queue=""),
        pod_group("h", queue="other"),
        pod("a", cpu="1"),
    )
    simulation.step()
    groups = {group.metadata.name: group.spec.queue for group in simulation.cluster.objects("PodGroup", PodGroup)}
    assert groups == {"g": "", "h": "other", "podgroup-pod-team-a": "team-q"}


def test_a_group_that_is_admitted_and_gets_no_pods_is_reported_once_they_had_time_to_come() -> None:
    simulation = simulated(node("n1"), pod_group("g", min_member=2, phase="Pending", age=3600.0))

    def reported() -> list[str]:
        (group,) = simulation.cluster.objects("PodGroup", PodGroup)
        return [group.status.phase, *(condition.message for condition in group.status.conditions)]

    simulation.step()
    assert reported() == ["Inqueue"]
    assert [job.reason for job in simulation.reports[-1].pending] == [Reason.NOT_ENOUGH_TASKS], "but it is counted"
    simulation.run()
    missing = "PodGroup team/g: 0 pods of this scheduler exist, minMember is 2: create 2 more or lower minMember"
    assert reported() == ["Inqueue", f"NotEnoughTasks: 2/2 tasks in gang unschedulable: {missing}"]


def test_one_that_asks_for_no_pods_waits_for_nothing() -> None:
    simulation = simulated(node("n1"), pod_group("g", min_member=0, phase="Pending", age=3600.0))
    assert simulation.run().pod_groups["team/g"] == {"phase": "Inqueue", "conditions": []}
    assert simulation.reports[-1].pending == ()


def test_finished_and_foreign_pods_get_no_group() -> None:
    simulation = simulated(pod("done", phase="Succeeded"), pod("foreign", scheduler="default-scheduler"))
    simulation.step()
    assert simulation.cluster.objects("PodGroup", PodGroup) == []


def test_queues_count_their_groups() -> None:
    simulation = simulated(
        node("n1"), gang("g", cpu="1"), pod_group("h", phase="Pending", queue="default", min_member=9)
    )
    simulation.run()
    seen = simulation.cluster.get("Queue", "default", Queue)
    assert seen is not None
    assert (seen.status.state, seen.status.running, seen.status.inqueue) == ("Open", 1, 1)


def test_time_passes_a_second_a_cycle_from_the_youngest_object_on() -> None:
    simulation = simulated(node("n1"), with_meta(pod("late"), creation_timestamp=pod("x").metadata.creation_timestamp))
    before = simulation.now
    simulation.step()
    simulation.step()
    assert simulation.now == before + 2 * CYCLE_SECONDS


def test_a_run_ends_with_the_cycle_that_changes_nothing() -> None:
    simulation = simulated(node("n1"), gang("g", pods=2, cpu="1"))
    result = simulation.run()
    assert result.settled
    assert result.cycles == len(result.reports) == simulation.run(0).cycles
    assert not simulation.step()


def test_objects_may_come_between_two_runs() -> None:
    simulation = simulated(node("n1", cpu="1"), gang("g", pods=2, cpu="1"))
    assert simulation.run().binds == {}
    simulation.cluster.put("Node", node("n2", cpu="1"))
    assert set(simulation.run().binds.values()) == {"n1", "n2"}


def test_a_pod_with_an_unreadable_request_stops_no_other_pod() -> None:
    broken = with_spec(pod("broken"), containers=pod("x", cpu="much").spec.containers)
    result = simulated(node("n1"), broken, pod("fine", cpu="1")).run()
    assert dict(result.binds) == {"team/fine": "n1"}
    assert result.unschedulable["team/broken"].startswith(
        "InvalidPod: spec.containers[0].resources.requests.cpu: 'much'"
    )
