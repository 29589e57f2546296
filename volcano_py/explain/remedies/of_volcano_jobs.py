"""Of a Volcano Job that has no pods yet: what to change in the Job itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from msgspec.structs import replace

from volcano_py.api.quantity import QuantityError, Rounding
from volcano_py.api.wording.amounts import amount
from volcano_py.cluster.manifests import VOLCANO_JOB
from volcano_py.explain.model import Remedy
from volcano_py.explain.remedies.candidate import Candidate, helps
from volcano_py.explain.remedies.sizes import first_that, sizes_below
from volcano_py.explain.target import Target, job_of, refused_job
from volcano_py.explain.world import Change, World
from volcano_py.jobs.model import Task, VolcanoJob
from volcano_py.jobs.refusal import INVALID, accepted
from volcano_py.state.queues.quotas import quota_units
from volcano_py.state.table.units import canonical


def minimum_within_replicas(world: World, target: Target) -> Iterator[Candidate]:
    """No higher a minAvailable than its tasks have replicas."""
    refused = refused_job(world, target)
    if refused is None or refused[1].reason != INVALID:
        return
    job, before = refused[0], refused[0].spec.min_available
    if not 0 < job.replicas < before:
        return
    text = f"lower minAvailable of Job {job.metadata.key} from {before} to {job.replicas}"
    changed = replace(accepted(job), spec=replace(job.spec, min_available=job.replicas))
    candidate = Candidate(Remedy("fewer-pods", text), (Change(VOLCANO_JOB, job.metadata.key, changed),))
    if helps(world, target, candidate, need=job.replicas):
        yield candidate


def smaller_templates(world: World, target: Target) -> Iterator[Candidate]:
    """For each resource, the largest request of the task that asks for the most, with which the Job starts."""
    job = job_of(world, target) if not target.pods and target.found is not None else None
    if job is None:
        return
    by_task = {task.name: _requests(task) for task in job.spec.tasks if task.replicas}
    for name in dict.fromkeys(name for requests in by_task.values() for name in requests):
        largest = max(by_task, key=lambda task: by_task[task].get(name, 0))
        request = by_task[largest][name]
        sizes = sizes_below(world, target, name, request)
        candidates = [_smaller(job, target, largest, name, request, size) for size in sizes]
        found = first_that(candidates, partial(helps, world, target))
        if found is not None:
            yield found


def _smaller(job: VolcanoJob, target: Target, task: str, name: str, request: int, size: int) -> Candidate:
    key = job.metadata.key
    text = (
        f"ask for less: {amount(name, size)} for each pod of task {task} instead of {amount(name, request)} "
        f"(recreate Job {key})"
    )
    written = canonical(name, size)
    tasks = [_with_size(each, name, written) if each.name == task else each for each in job.spec.tasks]
    changed = replace(job, spec=replace(job.spec, tasks=tasks))
    changes = (Change("PodGroup", target.group, None), Change(VOLCANO_JOB, key, changed))
    return Candidate(Remedy("smaller-pods", text), changes)


def _container(task: Task) -> Mapping[str, Any]:
    """The only one; empty where there are several."""
    containers = (task.template.get("spec") or {}).get("containers") or []
    return containers[0] if len(containers) == 1 else {}


def _resources(container: Mapping[str, Any]) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    resources = container.get("resources") or {}
    return resources.get("requests") or {}, resources.get("limits") or {}


def _requests(task: Task) -> dict[str, int]:
    """What one of its pods asks for; a limit counts where there is no request."""
    requests, limits = _resources(_container(task))
    try:
        return quota_units({name: str(value) for name, value in {**limits, **requests}.items()}, Rounding.UP)
    except QuantityError:
        return {}


def _with_size(task: Task, name: str, size: str) -> Task:
    container = _container(task)
    requests, limits = _resources(container)
    resources = {"requests": {**limits, **requests, name: size}}
    spec = {**task.template["spec"], "containers": [{**container, "resources": resources}]}
    return replace(task, template={**task.template, "spec": spec})
