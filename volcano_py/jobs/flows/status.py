"""The status of a JobFlow, from its current Jobs and from the status before.

The status is also the flow's memory: that a Job has completed counts when the Job itself is gone, as one with a
`ttlSecondsAfterFinished` soon is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final

from volcano_py.jobs.flows.jobs import flow_job_name
from volcano_py.jobs.flows.model import (
    FINAL,
    FlowCondition,
    FlowJobStatus,
    FlowPhase,
    FlowState,
    JobFlow,
    JobFlowStatus,
    RunningHistory,
)
from volcano_py.jobs.model import FINISHED, JobPhase, VolcanoJob

_WAITING: Final = frozenset({JobPhase.NEW, JobPhase.PENDING})
_COMPLETED: Final = frozenset({JobPhase.COMPLETING, JobPhase.COMPLETED})
_TERMINATED: Final = frozenset({JobPhase.TERMINATING, JobPhase.TERMINATED})
_BROKEN: Final = frozenset({JobPhase.FAILED, JobPhase.TERMINATED})
_KNOWN: Final = frozenset({*_WAITING, *_COMPLETED, *_TERMINATED, JobPhase.RUNNING, JobPhase.FAILED})


def phases_of(flow: JobFlow, jobs: Mapping[str, VolcanoJob]) -> dict[str, JobPhase]:
    """Phase of each step's Job that is there, or that has completed and gone; `jobs` are by name."""
    recorded = {each.name: each.state for each in flow.status.job_status_list}
    phases: dict[str, JobPhase] = {}
    for step in flow.spec.steps:
        name = flow_job_name(flow, step.name)
        if name in jobs:
            phases[step.name] = jobs[name].status.phase
        elif recorded.get(name) == JobPhase.COMPLETED:
            phases[step.name] = JobPhase.COMPLETED
    return phases


def phase_of(flow: JobFlow, phases: Mapping[str, JobPhase]) -> FlowPhase:
    """The phase of the flow; `phases` are those of its steps."""
    before = flow.status.phase
    if flow.metadata.deletion_timestamp is not None:
        return FlowPhase.TERMINATING
    if before in FINAL:
        return before
    if any(phase in _BROKEN for phase in phases.values()):
        return FlowPhase.FAILED
    steps = flow.spec.steps
    if steps and all(phases.get(step.name) is JobPhase.COMPLETED for step in steps):
        return FlowPhase.SUCCEED
    has_begun = any(phase not in _WAITING for phase in phases.values())
    return FlowPhase.RUNNING if has_begun or before is FlowPhase.RUNNING else FlowPhase.PENDING


def status_of(
    flow: JobFlow, jobs: Mapping[str, VolcanoJob], phases: Mapping[str, JobPhase], now: datetime
) -> JobFlowStatus:
    """The status; `jobs` are those there are, by name."""
    by_name = {flow_job_name(flow, step): phase for step, phase in phases.items()}
    before = {each.name: each for each in flow.status.job_status_list}
    return JobFlowStatus(
        pending_jobs=_in(by_name, _WAITING),
        running_jobs=_in(by_name, {JobPhase.RUNNING}),
        failed_jobs=_in(by_name, {JobPhase.FAILED}),
        completed_jobs=_in(by_name, _COMPLETED),
        terminated_jobs=_in(by_name, _TERMINATED),
        un_know_jobs=[name for name, phase in by_name.items() if phase not in _KNOWN],
        job_status_list=[
            _job_status(jobs[name], before.get(name), now) if name in jobs else before[name] for name in by_name
        ],
        conditions={
            name: _condition(jobs[name]) if name in jobs else flow.status.conditions.get(name, FlowCondition())
            for name in by_name
        },
        state=FlowState(phase=phase_of(flow, phases)),
    )


def _in(phases: Mapping[str, JobPhase], which: frozenset[JobPhase] | set[JobPhase]) -> list[str]:
    return [name for name, phase in phases.items() if phase in which]


def _condition(job: VolcanoJob) -> FlowCondition:
    return FlowCondition(
        phase=job.status.phase,
        create_time=job.metadata.creation_timestamp,
        running_duration=job.status.running_duration,
        task_status_count=job.status.task_status_count,
    )


def _job_status(job: VolcanoJob, before: FlowJobStatus | None, now: datetime) -> FlowJobStatus:
    created, phase = job.metadata.creation_timestamp, job.status.phase
    # A Job that was created again begins a new record.
    same = before is not None and before.start_timestamp == created
    histories = before.running_histories if before is not None and same else ()
    changed = job.status.state.last_transition_time or now
    return FlowJobStatus(
        name=job.metadata.name,
        state=phase,
        start_timestamp=created,
        end_timestamp=changed if phase in FINISHED else None,
        restart_count=job.status.retry_count,
        running_histories=_with_phase(histories, phase, changed),
    )


def _with_phase(histories: Sequence[RunningHistory], phase: JobPhase, since: datetime) -> list[RunningHistory]:
    if phase is JobPhase.NEW or (histories and histories[-1].state == phase):
        return list(histories)
    ended = [
        RunningHistory(start_timestamp=last.start_timestamp, end_timestamp=since, state=last.state)
        for last in histories[-1:]
    ]
    return [*histories[:-1], *ended, RunningHistory(start_timestamp=since, state=phase)]
