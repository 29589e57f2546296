"""A policy on PodEvicted with a timeout acts when the pod has not come back by then, whatever happens meanwhile."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.support.jobs.job_cluster import JOBS, JobCluster, job, task
from volcano_py.cluster.kubernetes.http.errors import api_error

POLICIES = [{"event": "PodEvicted", "action": "RestartJob", "timeout": "1m"}]


@pytest.fixture
async def cluster(api: Any) -> AsyncIterator[JobCluster]:
    """The job runs, one of its pods is evicted, and the one that is made in its place does not start."""
    cluster = JobCluster(api)
    cluster.start()
    cluster.submit(job(task("worker", 2), policies=POLICIES))
    await cluster.live(3)
    assert cluster.phase() == "Running"
    cluster.runs = lambda name: False
    cluster.remove_pod("train-worker-1")
    await cluster.live(20)
    assert cluster.pods()["train-worker-1"] == "Pending"
    yield cluster
    await cluster.stop()


def was_restarted(cluster: JobCluster) -> bool:
    return "Restarting" in [each["status"] for each in cluster.status()["conditions"]]


async def test_the_time_goes_on_through_a_restart_of_the_controller(cluster: JobCluster) -> None:
    await cluster.stop()
    cluster.start()
    await cluster.live(20)
    assert not was_restarted(cluster)
    await cluster.live(30)
    assert was_restarted(cluster)


@pytest.mark.parametrize("code", [409, 500])
async def test_a_decision_that_could_not_be_written_is_repeated(cluster: JobCluster, code: int) -> None:
    error = api_error("PATCH", JOBS, code, b'{"reason": "Conflict"}')
    cluster.api.refuse("PATCH", "/jobs/train/status", error)
    await cluster.live(90)
    assert was_restarted(cluster)


async def test_a_pod_that_runs_again_in_time_is_forgotten(cluster: JobCluster) -> None:
    assert cluster.status()["controlledResources"]["evicted"].startswith("worker/1@")
    cluster.runs = lambda name: True
    await cluster.live(90)
    assert not was_restarted(cluster)
    assert "evicted" not in cluster.status().get("controlledResources", {})


async def test_at_whatever_request_the_controller_is_killed_the_eviction_is_answered(api: Any) -> None:
    async def requests_of(killing: tuple[int, bool] | None) -> int:
        cluster = JobCluster(type(api)())
        cluster.options["workers"] = 2
        cluster.start()
        cluster.submit(job(task("worker", 2), policies=POLICIES))
        await cluster.live(5)
        before, cluster.calls = cluster.calls, 0
        assert before
        cluster.killing = killing
        cluster.runs = lambda name: False
        cluster.remove_pod("train-worker-1")
        await cluster.live(90)
        await cluster.stop()
        assert was_restarted(cluster), killing
        return cluster.calls

    for number in range(1, await requests_of(None) + 1):
        for carried_out in (False, True):
            await requests_of((number, carried_out))
