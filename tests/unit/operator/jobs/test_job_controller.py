"""The job controller against an API server in memory: what others do meanwhile, refusals, Commands, and time."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from tests.support.jobs.job_cluster import GROUPS, JOBS, NAMESPACE, PODS, JobCluster, job, task
from volcano_py.cluster.kubernetes.http.errors import UnreachableError, api_error
from volcano_py.cluster.kubernetes.http.paths import ApiPath
from volcano_py.jobs.defaults import JobRules
from volcano_py.jobs.model import JobAction
from volcano_py.jobs.plugins import JobPlugin, JobPlugins
from volcano_py.operator.queues.commands import Command, CommandController


async def test_a_job_that_settles_costs_nothing(cluster: JobCluster) -> None:
    cluster.submit(job(task("worker", 3)))
    await cluster.live()
    before = cluster.calls
    await cluster.live(60)
    assert cluster.phase() == "Running"
    assert cluster.calls == before


async def test_how_long_each_pod_was_created_after_its_job_is_reported(cluster: JobCluster) -> None:
    cluster.admits = False
    cluster.submit(job(task("worker", 3)))
    await cluster.live(30)
    assert cluster.made_after == []
    cluster.admits = True
    await cluster.live()
    assert [30 <= seconds < 40 for seconds in cluster.made_after] == [True] * 3


async def test_a_pod_that_was_there_already_was_not_created_again(cluster: JobCluster) -> None:
    """A request that got no answer may have been carried out."""
    answered = cluster.api.post

    async def post(path: ApiPath, body: Any) -> bytes:
        answer: bytes = await answered(path, body)
        if str(path) == PODS and cluster.api.count("POST", "/pods") == 1:
            raise UnreachableError("POST", str(path), "the connection broke")
        return answer

    cluster.api.post = post
    cluster.submit(job(task("worker", 2)))
    await cluster.live()
    assert (cluster.phase(), len(cluster.pods()), len(cluster.made_after)) == ("Running", 2, 1)


async def test_counts_are_written_now_and_then_and_phases_at_once(cluster: JobCluster) -> None:
    """A hundred pods that start one after the other are no hundred writes."""
    cluster.runs = lambda name: False
    cluster.submit(job(task("worker", 100), minAvailable=1))
    await cluster.live(2)
    written = cluster.api.count("PATCH", "/status")
    for index in range(100):
        cluster.pod_is(f"train-worker-{index}", "Running")
        await asyncio.sleep(0.01)
    await cluster.live(2)
    assert cluster.status()["running"] == 100
    assert cluster.api.count("PATCH", "/status") - written <= 5


async def test_a_status_that_another_has_written_meanwhile_is_read_again(cluster: JobCluster) -> None:
    conflict = api_error("PATCH", JOBS, 409, b'{"reason": "Conflict"}')
    cluster.api.refuse("PATCH", "/status", conflict, conflict)
    cluster.submit(job(task("worker", 2)))
    await cluster.live()
    assert cluster.phase() == "Running"


async def test_an_api_server_that_is_away_is_waited_for(cluster: JobCluster) -> None:
    away = [UnreachableError("POST", PODS, "refused") for _ in range(40)]
    cluster.api.refuse("POST", "/pods", *away)
    cluster.submit(job(task("worker", 4)))
    await cluster.live(200)
    assert cluster.phase() == "Running"
    assert set(cluster.created.values()) == {1}


async def test_one_pod_that_is_refused_does_not_keep_the_others_from_being_created(cluster: JobCluster) -> None:
    refusal = api_error("POST", PODS, 403, b'{"reason": "Forbidden", "message": "exceeded quota"}')
    cluster.api.refuse("POST", "/pods", *[refusal] * 3)
    cluster.submit(job(task("worker", 4)))
    await cluster.live(2)
    assert len(cluster.pods()) >= 1
    assert any("exceeded quota" in message for message in cluster.messages("FailedCreate"))
    await cluster.live(20)
    assert len(cluster.pods()) == 4


async def test_a_refusal_is_in_the_status_until_all_pods_are_accepted(cluster: JobCluster) -> None:
    answered = cluster.api.post

    async def refuse(path: ApiPath, body: Any) -> bytes:
        if str(path) == PODS:
            message = b'{"reason": "Forbidden", "message": "no PriorityClass with name high"}'
            raise api_error("POST", PODS, 403, message)
        answer: bytes = await answered(path, body)
        return answer

    cluster.api.post = refuse
    cluster.submit(job(task("worker", 1)))
    await cluster.live(5)
    state = cluster.status()["state"]
    assert (state["phase"], state["reason"]) == ("Pending", "FailedCreate")
    [(path, group)] = cluster.of(GROUPS).items()
    cluster.admits = False
    cluster.api.put(path, {**group, "status": {"phase": "Pending"}})  # the promise of its place has lapsed
    await cluster.live(60)
    assert cluster.status()["state"] == state
    cluster.admits = True
    assert state["message"] == f"POST {PODS}: 403 Forbidden: no PriorityClass with name high"
    cluster.api.post = answered
    await cluster.live(60)
    state = cluster.status()["state"]
    assert (state["phase"], state.get("reason", ""), state.get("message", "")) == ("Running", "", "")


async def test_a_job_whose_queue_refuses_its_pod_group_has_that_in_its_status(cluster: JobCluster) -> None:
    refusal = api_error("POST", GROUPS, 403, b'{"reason": "Forbidden", "message": "queue old is closed"}')
    cluster.api.refuse_all("POST", "/podgroups", refusal)
    cluster.submit(job(task("worker", 1)))
    await cluster.live(5)
    state = cluster.status()["state"]
    assert (state["reason"], state["message"]) == ("PodGroupError", str(refusal))


async def test_counts_are_written_while_some_pods_are_refused(cluster: JobCluster) -> None:
    """PodSecurity forbids the pods of one task; the other's run and end."""
    original = cluster.api.post

    async def post(path: ApiPath, body: Any) -> bytes:
        if str(path) == PODS and body["metadata"]["name"] == "train-bad-0":
            raise api_error("POST", str(path), 403, b'{"reason": "Forbidden"}')
        answer: bytes = await original(path, body)
        return answer

    cluster.api.post = post
    cluster.submit(job(task("good", 2), task("bad", 1), minAvailable=2))
    await cluster.live(10)
    assert cluster.phase() == "Running"
    cluster.pod_is("train-good-0", "Succeeded")
    cluster.pod_is("train-good-1", "Failed", 1)
    await cluster.live(2)
    status = cluster.status()
    assert (status.get("running", 0), status.get("succeeded"), status.get("failed")) == (0, 1, 1), status


