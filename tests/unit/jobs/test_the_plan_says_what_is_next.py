"""The plan: what is made, deleted and written next, given a Job and what there is of it."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from tests.support.jobs.job_objects import NOW, failed, group, job, members, moment, names, pods, task
from volcano_py.jobs.actions import (
    CreateGroup,
    CreatePods,
    DeleteGroup,
    DeleteJob,
    DeletePods,
    Prepare,
    UpdateGroup,
    WriteStatus,
)
from volcano_py.jobs.model import JobAction, JobStatus, VolcanoJob
from volcano_py.jobs.plan import MOST_AT_ONCE, Plan, Request, World, plan
from volcano_py.jobs.plugins import JobPlugin, PluginObject
from volcano_py.jobs.policies.losses import losses
from volcano_py.jobs.refusal import Refusal

RUNNING = {"worker-0": "Running", "worker-1": "Running"}


def world(of: VolcanoJob, states: dict[str, str] | None = None, **fields: Any) -> World:
    there = fields.pop("pods", None) or pods(of, states or {})
    return World(job=of, pods=there, group=fields.pop("group", group(of)), now=NOW, **fields)


def kinds(made: Plan) -> list[str]:
    return [type(action).__name__ for action in made.actions]


def only(made: Plan, kind: type) -> Any:
    (found,) = [action for action in made.actions if isinstance(action, kind)]
    return found


def settled(of: VolcanoJob, states: dict[str, str]) -> VolcanoJob:
    """The job with a status that says what its pods are."""
    written = [action.status for action in plan(world(of, states)).actions if isinstance(action, WriteStatus)]
    return msgspec.structs.replace(of, status=written[0]) if written else of


def waiting(made: Plan) -> str:
    """What keeps pods from being made."""
    return made.waiting.message if made.waiting is not None else ""


def decided(made: Plan) -> JobStatus:
    """The one action is a change of phase."""
    (action,) = made.actions
    assert isinstance(action, WriteStatus)
    assert action.decides
    return action.status


# -- beginning -------------------------------------------------------------------------------------------------------


def test_a_new_job_is_written_before_anything_is_created() -> None:
    status = decided(plan(world(job(phase=""), group=None)))
    assert (status.state.phase, [each.status for each in status.conditions]) == ("Pending", ["Pending"])


def test_first_what_plugins_and_volumes_need_then_the_group_then_the_pods() -> None:
    of = job(task(replicas=2), phase="Pending")
    assert "Prepare" in kinds(plan(world(of, group=None, prepared=False)))
    assert "CreateGroup" in kinds(plan(world(of, group=None)))
    assert names(only(plan(world(of, group=group(of, "Inqueue"))), CreatePods).bodies) == [
        "train-worker-0",
        "train-worker-1",
    ]


@pytest.mark.parametrize("phase", ["", "Pending"])
def test_pods_wait_until_the_group_is_admitted(phase: str) -> None:
    of = settled(job(task(replicas=2), phase="Pending"), {})
    made = plan(world(of, group=group(of, phase)))
    assert made.actions == ()
    assert waiting(made) == "pods are created when PodGroup train-job-uid is admitted to queue default"


@pytest.mark.parametrize("phase", ["Inqueue", "Running", "Unknown", "Completed"])
def test_only_missing_pods_are_created(phase: str) -> None:
    of = job(task(replicas=3), task("other", 1), phase="Pending")
    made = plan(world(of, {"worker-1": "Running", "worker-2": "Running!"}, group=group(of, phase)))
    assert names(only(made, CreatePods).bodies) == ["train-worker-0", "train-other-0"], "worker-2 is not gone yet"


def test_a_large_job_leaves_others_a_turn() -> None:
    of = job(task(replicas=MOST_AT_ONCE + 7), task("other", 3), phase="Pending")
    first = names(only(plan(world(of, group=group(of, "Inqueue"))), CreatePods).bodies)
    assert len(first) == MOST_AT_ONCE
    there = dict.fromkeys((name.removeprefix("train-") for name in first), "Pending")
    rest = names(only(plan(world(of, there, group=group(of, "Inqueue"))), CreatePods).bodies)
    assert len({*first, *rest}) == MOST_AT_ONCE + 10


def test_an_impossible_job_gets_a_reason_and_creates_nothing() -> None:
    made = plan(world(job(phase="Pending"), group=None, problem="spec.tasks: nothing to run"))
    status = only(made, WriteStatus).status
    assert (status.state.reason, status.state.message) == ("InvalidJob", "spec.tasks: nothing to run")
    fixed = plan(world(msgspec.structs.replace(job(phase="Pending"), status=status), group=None))
    assert only(fixed, WriteStatus).status.state.message == ""


def test_what_the_api_server_refuses_is_in_the_status_and_tried_again() -> None:
    of, refusal = job(task(replicas=1), phase="Pending"), Refusal("FailedCreate", "exceeded quota: small")
    made = plan(world(of, group=group(of, "Inqueue"), refused=refusal))
    status = only(made, WriteStatus).status
    assert (status.state.reason, status.state.message) == ("FailedCreate", "exceeded quota: small")
    assert names(only(made, CreatePods).bodies) == ["train-worker-0"]
    accepted = plan(
        world(msgspec.structs.replace(of, status=status), {"worker-0": "Pending"}, group=group(of, "Inqueue"))
    )
    assert only(accepted, WriteStatus).status.state.reason == ""


def test_a_plugin_that_raises_spoils_only_its_pods() -> None:
    class Picky(JobPlugin):
        name = "picky"

        def on_pod_create(self, pod: dict[str, Any], job: VolcanoJob, task: Any, index: int) -> None:
            if index == 1:
                raise ValueError("not this one")

    of = job(task(replicas=3), phase="Pending")
    made = plan(world(of, group=group(of, "Inqueue"), plugins=[Picky()]))
    assert names(only(made, CreatePods).bodies) == ["train-worker-0", "train-worker-2"]
    assert waiting(made) == "pod train-worker-1 cannot be created: ValueError: not this one"


def test_what_has_been_prepared_once_is_looked_at_again_only_where_it_follows_the_job() -> None:
    class Keeping(JobPlugin):
        name = "keeping"

        def objects(self, job: VolcanoJob) -> list[PluginObject]:
            return [
                PluginObject("v1", "Secret", "keys", dict),
                PluginObject("v1", "ConfigMap", "hosts", dict, follows_job=True),
            ]

    volumes = [{"mountPath": "/a", "volumeClaim": {}}, {"mountPath": "/b", "volumeClaimName": "data"}]
    of = job(phase="Pending", volumes=volumes)

    def prepared(**fields: Any) -> Prepare:
        found = only(plan(world(of, plugins=[Keeping()], prepared=False, **fields)), Prepare)
        assert isinstance(found, Prepare)
        return found

    first, again = prepared(group=None), prepared()
    assert [kept.name for kept in first.objects] == ["keys", "hosts"]
    assert (len(first.claims), first.awaited_claims) == (1, ("data",))
    assert [kept.name for kept in again.objects] == ["hosts"]
    assert again.claims == ()


@pytest.mark.parametrize(
    ("iteration", "states", "starts"),
    [
        ("all", {"a-0": "Running"}, False),
        ("all", {"a-0": "Running", "b-0": "Running"}, True),
        ("all", {"a-0": "Succeeded", "b-0": "Running"}, True),
        ("all", {"a-0": "Failed", "b-0": "Running"}, False),
        ("", {"a-0": "Running"}, False),
        ("any", {"a-0": "Running"}, True),
        ("any", {"a-0": "Pending", "b-0": "Pending"}, False),
    ],
)
def test_a_task_starts_after_those_it_depends_on(iteration: str, states: dict[str, str], starts: bool) -> None:
    last = task("last", 1, dependsOn={"name": ["a", "b"], "iteration": iteration})
    of = job(task("a"), task("b"), last, phase="Pending")
    made = plan(world(of, states, group=group(of, "Inqueue")))
    created = [name for action in made.actions if isinstance(action, CreatePods) for name in names(action.bodies)]
    assert ("train-last-0" in created) is starts


# -- following -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("minimum", "of_worker", "reported"),
    [
        pytest.param(3, 2, "a gang of 3 pods waits for them; set spec.minAvailable to 1 at most", id="of all"),
        pytest.param(1, 2, "", id="of those that start first"),
        pytest.param(2, 0, "a gang of 2 pods waits for them; set spec.minAvailable to 1 at most", id="too large"),
    ],
)
def test_a_gang_that_waits_for_a_task_that_waits_for_it_is_reported(
    minimum: int, of_worker: int, reported: str
) -> None:
    """Nothing else would say why it never starts."""
    depends: dict[str, Any] = {"dependsOn": {"name": ["master"]}, "minAvailable": of_worker}
    of = job(task("master", 1), task("worker", 2, **depends), phase="Pending", minAvailable=minimum)
    of = settled(of, {"master-0": "Pending"})
    assert waiting(plan(world(of, {"master-0": "Pending"}))) == (
        f"task worker waits for others (dependsOn), and {reported}" if reported else ""
    )
    assert waiting(plan(world(of, {"master-0": "Running"}))) == ""


def test_a_gang_of_a_role_that_waits_for_others_is_reported() -> None:
    """The minimum of each role counts when the job's is no lower than their sum."""
    depends: dict[str, Any] = {"dependsOn": {"name": ["master"]}, "minAvailable": 1}
    there = {f"master-{index}": "Pending" for index in range(4)}
    for minimum, reported in ((2, True), (1, False)):
        tasks = task("master", 4, minAvailable=1), task("worker", 2, **depends)
        of = job(*tasks, phase="Pending", minAvailable=minimum)
        assert waiting(plan(world(settled(of, there), there))) == (
            "task worker waits for others (dependsOn), and a gang of 2 pods waits for them; set"
            " spec.minAvailable to 1 at most"
            if reported
            else ""
        )


