"""`volcano-py job view` of a job whose pods wait, or are not made yet: the scheduler says why on its PodGroup."""

from __future__ import annotations

import asyncio

import pytest

from tests.unit.cli.cluster import SCHEDULING, UserOfCluster, found, is_missing, pod_group
from tests.unit.cluster.fakes import Reply, eventually, page, refusal
from volcano_py.cli.jobs import following, rows

JOB = {
    "apiVersion": "batch.volcano.sh/v1alpha1",
    "kind": "Job",
    "metadata": {"name": "train", "namespace": "default", "uid": "u1"},
    "spec": {"queue": "research", "minAvailable": 2, "tasks": [{"name": "worker", "replicas": 2, "template": {}}]},
    "status": {"state": {"phase": "Pending"}},
}
GROUP = f"{SCHEDULING}/namespaces/default/podgroups/train-u1"
WHY = "OverCapability: 2/2 tasks in gang unschedulable: queue research: 3 cpu allocated + 2 asked > 4 capability"


@pytest.fixture
def train(user: UserOfCluster) -> UserOfCluster:
    """A cluster that has the job."""
    user.api.on("GET", "/apis/batch.volcano.sh/v1alpha1/namespaces/default/jobs/train", found(JOB))
    user.api.on("GET", "/api/v1/namespaces/default/events", Reply(body={"items": []}))
    return user


async def test_a_job_that_is_watched_says_when_its_pod_group_waits_for_something_else(
    train: UserOfCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The scheduler writes it on the PodGroup; the job itself stays as it is."""
    monkeypatch.setattr(following, "LOOK_AGAIN", 0.02)
    train.api.on("GET", "/apis/batch.volcano.sh/v1alpha1/namespaces/default/jobs", page(7, JOB))
    whys = ["", "", WHY, WHY, "NotEnoughResources: no node has 4 cpu"]
    train.api.on("GET", GROUP, *(found(pod_group("train-u1", "default", phase="Pending", why=why)) for why in whys))
    viewing = asyncio.create_task(train.run("job", "view", "--name", "train", "--watch"))
    watch = await train.api.watch()
    await eventually(lambda: len(train.api.sent("GET", GROUP)) > len(whys) + 1)
    await watch.send("DELETED", JOB)
    train.api.refuse_watch(refusal(403, "Forbidden", "no more"))
    watch.end()
    reported = (await viewing).stdout.splitlines()
    waits = [line.split(maxsplit=1)[1] for line in reported if line.startswith("Waits:")]
    assert (waits, sum(line.startswith("Phase:") for line in reported)) == ([WHY, whys[-1]], 3)


async def test_a_job_says_what_its_pod_group_waits_for(train: UserOfCluster) -> None:
    train.api.on("GET", GROUP, found(pod_group("train-u1", "default", phase="Pending", why=WHY)))
    reported = await train.prints("job", "view", "--name", "train")
    assert [line.split(maxsplit=1)[1] for line in reported.splitlines() if line.startswith("Waits:")] == [WHY]


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(is_missing("podgroups", "train-u1"), id="not made yet"),
        pytest.param(refusal(403, "Forbidden", "no"), id="none of our business"),
        pytest.param(Reply(body={"spec": {"minMember": "many"}}), id="unreadable"),
        pytest.param(found(pod_group("train-u1", "default", phase="Inqueue")), id="it says nothing"),
    ],
)
async def test_where_it_cannot_be_known_nothing_is_reported(train: UserOfCluster, answer: Reply) -> None:
    train.api.on("GET", GROUP, answer)
    assert "Waits:" not in await train.prints("job", "view", "--name", "train")


@pytest.mark.parametrize(
    ("phase", "waits", "shown"),
    [("Pending", "", "cpu: -1 is negative"), ("Pending", WHY, WHY), ("Completed", "", "-")],
    ids=["no pods can be created", "its PodGroup waits", "it has ended"],
)
def test_the_list_shows_what_the_job_says_of_itself_where_its_pod_group_says_nothing(
    phase: str, waits: str, shown: str
) -> None:
    job = {**JOB, "status": {"state": {"phase": phase, "message": "cpu: -1 is negative"}}}
    cells = rows.job_row(job, 0.0, waits)
    assert str(cells[rows.HEADER.index("WHY IT WAITS")]) == shown


def test_the_list_shows_what_the_api_server_refuses_although_the_pod_group_waits_for_pods() -> None:
    state = {"phase": "Pending", "reason": "FailedCreate", "message": "no PriorityClass with name high"}
    cells = rows.job_row({**JOB, "status": {"state": state}}, 0.0, "NotEnoughTasks: wait until Job train creates 2")
    assert str(cells[rows.HEADER.index("WHY IT WAITS")]) == "FailedCreate: no PriorityClass with name high"


MISSING = "QueueNotFound: queue research does not exist: create it"


@pytest.mark.parametrize(
    ("phase", "why", "shown"),
    [("Running", MISSING, MISSING), ("Running", WHY, "-"), ("Completed", MISSING, "-"), ("Pending", WHY, WHY)],
    ids=["its queue is gone", "one of its pods waits", "it has ended", "it waits"],
)
async def test_a_job_that_runs_says_only_that_its_queue_does_not_exist(
    train: UserOfCluster, phase: str, why: str, shown: str
) -> None:
    job = {**JOB, "status": {"state": {"phase": phase}}}
    group = pod_group("train-u1", "default", phase="Running" if why == MISSING else "Pending", why=why)
    train.api.on("GET", "/apis/batch.volcano.sh/v1alpha1/namespaces/default/jobs/train", found(job))
    train.api.on("GET", "/apis/batch.volcano.sh/v1alpha1/namespaces/default/jobs", page(7, job))
    train.api.on("GET", GROUP, found(group))
    train.api.on("GET", GROUP.removesuffix("/train-u1"), page(7, group))
    listed = (await train.prints("job", "list")).splitlines()
    assert listed[1].endswith(f"-    {shown}" if shown != "-" else "-    -")
    viewed = await train.prints("job", "view", "--name", "train")
    assert [line.split(maxsplit=1)[1] for line in viewed.splitlines() if line.startswith("Waits:")] == (
        [] if shown == "-" else [shown]
    )
