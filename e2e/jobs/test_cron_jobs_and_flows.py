"""CronJobs, JobFlows and what job plugins give the pods, on a real API server with simulated nodes."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from e2e.conftest import SimulatedNodes, StartDaemon
from e2e.harness.daemon import QUICK_ELECTION, Daemon
from e2e.harness.namespace import Namespace
from e2e.harness.objects import pod_spec
from e2e.harness.waiting import WAIT_SECONDS
from volcano_py.local.client import APIError

COMPLETES = {"pod-complete.stage.kwok.x-k8s.io/delay": "1s"}
FAILS = {"pod-fail.stage.kwok.x-k8s.io/delay": "1s"}
BATCH = "batch.volcano.sh/v1alpha1"
FLOW = "flow.volcano.sh/v1alpha1"


def job_spec(
    selector: Mapping[str, str], *, annotations: Mapping[str, str] | None = None, **spec: Any
) -> dict[str, Any]:
    """The spec of a Job with one task of one pod."""
    pod = pod_spec(node_selector=selector, scheduler_name="", restartPolicy="Never")
    task = {"name": "work", "replicas": 1, "template": {"metadata": {"annotations": annotations or {}}, "spec": pod}}
    return {"tasks": [task], **spec}


def template(name: str, spec: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": FLOW, "kind": "JobTemplate", "metadata": {"name": name}, "spec": spec}


def flow(name: str, *steps: dict[str, Any], **spec: Any) -> dict[str, Any]:
    return {"apiVersion": FLOW, "kind": "JobFlow", "metadata": {"name": name}, "spec": {"flows": list(steps), **spec}}


def cron(name: str, spec: dict[str, Any], **more: Any) -> dict[str, Any]:
    body = {"schedule": "* * * * *", "jobTemplate": {"metadata": {"labels": {"of": name}}, "spec": spec}, **more}
    return {"apiVersion": BATCH, "kind": "CronJob", "metadata": {"name": name}, "spec": body}


class Objects:
    """CronJobs, JobFlows, JobTemplates and Jobs of a namespace."""

    def __init__(self, namespace: Namespace) -> None:
        self.namespace, self.cluster = namespace, namespace.cluster

    def path(self, plural: str, name: str = "", subresource: str = "") -> str:
        api = FLOW if plural in ("jobflows", "jobtemplates") else BATCH
        parts = (f"/apis/{api}/namespaces/{self.namespace.name}/{plural}", name, subresource)
        return "/".join(part for part in parts if part)

    async def get(self, plural: str, name: str) -> dict[str, Any]:
        found: dict[str, Any] = await self.cluster.client.get(self.path(plural, name))
        return found

    async def jobs(self) -> dict[str, dict[str, Any]]:
        """All Jobs by name."""
        items = (await self.cluster.client.get(self.path("jobs")))["items"]
        return {item["metadata"]["name"]: item for item in items}

    async def wait_flow(self, name: str, phase: str) -> dict[str, Any]:
        """Until the flow is in this phase; its status."""

        async def reached() -> dict[str, Any]:
            status: dict[str, Any] = (await self.get("jobflows", name)).get("status", {})
            assert status.get("state", {}).get("phase") == phase, status
            return status

        return await self.cluster.eventually(f"flow {name} {phase}", reached)

    async def wait_jobs(
        self, count: int, *, or_more: bool = False, seconds: float = WAIT_SECONDS
    ) -> dict[str, dict[str, Any]]:
        """Until there are as many Jobs, or more with `or_more`."""

        async def reached() -> dict[str, dict[str, Any]]:
            jobs = await self.jobs()
            assert len(jobs) == count or (or_more and len(jobs) > count), list(jobs)
            return jobs

        return await self.cluster.eventually(f"{count} jobs", reached, seconds=seconds)


def minute_of(job: str) -> int:
    """The minute since the epoch that a CronJob's Job has in its name."""
    return int(job.rpartition("-")[2])


@pytest.fixture
def objects(namespace: Namespace) -> Objects:
    return Objects(namespace)


