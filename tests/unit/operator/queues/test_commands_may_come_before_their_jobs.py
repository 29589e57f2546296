"""Commands for Jobs that the watch of Jobs has not shown: it and the watch of Commands know nothing of each other."""

from __future__ import annotations

from tests.support.jobs.job_cluster import JOBS, JobCluster, job, task
from volcano_py.cluster.kubernetes.http.errors import UnreachableError
from volcano_py.jobs.model import JobAction


async def test_a_command_for_a_job_that_no_watch_has_reported_yet_is_carried_out(cluster: JobCluster) -> None:
    """Nor does an API server that is away for a moment keep it from that."""
    cluster.reports_of = lambda kind: kind != "VolcanoJob"
    cluster.api.refuse("GET", "/jobs/train", UnreachableError("GET", JOBS, "reset"))
    cluster.submit(job(task("worker", 2)))
    uid = cluster.api.objects[f"{JOBS}/train"]["metadata"]["uid"]
    cluster.ask(JobAction.ABORT, uid)
    await cluster.live(2)
    cluster.reports_of = lambda kind: True
    await cluster.live()
    assert cluster.phase() == "Aborted"


async def test_a_command_for_a_namesake_that_no_watch_has_reported_yet_is_carried_out(cluster: JobCluster) -> None:
    cluster.submit(job(task("worker", 1)))
    await cluster.live()
    cluster.reports_of = lambda kind: kind != "VolcanoJob"
    for path in [path for path in cluster.api.objects if path.rsplit("/", 1)[1].startswith("train")]:
        del cluster.api.objects[path]
    cluster.submit(job(task("worker", 1)))
    cluster.ask(JobAction.ABORT, cluster.api.objects[f"{JOBS}/train"]["metadata"]["uid"])
    await cluster.live()
    assert cluster.phase() == "Aborted"


async def test_commands_for_a_job_that_is_gone_are_dropped(cluster: JobCluster) -> None:
    cluster.ask(JobAction.ABORT)
    cluster.ask(JobAction.TERMINATE)
    await cluster.live()
    assert cluster.calls == 2
    cluster.submit(job(task("worker", 1)))
    await cluster.live()
    assert cluster.phase() == "Running"
