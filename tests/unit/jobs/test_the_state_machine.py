"""Phases of a Job: where each action takes it from each phase, and where it goes by itself as its pods stand."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.jobs.job_objects import job, members, task
from volcano_py.jobs.model import FINISHED, JobAction, JobPhase
from volcano_py.jobs.phases import Step, asked_for, by_itself

RESTART = Step(JobPhase.RESTARTING, retries=True, restarts_all=True)
PART = Step(JobPhase.RESTARTING, retries=True, targeted=True)
STOPS = {
    JobAction.ABORT: Step(JobPhase.ABORTING),
    JobAction.TERMINATE: Step(JobPhase.TERMINATING),
    JobAction.COMPLETE: Step(JobPhase.COMPLETING),
}
WHILE_ACTIVE: dict[JobAction, Step | None] = {
    **STOPS,
    JobAction.RESTART_JOB: RESTART,
    JobAction.RESTART_TASK: PART,
    JobAction.RESTART_POD: PART,
    JobAction.RESTART_PARTITION: PART,
    JobAction.RESUME: None,
    JobAction.SYNC: None,
}


@pytest.mark.parametrize("phase", list(JobPhase))
@pytest.mark.parametrize("action", list(JobAction))
def test_what_an_action_does_in_a_phase(phase: JobPhase, action: JobAction) -> None:
    if phase in (JobPhase.NEW, JobPhase.PENDING, JobPhase.RUNNING):
        expected = WHILE_ACTIVE[action]
    elif phase in (JobPhase.ABORTING, JobPhase.ABORTED) and action is JobAction.RESUME:
        expected = RESTART
    else:
        expected = None
    assert asked_for(job(phase=phase), action) == expected


@pytest.mark.parametrize(("retries", "restarts_all"), [(0, True), (1, True), (2, False), (7, False)])
def test_the_last_try_keeps_what_has_finished(retries: int, restarts_all: bool) -> None:
    """With maxRetry 3 the third restart is the end."""
    step = asked_for(job(status={"retryCount": retries}, maxRetry=3), JobAction.RESTART_JOB)
    assert step is not None
    assert step.restarts_all is restarts_all


def step_of(states: dict[str, str], phase: str = "Running", **of_job: Any) -> JobPhase | None:
    found = job(*of_job.pop("tasks", [task("a", 2), task("b", 2)]), phase=phase, **of_job)
    step = by_itself(found, members(found, states))
    return step.phase if step is not None else None


ALL = ("a-0", "a-1", "b-0", "b-1")


@pytest.mark.parametrize(
    ("states", "minimum", "expected"),
    [
        pytest.param({}, 4, None, id="no pods"),
        pytest.param({"a-0": "Running", "a-1": "Running", "b-0": "Running"}, 4, None, id="one too few"),
        pytest.param({"a-0": "Running", "a-1": "Running", "b-0": "Running"}, 3, "Running", id="the minimum runs"),
        pytest.param({"a-0": "Succeeded", "a-1": "Failed", "b-0": "Running"}, 3, "Running", id="what has ended counts"),
        pytest.param({"a-0": "Running", "a-1": "Running!", "b-0": "Running"}, 3, None, id="what is deleted does not"),
        pytest.param({"a-0": "Running", "a-1": "Pending", "b-0": "Running"}, 3, None, id="what waits does not"),
    ],
)
def test_a_pending_job_runs_when_its_minimum_does(states: dict[str, str], minimum: int, expected: str | None) -> None:
    assert step_of(states, "Pending", minAvailable=minimum) == expected


@pytest.mark.parametrize(
    ("states", "spec", "expected"),
    [
        pytest.param(dict.fromkeys(ALL, "Running"), {}, None, id="all run"),
        pytest.param(dict.fromkeys(ALL, "Succeeded"), {}, "Completed", id="all succeeded"),
        pytest.param({**dict.fromkeys(ALL, "Succeeded"), "b-1": "Failed"}, {}, "Failed", id="one failed of a gang"),
        pytest.param({**dict.fromkeys(ALL, "Succeeded"), "b-1": "Running"}, {}, None, id="one runs on"),
        pytest.param(
            {**dict.fromkeys(ALL, "Succeeded"), "b-1": "Failed"},
            {"minAvailable": 3},
            "Completed",
            id="enough succeeded",
        ),
        pytest.param(
            {**dict.fromkeys(ALL, "Failed"), "b-1": "Succeeded"}, {"minAvailable": 3}, "Failed", id="not enough"
        ),
        pytest.param(
            {**dict.fromkeys(ALL, "Running"), "a-0": "Succeeded"},
            {"minSuccess": 1},
            "Completed",
            id="minSuccess",
        ),
        pytest.param(
            {**dict.fromkeys(ALL, "Failed"), "a-0": "Succeeded"},
            {"minSuccess": 2, "minAvailable": 1},
            "Failed",
            id="minSuccess out of reach",
        ),
        pytest.param(
            {**dict.fromkeys(ALL, "Running"), "a-0": "Pending"}, {}, "Pending", id="fewer than the gang can run"
        ),
        pytest.param(
            {**dict.fromkeys(ALL, "Running"), "a-0": "Pending"}, {"minAvailable": 3}, None, id="as many as may wait"
        ),
        pytest.param({}, {}, None, id="its pods are being made again"),
    ],
)
def test_a_running_job(states: dict[str, str], spec: dict[str, Any], expected: str | None) -> None:
    assert step_of(states, "Running", **spec) == expected


def test_a_task_below_its_own_minimum_fails_a_job_that_asks_for_all_minimums() -> None:
    tasks = [task("a", 3, minAvailable=2), task("b", 1)]
    states = {"a-0": "Succeeded", "a-1": "Failed", "a-2": "Failed", "b-0": "Succeeded"}
    assert step_of(states, tasks=tasks) == "Failed"
    assert step_of({**states, "a-1": "Succeeded"}, tasks=tasks) == "Completed"


def test_a_task_without_its_minimum_fails_a_job_whatever_others_have_done() -> None:
    """Enough pods in all, and none of the second task."""
    tasks = [task("a", 3, minAvailable=1), task("b", 1)]
    states = {"a-0": "Succeeded", "a-1": "Succeeded", "a-2": "Succeeded", "b-0": "Failed"}
    assert step_of(states, tasks=tasks, minAvailable=2) == "Failed", "as many as the tasks' minimums together"
    assert step_of(states, tasks=tasks, minAvailable=1) == "Completed", "fewer: no task is asked for its own"


def test_a_job_without_replicas_runs_on() -> None:
    assert step_of({}, tasks=[task("a", 0)]) is None


@pytest.mark.parametrize(
    ("states", "status", "expected"),
    [
        ({}, {}, "Pending"),
        ({"a-0": "Running!"}, {}, None),
        ({}, {"retryCount": 3}, "Failed"),
        ({"a-0": "Running!"}, {"retryCount": 3}, "Failed"),
    ],
)
def test_a_restarting_job_waits_for_its_pods_to_go(
    states: dict[str, str], status: dict[str, Any], expected: str | None
) -> None:
    assert step_of(states, "Restarting", status=status, maxRetry=3) == expected


def test_an_undoable_restart_is_reported() -> None:
    """Only a job that is to make pods says what is wrong with it."""
    spec = {"tasks": [task("a", 2)], "minAvailable": 3}
    assert step_of({"a-0": "Running!"}, "Restarting", **spec) is None
    assert step_of({}, "Restarting", **spec) == "Pending"


@pytest.mark.parametrize(
    ("phase", "end"), [("Aborting", "Aborted"), ("Terminating", "Terminated"), ("Completing", "Completed")]
)
@pytest.mark.parametrize("alive", ["Running", "Pending", "Running!", "Unknown"])
def test_a_job_that_is_stopped_is_so_when_no_pod_is_left(phase: str, end: str, alive: str) -> None:
    assert step_of({"a-0": alive, "a-1": "Succeeded"}, phase) is None
    assert step_of({"a-1": "Succeeded", "b-0": "Failed"}, phase) == end


def test_a_job_that_is_stopped_goes_on_saying_why() -> None:
    state = {"phase": "Terminating", "reason": "TerminateJob", "message": "requested by a Command"}
    found = job(task("a", 2), status={"state": state})
    assert by_itself(found, members(found, {})) == Step(
        JobPhase.TERMINATED, reason="TerminateJob", why="requested by a Command"
    )


@pytest.mark.parametrize("phase", [*sorted(FINISHED), "Aborted"])
def test_an_end_is_an_end(phase: str) -> None:
    assert step_of(dict.fromkeys(ALL, "Running"), phase) is None
    assert step_of({}, phase) is None


def test_a_new_job_is_pending() -> None:
    assert step_of({}, "") == "Pending"
    assert step_of({}, "Nonsense") == "Pending"
