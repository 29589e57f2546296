"""Policies: which of them speaks of what has happened, the task's before the job's, now or after its timeout."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tests.support.jobs.job_objects import NOW, failed, job, moment, pods, task
from volcano_py.api.objects import ContainerStatus, Pod
from volcano_py.jobs.members import Members
from volcano_py.jobs.model import VolcanoJob
from volcano_py.jobs.policies.evaluation import Judgement, Lost, judge


def judged(of: VolcanoJob, there: list[Pod], **happened: Any) -> Judgement:
    return judge(of, Members.of(of, there), **{"now": NOW, **happened})


def asked(of: VolcanoJob, there: list[Pod], **happened: Any) -> list[tuple[str, str]]:
    """Actions and their causes."""
    return [(each.action.value, str(each.cause)) for each in judged(of, there, **happened).verdicts]


RUNNING = {"worker-0": "Running", "worker-1": "Running"}


def with_policies(*policies: dict[str, Any], **fields: Any) -> VolcanoJob:
    return job(task("worker", 2, **fields), policies=list(policies))


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ({"event": "PodFailed"}, True),
        ({"events": ["PodEvicted", "PodFailed"]}, True),
        ({"event": "*"}, True),
        ({"exitCode": 3}, True),
        ({"exitCode": 4}, False),
        ({"event": "PodEvicted"}, False),
        ({"event": "Nonsense"}, False),
        ({}, False),
    ],
)
def test_a_failed_pod(policy: dict[str, Any], expected: bool) -> None:
    of = with_policies({**policy, "action": "RestartJob"})
    first, second = pods(of, RUNNING)
    cause = "PodFailed of pod train-worker-1, exit code 3"
    assert asked(of, [first, failed(second, 3)]) == ([("RestartJob", cause)] if expected else [])


def test_the_exit_code_is_the_first_containers_whatever_order_the_kubelet_reports() -> None:
    of = with_policies({"exitCode": 3, "action": "AbortJob"})
    (first,) = pods(of, {"worker-0": "Running"})
    other = {"name": "a-sidecar", "state": {"terminated": {"exitCode": 9}}}
    main = {"name": "main", "state": {"terminated": {"exitCode": 3}}}
    statuses = msgspec.convert([other, main], list[ContainerStatus])
    status = msgspec.structs.replace(first.status, phase="Failed", container_statuses=statuses)
    assert [action for action, _ in asked(of, [msgspec.structs.replace(first, status=status)])] == ["AbortJob"]


def test_a_tasks_policy_goes_before_the_jobs_and_the_first_that_matches_counts() -> None:
    of = job(
        task("worker", 1, policies=[{"event": "PodFailed", "action": "RestartTask"}]),
        task("other", 1, policies=[{"exitCode": 9, "action": "RestartTask"}]),
        policies=[{"event": "PodFailed", "action": "AbortJob"}, {"event": "*", "action": "RestartJob"}],
    )
    there = [failed(pod, 1) for pod in pods(of, {"worker-0": "Running", "other-0": "Running"})]
    assert [action for action, _ in asked(of, there)] == ["RestartTask", "AbortJob"]


def test_an_unknown_action_is_ignored() -> None:
    of = with_policies({"event": "PodFailed", "action": "Explode"}, {"event": "PodFailed", "action": "AbortJob"})
    assert [action for action, _ in asked(of, [failed(pods(of, RUNNING)[0], 1)])] == ["AbortJob"]


def test_a_task_is_completed_when_all_its_pods_have_succeeded() -> None:
    of = with_policies({"event": "TaskCompleted", "action": "CompleteJob"})
    assert asked(of, pods(of, {"worker-0": "Succeeded"})) == []
    assert asked(of, pods(of, {"worker-0": "Succeeded", "worker-1": "Running"})) == []
    done = pods(of, {"worker-0": "Succeeded", "worker-1": "Succeeded"})
    assert asked(of, done) == [("CompleteJob", "TaskCompleted of task worker")]


def test_a_task_without_replicas_is_never_completed() -> None:
    of = job(task("worker", 0), policies=[{"event": "TaskCompleted", "action": "CompleteJob"}])
    assert asked(of, []) == []


@pytest.mark.parametrize(("restarts", "limit", "expected"), [(2, 3, False), (3, 3, True), (9, -1, False), (3, 0, True)])
def test_a_task_has_failed_when_its_containers_restart_too_often(restarts: int, limit: int, expected: bool) -> None:
    """Summed over its pods; 0 counts as the default of 3."""
    of = job(task("worker", 2, maxRetry=limit), policies=[{"event": "TaskFailed", "action": "TerminateJob"}])
    there = []
    for pod, count in zip(pods(of, RUNNING), (restarts - 1, 1), strict=True):
        statuses = [ContainerStatus(name="main", restart_count=count)]
        there.append(
            msgspec.structs.replace(pod, status=msgspec.structs.replace(pod.status, container_statuses=statuses))
        )
    assert asked(of, there) == ([("TerminateJob", "TaskFailed of task worker")] if expected else [])


@pytest.mark.parametrize(
    ("noted", "due"), [({"failing/worker": moment(-60)}, -60), ({"failing/worker": "long ago"}, 0), ({}, 0)]
)
def test_a_task_has_failed_since_the_status_says_so(noted: dict[str, str], due: float) -> None:
    """Its pods say only when they crashed last."""
    policies = [{"event": "TaskFailed", "action": "RestartTask", "timeout": "5m"}]
    of = job(task("worker", 1), policies=policies, status={"controlledResources": noted})
    (pod,) = pods(of, {"worker-0": "Running"})
    statuses = [ContainerStatus(name="main", restart_count=3)]
    pod = msgspec.structs.replace(pod, status=msgspec.structs.replace(pod.status, container_statuses=statuses))
    assert judged(of, [pod]).look_again_at == NOW + due + 300


def test_a_pod_group_that_is_unknown() -> None:
    of = with_policies({"event": "Unknown", "action": "RestartJob"})
    assert asked(of, pods(of, RUNNING), group_phase="Unknown") == [("RestartJob", "Unknown")]
    assert asked(of, pods(of, RUNNING), group_phase="Running") == []


def test_a_gang_may_be_torn_apart_for_as_long_as_the_policy_says() -> None:
    of = with_policies({"event": "Unknown", "action": "RestartJob", "timeout": "5m"})
    since: dict[str, Any] = {"group_phase": "Unknown", "group_since": NOW - 60}
    assert judged(of, pods(of, RUNNING), **since) == Judgement((), NOW + 240)
    assert asked(of, pods(of, RUNNING), **since, now=NOW + 240) == [("RestartJob", "Unknown")]


def test_a_pod_that_another_client_deleted() -> None:
    of = with_policies({"event": "PodEvicted", "action": "RestartJob"})
    lost = [Lost("worker", 1, NOW)]
    assert asked(of, pods(of, {"worker-0": "Running"}), lost=lost) == [
        ("RestartJob", "PodEvicted of pod train-worker-1")
    ]


def test_an_edit_of_the_job_only_for_a_policy_that_names_it() -> None:
    named = with_policies({"event": "JobUpdated", "action": "RestartJob"})
    assert asked(named, pods(named, RUNNING), edited=NOW) == [("RestartJob", "JobUpdated")]
    anything = with_policies({"event": "*", "action": "RestartJob"})
    assert asked(anything, pods(anything, RUNNING), edited=NOW) == []


def test_a_timeout_delays_what_an_edit_of_the_job_asks_for() -> None:
    of = with_policies({"event": "JobUpdated", "action": "RestartJob", "timeout": "10m"})
    early = judged(of, pods(of, RUNNING), edited=NOW, now=NOW + 599)
    assert (early.verdicts, early.look_again_at) == ((), NOW + 600)
    assert asked(of, pods(of, RUNNING), edited=NOW, now=NOW + 600) == [("RestartJob", "JobUpdated")]


def test_a_timeout_delays_the_action() -> None:
    of = with_policies({"event": "PodFailed", "action": "RestartJob", "timeout": "1m30s"})
    there = [failed(pods(of, RUNNING)[0], 1, seconds=5)]
    early = judged(of, there, now=NOW + 94)
    assert (early.verdicts, early.look_again_at) == ((), NOW + 95)
    assert len(judged(of, there, now=NOW + 95).verdicts) == 1


@pytest.mark.parametrize("first", [0, 1])
def test_of_several_timeouts_the_next_one_counts(first: int) -> None:
    of = with_policies({"event": "PodFailed", "action": "RestartJob", "timeout": "60s"})
    there = pods(of, RUNNING)
    there[first] = failed(there[first], 1, seconds=5)
    there[1 - first] = failed(there[1 - first], 1, seconds=30)
    assert judged(of, there, now=NOW + 31).look_again_at == NOW + 65


def test_a_pod_may_wait_as_long_as_the_policy_says() -> None:
    of = with_policies({"event": "PodPending", "action": "AbortJob", "timeout": "10m"})
    waiting = pods(of, {"worker-0": "Running", "worker-1": "Pending"})
    assert judged(of, waiting).look_again_at == NOW + 600
    assert asked(of, waiting, now=NOW + 600) == [("AbortJob", "PodPending of pod train-worker-1")]
    assert asked(of, pods(of, RUNNING), now=NOW + 600) == []


@pytest.mark.parametrize("policy", [{"event": "PodPending"}, {"event": "*"}, {"event": "*", "timeout": "1s"}])
def test_waiting_is_no_event_without_a_timeout_nor_for_everything(policy: dict[str, str]) -> None:
    of = with_policies({**policy, "action": "AbortJob"})
    assert asked(of, pods(of, {"worker-0": "Pending"}), now=NOW + 999) == []


@pytest.mark.parametrize("timeout", ["soon", "-5s", ""])
def test_a_timeout_that_is_no_duration(timeout: str) -> None:
    of = with_policies({"event": "PodFailed", "action": "AbortJob", "timeout": timeout})
    assert [action for action, _ in asked(of, [failed(pods(of, RUNNING)[0], 1)])] == ["AbortJob"]