async def test_the_jobs_of_a_flow_run_one_after_the_other(
    objects: Objects, simulated_nodes: SimulatedNodes, daemon: Daemon
) -> None:
    pool = await simulated_nodes(1, cpu="4")
    names = ["load", "train", "report"]
    spec = job_spec(pool.selector, annotations=COMPLETES)
    steps: list[dict[str, Any]] = [{"name": "report", "dependsOn": {"targets": ["train"]}}, {"name": "load"}]
    steps.append({"name": "train", "dependsOn": {"targets": ["load"]}})
    await objects.namespace.apply(flow("f", *steps), [template(name, spec) for name in names])

    status = await objects.wait_flow("f", "Succeed")

    assert sorted(status["completedJobs"]) == ["f-load", "f-report", "f-train"]
    by_name = {each["name"]: each for each in status["jobStatusList"]}
    ends = {name: by_name[f"f-{name}"]["endTimestamp"] for name in names}
    begins = {name: by_name[f"f-{name}"]["startTimestamp"] for name in names}
    assert ends["load"] <= begins["train"]
    assert ends["train"] <= begins["report"]
    assert [each["state"] for each in by_name["f-load"]["runningHistories"]][-1] == "Completed"
    job = await objects.get("jobs", "f-train")
    assert job["metadata"]["labels"]["volcano.sh/createdByJobFlow"] == f"{objects.namespace.name}.f"
    assert job["metadata"]["ownerReferences"][0]["kind"] == "JobFlow"
    await objects.namespace.wait_event("Created", "JobFlow/f")

    async def listed() -> None:
        made = (await objects.get("jobtemplates", "train"))["status"]["jobDependsOnList"]
        assert made == ["f-train"]

    await objects.cluster.eventually("the template says what was made from it", listed)


async def test_a_flow_follows_probes_patches_templates_and_clears_away(
    objects: Objects, simulated_nodes: SimulatedNodes, start_daemon: StartDaemon
) -> None:
    """The second job starts when the first one runs; a daemon that takes over in between goes on."""
    pool = await simulated_nodes(1, cpu="4")
    probe = {"taskStatusList": [{"taskName": "work", "phase": "Running"}]}
    env = [{"name": "MODE", "value": "fast"}]
    change = {"tasks": [{"name": "work", "template": {"spec": {"containers": [{"name": "main", "env": env}]}}}]}
    steps: list[dict[str, Any]] = [
        {"name": "serve"},
        {"name": "use", "dependsOn": {"targets": ["serve"], "probe": probe}, "patch": {"jobSpec": change}},
    ]
    daemon = await start_daemon(*QUICK_ELECTION)
    await objects.namespace.apply(flow("f", *steps, jobRetainPolicy="delete"))
    await objects.namespace.wait_event("JobTemplateNotFound", "JobFlow/f", saying="JobTemplate 'serve' does not exist")
    await daemon.kill()
    await start_daemon(*QUICK_ELECTION)

    # It runs until a policy completes it: what comes next comes while it runs.
    await objects.namespace.apply(
        [template("serve", job_spec(pool.selector)), template("use", job_spec(pool.selector, annotations=COMPLETES))]
    )
    jobs = await objects.wait_jobs(2)

    async def serves() -> None:
        assert (await objects.get("jobs", "f-serve"))["status"]["state"]["phase"] == "Running"

    await objects.cluster.eventually("the first job runs", serves)
    (container,) = jobs["f-use"]["spec"]["tasks"][0]["template"]["spec"]["containers"]
    assert (container["env"], "image" in container) == (env, True)
    (serving,) = await objects.namespace.pods("volcano.sh/job-name=f-serve")
    path = f"/api/v1/namespaces/{objects.namespace.name}/pods/{serving.name}"
    await objects.cluster.client.merge_patch(path, {"metadata": {"annotations": COMPLETES}})
    await objects.wait_flow("f", "Succeed")
    await objects.wait_jobs(0)
    status = (await objects.get("jobflows", "f"))["status"]
    assert (status["state"]["phase"], sorted(status["completedJobs"])) == ("Succeed", ["f-serve", "f-use"])


