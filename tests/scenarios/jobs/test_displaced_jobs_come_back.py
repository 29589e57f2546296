"""Volcano Jobs whose pods the scheduler evicts for others run again when there is room, with all their tries."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.registries import checked_registry
from volcano_py.api.effects import Evict, ObjectRef
from volcano_py.api.objects import Pod
from volcano_py.cluster.manifests import VOLCANO_JOB, Document, stored
from volcano_py.config import parse_configuration
from volcano_py.jobs.model import JobStatus, VolcanoJob
from volcano_py.simulation import Simulation

Object = dict[str, Any]

CONFIGURATION = """
actions: "{actions}"
tiers:
- plugins: [{{name: priority}}, {{name: gang}}, {{name: conformance}}]
- plugins: [{{name: capacity}}, {{name: predicates}}]
"""
URGENT = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "urgent"}, "value": 1000}


class Cluster:
    """Two nodes of 4 cpu, and queues q0 and q1 that deserve half of them each."""

    def __init__(self, *bodies: Object, actions: str = "enqueue, allocate, backfill") -> None:
        registry = checked_registry()
        parsed = parse_configuration(CONFIGURATION.format(actions=actions), registry.catalogue())
        assert parsed.config is not None, parsed.problems
        objects = [node("n1"), node("n2"), queue("q0"), queue("q1"), URGENT, *bodies]
        self.simulation = Simulation(_stored(objects), parsed.config, registry)
        self.simulation.run()

    def add(self, *bodies: Object) -> None:
        for kind, obj in _stored(bodies):
            self.simulation.cluster.put(kind, obj)

    def delete_job(self, name: str) -> None:
        for pod in self.simulation.cluster.objects("Pod", Pod):
            if pod.metadata.name.startswith(f"{name}-"):
                self.simulation.cluster.remove("Pod", pod.metadata.key)
        self.simulation.cluster.remove(VOLCANO_JOB, f"default/{name}")

    def evict_all(self, job: str) -> None:
        """What reclaim and preempt do with a gang that goes whole: every pod, in one cycle."""
        pods = [pod for pod in self.simulation.cluster.objects("Pod", Pod) if pod.metadata.name.startswith(f"{job}-")]
        references = [ObjectRef("Pod", "default", pod.metadata.name, pod.metadata.uid) for pod in pods]
        self.simulation.cluster.apply([Evict(each, None, "reclaim", "for others") for each in references])

    def status(self, name: str) -> JobStatus:
        job = self.simulation.cluster.get(VOLCANO_JOB, f"default/{name}", VolcanoJob)
        assert job is not None
        return job.status

    def running(self) -> dict[str, str]:
        """Version of the Job for each pod that runs."""
        return {
            pod.metadata.name: pod.metadata.annotations["volcano.sh/job-version"]
            for pod in self.simulation.cluster.objects("Pod", Pod)
            if pod.status.phase == "Running"
        }


def _stored(bodies: Any) -> list[tuple[str, Any]]:
    return list(stored([Document("cluster", number, body) for number, body in enumerate(bodies)]))


def node(name: str) -> Object:
    resources = {"cpu": "4", "pods": "110"}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "status": {"allocatable": resources}}


def queue(name: str) -> Object:
    spec = {"deserved": {"cpu": "4"}, "reclaimable": True}
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": {"name": name}, "spec": spec,
        "status": {"state": "Open"},
    }  # fmt: skip


def vcjob(name: str, pods: int, cpu: str, **spec: Any) -> Object:
    container = {"name": "main", "image": "work", "resources": {"requests": {"cpu": cpu}}}
    tasks = [{"name": "worker", "replicas": pods, "template": {"spec": {"containers": [container]}}}]
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job",
        "metadata": {"name": name, "namespace": "default", "uid": f"uid-of-{name}"},
        "spec": {"tasks": tasks, **spec},
    }  # fmt: skip


def on_eviction(action: str) -> list[Object]:
    return [{"event": "PodEvicted", "action": action}]


def gang(name: str, version: int) -> dict[str, str]:
    return {f"{name}-worker-{index}": str(version) for index in range(4)}


@pytest.mark.parametrize(
    ("action", "version"), [("RestartJob", 1), ("RestartTask", 0), ("RestartPod", 0), ("", 0)], ids=str
)
@pytest.mark.parametrize("is_gone", [False, True], ids=["leaving", "gone"])
def test_a_gang_that_is_evicted_whole_waits_for_room_and_has_all_its_tries(
    action: str, version: int, is_gone: bool
) -> None:
    cluster = Cluster(vcjob("train", 4, "2", queue="q1", policies=on_eviction(action) if action else [], maxRetry=1))
    assert cluster.running() == gang("train", 0)

    cluster.add(vcjob("other", 4, "1", queue="q0", priorityClassName="urgent"))
    cluster.simulation.run()
    assert cluster.running() == gang("train", 0)
    cluster.evict_all("train")
    if is_gone:
        cluster.simulation.cluster.settle()
    cluster.simulation.run()
    assert cluster.running() == gang("other", 0)
    status = cluster.status("train")
    assert (status.state.phase, status.version, status.retry_count) == ("Pending", version, 0)

    cluster.delete_job("other")
    cluster.simulation.run()
    assert cluster.running() == gang("train", version)
    status = cluster.status("train")
    assert (status.state.phase, status.version, status.retry_count) == ("Running", version, 0)


def test_a_gang_may_be_evicted_more_often_than_it_may_fail() -> None:
    cluster = Cluster(vcjob("train", 4, "2", queue="q0", policies=on_eviction("RestartJob"), maxRetry=1))
    for version in (1, 2, 3):
        cluster.evict_all("train")
        cluster.simulation.run()
        assert cluster.running() == gang("train", version)
    assert cluster.status("train").retry_count == 0


def test_pods_beyond_the_minimum_that_are_reclaimed_are_created_again_and_count_for_nothing() -> None:
    """An elastic job gives up two of its four pods, and has them wait for the other queue to leave."""
    elastic = vcjob("elastic", 4, "2", queue="q0", minAvailable=2, policies=on_eviction("RestartPod"), maxRetry=1)
    cluster = Cluster(elastic, actions="enqueue, allocate, reclaim, backfill")
    assert cluster.running() == gang("elastic", 0)

    cluster.add(vcjob("other", 2, "2", queue="q1"))
    cluster.simulation.run()
    assert len(cluster.simulation.cluster.evictions) == 2
    assert sorted(name.split("-")[0] for name in cluster.running()) == ["elastic", "elastic", "other", "other"]
    status = cluster.status("elastic")
    assert (status.state.phase, status.retry_count, status.pending) == ("Running", 0, 2)

    cluster.delete_job("other")
    cluster.simulation.run()
    assert cluster.running() == gang("elastic", 0)
    assert cluster.status("elastic").retry_count == 0


@pytest.mark.parametrize(("action", "version"), [("RestartJob", 1), ("RestartTask", 0), ("", 0)], ids=str)
def test_a_gang_that_is_reclaimed_whole_comes_back_when_the_other_queue_leaves(action: str, version: int) -> None:
    policies = on_eviction(action) if action else []
    train = vcjob("train", 4, "2", queue="q0", policies=policies, maxRetry=1)
    cluster = Cluster(train, actions="enqueue, allocate, reclaim, backfill")
    assert cluster.running() == gang("train", 0)

    cluster.add(vcjob("other", 2, "2", queue="q1"))
    cluster.simulation.run()
    assert sorted(cluster.running()) == ["other-worker-0", "other-worker-1"]
    assert sorted(cluster.simulation.cluster.evictions) == [f"default/train-worker-{index}" for index in range(4)]
    status = cluster.status("train")
    assert (status.state.phase, status.version, status.retry_count) == ("Pending", version, 0)

    cluster.delete_job("other")
    cluster.simulation.run()
    assert cluster.running() == gang("train", version)
    assert cluster.status("train").retry_count == 0
