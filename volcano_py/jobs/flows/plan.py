"""`flow.volcano.sh/v1alpha1`, kind `JobFlow`: which of its Jobs to create now, and which to delete.

Everything follows from the object, from the Jobs it owns, from the JobTemplates and from what probes found, so that it
may be worked out again at any moment.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime
from graphlib import CycleError, TopologicalSorter
from typing import Final

import msgspec

from volcano_py.api.bounds import FLOW_STEPS, FLOW_TARGETS
from volcano_py.api.wording.summarize import summarize
from volcano_py.jobs.event_note import EventNote
from volcano_py.jobs.flows.headers import header_problem
from volcano_py.jobs.flows.jobs import flow_job_name
from volcano_py.jobs.flows.model import FINAL, FlowPhase, JobFlow, JobFlowStatus, JobTemplate, Probe, Step, TaskStatus
from volcano_py.jobs.flows.status import phases_of, status_of
from volcano_py.jobs.model import JobPhase, Task, VolcanoJob

DELETE: Final = "delete"
"""The `jobRetainPolicy` that deletes the Jobs when all have completed."""

# Reasons of events.
CREATED: Final = "Created"
BAD_FLOW: Final = "InvalidJobFlow"
NO_TEMPLATE: Final = "JobTemplateNotFound"
NO_TASK: Final = "TaskNotFound"

_MOST_SHOWN: Final = 3  # problems of a flow in one message
_MOST_IN_CIRCLE: Final = 8


class PodProbe(msgspec.Struct, frozen=True):
    """A question to the pods of one task of a Job, or of all its tasks when `task` is empty.

    `path` None: that a TCP connection can be opened; else that a GET is answered with a status from 200 to 399.
    `needed`: how many pods must answer.
    """

    job: str
    task: str
    needed: int
    port: int
    path: str | None = None
    header: tuple[str, str] | None = None


class FlowPlan(msgspec.Struct, frozen=True):
    """What to do: create the Jobs of the steps in `create`, delete `remove`, write `status`.

    `probes`: what other steps wait for. When the answers are known, the plan has to be made again with them.
    """

    status: JobFlowStatus
    create: tuple[Step, ...] = ()
    remove: tuple[VolcanoJob, ...] = ()
    probes: frozenset[PodProbe] = frozenset()
    events: tuple[EventNote, ...] = ()


def flow_problems(steps: Iterable[Step]) -> list[str]:
    """What is wrong with the steps: unknown names and cycles. Empty when nothing is."""
    steps = list(steps)
    targets = sum(len(step.targets) for step in steps)
    if len(steps) > FLOW_STEPS.most or targets > FLOW_TARGETS.most:
        found = f"spec.flows has {len(steps)} steps with {targets} targets"
        return [f"{found}; at most {FLOW_STEPS.most} with {FLOW_TARGETS.most} are allowed; split the flow"]
    names = {step.name for step in steps}
    problems: list[str] = []
    for step in steps:
        problems += [
            f"spec.flows[{step.name}].dependsOn.targets has {target!r}, which is not a step of the flow"
            for target in dict.fromkeys(step.targets)
            if target not in names
        ]
    try:
        TopologicalSorter({step.name: step.targets for step in steps}).prepare()
    except CycleError as error:
        circle = " → ".join(error.args[1][:_MOST_IN_CIRCLE])
        circle += " → …" if len(error.args[1]) > _MOST_IN_CIRCLE else ""
        problems.append(f"spec.flows has a cycle: {circle}; remove one of these dependsOn.targets")
    return problems


def owned_by(flow: JobFlow, jobs: Iterable[VolcanoJob]) -> dict[str, VolcanoJob]:
    """Those of the Jobs that were created for the flow, by name."""
    return {
        job.metadata.name: job
        for job in jobs
        if (owner := job.metadata.controller) is not None and owner.uid == flow.metadata.uid
    }


def plan_flow(
    flow: JobFlow,
    jobs: Mapping[str, VolcanoJob],
    templates: Mapping[str, JobTemplate],
    answers: Mapping[PodProbe, bool],
    now: datetime,
) -> FlowPlan:
    """What the flow needs now. `jobs` are those it owns and `templates` those of its namespace, by name."""
    phases = phases_of(flow, jobs)
    status = status_of(flow, jobs, phases, now)
    phase = status.phase
    if phase is FlowPhase.SUCCEED and flow.spec.job_retain_policy == DELETE:
        remove = tuple(job for job in jobs.values() if job.metadata.deletion_timestamp is None)
        return FlowPlan(status, remove=remove)
    if phase in FINAL or phase is FlowPhase.TERMINATING:
        return FlowPlan(status)
    steps = flow.spec.steps
    if problems := flow_problems(steps):
        more = f"; and {len(problems) - _MOST_SHOWN} more" if len(problems) > _MOST_SHOWN else ""
        message = f"no Jobs are created: {'; '.join(problems[:_MOST_SHOWN])}{more}"
        return FlowPlan(status, events=(EventNote("Warning", BAD_FLOW, message, dedup_key=message),))
    create: list[Step] = []
    probes: set[PodProbe] = set()
    events = _repeated(flow)
    for step in steps:
        if step.name in phases:
            continue
        waits = _Waits(flow, step, jobs, phases, answers)
        probes |= waits.open_questions
        events += waits.events
        if not waits.is_over:
            continue
        if step.name in templates:
            create.append(step)
        else:
            message = f"step {step.name} waits: JobTemplate {step.name!r} does not exist in the namespace; create it"
            events.append(EventNote("Warning", NO_TEMPLATE, message, dedup_key=message))
    return FlowPlan(status, create=tuple(create), probes=frozenset(probes), events=tuple(events))


def _repeated(flow: JobFlow) -> list[EventNote]:
    """A warning for names that several steps have."""
    counts = Counter(step.name for step in flow.spec.flows)
    twice = [name for name, count in counts.items() if count > 1]
    if not twice:
        return []
    message = f"spec.flows names {summarize(twice)} more than once: the first counts, as there is one Job for a name"
    return [EventNote("Warning", BAD_FLOW, message, dedup_key=message)]


class _Waits:
    """Whether a step has to wait for those it depends on, and which answers of pods are missing."""

    def __init__(
        self,
        flow: JobFlow,
        step: Step,
        jobs: Mapping[str, VolcanoJob],
        phases: Mapping[str, JobPhase],
        answers: Mapping[PodProbe, bool],
    ) -> None:
        self._step, self._answers = step, answers
        self.open_questions: set[PodProbe] = set()
        self.events: list[EventNote] = []
        probe = step.depends_on.probe if step.depends_on is not None else None
        # A Job that has completed has been through whatever a probe could ask for.
        unfinished = [target for target in step.targets if phases.get(target) is not JobPhase.COMPLETED]
        self._has_completed = len(unfinished) < len(step.targets)
        self._jobs = [jobs[name] for target in unfinished if (name := flow_job_name(flow, target)) in jobs]
        if probe is None or probe.is_empty:
            self.is_over = not unfinished
        else:
            self.is_over = len(self._jobs) == len(unfinished) and self._holds(probe)

    def _holds(self, probe: Probe) -> bool:
        """Whether the targets are as the probe says; all of it is looked at, so that all questions come at once."""
        held = [self._is_in_phase(each) for each in probe.task_status_list]
        for get in probe.http_get_list:
            header = (get.http_header.name, get.http_header.value) if get.http_header is not None else None
            may_be_sent = header is None or self._may_be_sent(*header)
            held.append(may_be_sent and self._is_answered(get.task_name, get.port, get.path or "/", header))
        held += [self._is_answered(each.task_name, each.port) for each in probe.tcp_socket_list]
        return all(held)

    def _is_in_phase(self, wanted: TaskStatus) -> bool:
        asked = self._asked(wanted.task_name)
        return asked is not None and all(
            _pods_in(job, task, wanted.phase) >= task.minimum for job, tasks in asked for task in tasks
        )

    def _may_be_sent(self, name: str, value: str) -> bool:
        problem = header_problem(name, value)
        if not problem or not self._jobs:
            return True
        message = f"step {self._step.name} waits: dependsOn.probe has the header {problem}; correct it"
        self.events.append(EventNote("Warning", BAD_FLOW, message, dedup_key=message))
        return False

    def _is_answered(
        self, task_name: str, port: int, path: str | None = None, header: tuple[str, str] | None = None
    ) -> bool:
        asked = self._asked(task_name)
        if asked is None:
            return False
        questions = [
            PodProbe(job.metadata.name, task_name, sum(task.minimum for task in tasks), port, path, header)
            for job, tasks in asked
        ]
        unanswered = [question for question in questions if not self._answers.get(question, False)]
        self.open_questions.update(unanswered)
        return not unanswered

    def _asked(self, task_name: str) -> list[tuple[VolcanoJob, list[Task]]] | None:
        """The unfinished Jobs that have the task, with it, or with all their tasks when there is no name.

        None when no target can have it.
        """
        asked: list[tuple[VolcanoJob, list[Task]]] = []
        for job in self._jobs:
            tasks = [task for task in job.spec.tasks if task_name in ("", task.name)]
            if tasks:
                asked.append((job, tasks))
        if asked or self._has_completed or not self._jobs:
            return asked
        names = ", ".join(job.metadata.name for job in self._jobs)
        asks = f"dependsOn.probe asks for task {task_name!r}"
        message = f"step {self._step.name} waits: {asks}, which {names} does not have"
        self.events.append(EventNote("Warning", NO_TASK, message, dedup_key=message))
        return None


def _pods_in(job: VolcanoJob, task: Task, phase: str) -> int:
    count = job.status.task_status_count.get(task.name)
    return count.phase.get(phase, 0) if count is not None else 0