FAILED_A = [{"event": "PodFailed", "action": "RestartTask", "timeout": "1h"}]


@pytest.mark.parametrize(
    ("of_a", "iteration", "states", "reported"),
    [
        pytest.param({}, "all", {"a-0": "Failed", "a-1": "Running", "c-0": "Running"}, True, id="too many"),
        pytest.param({"minAvailable": 1}, "all", {"a-0": "Failed", "a-1": "Pending"}, False, id="enough are left"),
        pytest.param({"policies": FAILED_A}, "all", {"a-0": "Failed", "a-1": "Failed"}, False, id="a policy waits"),
        pytest.param({}, "any", {"a-0": "Failed", "c-0": "Pending"}, False, id="another would do"),
        pytest.param({}, "any", {"a-0": "Failed", "c-0": "Failed"}, True, id="none would"),
    ],
)
def test_a_task_that_waits_for_one_whose_pods_have_failed_is_reported(
    of_a: dict[str, Any], iteration: str, states: dict[str, str], reported: bool
) -> None:
    last = task("b", 1, dependsOn={"name": ["a", "c"], "iteration": iteration})
    of = job(task("a", 2, **of_a), task("c"), last, minAvailable=1)
    found = plan(world(of, states)).waiting
    if not reported:
        assert found is None
        return
    assert found is not None
    assert (found.type, found.reason) == ("Warning", "DependencyFailed")
    assert found.message == (
        "task b waits for a (dependsOn) to have 2 pods ready or done, and 1 of 2 have failed; delete those, or give "
        "the job a policy on PodFailed"
    )