async def test_a_flow_stops_when_a_job_fails_and_one_in_a_cycle_never_begins(
    objects: Objects, simulated_nodes: SimulatedNodes, daemon: Daemon
) -> None:
    pool = await simulated_nodes(1, cpu="4")
    failing = job_spec(pool.selector, annotations=FAILS, policies=[{"event": "PodFailed", "action": "TerminateJob"}])
    await objects.namespace.apply(
        [template("a", failing), template("b", job_spec(pool.selector))],
        flow("broken", {"name": "a"}, {"name": "b", "dependsOn": {"targets": ["a"]}}),
        flow("round", {"name": "a", "dependsOn": {"targets": ["b"]}}, {"name": "b", "dependsOn": {"targets": ["a"]}}),
    )

    status = await objects.wait_flow("broken", "Failed")

    assert status["terminatedJobs"] == ["broken-a"]
    await objects.namespace.wait_event("InvalidJobFlow", "JobFlow/round", saying="has a cycle")
    assert set(await objects.jobs()) == {"broken-a"}


async def test_of_two_steps_with_one_name_the_first_runs_and_an_event_says_so(
    objects: Objects, simulated_nodes: SimulatedNodes, daemon: Daemon
) -> None:
    pool = await simulated_nodes(1, cpu="4")
    await objects.namespace.apply(
        template("a", job_spec(pool.selector, annotations=COMPLETES)),
        flow("twice", {"name": "a"}, {"name": "a", "dependsOn": {"targets": ["b"]}}),
    )

    status = await objects.wait_flow("twice", "Succeed")

    assert status["completedJobs"] == ["twice-a"]
    await objects.namespace.wait_event("InvalidJobFlow", "JobFlow/twice", saying="names a more than once")


async def test_a_cron_job_fires_once_for_each_minute_in_any_replica(
    objects: Objects, simulated_nodes: SimulatedNodes, start_daemon: StartDaemon
) -> None:
    """Of the minutes that were missed, the last is caught up; a daemon that takes over goes on with the next minute."""
    pool = await simulated_nodes(1, cpu="4")
    daemon = await start_daemon(*QUICK_ELECTION)
    spec = job_spec(pool.selector, annotations=COMPLETES)
    await objects.namespace.apply(cron("tick", spec, suspend=True, timeZone="Europe/Berlin"))
    long_ago = (datetime.now(UTC) - timedelta(minutes=7)).strftime("%Y-%m-%dT%H:%M:00Z")
    await objects.cluster.client.merge_patch(
        objects.path("cronjobs", "tick", "status"), {"status": {"lastScheduleTime": long_ago}}
    )
    assert await objects.jobs() == {}

    resumed = int(datetime.now(UTC).timestamp()) // 60
    await objects.cluster.client.merge_patch(objects.path("cronjobs", "tick"), {"spec": {"suspend": False}})

    # One at first; the turn of a minute may be close.
    jobs = await objects.wait_jobs(1, or_more=True)
    await daemon.kill()
    await start_daemon(*QUICK_ELECTION)
    job = min(jobs.values(), key=lambda each: minute_of(each["metadata"]["name"]))
    due = datetime.fromisoformat(job["metadata"]["annotations"]["volcano.sh/cronjob-scheduled-timestamp"])
    assert due.utcoffset() in (timedelta(hours=1), timedelta(hours=2))
    assert int(due.timestamp()) // 60 == minute_of(job["metadata"]["name"])
    assert minute_of(job["metadata"]["name"]) >= resumed
    assert job["metadata"]["labels"]["of"] == "tick"
    assert job["metadata"]["ownerReferences"][0]["kind"] == "CronJob"

    async def succeeded() -> None:
        status = (await objects.get("cronjobs", "tick"))["status"]
        assert datetime.fromisoformat(status["lastScheduleTime"]) >= due
        assert "lastSuccessfulTime" in status, status

    await objects.cluster.eventually("the job's success is reported", succeeded)
    later = await objects.wait_jobs(len(jobs) + 1, or_more=True, seconds=60 + WAIT_SECONDS)
    await objects.namespace.wait_event("SuccessfulCreate", "CronJob/tick")

    minutes = sorted(map(minute_of, later))
    assert minutes == list(range(minutes[0], minutes[0] + len(minutes)))
    assert minute_of(job["metadata"]["name"]) == minutes[0]


