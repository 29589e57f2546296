"""JobFlows and JobTemplates as rows, and all details of one. Pure functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec
from rich.text import Text

from volcano_py.api.effects import JsonObject
from volcano_py.cli.jobs.rows import age_of, cell
from volcano_py.cli.printing.listing import Cells, phase_text
from volcano_py.jobs.flows.jobs import flow_job_name
from volcano_py.jobs.flows.model import JobFlow, JobTemplate, Step
from volcano_py.jobs.model import JobSpec

Facts = Sequence[tuple[str, str | Text]]

FLOW_NUMBERS: Final = ("JOBS", "PENDING", "RUNNING", "COMPLETED", "FAILED")
FLOW_HEADER: Final = ("NAMESPACE", "NAME", "PHASE", *FLOW_NUMBERS, "AGE")
FLOW_STATE_COLUMN: Final = FLOW_HEADER.index("PHASE")
STEP_HEADER: Final = ("STEP", "AFTER", "JOB", "PHASE", "RETRIES", "SINCE")

TEMPLATE_NUMBERS: Final = ("TASKS", "REPLICAS", "MIN", "JOBS")
TEMPLATE_HEADER: Final = ("NAMESPACE", "NAME", "QUEUE", *TEMPLATE_NUMBERS, "AGE")
TEMPLATE_STATE_COLUMN: Final = TEMPLATE_HEADER.index("AGE")  # it has no state of its own
TASK_HEADER: Final = ("TASK", "REPLICAS", "MIN")


def flow_row(found: JsonObject, now: float) -> Cells:
    """The cells below `FLOW_HEADER`.

    Raises:
        msgspec.ValidationError: it cannot be read.
    """
    flow = msgspec.convert(found, JobFlow)
    status = flow.status
    jobs = (
        status.pending_jobs,
        status.running_jobs,
        status.completed_jobs,
        (*status.failed_jobs, *status.terminated_jobs),
    )
    return (
        cell(flow.metadata.namespace),
        cell(flow.metadata.name),
        phase_text(cell(status.state.phase)),
        cell(len(flow.spec.steps)),
        *(cell(len(names)) for names in jobs),
        age_of(flow.metadata.creation_timestamp, now),
    )


def flow_facts(flow: JobFlow, now: float) -> Facts:
    """What the flow says line by line."""
    metadata = flow.metadata
    return [
        ("Name", cell(metadata.name)),
        ("Namespace", cell(metadata.namespace)),
        ("Age", age_of(metadata.creation_timestamp, now)),
        ("Phase", phase_text(cell(flow.status.state.phase))),
        ("Retain policy", cell(flow.spec.job_retain_policy or "retain")),
    ]


def step_rows(flow: JobFlow, now: float) -> list[Cells]:
    """Each step with what it waits for, and its Job as the flow knows it; under `STEP_HEADER`."""
    return [_step_row(flow, step, now) for step in flow.spec.steps]


def _step_row(flow: JobFlow, step: Step, now: float) -> Cells:
    name = flow_job_name(flow, step.name)
    known = next((each for each in flow.status.job_status_list if each.name == name), None)
    after = ", ".join(step.targets)
    if step.depends_on is not None and step.depends_on.probe is not None and not step.depends_on.probe.is_empty:
        after += " (probe)"
    if known is None:
        return (cell(step.name), cell(after), "-", phase_text(""), "-", "-")
    since = known.running_histories[-1].start_timestamp if known.running_histories else known.start_timestamp
    return (
        cell(step.name),
        cell(after),
        cell(name),
        phase_text(cell(known.state)),
        cell(known.restart_count),
        age_of(since, now),
    )


def template_row(found: JsonObject, now: float) -> Cells:
    """The cells below `TEMPLATE_HEADER`.

    Raises:
        msgspec.ValidationError: it cannot be read.
    """
    template = msgspec.convert(found, JobTemplate)
    spec = msgspec.convert(template.spec, JobSpec)
    return (
        cell(template.metadata.namespace),
        cell(template.metadata.name),
        cell(spec.queue),
        cell(len(spec.tasks)),
        cell(sum(task.replicas for task in spec.tasks)),
        cell(_minimum(spec)),
        cell(len(template.status.job_depends_on_list)),
        age_of(template.metadata.creation_timestamp, now),
    )


def template_facts(template: JobTemplate, now: float) -> Facts:
    """What the template says line by line; what it does not say is left out."""
    spec, metadata = msgspec.convert(template.spec, JobSpec), template.metadata
    facts = {
        "Name": metadata.name,
        "Namespace": metadata.namespace,
        "Age": age_of(metadata.creation_timestamp, now),
        "Queue": spec.queue,
        "Scheduler": spec.scheduler_name,
        "Priority class": spec.priority_class_name,
        "Plugins": ", ".join(sorted(spec.plugins)),
        "Pods": f"{sum(task.replicas for task in spec.tasks)} wanted, {_minimum(spec)} needed",
        "Jobs": ", ".join(template.status.job_depends_on_list) or "none yet",
    }
    return [(name, cell(text)) for name, text in facts.items() if text]


def template_task_rows(template: JobTemplate) -> list[Cells]:
    """Each task under `TASK_HEADER`."""
    tasks = msgspec.convert(template.spec, JobSpec).tasks
    return [
        (cell(task.name or f"default{index}"), cell(task.replicas), cell(task.minimum))
        for index, task in enumerate(tasks)
    ]


def _minimum(spec: JobSpec) -> int:
    """Pods that start together: as admission fills it in when the template does not say."""
    return spec.min_available or sum(task.minimum for task in spec.tasks)