def test_nothing_is_made_for_a_group_that_is_being_deleted() -> None:
    """Its pods would belong to a group that is about to be gone."""
    of = job(task(replicas=2))
    made = plan(world(of, group=group(of, "Inqueue", deletionTimestamp=moment())))
    assert {"CreatePods", "UpdateGroup", "CreateGroup"}.isdisjoint(kinds(made))
    assert waiting(made) == "the old PodGroup is being deleted; a new one is created after that"


def test_a_job_that_is_as_it_should_be_asks_for_nothing() -> None:
    of = settled(job(task(replicas=2)), RUNNING)
    assert plan(world(of, RUNNING)) == Plan()


def test_counts_follow_the_pods() -> None:
    of = job(task(replicas=4), minAvailable=1)
    states = {"worker-0": "Running", "worker-1": "Pending", "worker-2": "Failed", "worker-3": "Running!"}
    status = only(plan(world(of, states)), WriteStatus).status
    assert (status.running, status.pending, status.failed, status.terminating) == (1, 1, 1, 1)
    assert status.task_status_count["worker"].phase == {"Failed": 1, "Pending": 1, "Running": 1}
    assert status.min_available == 1


def test_fewer_replicas_take_the_last_pods_away_and_the_group_follows() -> None:
    before = settled(job(task(replicas=3)), {**RUNNING, "worker-2": "Running"})
    of = replace_spec(before, task(replicas=1))
    made = plan(world(of, pods=pods(before, {**RUNNING, "worker-2": "Running"}), group=group(before)))
    assert names(only(made, DeletePods).pods) == ["train-worker-1", "train-worker-2"]
    assert only(made, UpdateGroup).changes["spec"]["minMember"] == 1


