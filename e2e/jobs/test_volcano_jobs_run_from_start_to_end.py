"""Volcano Jobs on a real API server: pods in a gang, restarts, ends, Commands, and what is left afterwards."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

import pytest

from e2e.conftest import SimulatedNodes, StartDaemon
from e2e.harness.daemon import QUICK_ELECTION, Daemon
from e2e.harness.jobs import Jobs, job, task
from e2e.harness.namespace import Namespace
from e2e.harness.objects import pod
from e2e.harness.waiting import COLLECTED_SECONDS
from volcano_py.local.client import APIError

COMPLETES = "pod-complete.stage.kwok.x-k8s.io/delay"
FAILS = "pod-fail.stage.kwok.x-k8s.io/delay"


@pytest.fixture
def jobs(namespace: Namespace) -> Jobs:
    return Jobs(namespace)


async def test_an_mpi_job_runs_as_a_gang_and_ends_with_its_master(
    jobs: Jobs, simulated_nodes: SimulatedNodes, daemon: Daemon
) -> None:
    """Hosts, keys and names are there before the pods; the workers go when the master is done."""
    pool = await simulated_nodes(2, cpu="2")
    done = {"event": "TaskCompleted", "action": "CompleteJob"}
    master = task("master", 1, selector=pool.selector, policies=[done])
    worker = task("worker", 3, selector=pool.selector)
    await jobs.namespace.apply(job("mpi", master, worker, plugins={"mpi": ["--master=master", "--worker=worker"]}))

    pods = await jobs.namespace.wait_phases(Running=4)
    status = await jobs.wait("mpi", "Running", running=4, minAvailable=4)
    assert [each.name for each in pods] == ["mpi-master-0", "mpi-worker-0", "mpi-worker-1", "mpi-worker-2"]
    assert {each.node for each in pods} == set(pool.names)
    assert status["taskStatusCount"] == {"master": {"phase": {"Running": 1}}, "worker": {"phase": {"Running": 3}}}
    (group,) = await jobs.namespace.pod_groups()
    assert (group.spec["minMember"], group.spec["minTaskMember"]) == (4, {"master": 1, "worker": 3})
    assert all(each.annotations["scheduling.k8s.io/group-name"] == group.name for each in pods)
    for path in ("services/mpi", "configmaps/mpi-svc", "secrets/mpi-ssh"):
        assert await jobs.exists("/api/v1/namespaces/{namespace}/" + path), path

    await jobs.annotate("mpi-master-0", **{COMPLETES: "0s"})

    await jobs.wait("mpi", "Completed", succeeded=1)
    await jobs.namespace.wait_phases(Succeeded=1)
    await jobs.namespace.wait_no_pod_groups()


async def test_a_pod_that_fails_has_the_whole_job_restarted_until_its_tries_are_used_up(
    jobs: Jobs, simulated_nodes: SimulatedNodes, daemon: Daemon
) -> None:
    pool = await simulated_nodes(1, cpu="4")
    policies = [{"event": "PodFailed", "action": "RestartJob"}]
    await jobs.namespace.apply(job("train", task("worker", 3, selector=pool.selector), policies=policies, maxRetry=2))
    before = {each.raw["metadata"]["uid"] for each in await jobs.namespace.wait_phases(Running=3)}
    await jobs.wait("train", "Running")

    await jobs.annotate("train-worker-1", **{FAILS: "0s"})

    await jobs.wait("train", "Running", retryCount=1, version=1)
    after = {each.raw["metadata"]["uid"] for each in await jobs.namespace.wait_phases(Running=3)}
    assert before.isdisjoint(after)
    event = await jobs.namespace.wait_event("ExecuteAction", "Job/train", saying="RestartJob")
    assert "train-worker-1, exit code 1" in event.message

    await jobs.annotate("train-worker-0", **{FAILS: "0s"})

    status = await jobs.wait("train", "Failed", retryCount=2)
    assert "maxRetry" in status["state"]["message"]
    await jobs.namespace.wait_phases(Failed=1)


async def test_only_the_pod_that_was_evicted_is_created_again(
    jobs: Jobs, simulated_nodes: SimulatedNodes, daemon: Daemon
) -> None:
    """Without a policy, too; the others run on."""
    pool = await simulated_nodes(1, cpu="16")
    await jobs.namespace.apply(job("serve", task("worker", 3, selector=pool.selector)))
    before = {each.name: each.raw["metadata"]["uid"] for each in await jobs.namespace.wait_phases(Running=3)}
    await jobs.wait("serve", "Running", running=3)

    await jobs.namespace.delete_pod("serve-worker-1")

    async def replaced() -> None:
        now = {each.name: each.raw["metadata"]["uid"] for each in await jobs.namespace.pods()}
        assert now.keys() == before.keys()
        assert [name for name in before if now[name] != before[name]] == ["serve-worker-1"]

    await jobs.cluster.eventually("one pod is another", replaced)
    await jobs.namespace.wait_phases(Running=3)


async def test_an_elastic_job_runs_with_what_there_is_and_follows_its_replicas(
    jobs: Jobs, simulated_nodes: SimulatedNodes, daemon: Daemon
) -> None:
    pool = await simulated_nodes(1, cpu="3")
    await jobs.namespace.apply(job("elastic", task("worker", 5, selector=pool.selector, minAvailable=2)))

    await jobs.namespace.wait_phases(Running=3, Pending=2)
    await jobs.wait("elastic", "Running", running=3, pending=2, minAvailable=2)

    change = [{"op": "replace", "path": "/spec/tasks/0/replicas", "value": 2}]
    await jobs.cluster.kubectl(
        "patch", "vcjob", "elastic", "-n", jobs.namespace.name, "--type=json", "-p", str(change).replace("'", '"')
    )

    pods = await jobs.namespace.wait_phases(Running=2)
    assert [each.name for each in pods] == ["elastic-worker-0", "elastic-worker-1"]
    await jobs.wait("elastic", "Running", running=2)


async def test_a_job_is_aborted_and_resumed_by_commands(
    jobs: Jobs, simulated_nodes: SimulatedNodes, daemon: Daemon
) -> None:
    pool = await simulated_nodes(1, cpu="4")
    await jobs.namespace.apply(job("pausing", task("worker", 2, selector=pool.selector)))
    await jobs.namespace.wait_phases(Running=2)

    await jobs.command("pausing", "AbortJob")

    await jobs.wait("pausing", "Aborted")
    await jobs.namespace.wait_phases()
    await jobs.namespace.wait_no_pod_groups()
    await jobs.namespace.wait_event("CommandIssued", "Job/pausing")

    await jobs.command("pausing", "ResumeJob")

    await jobs.wait("pausing", "Running", retryCount=1, version=1)
    await jobs.namespace.wait_phases(Running=2)


async def test_an_edited_job_is_restarted_once_its_timeout_is_over(
    jobs: Jobs, simulated_nodes: SimulatedNodes, daemon: Daemon
) -> None:
    pool = await simulated_nodes(1, cpu="4")
    policies = [{"event": "JobUpdated", "action": "RestartJob", "timeout": "3s"}]
    await jobs.namespace.apply(job("train", task("worker", 2, selector=pool.selector), policies=policies))
    before = await jobs.wait("train", "Running", running=2)

    patch = {"spec": {"minAvailable": 1}}
    edited = await jobs.cluster.client.merge_patch(f"{jobs.path}/train", patch)

    status = await jobs.wait("train", "Running", running=2, version=1)
    assert status["controlledResources"]["generation"] == str(edited["metadata"]["generation"])
    ran = datetime.fromisoformat(before["state"]["lastTransitionTime"])
    restarted = next(each for each in status["conditions"] if each["status"] == "Restarting")["lastTransitionTime"]
    assert datetime.fromisoformat(restarted) - ran >= timedelta(seconds=2), "times are whole seconds"


@pytest.mark.parametrize(
    ("kind", "action", "message"),
    [
        ("Job", "FlyJob", "a Job knows no such action; ask for AbortJob"),
        ("Job", "OpenQueue", "a Job knows no such action"),
        ("Queue", "AbortJob", "a queue knows no such action; ask for OpenQueue or CloseQueue"),
        ("Pod", "AbortJob", "only Jobs and Queues take Commands"),
    ],
)
async def test_a_command_that_would_mean_nothing_is_refused(jobs: Jobs, kind: str, action: str, message: str) -> None:
    api = {"Job": "batch.volcano.sh/v1alpha1", "Queue": "scheduling.volcano.sh/v1beta1", "Pod": "v1"}[kind]
    body = {
        "apiVersion": "bus.volcano.sh/v1alpha1",
        "kind": "Command",
        "metadata": {"name": "odd"},
        "action": action,
        "target": {"apiVersion": api, "kind": kind, "name": "train", "uid": "some"},
    }
    path = f"/apis/bus.volcano.sh/v1alpha1/namespaces/{jobs.namespace.name}/commands"
    with pytest.raises(APIError, match=message) as refusal:
        await jobs.cluster.client.create(path, body)
    assert refusal.value.status == 422


async def test_a_job_that_has_ended_is_deleted_when_its_time_is_over(
    jobs: Jobs, simulated_nodes: SimulatedNodes, daemon: Daemon
) -> None:
    """And the garbage collector takes its pods along."""
    pool = await simulated_nodes(1, cpu="4")
    worker = task("worker", 2, selector=pool.selector, annotations={COMPLETES: "1s"})
    await jobs.namespace.apply(job("brief", worker))
    await jobs.wait("brief", "Completed", succeeded=2)

    # Given from the beginning, it might be over before anyone has seen that the job is completed.
    await jobs.cluster.client.merge_patch(f"{jobs.path}/brief", {"spec": {"ttlSecondsAfterFinished": 1}})

    async def gone() -> None:
        assert not await jobs.exists(f"{jobs.path}/brief")
        assert await jobs.namespace.pods() == []

    await jobs.cluster.eventually("the job and its pods are gone", gone, seconds=COLLECTED_SECONDS)


async def test_a_job_with_a_mistyped_scheduler_says_so(jobs: Jobs, daemon: Daemon) -> None:
    await jobs.namespace.apply(job("typed", task("worker", 1), schedulerName="Volcano"))

    async def says_so() -> None:
        state = (await jobs.get("typed")).get("status", {}).get("state", {})
        assert state.get("reason") == "OtherScheduler", state
        assert state["message"].startswith("schedulerName is Volcano; this scheduler is ")

    await jobs.cluster.eventually("the status has the other scheduler", says_so)


async def test_a_job_waits_for_its_claim_and_its_predecessors(
    jobs: Jobs, simulated_nodes: SimulatedNodes, daemon: Daemon
) -> None:
    """Pods of a task are made when those of the task it depends on run; none before the claim exists."""
    pool = await simulated_nodes(1, cpu="4")
    first = task("first", 1, selector=pool.selector)
    second = task("second", 1, selector=pool.selector, dependsOn={"name": ["first"]})
    volumes = [{"mountPath": "/data", "volumeClaimName": "data"}]
    await jobs.namespace.apply(job("steps", first, second, minAvailable=1, volumes=volumes))

    await jobs.namespace.wait_event("PVCError", "Job/steps", saying="does not exist")

    async def waits_for_the_claim() -> None:
        assert (await jobs.get("steps")).get("status", {}).get("state", {}).get("reason") == "PVCError"

    await jobs.cluster.eventually("the status has the claim that is missing", waits_for_the_claim)
    assert await jobs.namespace.pods() == []

    claim = {"storageClassName": "", "accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": "1Gi"}}}
    await jobs.namespace.apply(
        {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data"}, "spec": claim}
    )

    # Without a volume for the claim the first does not run, and stays the only one.
    await jobs.namespace.wait_reported("steps-first-0", saying="is not bound yet")
    assert [each.name for each in await jobs.namespace.pods()] == ["steps-first-0"]
    claims = f"/api/v1/namespaces/{jobs.namespace.name}/persistentvolumeclaims"
    volume = volume_for((await jobs.cluster.client.get(f"{claims}/data"))["metadata"])
    await jobs.cluster.client.create("/api/v1/persistentvolumes", volume)
    try:
        pods = await jobs.namespace.wait_phases(Running=2)
        assert [each.name for each in pods] == ["steps-first-0", "steps-second-0"]
    finally:
        await jobs.cluster.delete(f"/api/v1/persistentvolumes/{jobs.namespace.name}")


def volume_for(claim: Mapping[str, str]) -> dict[str, Any]:
    """A volume, called as its namespace, that only the claim with this metadata can have."""
    owner = {key: claim[key] for key in ("namespace", "name", "uid")}
    spec = {
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteMany"],
        "persistentVolumeReclaimPolicy": "Retain",
        "hostPath": {"path": "/mnt/shared"},
        "claimRef": {"apiVersion": "v1", "kind": "PersistentVolumeClaim", **owner},
    }
    return {"metadata": {"name": claim["namespace"]}, "spec": spec}


async def test_a_daemon_that_takes_over_finishes_what_was_begun(
    jobs: Jobs, simulated_nodes: SimulatedNodes, start_daemon: StartDaemon
) -> None:
    """The first one is killed while a restart is under way."""
    pool = await simulated_nodes(2, cpu="16")
    policies = [{"event": "PodFailed", "action": "RestartJob"}]
    first = await start_daemon(*QUICK_ELECTION)
    await jobs.namespace.apply(job("big", task("worker", 20, selector=pool.selector), policies=policies))
    await jobs.namespace.wait_phases(Running=20)
    await jobs.wait("big", "Running", running=20)

    await jobs.annotate("big-worker-7", **{FAILS: "0s"})
    await jobs.namespace.wait_event("ExecuteAction", "Job/big")
    await first.kill()
    await start_daemon(*QUICK_ELECTION)

    # The Lease of the one that was killed has to expire first.
    await jobs.wait("big", "Running", running=20, version=1, retryCount=1)
    pods = await jobs.namespace.wait_phases(Running=20)
    assert {each.annotations["volcano.sh/job-version"] for each in pods} == {"1"}


async def test_two_jobs_may_not_share_a_name_of_a_pod_and_the_other_goes_on(
    jobs: Jobs, simulated_nodes: SimulatedNodes, daemon: Daemon
) -> None:
    """A pod of that name belongs to another client: it is left alone, and the job says so."""
    pool = await simulated_nodes(1, cpu="4")
    await jobs.namespace.apply(pod("taken-worker-0", node_selector=pool.selector))
    await jobs.namespace.apply(job("taken", task("worker", 2, selector=pool.selector)))

    reported = f"pod {jobs.namespace.name}/taken-worker-0 exists but does not belong to this job"
    await jobs.namespace.wait_event("FailedCreate", "Job/taken", saying=reported)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (
            {"policies": [{"event": "PodFailed", "exitCode": 3, "action": "AbortJob"}]},
            "give event or events, or else exitCode",
        ),
        ({"policies": [{"exitCode": 0, "action": "AbortJob"}]}, "exit code 0 is success"),
        ({"policies": [{"event": "PodExploded", "action": "AbortJob"}]}, "Unsupported value"),
        ({"volumes": [{"mountPath": "/data"}]}, "there is nothing to mount"),
        ({"tasks": []}, "should have at least 1 items"),
        ({"tasks": [{"name": "a", "replicas": 1, "minAvailable": 2, "template": {}}]}, "minAvailable is larger than"),
        ({"maxRetry": -1}, "should be greater than or equal to 0"),
    ],
)
async def test_the_api_server_refuses_what_cannot_be(jobs: Jobs, spec: dict[str, Any], message: str) -> None:
    with pytest.raises(APIError, match=message) as refusal:
        await jobs.cluster.client.create(jobs.path, job("bad", **{"tasks": [task("a", 1)], **spec}))
    assert refusal.value.status == 422