async def test_controllers_can_be_switched_off_one_by_one(
    objects: Objects, simulated_nodes: SimulatedNodes, start_daemon: StartDaemon
) -> None:
    """Volcano's job controller may run the Jobs that ours of CronJobs makes; that of JobFlows is off."""
    await start_daemon("--controllers=queue,cronjob")
    metadata = {"name": "old", "annotations": {"of": "another"}}
    await objects.namespace.apply({"apiVersion": BATCH, "kind": "Job", "metadata": metadata, "spec": job_spec({})})
    await objects.namespace.apply(template("a", job_spec({})), flow("f", {"name": "a"}))
    await objects.namespace.apply(cron("tick", job_spec({}), suspend=True))
    long_ago = (datetime.now(UTC) - timedelta(days=400)).strftime("%Y-%m-%dT%H:%M:00Z")
    await objects.cluster.client.merge_patch(
        objects.path("cronjobs", "tick", "status"), {"status": {"lastScheduleTime": long_ago}}
    )
    # Once a year, so that it fires once in this test.
    await objects.cluster.client.merge_patch(
        objects.path("cronjobs", "tick"), {"spec": {"suspend": False, "schedule": "0 0 1 1 *"}}
    )

    jobs = await objects.wait_jobs(2)

    assert not any(job.get("status") for job in jobs.values())
    assert "f-a" not in jobs


async def test_only_so_many_jobs_that_have_ended_are_kept(
    objects: Objects, simulated_nodes: SimulatedNodes, daemon: Daemon
) -> None:
    pool = await simulated_nodes(1, cpu="4")
    await objects.namespace.apply(cron("tick", job_spec(pool.selector), schedule="0 0 1 1 *"))
    owner = (await objects.get("cronjobs", "tick"))["metadata"]
    reference = {"apiVersion": BATCH, "kind": "CronJob", "name": "tick", "uid": owner["uid"], "controller": True}
    for number in range(5):
        metadata = {"name": f"tick-{number}", "ownerReferences": [reference]}
        spec = job_spec(pool.selector, annotations=COMPLETES)
        await objects.namespace.apply({"apiVersion": BATCH, "kind": "Job", "metadata": metadata, "spec": spec})

    jobs = await objects.wait_jobs(3)  # successfulJobsHistoryLimit

    assert all(job["status"]["state"]["phase"] == "Completed" for job in jobs.values())
    await objects.namespace.wait_event("SuccessfulDelete", "CronJob/tick")