def replace_spec(of: VolcanoJob, *tasks: dict[str, Any]) -> VolcanoJob:
    return msgspec.structs.replace(of, spec=job(*tasks).spec)


def test_scaling_down_is_no_eviction() -> None:
    policies = [{"event": "PodEvicted", "action": "RestartJob"}]
    before = settled(job(task(replicas=3)), {**RUNNING, "worker-2": "Running"})
    after = msgspec.structs.replace(before, spec=job(task(replicas=2), policies=policies).spec)
    assert "WriteStatus" in kinds(plan(world(after, RUNNING)))
    assert not any(isinstance(each, WriteStatus) and each.decides for each in plan(world(after, RUNNING)).actions)


def test_pods_of_a_task_that_was_taken_out_go() -> None:
    """There may have been no webhook to refuse it."""
    before = settled(job(task("a"), task("b-1")), {"a-0": "Running", "b-1-0": "Running"})
    there = pods(before, {"a-0": "Running", "b-1-0": "Running"})
    of = replace_spec(before, task("a"))
    made = plan(world(of, pods=there, group=group(before)))
    assert names(only(made, DeletePods).pods) == ["train-b-1-0"]
    assert only(made, UpdateGroup).changes["spec"]["minTaskMember"] == {"a": 1, "b-1": None}


@pytest.mark.parametrize("phase", ["Aborting", "Completed"])
def test_pods_of_a_task_that_was_taken_out_go_with_the_job(phase: str) -> None:
    before = job(task("a"), task("b"), phase=phase)
    there = pods(before, {"a-0": "Succeeded", "b-0": "Running"})
    made = plan(world(replace_spec(before, task("a")), pods=there))
    assert names(only(made, DeletePods).pods) == ["train-b-0"]


def test_a_group_that_is_gone_is_created_again() -> None:
    of = settled(job(task(replicas=2)), RUNNING)
    assert kinds(plan(world(of, RUNNING, group=None))) == ["CreateGroup"]


# -- restarts --------------------------------------------------------------------------------------------------------

RESTARTING = [{"event": "PodFailed", "action": "RestartJob"}, {"event": "PodEvicted", "action": "RestartJob"}]


def test_a_restart_is_written_then_all_pods_are_deleted_then_created_again() -> None:
    of = settled(job(task(replicas=2), policies=RESTARTING), RUNNING)
    first, second = pods(of, RUNNING)
    there = [failed(first, 7), second]
    made = plan(world(of, pods=there))
    status = decided(made)
    assert (status.state.phase, status.version, status.retry_count) == ("Restarting", 1, 1)
    assert status.state.message == "requested by a policy on PodFailed of pod train-worker-0, exit code 7"
    assert [event.message for event in made.events] == [f"RestartJob: {status.state.message}"]
    assert (status.running, status.failed, status.terminating, status.task_status_count) == (0, 0, 2, {})

    of = msgspec.structs.replace(of, status=status)
    made = plan(world(of, pods=there, group=group(job(task(replicas=2)))))
    assert names(only(made, DeletePods).pods) == ["train-worker-0", "train-worker-1"]
    assert only(made, DeleteGroup).uid == "group-uid"

    assert decided(plan(world(of, group=None))).state.phase == "Pending"


def test_an_eviction_is_seen_by_what_the_status_counted() -> None:
    """No replica needs to have seen the deletion."""
    of = settled(job(task(replicas=2), policies=RESTARTING), RUNNING)
    status = decided(plan(world(of, {"worker-0": "Running"})))
    assert status.state.message == "requested by a policy on PodEvicted of pod train-worker-1"
    assert decided(plan(world(of, {"worker-0": "Running", "worker-1": "Running!"}))).state.phase == "Restarting"