async def test_a_job_whose_pods_can_never_be_is_terminated(cluster: JobCluster) -> None:
    invalid = api_error("POST", PODS, 422, b'{"reason": "Invalid", "message": "spec.containers: Required value"}')
    cluster.api.refuse_all("POST", "/pods", invalid)
    cluster.submit(job(task("worker", 1)))
    await cluster.live(600)
    assert cluster.phase() == "Terminated"
    (reported,) = cluster.messages("ExecuteAction")
    assert reported.startswith("TerminateJob: failed 16 times: POST ")
    assert "spec.containers: Required value" in reported
    state = cluster.status()["state"]
    assert f"{state['reason']}: {state['message']}" == reported


@pytest.mark.parametrize("action", ["RestartJob", "RestartTask", "RestartPod"])
async def test_the_last_try_keeps_what_has_finished(cluster: JobCluster, action: str) -> None:
    """Its logs say why the job has failed."""
    cluster.submit(job(task("worker", 2), maxRetry=1, policies=[{"event": "PodFailed", "action": action}]))
    await cluster.live(3)
    cluster.pod_is("train-worker-1", "Failed", 1)
    await cluster.live(10)
    assert cluster.phase() == "Failed"
    assert cluster.pods() == {"train-worker-1": "Failed"}


async def restarted(cluster: JobCluster, **options: Any) -> None:
    """Another controller takes the place of the first one."""
    await cluster.stop()
    cluster.options = options
    cluster.start()