async def test_the_pods_of_a_pytorch_job_know_their_master_and_rank(
    objects: Objects, simulated_nodes: SimulatedNodes, daemon: Daemon
) -> None:
    pool = await simulated_nodes(2, cpu="4")
    pod = pod_spec(node_selector=pool.selector, scheduler_name="", restartPolicy="Never")
    tasks = [
        {"name": "master", "replicas": 1, "template": {"spec": pod}},
        {"name": "worker", "replicas": 2, "template": {"spec": pod}},
    ]
    plugins = {"env": [], "pytorch": ["--port=23400", "--wait-master-enabled=true"]}
    metadata = {"name": "torch"}
    await objects.namespace.apply(
        {"apiVersion": BATCH, "kind": "Job", "metadata": metadata, "spec": {"tasks": tasks, "plugins": plugins}}
    )

    pods = {each.name: each for each in await objects.namespace.wait_phases(Running=3)}

    ranks = {"torch-master-0": "0", "torch-worker-0": "1", "torch-worker-1": "2"}
    assert pods.keys() == ranks.keys()
    for name, rank in ranks.items():
        spec = pods[name].spec
        env = {each["name"]: each.get("value") for each in spec["containers"][0]["env"]}
        assert env["MASTER_ADDR"] == "torch-master-0.torch"
        assert (env["MASTER_PORT"], env["WORLD_SIZE"], env["RANK"]) == ("23400", "3", rank)
        assert (env["VC_TASK_INDEX"], "VC_WORKER_HOSTS" in env) == (name[-1], True)
        assert (spec["hostname"], spec["subdomain"]) == (name, "torch")
        waits = [each["name"] for each in spec.get("initContainers", [])]
        assert waits == ([] if name == "torch-master-0" else ["wait-for-master"])
    prefix = f"/api/v1/namespaces/{objects.namespace.name}"
    hosts = (await objects.cluster.client.get(f"{prefix}/configmaps/torch-svc"))["data"]["worker.host"]
    assert hosts.split() == ["torch-worker-0.torch", "torch-worker-1.torch"]
    assert (await objects.cluster.client.get(f"{prefix}/services/torch"))["spec"]["clusterIP"] == "None"


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"schedule": "* * * *"}, "must have five fields"),
        ({"schedule": "@noon"}, "known schedules are @hourly"),
        ({"schedule": "TZ=UTC * * * * *"}, "write it into spec.timeZone"),
        ({"timeZone": "Local"}, "name a time zone such as Europe/Berlin"),
        ({"timeZone": "../etc"}, "should match"),
        ({"concurrencyPolicy": "Sometimes"}, "Unsupported value"),
        ({"startingDeadlineSeconds": -1}, "greater than or equal to 0"),
        ({"jobTemplate": {"spec": {"maxRetry": -1, "tasks": [{"name": "a"}]}}}, "greater than or equal to 0"),
    ],
)
async def test_the_api_server_refuses_a_cron_job_that_cannot_be(
    objects: Objects, spec: dict[str, Any], message: str
) -> None:
    with pytest.raises(APIError, match=message) as refusal:
        await objects.cluster.client.create(objects.path("cronjobs"), cron("bad", job_spec({}), **spec))
    assert refusal.value.status == 422


async def test_the_api_server_refuses_a_name_that_leaves_no_room_for_the_time(objects: Objects) -> None:
    with pytest.raises(APIError, match="longer than 52 characters"):
        await objects.cluster.client.create(objects.path("cronjobs"), cron("x" * 53, job_spec({})))
    await objects.cluster.client.create(objects.path("cronjobs"), cron("x" * 52, job_spec({}), suspend=True))


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        ([{"name": "a", "dependsOn": {"targets": ["a"]}}], "a step cannot depend on itself"),
        ([{"name": ""}], "at least 1 char"),
        ([{"dependsOn": {"targets": []}}], "Required value"),
    ],
)
async def test_the_api_server_refuses_a_flow_that_cannot_be(
    objects: Objects, steps: list[dict[str, Any]], message: str
) -> None:
    with pytest.raises(APIError, match=message) as refusal:
        await objects.cluster.client.create(objects.path("jobflows"), flow("bad", *steps))
    assert refusal.value.status == 422


async def test_schedules_and_zones_in_use_are_taken(objects: Objects) -> None:
    schedules = ["*/5 * * * *", "0 9 * * MON-FRI", "@daily", "@every 1h30m", " 0  0\t1 * ? "]
    zones = ["Etc/UTC", "America/Argentina/Buenos_Aires", "Etc/GMT+5", "UTC"]
    for number, schedule in enumerate(schedules):
        body = cron(f"c{number}", job_spec({}), schedule=schedule, timeZone=zones[number % len(zones)], suspend=True)
        await objects.cluster.client.create(objects.path("cronjobs"), body)
    table = await objects.cluster.kubectl("get", "cronvj", "-n", objects.namespace.name)
    assert table.split()[:6] == ["NAME", "SCHEDULE", "TIMEZONE", "SUSPEND", "LAST", "SCHEDULE"]
    assert "@every 1h30m" in table