def test_pods_that_fail_together_are_restarted_together() -> None:
    of = job(task(replicas=3, policies=[{"event": "PodFailed", "action": "RestartPod"}]), minAvailable=1)
    states = {"worker-0": "Running", "worker-1": "Running", "worker-2": "Running"}
    of = settled(of, states)
    first, second, third = pods(of, states)
    there = [failed(first, 1), second, failed(third, 1)]
    status = decided(plan(world(of, pods=there)))
    assert (status.version, status.retry_count) == (0, 1)
    assert status.controlled_resources["restarting"] == "pod/worker/0 pod/worker/2"
    of = msgspec.structs.replace(of, status=status)
    made = plan(world(of, pods=there))
    assert names(only(made, DeletePods).pods) == ["train-worker-0", "train-worker-2"]
    assert "DeleteGroup" not in kinds(made)
    status = decided(plan(world(of, pods=[second])))
    assert status.state.phase == "Pending"
    assert "restarting" not in status.controlled_resources


@pytest.mark.parametrize(
    ("action", "gone"),
    [
        ("RestartPod", ["train-worker-1"]),
        ("RestartPartition", ["train-worker-0", "train-worker-1"]),
        ("RestartTask", ["train-worker-0", "train-worker-1", "train-worker-2", "train-worker-3"]),
    ],
)
def test_a_part_of_the_job_is_restarted(action: str, gone: list[str]) -> None:
    partitions = {"totalPartitions": 2, "partitionSize": 2}
    policies = [{"event": "PodFailed", "action": action}]
    of = job(task(replicas=4, partitionPolicy=partitions), task("other", 1), policies=policies)
    states = {f"worker-{index}": "Running" for index in range(4)} | {"other-0": "Running"}
    of = settled(of, states)
    there = pods(of, states)
    there[1] = failed(there[1], 1)
    of = msgspec.structs.replace(of, status=decided(plan(world(of, pods=there))))
    assert names(only(plan(world(of, pods=there)), DeletePods).pods) == gone
    assert of.status.terminating == len(gone)
    assert of.status.running + of.status.failed == len(there) - len(gone)


def test_a_restart_of_nothing_in_particular_does_nothing() -> None:
    of = settled(job(task(replicas=2), policies=[{"event": "Unknown", "action": "RestartTask"}]), RUNNING)
    assert plan(world(of, RUNNING, group=group(of, "Unknown"))).actions == ()


def test_a_gang_has_been_torn_apart_since_its_group_says_so() -> None:
    policies = [{"event": "Unknown", "action": "RestartJob", "timeout": "5m"}]
    of = settled(job(task(replicas=2), policies=policies), RUNNING)
    reported = {"type": "Unschedulable", "status": "True", "lastTransitionTime": moment(-60)}
    torn = group(of, "Unknown")
    status = msgspec.convert({"phase": "Unknown", "conditions": [reported]}, type(torn.status), strict=False)
    torn = msgspec.structs.replace(torn, status=status)
    assert plan(world(of, RUNNING, group=torn)).look_again_at == NOW + 240


@pytest.mark.parametrize("action", ["RestartJob", "RestartTask", "RestartPartition", "RestartPod"])
def test_the_last_try_ends_in_failure_and_keeps_what_has_finished(action: str) -> None:
    of = job(task(replicas=2), policies=[{"event": "PodFailed", "action": action}], maxRetry=1)
    of = settled(of, RUNNING)
    first, second = pods(of, RUNNING)
    there = [failed(first, 1), second]
    of = msgspec.structs.replace(of, status=decided(plan(world(of, pods=there))))
    assert (of.status.state.phase, of.status.version) == ("Restarting", 0)
    of = msgspec.structs.replace(of, status=decided(plan(world(of, pods=there))))
    assert of.status.state.phase == "Failed"
    made = plan(world(of, pods=there))
    assert names(only(made, DeletePods).pods) == ["train-worker-1"]
    assert (of.status.failed, kinds(made)[:2]) == (1, ["DeletePods", "DeleteGroup"])


