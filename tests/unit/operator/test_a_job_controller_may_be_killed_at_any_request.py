"""The job controller is killed at every request of a job's life, before it or before its answer, and comes to the same
end. Nothing but the API server's objects outlives it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from tests.support.job_cluster import JobCluster, job, task

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
    """A pod is evicted, and the policy wants all of the job anew."""
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


LIVES: dict[str, tuple[Life, str, int]] = {
    # what happens, the phase at the end, and how many pods there are then
    "create": (create, "Running", 4),
    "restart": (restart, "Running", 4),
    "restart a task": (restart_a_task, "Running", 4),
    "complete": (complete, "Completed", 1),
    "scale": (scale, "Running", 2),
}


async def lived(api: Any, life: Life, killing: tuple[int, bool] | None) -> tuple[dict[str, Any], JobCluster]:
    cluster = JobCluster(api)
    cluster.killing = killing
    cluster.start()
    cluster.submit(manifest())
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