async def test_a_job_may_be_tried_forever(cluster: JobCluster) -> None:
    await restarted(cluster, max_requeues=-1)
    invalid = api_error("POST", PODS, 422, b'{"reason": "Invalid", "message": "spec.containers: Required value"}')
    cluster.api.refuse_all("POST", "/pods", invalid)
    cluster.submit(job(task("worker", 1)))
    await cluster.live(1200)
    assert cluster.phase() == "Pending"


async def test_counts_are_written_when_the_clock_has_been_set_back(cluster: JobCluster) -> None:
    offset = [0.0]
    await restarted(cluster, now=lambda: cluster.now().timestamp() + offset[0])
    cluster.submit(job(task("worker", 4), minAvailable=1))
    await cluster.live()
    assert cluster.status()["running"] == 4
    offset[0] = -3600.0
    cluster.pod_is("train-worker-0", "Succeeded", exit_code=0)
    await cluster.live(3)
    assert (cluster.status()["running"], cluster.status()["succeeded"]) == (3, 1)


async def test_a_command_that_comes_while_another_is_carried_out_is_not_lost(cluster: JobCluster) -> None:
    cluster.submit(job(task("worker", 2)))
    await cluster.live()
    original = cluster.api.patch
    has_come: list[ApiPath] = []

    async def patch(path: ApiPath, body: dict[str, Any]) -> bytes:
        if not has_come and body.get("status", {}).get("state", {}).get("phase") == "Aborting":
            has_come.append(path)
            cluster.ask(JobAction.RESUME)
        answer: bytes = await original(path, body)
        return answer

    cluster.api.patch = patch
    cluster.ask(JobAction.ABORT)
    await cluster.live()
    assert has_come
    assert (cluster.phase(), cluster.status()["version"]) == ("Running", 1)


@pytest.mark.parametrize("latency", [0.0, 0.3])
async def test_commands_that_come_together_are_carried_out_one_after_the_other(
    cluster: JobCluster, latency: float
) -> None:
    cluster.submit(job(task("worker", 2)))
    await cluster.live()
    cluster.api.latency = latency
    cluster.ask(JobAction.TERMINATE)
    cluster.ask(JobAction.RESTART_JOB)
    await cluster.live()
    assert (cluster.phase(), cluster.pods()) == ("Terminated", {})
    assert len(cluster.messages("CommandIssued")) == 2


@pytest.mark.parametrize(
    ("action", "end"),
    [(JobAction.ABORT, "Aborted"), (JobAction.TERMINATE, "Terminated"), (JobAction.RESUME, "Running")],
)
async def test_a_command_that_stops_a_job_which_is_restarted_is_carried_out_afterwards(
    cluster: JobCluster, action: JobAction, end: str
) -> None:
    """Its pods may take long to go."""
    cluster.submit(job(task("worker", 2)))
    await cluster.live()
    going = cluster.pod("train-worker-0")
    metadata = {**going["metadata"], "deletionTimestamp": "2026-03-02T09:00:10Z"}
    cluster.api.put(f"{PODS}/train-worker-0", {**going, "metadata": metadata})
    cluster.ask(JobAction.RESTART_JOB)
    await cluster.live()
    assert cluster.phase() == "Restarting"
    cluster.ask(action)
    await cluster.live(60)
    assert cluster.phase() == "Restarting"
    cluster.remove_pod("train-worker-0")
    await cluster.live()
    assert (cluster.phase(), cluster.created["train-worker-0", "1"]) == (end, 1 if end == "Running" else 0)
    assert len(cluster.messages("CommandIssued")) == 2