def test_an_evicted_pod_may_come_back_before_the_timeout() -> None:
    policies = [{"event": "PodEvicted", "action": "AbortJob", "timeout": "1m"}]
    of = settled(job(task(replicas=2), policies=policies), RUNNING)
    evicted = {"worker-0": "Running"}
    of = msgspec.structs.replace(of, status=decided(plan(world(of, evicted))))
    assert of.status.controlled_resources["evicted"] == f"worker/1@{moment()}"
    assert plan(world(of, evicted)).look_again_at == NOW + 60
    again = {"worker-0": "Running", "worker-1": "Pending"}
    of = msgspec.structs.replace(of, status=decided(plan(world(of, again))))
    assert of.status.state.phase == "Pending", "fewer than the minimum run"
    waiting = replace(world(of, again), now=NOW + 30)
    assert plan(waiting).look_again_at == NOW + 60
    assert decided(plan(replace(waiting, now=NOW + 61))).state.phase == "Aborting"
    back = decided(plan(replace(world(of, RUNNING), now=NOW + 61)))
    assert (back.state.phase, "evicted" in back.controlled_resources) == ("Running", False)


def test_that_a_pod_was_evicted_is_written_before_it_is_created_again() -> None:
    policies = [{"event": "PodEvicted", "action": "AbortJob", "timeout": "1m"}]
    of = settled(job(task(replicas=2), policies=policies, minAvailable=1), RUNNING)
    evicted = {"worker-0": "Running"}
    of = msgspec.structs.replace(of, status=decided(plan(world(of, evicted))))
    assert of.status.controlled_resources["evicted"] == f"worker/1@{moment()}"
    assert "CreatePods" in kinds(plan(world(of, evicted)))


@pytest.mark.parametrize("note", ["worker/1", "worker/x@2026-01-31T12:00:00+00:00", "gone/1@2026-01-31T12:00:00+00:00"])
def test_a_note_of_evicted_pods_that_says_nothing_is_ignored(note: str) -> None:
    policies = [{"event": "PodEvicted", "action": "AbortJob", "timeout": "1m"}]
    of = settled(job(task(replicas=2), policies=policies), RUNNING)
    spoilt = msgspec.structs.replace(of.status, controlled_resources={"evicted": note})
    written = only(plan(world(msgspec.structs.replace(of, status=spoilt), RUNNING)), WriteStatus)
    assert (written.decides, written.status) == (False, of.status)


# -- ends ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "phase", ["Aborting", "Aborted", "Terminating", "Completing", "Completed", "Failed", "Terminated"]
)
def test_a_job_that_is_stopped_keeps_only_what_has_finished(phase: str) -> None:
    states = {"worker-0": "Running", "worker-1": "Succeeded", "worker-2": "Failed", "worker-3": "Pending"}
    made = plan(world(job(task(replicas=4), phase=phase), states))
    assert names(only(made, DeletePods).pods) == ["train-worker-0", "train-worker-3"]
    assert "DeleteGroup" in kinds(made)
    assert not {"CreatePods", "CreateGroup"} & set(kinds(made))


def test_a_command_goes_before_every_policy() -> None:
    of = settled(job(task(replicas=2), policies=RESTARTING), RUNNING)
    made = plan(world(of, {"worker-0": "Running"}, request=Request(JobAction.ABORT)))
    assert decided(made).state.phase == "Aborting"
    assert [event.message for event in made.events] == ["AbortJob: requested by a Command"]


def test_a_command_for_a_job_that_was_just_made_is_not_lost() -> None:
    made = plan(world(job(task(replicas=2)), group=None, request=Request(JobAction.ABORT)))
    assert decided(made).state.phase == "Aborting"


def test_an_aborted_job_is_resumed_as_a_new_version() -> None:
    status = decided(plan(world(job(phase="Aborted"), group=None, request=Request(JobAction.RESUME))))
    assert (status.state.phase, status.version, status.retry_count) == ("Restarting", 1, 1)


def test_a_command_that_means_nothing_now_does_nothing() -> None:
    of = settled(job(task(replicas=2)), RUNNING)
    assert plan(world(of, RUNNING, request=Request(JobAction.RESUME))).actions == ()
    ended = settled(job(task(replicas=2), phase="Completed"), {})
    assert plan(world(ended, group=None, request=Request(JobAction.RESTART_JOB))).actions == ()


