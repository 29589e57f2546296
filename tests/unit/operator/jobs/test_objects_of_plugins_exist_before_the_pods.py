"""What plugins keep next to the pods of a Job is created again when it has gone, before pods that need it are."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.support.jobs.job_cluster import JOBS, NAMESPACE, JobCluster, job, task
from volcano_py.jobs.model import JobAction

CONFIG_MAP = f"/api/v1/namespaces/{NAMESPACE}/configmaps/train-svc"
SERVICE = f"/api/v1/namespaces/{NAMESPACE}/services/train"
SECRETS = f"/api/v1/namespaces/{NAMESPACE}/secrets"
SECRET = f"{SECRETS}/train-ssh"
SSH = {"ssh": ["--ssh-key-type=ed25519"]}


@pytest.fixture
async def cluster(api: Any, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[JobCluster]:
    async def at_once(make: Any) -> Any:  # time that passes virtually does not wait for threads
        return make()

    monkeypatch.setattr("volcano_py.operator.jobs.objects.asyncio.to_thread", at_once)
    cluster = JobCluster(api)
    cluster.start()
    yield cluster
    await cluster.stop()


async def test_deleted_objects_are_created_again_when_the_job_is_restarted(cluster: JobCluster) -> None:
    cluster.submit(job(task("worker", 2), plugins={"svc": []}))
    await cluster.live(3)
    del cluster.api.objects[CONFIG_MAP], cluster.api.objects[SERVICE]
    assert cluster.controller is not None
    cluster.controller.request("ns/train", JobAction.RESTART_JOB, "Command ns/c")
    await cluster.live(10)
    assert cluster.phase() == "Running"
    assert {CONFIG_MAP, SERVICE} <= cluster.api.objects.keys()


async def test_the_hosts_are_created_again_when_a_part_of_the_job_is_restarted(cluster: JobCluster) -> None:
    policies = [{"event": "PodFailed", "action": "RestartPod"}]
    cluster.submit(job(task("worker", 2), policies=policies, plugins={"svc": []}))
    await cluster.live(3)
    del cluster.api.objects[CONFIG_MAP]
    cluster.pod_is("train-worker-1", "Failed", 1)
    await cluster.live(10)
    assert cluster.phase() == "Running"
    assert CONFIG_MAP in cluster.api.objects


async def test_a_job_does_not_take_the_secret_of_a_deleted_namesake_for_its_own(cluster: JobCluster) -> None:
    """It may not read Secrets, and the garbage collector takes a while."""
    cluster.submit(job(task("worker", 1), plugins=SSH))
    await cluster.live(3)
    first = cluster.api.objects[SECRET]
    for path in [path for path in cluster.api.objects if path.rsplit("/", 1)[1].startswith("train")]:
        if path != SECRET:
            del cluster.api.objects[path]
    cluster.submit(job(task("worker", 1), plugins=SSH))
    await cluster.live(30)
    assert cluster.api.objects[SECRET] is first
    del cluster.api.objects[SECRET]
    await cluster.live(60)
    (owner,) = cluster.api.objects[SECRET]["metadata"]["ownerReferences"]
    assert owner["uid"] == cluster.api.objects[f"{JOBS}/train"]["metadata"]["uid"]


async def test_a_secret_of_its_own_from_before_a_restart_costs_few_requests(cluster: JobCluster) -> None:
    cluster.admits = False
    cluster.killing = (cluster.calls + 3, False)  # the PodGroup, after the Secret
    cluster.submit(job(task("worker", 1), plugins=SSH))
    await cluster.live(3600)
    assert SECRET in cluster.api.objects
    assert 2 <= cluster.api.count("POST", SECRETS) <= 15