async def test_a_namesake_that_comes_at_once_has_everything_made_for_it(cluster: JobCluster) -> None:
    """What was known of the first job is nothing that is known of the second."""
    service = f"/api/v1/namespaces/{NAMESPACE}/services/train"
    cluster.submit(job(task("worker", 1), plugins={"svc": []}))
    await cluster.live()
    assert service in cluster.api.objects
    for path in [path for path in cluster.api.objects if path.rsplit("/", 1)[1].startswith("train")]:
        del cluster.api.objects[path]
    cluster.submit(job(task("worker", 1), plugins={"svc": []}))
    await cluster.live()
    owner = cluster.api.objects[service]["metadata"]["ownerReferences"][0]["uid"]
    assert owner == cluster.api.objects[f"{JOBS}/train"]["metadata"]["uid"]
    assert cluster.phase() == "Running"


async def test_a_foreign_pod_of_the_same_name_is_left_alone(cluster: JobCluster) -> None:
    foreign = cluster.api.put(
        f"{PODS}/train-worker-0", {"metadata": {"name": "train-worker-0", "namespace": NAMESPACE}}
    )
    cluster.submit(job(task("worker", 2)))
    await cluster.live(5)
    assert cluster.pod("train-worker-0")["metadata"]["uid"] == foreign["metadata"]["uid"]
    assert "train-worker-1" in cluster.pods()
    (reported,) = cluster.messages("FailedCreate")
    assert reported == (
        "pod ns/train-worker-0 exists but does not belong to this job; delete it, or give the job another name"
    )
    cluster.remove_pod("train-worker-0")
    await cluster.live()
    assert cluster.phase() == "Running"


async def test_a_namesake_of_a_deleted_job_has_pods_of_its_own(cluster: JobCluster) -> None:
    cluster.submit(job(task("worker", 1)))
    await cluster.live()
    old = cluster.pod("train-worker-0")["metadata"]["uid"]
    del cluster.api.objects[f"{JOBS}/train"]
    cluster.submit(job(task("worker", 1)))
    await cluster.live(3)
    assert cluster.pod("train-worker-0")["metadata"]["uid"] == old, "until the garbage collector has had its turn"
    cluster.remove_pod("train-worker-0")
    await cluster.live()
    assert cluster.phase() == "Running"
    owner = cluster.pod("train-worker-0")["metadata"]["ownerReferences"][0]["uid"]
    assert owner == cluster.api.objects[f"{JOBS}/train"]["metadata"]["uid"]


async def test_pods_wait_for_the_queue(cluster: JobCluster) -> None:
    cluster.admits = False
    cluster.submit(job(task("worker", 2)))
    await cluster.live()
    assert cluster.pods() == {}
    (reported,) = cluster.messages("PodGroupPending")
    assert reported.endswith("is admitted to queue default")
    cluster.admits = True
    await cluster.live()
    assert cluster.phase() == "Running"


async def test_a_job_of_another_scheduler_says_so_until_that_admits_it(cluster: JobCluster) -> None:
    """The name may be a typing error: then nothing would ever happen."""
    await cluster.stop()
    cluster.options["rules"] = JobRules(scheduler_names=frozenset({"volcano"}))
    cluster.start()
    cluster.admits = False
    cluster.submit(job(task("worker", 1), schedulerName="Volcano"))
    await cluster.live()
    state = cluster.status()["state"]
    assert (state["phase"], state["reason"]) == ("Pending", "OtherScheduler")
    assert state["message"].startswith("schedulerName is Volcano; this scheduler is volcano: create the Job again with")
    cluster.admits = True
    await cluster.live()
    state = cluster.status()["state"]
    assert (state["phase"], state.get("reason", "")) == ("Running", "")


@pytest.mark.parametrize(("of_namespace", "expected"), [("", "batch"), ("team", "team")])
async def test_a_job_that_names_no_queue_goes_where_its_namespace_says_else_to_the_default_queue(
    cluster: JobCluster, of_namespace: str, expected: str
) -> None:
    annotations = {"scheduling.volcano.sh/queue-name": of_namespace}
    await cluster.stop()
    cluster.options["rules"] = JobRules(default_queue="batch")
    cluster.start()
    cluster.api.put(f"/api/v1/namespaces/{NAMESPACE}", {"metadata": {"name": NAMESPACE, "annotations": annotations}})
    cluster.submit(job(task("worker", 1)))
    await cluster.live()
    assert [group["spec"]["queue"] for group in cluster.of(GROUPS).values()] == [expected]
    (pod,) = cluster.of(PODS).values()
    assert pod["metadata"]["labels"]["volcano.sh/queue-name"] == expected