@pytest.mark.parametrize(
    ("ttl", "later", "deleted"), [(60, 59, False), (60, 60, True), (0, 0, True), (None, 9e9, False)]
)
def test_a_finished_job_has_a_time_to_live(ttl: int | None, later: float, deleted: bool) -> None:
    fields: dict[str, Any] = {} if ttl is None else {"ttlSecondsAfterFinished": ttl}
    of = settled(job(phase="Completed", **fields), {})
    made = plan(replace(world(of, group=None), now=NOW + later))
    assert made.actions == ((DeleteJob(),) if deleted else ())
    assert made.look_again_at == (NOW + 60 if ttl == 60 and not deleted else 0)


def test_a_job_that_runs_has_none() -> None:
    assert DeleteJob() not in plan(world(job(ttlSecondsAfterFinished=0), RUNNING_ONE)).actions


RUNNING_ONE = {"worker-0": "Running"}


def test_a_job_that_is_being_deleted_is_left_to_the_garbage_collector() -> None:
    of = job(task(replicas=2))
    deleted = msgspec.structs.replace(of.metadata, deletion_timestamp=of.status.state.last_transition_time)
    assert plan(world(msgspec.structs.replace(of, metadata=deleted))) == Plan()


def test_how_long_it_ran_is_reported_at_its_end() -> None:
    conditions = [{"status": "Running", "lastTransitionTime": "2027-01-15T08:00:00Z"}]
    of = job(task(replicas=1), status={"conditions": conditions})
    status = decided(plan(world(of, {"worker-0": "Succeeded"})))
    assert (status.state.phase, status.running_duration) == ("Completed", "0s")
    later = decided(plan(replace(world(of, {"worker-0": "Succeeded"}), now=NOW + 90.4)))
    assert later.running_duration == "1m30s"
    assert [each.status for each in later.conditions] == ["Running", "Completed"]


def test_the_group_says_what_is_to_start_together() -> None:
    made = plan(world(job(task(replicas=2), phase="Pending"), group=None))
    assert only(made, CreateGroup).body["spec"]["minTaskMember"] == {"worker": 2}


MOST = 2**31 - 1
"""Replicas that the API lets one ask for."""


def test_as_many_replicas_as_can_be_written_cost_no_more_than_the_pods_that_are_created_at_once() -> None:
    """A list of all that are missing would take all memory there is."""
    of = job(task("first", MOST), task("second", MOST, dependsOn={"name": ["first"]}), minAvailable=1)
    counts = {"first": {"phase": {"Running": 3}}}
    of = msgspec.structs.replace(
        of, status=msgspec.convert({"state": {"phase": "Running"}, "taskStatusCount": counts}, JobStatus)
    )

    made = plan(world(of, {"first-0": "Running"}))

    assert len(only(made, CreatePods).bodies) == MOST_AT_ONCE
    assert [lost.index for lost in losses(of, members(of, {"first-0": "Running"}), NOW)] == [1, 2]
    assert plan(world(of, group=group(of, "Pending"))).waiting


def test_a_pod_that_is_one_too_many_after_an_edit_is_no_sign_that_another_one_was_evicted() -> None:
    """Those before it are still to be made: their predecessors, of an earlier version, take their time to go."""
    status = {"taskStatusCount": {"worker": {"phase": {"Running": 2}}}}
    policies = [{"event": "PodEvicted", "action": "RestartJob"}]
    before = job(task(replicas=4), status=status, policies=policies, minAvailable=1)
    after = job(task(replicas=3), status=status, policies=policies, minAvailable=1)
    there = {"worker-2": "Running", "worker-3": "Running"}
    made = plan(replace(world(after), pods=pods(before, there)))
    assert [name for name, _ in only(made, DeletePods).pods] == ["train-worker-3"]
    evicted = plan(replace(world(after), pods=pods(before, {"worker-3": "Running"})))
    assert decided(evicted).state.phase == "Restarting"


def test_of_a_template_that_makes_no_pods_not_every_replica_is_tried() -> None:
    of = job(
        task("worker", MOST, template={"spec": {"containers": 7}}),
        minAvailable=1,
        volumes=[{"mountPath": "/data", "volumeClaimName": "data"}],
    )

    assert "pod train-worker-0 cannot be created" in waiting(plan(world(of)))
