"""Kinds that create jobs: CronJobs, flows of jobs, and the templates that flows use."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from volcano_py.admission.dependencies import dependency_violations
from volcano_py.admission.jobs import JobContext, job_violations
from volcano_py.admission.queue_world import QueueWorld
from volcano_py.admission.sizes import beyond
from volcano_py.admission.violation import NOT_SET, Violation, Violations, new_violations
from volcano_py.api.bounds import FLOW_STEPS, FLOW_TARGETS
from volcano_py.api.json_values import converted
from volcano_py.api.objects import ApiObject, ObjectMeta
from volcano_py.jobs.crons.plan import CronJob, job_name
from volcano_py.jobs.crons.schedule import ScheduleError, parse_schedule
from volcano_py.jobs.flows.jobs import flow_job_name
from volcano_py.jobs.flows.model import JobFlow
from volcano_py.jobs.model import JobMeta, JobSpec, VolcanoJob
from volcano_py.jobs.names import LONGEST_LABEL

_SOME_TIME: Final = datetime(2000, 1, 1, tzinfo=UTC)  # as many minutes after the epoch, in digits, as now
_ANY_SCHEDULE: Final = "@daily"


class _Template(ApiObject, frozen=True):
    spec: JobSpec = JobSpec()


class _CronSpec(ApiObject, frozen=True):
    schedule: str = ""
    time_zone: str | None = None
    job_template: _Template = _Template()


class _Targets(ApiObject, frozen=True):
    targets: list[str] = []


class _Flow(ApiObject, frozen=True):
    name: str = ""
    depends_on: _Targets | None = None


class _FlowSpec(ApiObject, frozen=True):
    flows: list[_Flow] = []


def judge(
    kind: str,
    name: str,
    spec: Mapping[str, Any],
    before: Mapping[str, Any] | None,
    world: QueueWorld,
    context: JobContext,
) -> Violations:
    """What is wrong with an object of one of `KINDS`, by its name and its spec as it came; or what this breaks of the
    spec that an update replaces.

    A stored spec that cannot be read, from before there were rules, counts as none: the update may correct it.

    Raises:
        msgspec.ValidationError: the spec is not shaped as the API has it.
    """
    found = tuple(KINDS[kind](name, spec, world, context))
    if before is None:
        return found
    try:
        return new_violations(found, tuple(KINDS[kind](name, before, world, context)))
    except msgspec.ValidationError:
        return found


def _cron(name: str, raw: Mapping[str, Any], world: QueueWorld, context: JobContext) -> Iterator[Violation]:
    """The schedule can be read, and its jobs would be admitted."""
    spec = converted(raw, _CronSpec)
    # Each on its own: two mistakes are both reported.
    for schedule, zone in ((_ANY_SCHEDULE, spec.time_zone), (spec.schedule, None)):
        try:
            parse_schedule(schedule, zone, _SOME_TIME)
        except ScheduleError as error:
            yield Violation(field=error.field, value=error.value or NOT_SET, rule=error.rule, fix=error.fix)
    made = JobMeta(name=job_name(CronJob(metadata=ObjectMeta(name=name)), _SOME_TIME))
    yield from job_violations(
        VolcanoJob(metadata=made, spec=spec.job_template.spec), "spec.jobTemplate.spec", world, context
    )


def _template(_: str, raw: Mapping[str, Any], world: QueueWorld, context: JobContext) -> Iterator[Violation]:
    """Jobs that flows create from it would be admitted, if the flows' names are short enough."""
    yield from job_violations(VolcanoJob(metadata=JobMeta(), spec=converted(raw, JobSpec)), "spec", world, context)


def _flow(name: str, raw: Mapping[str, Any], *_: object) -> Iterator[Violation]:
    """Each job waits for others of the flow, never for itself."""
    flows = converted(raw, _FlowSpec).flows
    targets = sum(len(flow.depends_on.targets) for flow in flows if flow.depends_on is not None)
    too_large = (
        *beyond("spec.flows", len(flows), FLOW_STEPS, "split the flow"),
        *beyond("spec.flows", targets, FLOW_TARGETS, "let a step wait for fewer others"),
    )
    if too_large:
        yield from too_large
        return
    first: dict[str, int] = {}
    for index, flow in enumerate(flows):
        if first.setdefault(flow.name, index) != index:
            continue  # of several with one name the first counts, and an event says so
        made = flow_job_name(JobFlow(metadata=ObjectMeta(name=name)), flow.name)
        if len(made) > LONGEST_LABEL:
            yield Violation(
                field=f"spec.flows[{index}].name",
                value=flow.name,
                rule=f"makes a job name of {len(made)} characters ({made}), the limit is {LONGEST_LABEL}",
                fix="shorten it, or the flow's name",
            )
    flows = [flows[index] for index in first.values()]
    yield from dependency_violations(
        "job",
        {flow.name: f"spec.flows[{first[flow.name]}].dependsOn.targets" for flow in flows},
        {flow.name: flow.depends_on.targets if flow.depends_on is not None else () for flow in flows},
    )


KINDS: Final[Mapping[str, Callable[[str, Mapping[str, Any], QueueWorld, JobContext], Iterator[Violation]]]] = {
    "cronjob": _cron,
    "jobtemplate": _template,
    "jobflow": _flow,
}
"""What is checked here, and the rules for it."""