async def test_a_lost_pod_without_a_policy_is_created_again(cluster: JobCluster) -> None:
    cluster.submit(job(task("worker", 2)))
    await cluster.live()
    cluster.remove_pod("train-worker-0")
    await cluster.live()
    assert cluster.created["train-worker-0", "0"] == 2
    assert (cluster.phase(), cluster.status().get("retryCount", 0)) == ("Running", 0)


async def test_a_task_whose_dependency_has_failed_waits_until_that_is_created_again(cluster: JobCluster) -> None:
    """As the event says: delete the failed pod."""
    cluster.runs = lambda name: False
    cluster.submit(job(task("a", 1), task("b", 1, dependsOn={"name": ["a"]}), minAvailable=1))
    await cluster.live(3)
    assert cluster.pods() == {"train-a-0": "Pending"}
    assert cluster.messages("DependencyFailed") == []
    cluster.pod_is("train-a-0", "Failed", 1)
    await cluster.live(3600)
    assert len(cluster.messages("DependencyFailed")) == 1
    cluster.runs = lambda name: True
    cluster.remove_pod("train-a-0")
    await cluster.live(10)
    assert cluster.pods() == {"train-a-0": "Running", "train-b-0": "Running"}


async def test_a_deleted_group_is_created_again_and_the_pods_run_on(cluster: JobCluster) -> None:
    cluster.submit(job(task("worker", 2)))
    await cluster.live()
    (group,) = cluster.groups()
    del cluster.api.objects[f"{GROUPS}/{group['metadata']['name']}"]
    await cluster.live()
    assert len(cluster.groups()) == 1
    assert set(cluster.created.values()) == {1}


async def test_abort_and_resume(cluster: JobCluster) -> None:
    cluster.submit(job(task("worker", 2)))
    await cluster.live()
    cluster.ask(JobAction.ABORT)
    await cluster.live()
    assert (cluster.phase(), cluster.pods(), cluster.groups()) == ("Aborted", {}, [])
    cluster.ask(JobAction.RESUME)
    await cluster.live()
    assert cluster.phase() == "Running"
    assert {version for _, version in cluster.created} == {"0", "1"}
    assert cluster.messages("CommandIssued") == [
        "AbortJob, requested by Command ns/c",
        "ResumeJob, requested by Command ns/c",
    ]


async def test_a_command_for_a_namesake_is_not_carried_out(cluster: JobCluster) -> None:
    cluster.submit(job(task("worker", 1)))
    await cluster.live()
    cluster.ask(JobAction.ABORT, uid="another")
    await cluster.live()
    assert cluster.phase() == "Running"


async def test_a_command_survives_a_conflict(cluster: JobCluster) -> None:
    cluster.submit(job(task("worker", 1)))
    await cluster.live()
    cluster.api.refuse("PATCH", "/status", api_error("PATCH", JOBS, 409, b'{"reason": "Conflict"}'))
    cluster.ask(JobAction.ABORT)
    await cluster.live()
    assert cluster.phase() == "Aborted"


async def test_commands_come_as_objects(cluster: JobCluster) -> None:
    """Deleted first, then carried out."""
    cluster.submit(job(task("worker", 1)))
    await cluster.live()
    commands = CommandController(cluster.api, None, cluster.controller, active=lambda: True)
    path = f"/apis/bus.volcano.sh/v1alpha1/namespaces/{NAMESPACE}/commands"
    target = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "name": "train"}
    body = {"metadata": {"name": "c", "namespace": NAMESPACE}, "action": "AbortJob", "target": target}
    commands.upsert(msgspec.convert(cluster.api.put(f"{path}/c", body), Command))
    running = asyncio.create_task(commands.run())
    await cluster.live()
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    assert f"{path}/c" not in cluster.api.objects
    assert cluster.phase() == "Aborted"


