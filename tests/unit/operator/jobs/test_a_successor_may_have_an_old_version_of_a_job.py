"""A controller that takes over, and whose watch of Jobs lags behind what the leader before it has seen, deletes nothing
away that this leader has rightly made."""

from __future__ import annotations

import msgspec

from tests.support.jobs.job_cluster import JOBS, PODS, JobCluster, job, task
from volcano_py.jobs.model import JobAction, VolcanoJob


def as_it_is(cluster: JobCluster) -> VolcanoJob:
    return msgspec.convert(cluster.api.objects[f"{JOBS}/train"], VolcanoJob, strict=False)


async def taken_over(cluster: JobCluster, known: VolcanoJob) -> None:
    """By a controller whose watch of Jobs has shown this and nothing later."""
    await cluster.stop()
    cluster.reports_of = lambda kind: kind != "VolcanoJob"
    cluster.start()
    assert cluster.controller is not None
    cluster.controller.upsert("VolcanoJob", known)
    await cluster.live()


async def test_pods_of_replicas_that_it_has_not_heard_of_stay(cluster: JobCluster) -> None:
    cluster.submit(job(task("worker", 1)))
    await cluster.live(3)
    before = as_it_is(cluster)
    cluster.edit(tasks=[task("worker", 3)])
    await cluster.live(5)
    uids = {pod["metadata"]["uid"] for pod in cluster.of(PODS).values()}
    assert len(uids) == 3
    await taken_over(cluster, before)
    assert {pod["metadata"]["uid"] for pod in cluster.of(PODS).values()} == uids


async def test_a_job_that_was_resumed_keeps_its_pods_and_its_group(cluster: JobCluster) -> None:
    cluster.admits = False
    cluster.submit(job(task("worker", 1)))
    await cluster.live(3)
    cluster.ask(JobAction.ABORT)
    await cluster.live(3)
    before = as_it_is(cluster)
    assert cluster.phase() == "Aborted"
    cluster.admits = True
    cluster.ask(JobAction.RESUME)
    await cluster.live(5)
    groups, pods = cluster.groups(), cluster.pods()
    assert pods == {"train-worker-0": "Running"}
    await taken_over(cluster, before)
    assert [each["metadata"]["uid"] for each in cluster.groups()] == [each["metadata"]["uid"] for each in groups]
    assert cluster.created["train-worker-0", "1"] == 1


async def test_a_job_is_read_once_and_not_if_the_controller_has_brought_it_on_its_way(cluster: JobCluster) -> None:
    cluster.submit(job(task("worker", 2), minAvailable=1))
    await cluster.live(3)
    cluster.edit(tasks=[task("worker", 1)])
    await cluster.live(3)
    assert cluster.api.count("GET", "/jobs/train") == 0
    await cluster.stop()
    cluster.start()
    for replicas in (3, 2, 1):
        cluster.edit(tasks=[task("worker", replicas)])
        await cluster.live(3)
    assert len(cluster.pods()) == 1
    assert cluster.api.count("GET", "/jobs/train") == 1
