"""The job controller is killed at every request of a job's life, before it or before its answer, and comes to the same
end. Nothing but the API server's objects outlives it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from tests.support.jobs.job_cluster import JOBS, NAMESPACE, JobCluster, job, task
from volcano_py.jobs.model import JobAction

Life = Callable[[JobCluster], Awaitable[None]]


def manifest() -> dict[str, Any]:
    return job(
        task("master", 1, policies=[{"event": "TaskCompleted", "action": "CompleteJob"}]),
        task("worker", 3, policies=[{"event": "PodFailed", "action": "RestartTask"}]),
        policies=[{"event": "PodEvicted", "action": "RestartJob"}],
        plugins={"env": [], "svc": []},
        volumes=[{"mountPath": "/data", "volumeClaim": {"resources": {"requests": {"storage": "1Gi"}}}}],
    )


async def create(cluster: JobCluster) -> None:
    await cluster.live()


async def restart(cluster: JobCluster) -> None:
    """A pod is evicted, and the policy wants all of the job again."""
    await cluster.live()
    cluster.remove_pod("train-worker-1")
    await cluster.live()


async def restart_a_task(cluster: JobCluster) -> None:
    await cluster.live()
    cluster.pod_is("train-worker-0", "Failed", exit_code=3)
    await cluster.live()


async def complete(cluster: JobCluster) -> None:
    """The master is done, so the workers are stopped."""
    await cluster.live()
    cluster.pod_is("train-master-0", "Succeeded", exit_code=0)
    await cluster.live()


async def scale(cluster: JobCluster) -> None:
    await cluster.live()
    cluster.edit(tasks=[task("master", 1), task("worker", 1)], minAvailable=2)
    await cluster.live()


async def grow(cluster: JobCluster) -> None:
    await cluster.live()
    cluster.edit(tasks=[task("master", 1), task("worker", 6)], minAvailable=7)
    await cluster.live()


async def ask(cluster: JobCluster, action: JobAction, phase: str) -> None:
    """A Command, which is gone before it is carried out: one that its controller took to its grave is given again."""
    for _ in range(3):
        if cluster.phase() == phase:
            return
        assert cluster.controller is not None
        cluster.controller.request(f"{NAMESPACE}/train", action, "a Command")
        await cluster.live()


async def edit(cluster: JobCluster) -> None:
    """An edit, and a policy that wants the job restarted for it."""
    cluster.edit(policies=[{"event": "JobUpdated", "action": "RestartJob"}])
    await cluster.live()
    cluster.edit(priorityClassName="high")
    await cluster.live()


async def edit_with_a_timeout(cluster: JobCluster) -> None:
    cluster.edit(policies=[{"event": "JobUpdated", "action": "AbortJob", "timeout": "5s"}])
    await cluster.live()
    cluster.edit(priorityClassName="high")
    await cluster.live(20)


async def abort_and_resume(cluster: JobCluster) -> None:
    await cluster.live()
    await ask(cluster, JobAction.ABORT, "Aborted")
    await ask(cluster, JobAction.RESUME, "Running")


async def terminate(cluster: JobCluster) -> None:
    await cluster.live()
    await ask(cluster, JobAction.TERMINATE, "Terminated")


async def fail(cluster: JobCluster) -> None:
    """A pod is evicted when the tries are used up: what has finished stays, the rest goes."""
    cluster.edit(maxRetry=1)
    await cluster.live()
    cluster.pod_is("train-worker-0", "Succeeded", exit_code=0)
    cluster.remove_pod("train-worker-1")
    await cluster.live()


async def expire(cluster: JobCluster) -> None:
    """The job has ended and is deleted when its time is over; what it made is the garbage collector's."""
    cluster.edit(ttlSecondsAfterFinished=60)
    await complete(cluster)
    await cluster.live(70)


LIVES: dict[str, tuple[Life, str, int]] = {
    # what happens, the phase at the end, and how many pods there are then
    "create": (create, "Running", 4),
    "restart": (restart, "Running", 4),
    "restart a task": (restart_a_task, "Running", 4),
    "complete": (complete, "Completed", 1),
    "scale down": (scale, "Running", 2),
    "scale up": (grow, "Running", 7),
    "edit": (edit, "Running", 4),
    "edit with a timeout": (edit_with_a_timeout, "Aborted", 0),
    "abort and resume": (abort_and_resume, "Running", 4),
    "terminate": (terminate, "Terminated", 0),
    "fail": (fail, "Failed", 1),
}


def cluster_for_one_job(api: Any, killing: tuple[int, bool] | None) -> JobCluster:
    """Its controllers have no more workers than one job keeps busy: hundreds of them start, and are killed."""
    cluster = JobCluster(api)
    cluster.options["workers"] = 2
    cluster.killing = killing
    cluster.start()
    cluster.submit(manifest())
    return cluster


async def lived(api: Any, life: Life, killing: tuple[int, bool] | None) -> tuple[dict[str, Any], JobCluster]:
    cluster = cluster_for_one_job(api, killing)
    await life(cluster)
    await cluster.live()
    await cluster.stop()
    return cluster.summary(), cluster


@pytest.fixture
def fresh(api: Any) -> type:
    """Makes an API server of its own for each life."""
    return type(api)


@pytest.mark.parametrize("name", LIVES)
async def test_it_comes_to_the_same_end(fresh: Callable[[], Any], name: str) -> None:
    life, phase, pods = LIVES[name]
    expected, undisturbed = await lived(fresh(), life, None)
    assert (expected["job"]["phase"], len(expected["pods"])) == (phase, pods)
    assert undisturbed.calls > 8
    for number in range(1, undisturbed.calls + 1):
        for carried_out in (False, True):
            found, cluster = await lived(fresh(), life, (number, carried_out))
            where = f"killed at request {number} of {undisturbed.calls}, carried out: {carried_out}"
            assert found == expected, where
            assert cluster.created == undisturbed.created, where


async def test_a_job_whose_time_is_over_is_deleted_whenever_the_controller_is_killed(fresh: Callable[[], Any]) -> None:
    async def requests_of(killing: tuple[int, bool] | None) -> int:
        cluster = cluster_for_one_job(fresh(), killing)
        await expire(cluster)
        await cluster.stop()
        assert f"{JOBS}/train" not in cluster.api.objects, killing
        return cluster.calls

    undisturbed = await requests_of(None)
    for number in range(1, undisturbed + 1):
        for carried_out in (False, True):
            await requests_of((number, carried_out))