async def test_a_policy_with_a_timeout_acts_when_it_is_over(cluster: JobCluster) -> None:
    policies = [{"event": "PodPending", "action": "AbortJob", "timeout": "30s"}]
    cluster.runs = lambda name: name != "train-worker-1"
    cluster.submit(job(task("worker", 2), policies=policies))
    await cluster.live(20)
    assert cluster.phase() == "Pending"
    await cluster.live(20)
    assert cluster.phase() == "Aborted"


@pytest.mark.parametrize("killed", [False, True])
async def test_a_task_that_crashes_again_and_again_is_restarted_after_the_timeout(
    cluster: JobCluster, killed: bool
) -> None:
    """In CrashLoopBackOff each crash and each start is a transition of Ready, and none of them the beginning."""
    policies = [{"event": "TaskFailed", "action": "RestartTask", "timeout": "10m"}]
    cluster.submit(job(task("worker", 1, maxRetry=3, policies=policies)))
    await cluster.live(3)
    for restarts in range(1, 5):
        moment = f"{cluster.now():%Y-%m-%dT%H:%M:%SZ}"
        cluster.pod_is(
            "train-worker-0",
            "Running",
            conditions=[{"type": "Ready", "status": "False", "lastTransitionTime": moment}],
            containerStatuses=[{"name": "main", "restartCount": restarts}],
        )
        await cluster.live(290)
        if killed:
            await restarted(cluster)
    assert cluster.status().get("retryCount", 0) == 0
    await cluster.live(60)
    assert cluster.status()["retryCount"] == 1
    assert cluster.messages("ExecuteAction") == ["RestartTask: requested by a policy on TaskFailed of task worker"]
    assert "failing/worker" not in cluster.status().get("controlledResources", {})


@pytest.mark.parametrize("action", [JobAction.RESUME, JobAction.RESTART_TASK])
async def test_a_command_that_means_nothing_makes_no_policy_forget_its_time(
    cluster: JobCluster, action: JobAction
) -> None:
    policies = [{"event": "PodFailed", "action": "AbortJob", "timeout": "30s"}]
    cluster.submit(job(task("worker", 2), policies=policies, minAvailable=1))
    await cluster.live(3)
    cluster.pod_is("train-worker-0", "Failed")
    await cluster.live(10)
    cluster.ask(action)
    await cluster.live(10)
    assert cluster.phase() == "Running"
    await cluster.live(20)
    assert cluster.phase() == "Aborted"


async def test_the_time_to_live_is_kept_across_a_restart_of_the_controller(cluster: JobCluster) -> None:
    cluster.submit(job(task("worker", 1), ttlSecondsAfterFinished=60))
    await cluster.live()
    cluster.pod_is("train-worker-0", "Succeeded", exit_code=0)
    await cluster.live(20)
    assert cluster.phase() == "Completed"
    await cluster.stop()
    cluster.start()
    await cluster.live(30)
    assert cluster.phase() == "Completed"
    await cluster.live(20)
    assert f"{JOBS}/train" not in cluster.api.objects


async def test_a_job_whose_time_is_over_stays_if_it_was_given_more_a_moment_ago(cluster: JobCluster) -> None:
    """The watch has not reported yet."""
    cluster.submit(job(task("worker", 1), ttlSecondsAfterFinished=60))
    await cluster.live(3)
    cluster.pod_is("train-worker-0", "Succeeded")
    await cluster.live(5)
    cluster.reports_of = lambda kind: kind != "VolcanoJob"
    cluster.edit(ttlSecondsAfterFinished=120)
    await cluster.live(80)
    assert cluster.phase() == "Completed"
    await cluster.live(60)
    assert f"{JOBS}/train" not in cluster.api.objects


