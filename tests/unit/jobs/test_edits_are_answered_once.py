"""Policies on JobUpdated: each edit of the spec is answered once, after its timeout, whichever controller is there."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tests.support.jobs.job_objects import NOW, failed, group, job, pods, task
from volcano_py.jobs.actions import WriteStatus
from volcano_py.jobs.model import JobAction, JobStatus, VolcanoJob
from volcano_py.jobs.plan import Plan, Request, World, plan

RUNNING = {"worker-0": "Running", "worker-1": "Running"}


def serving(timeout: str = "", action: str = "RestartJob", **spec: Any) -> VolcanoJob:
    """A job that runs, whose spec has been seen as it is."""
    policies = [{"event": "JobUpdated", "action": action, "timeout": timeout}]
    return seen(job(task("worker", 2), policies=policies, **spec))


def asked(of: VolcanoJob, at: float = 0.0, **fields: Any) -> Plan:
    """The plan so many seconds after `NOW`."""
    return plan(World(job=of, pods=pods(of, RUNNING), group=group(of), now=NOW + at, **fields))


def seen(of: VolcanoJob, at: float = 0.0, **fields: Any) -> VolcanoJob:
    """The job after the controller has had a look and has written what it saw."""
    written = [each.status for each in asked(of, at, **fields).actions if isinstance(each, WriteStatus)]
    return msgspec.structs.replace(of, status=written[0]) if written else of


def edited(of: VolcanoJob, **spec: Any) -> VolcanoJob:
    """The job with another spec, and so another generation."""
    metadata = msgspec.structs.replace(of.metadata, generation=of.metadata.generation + 1)
    return msgspec.structs.replace(of, metadata=metadata, spec=msgspec.structs.replace(of.spec, **spec))


def decided(made: Plan) -> JobStatus | None:
    """The status of a change of phase, if there is one."""
    found = [each.status for each in made.actions if isinstance(each, WriteStatus) and each.decides]
    return found[0] if found else None


def test_an_edit_is_answered_at_once_and_once() -> None:
    of = serving()
    assert decided(asked(of)) is None
    status = decided(asked(edited(of)))
    assert status is not None
    assert (status.state.phase, status.state.reason, status.version) == ("Restarting", "RestartJob", 1)
    again = msgspec.structs.replace(
        edited(of), status=msgspec.structs.replace(status, state=of.status.state, version=0)
    )
    assert decided(asked(again)) is None


def test_an_edit_waits_for_its_timeout_and_what_comes_meanwhile_is_answered_with_it() -> None:
    of = serving("10m")
    waiting = seen(edited(of))
    assert asked(waiting, 100).look_again_at == NOW + 600
    twice = seen(edited(waiting), 300)
    assert decided(asked(twice, 599)) is None
    status = decided(asked(twice, 600))
    assert status is not None
    later = msgspec.structs.replace(twice, status=msgspec.structs.replace(status, state=of.status.state, version=0))
    assert decided(asked(later, 2000)) is None, "both edits are answered"


def test_the_time_goes_on_while_there_is_no_controller() -> None:
    """All there is of the wait stands in the status."""
    waiting = seen(edited(serving("10m")))
    status = msgspec.convert(msgspec.to_builtins(waiting.status), JobStatus)
    assert decided(asked(msgspec.structs.replace(waiting, status=status), 601)) is not None


def test_an_edit_that_came_while_there_was_no_controller_is_seen() -> None:
    assert decided(asked(edited(edited(serving())))) is not None


def test_a_restart_meanwhile_answers_the_edit() -> None:
    """Its pods are made from the new spec."""
    waiting = seen(edited(serving("10m", maxRetry=9)))
    status = decided(asked(waiting, 10, request=Request(JobAction.RESTART_JOB)))
    assert status is not None
    running = msgspec.structs.replace(status, state=waiting.status.state, version=0)
    assert decided(asked(msgspec.structs.replace(waiting, status=running), 700)) is None


def test_the_decision_to_restart_a_part_leaves_the_edit_waiting() -> None:
    policies = [{"event": "JobUpdated", "action": "RestartJob", "timeout": "10m"}]
    policies.append({"event": "PodFailed", "action": "RestartPod"})
    waiting = seen(edited(seen(job(task("worker", 2), policies=policies, maxRetry=9))))
    there = pods(waiting, RUNNING)
    there[0] = failed(there[0], 1)
    status = decided(plan(World(job=waiting, pods=there, group=group(waiting), now=NOW + 20)))
    assert status is not None
    assert status.state.reason == "RestartPod"
    assert status.controlled_resources["generation"] == waiting.status.controlled_resources["generation"]
    assert " since " in status.controlled_resources["generation"]


def test_a_restart_of_a_part_does_not_answer_it() -> None:
    waiting = seen(edited(serving("10m", maxRetry=9)))
    notes = {**waiting.status.controlled_resources, "restarting": "task/worker/"}
    state = msgspec.structs.replace(waiting.status.state, phase="Restarting")
    partly = msgspec.structs.replace(waiting.status, state=state, controlled_resources=notes)
    again = seen(msgspec.structs.replace(waiting, status=partly), 20)
    running = msgspec.structs.replace(again.status, state=waiting.status.state)
    assert decided(asked(msgspec.structs.replace(waiting, status=running), 600)) is not None


def test_a_change_between_pending_and_running_does_not_answer_it() -> None:
    waiting = seen(edited(serving("10m")))
    pending = msgspec.structs.replace(waiting.status.state, phase="Pending")
    paused = msgspec.structs.replace(waiting, status=msgspec.structs.replace(waiting.status, state=pending))
    status = decided(asked(paused, 20))
    assert status is not None
    assert status.state.phase == "Running"
    assert decided(asked(msgspec.structs.replace(waiting, status=status), 600)) is not None


def test_an_action_that_means_nothing_is_not_kept_for_later() -> None:
    """An edit concerns no task in particular."""
    of = seen(edited(serving(action="RestartTask")))
    assert decided(asked(of)) is None
    assert asked(of).actions == ()


def test_a_job_that_is_stopped_is_not_restarted_for_what_was_edited_then() -> None:
    of = serving()
    aborted = msgspec.structs.replace(of.status, state=msgspec.structs.replace(of.status.state, phase="Aborted"))
    at_rest = seen(edited(msgspec.structs.replace(of, status=aborted)))
    resumed = msgspec.structs.replace(at_rest.status, state=of.status.state)
    assert decided(asked(msgspec.structs.replace(at_rest, status=resumed))) is None


def test_jobs_without_such_a_policy_note_nothing() -> None:
    of = seen(job(task("worker", 2), policies=[{"event": "*", "action": "RestartJob"}]))
    assert of.status.controlled_resources == {}
    assert decided(asked(edited(of))) is None
    assert "generation" not in seen(edited(of)).status.controlled_resources


@pytest.mark.parametrize("text", ["", "x", "1 since", "1 since yesterday", "-"])
def test_a_note_that_cannot_be_read_is_written_again(text: str) -> None:
    of = serving()
    notes = {**of.status.controlled_resources, "generation": text}
    spoilt = msgspec.structs.replace(of, status=msgspec.structs.replace(of.status, controlled_resources=notes))
    assert decided(asked(spoilt)) is None
    assert seen(spoilt).status == of.status