async def test_a_claim_that_is_missing_keeps_the_job_waiting(cluster: JobCluster) -> None:
    cluster.submit(job(task("worker", 1), volumes=[{"mountPath": "/d", "volumeClaimName": "data"}]))
    await cluster.live()
    assert (cluster.phase(), cluster.groups()) == ("Pending", [])
    missing = "PersistentVolumeClaim ns/data does not exist; create it"
    assert cluster.messages("PVCError") == [missing]
    state = cluster.status()["state"]
    assert (state["reason"], state["message"]) == ("PVCError", missing)
    cluster.api.put(f"/api/v1/namespaces/{NAMESPACE}/persistentvolumeclaims/data", {"metadata": {"name": "data"}})
    await cluster.live(12)
    assert cluster.phase() == "Running"
    assert "PVCError" not in str(cluster.status())


async def test_a_job_runs_in_spite_of_an_unknown_argument_of_a_plugin(cluster: JobCluster) -> None:
    cluster.submit(job(task("worker", 1), plugins={"svc": ["--no-root"]}))
    await cluster.live()
    assert "train-worker-0" in cluster.pods()
    (message,) = cluster.messages("PluginError")
    assert message.startswith("spec.plugins.svc: '--no-root' is not one of its arguments, and is ignored")


async def test_a_job_runs_in_spite_of_a_task_that_a_plugin_does_without(cluster: JobCluster) -> None:
    cluster.submit(job(task("worker", 1), plugins={"pytorch": []}))
    await cluster.live()
    assert "train-worker-0" in cluster.pods()
    (message,) = cluster.messages("PluginError")
    assert message.startswith("spec.plugins.pytorch: task 'master' does not exist (tasks: worker), so no pod gets")


async def test_a_foreign_object_under_the_name_of_a_plugins_is_left_alone(cluster: JobCluster) -> None:
    path = f"/api/v1/namespaces/{NAMESPACE}/services/train"
    cluster.api.put(path, {"metadata": {"name": "train"}, "spec": {"mine": True}})
    cluster.submit(job(task("worker", 1), plugins={"svc": []}))
    await cluster.live()
    assert cluster.api.objects[path]["spec"] == {"mine": True}
    assert cluster.messages("PluginError")[0].startswith("Service ns/train exists but does not belong to this job")
    assert cluster.pods() == {}


async def test_hosts_follow_the_replicas(cluster: JobCluster) -> None:
    path = f"/api/v1/namespaces/{NAMESPACE}/configmaps/train-svc"
    cluster.submit(job(task("worker", 2), plugins={"svc": []}))
    await cluster.live()
    assert cluster.api.objects[path]["data"]["worker.host"].count("train-worker-") == 2
    cluster.edit(tasks=[task("worker", 3)], minAvailable=3)
    await cluster.live()
    assert cluster.api.objects[path]["data"]["worker.host"].count("train-worker-") == 3
    assert len(cluster.pods()) == 3


async def test_an_unknown_plugin_is_reported_and_nothing_is_created(cluster: JobCluster) -> None:
    cluster.submit(job(task("worker", 1), plugins={"magic": []}))
    await cluster.live()
    assert (cluster.phase(), cluster.pods()) == ("Pending", {})
    assert cluster.status()["state"]["reason"] == "InvalidJob"
    assert "job plugin 'magic' does not exist" in cluster.status()["state"]["message"]
    cluster.edit(plugins={})
    await cluster.live()
    assert cluster.phase() == "Running"
    assert cluster.status()["state"].get("message", "") == ""


async def test_a_plugin_that_cannot_serve_the_job_is_reported_and_nothing_is_created(cluster: JobCluster) -> None:
    cluster.submit(job(task("a", 1), task("b", 2), plugins={"ray": []}))
    await cluster.live()
    assert (cluster.phase(), cluster.pods()) == ("Pending", {})
    assert cluster.status()["state"]["reason"] == "InvalidJob"
    assert cluster.status()["state"]["message"] == (
        "spec.plugins.ray: task 'head' does not exist (tasks: a, b); name the head's task with --head"
    )
    cluster.edit(plugins={"ray": ["--head=a", "--worker=b"]})
    await cluster.live()
    assert (cluster.phase(), len(cluster.pods())) == ("Running", 3)


async def test_a_plugin_that_fails_is_reported(cluster: JobCluster) -> None:
    """Here, at a template that is none."""
    cluster.submit(job({"name": "a", "replicas": 1, "template": {"spec": "none"}}, plugins={"svc": []}))
    await cluster.live()
    (reported,) = cluster.messages("PluginError")
    assert reported == "ConfigMap ns/train-svc cannot be created: AttributeError: 'str' object has no attribute 'get'"


@pytest.mark.parametrize("fails", ["__init__", "objects"])
async def test_a_plugin_that_fails_for_its_job_is_reported(api: Any, fails: str) -> None:
    """It may be foreign code."""

    def fail(*_: object) -> None:
        raise KeyError("x")

    cluster = JobCluster(api)
    broken = type("Broken", (JobPlugin,), {"name": "broken", fails: fail})
    cluster.options["plugins"] = JobPlugins.of([broken])
    cluster.start()
    cluster.submit(job(task("a", 1), plugins={"broken": []}))
    await cluster.live()
    await cluster.stop()
    assert cluster.status()["state"]["message"] == "spec.plugins.broken: KeyError: 'x'"


async def test_without_the_lease_nothing_is_written(api: Any) -> None:
    cluster = JobCluster(api)
    cluster.start()
    assert cluster.controller is not None
    cluster.controller._active = lambda: False
    cluster.submit(job(task("worker", 1)))
    await cluster.live()
    assert cluster.calls == 0
    cluster.controller._active = lambda: True
    cluster.controller.leadership_gained()
    await cluster.live()
    assert cluster.phase() == "Running"
    await cluster.stop()


async def test_a_pod_group_that_names_the_job_as_its_owner_is_not_taken_for_its_own(cluster: JobCluster) -> None:
    cluster.submit(job(task("worker", 1)))
    owner = {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "name": "train",
        "uid": cluster.api.objects[f"{JOBS}/train"]["metadata"]["uid"],
        "controller": True,
    }
    metadata = {"name": "other", "namespace": NAMESPACE, "ownerReferences": [owner]}
    cluster.api.put(f"{GROUPS}/other", {"metadata": metadata, "spec": {}, "status": {"phase": "Running"}})
    await cluster.live()
    assert cluster.phase() == "Running"
    assert len(cluster.groups()) == 2


async def test_fields_that_are_null_count_as_left_out_in_answers_too(
    cluster: JobCluster, caplog: pytest.LogCaptureFixture
) -> None:
    """CRDs that are looser than ours keep them."""
    cluster.submit(job(task("worker", 2, policies=None), plugins=None))
    await cluster.live()
    assert cluster.phase() == "Running"
    assert cluster.created["train-worker-0", "0"] == 1
    assert not [record for record in caplog.records if record.exc_info]


async def test_a_job_that_cannot_be_read_any_more_goes_on_as_it_was(cluster: JobCluster) -> None:
    """Its pods are replaced and counted. What would be decided waits until it can be read again."""
    cluster.submit(job(task("worker", 2), policies=[{"event": "PodFailed", "action": "RestartJob"}]))
    await cluster.live()
    found = cluster.api.objects[f"{JOBS}/train"]
    cluster.api.put(f"{JOBS}/train", {**found, "spec": {"tasks": "none"}})
    cluster.remove_pod("train-worker-0")
    await cluster.live()
    assert cluster.pods() == {"train-worker-0": "Running", "train-worker-1": "Running"}
    assert cluster.status()["running"] == 2
    written = cluster.api.count("PATCH", "jobs")
    await cluster.live()
    assert cluster.api.count("PATCH", "jobs") == written

    cluster.pod_is("train-worker-1", "Failed", 1)
    await cluster.live()
    assert set(cluster.messages("JobStatusError")) == {
        "job ns/train cannot be read: Expected `array`, got `str` - at `$.spec.tasks`; correct this field"
    }
    assert cluster.status().get("retryCount", 0) == 0

    cluster.edit(**found["spec"])
    await cluster.live(15)
    assert (cluster.phase(), cluster.status()["retryCount"]) == ("Running", 1)
