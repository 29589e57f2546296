"""Volcano Jobs: defaults, rules for a new Job, and which fields can change."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from typing import Any, Final

import msgspec
import orjson

from volcano_py.admission.network import topology_violations
from volcano_py.admission.pod_groups import queue_violations
from volcano_py.admission.policies import policy_violations
from volcano_py.admission.queue_world import QueueWorld
from volcano_py.admission.semantic_diff import differ, first_difference
from volcano_py.admission.sizes import size_violations
from volcano_py.admission.tasks import number_violations, pod_name_violations, task_violations
from volcano_py.admission.violation import NOT_SET, Violation, Violations, new_violations
from volcano_py.api.annotations.known import unreadable_of_pod, unreadable_of_pod_group
from volcano_py.api.dns_names import is_subdomain
from volcano_py.api.json_values import converted
from volcano_py.api.names import DEFAULT_QUEUE
from volcano_py.api.objects import ObjectMeta
from volcano_py.jobs.defaults import JobRules, with_defaults
from volcano_py.jobs.model import JobSpec, Task, VolcanoJob, VolumeSpec
from volcano_py.jobs.names import LONGEST_LABEL
from volcano_py.jobs.plugins import JobPlugins
from volcano_py.jobs.plugins.plugin import PluginArgumentError

MOST_PODS: Final = 1_000_000
"""Of one job. Kubernetes is built for 150,000 pods in a cluster; plugins write a line for each of a job's hosts."""

_CHANGEABLE: Final = frozenset({"minAvailable", "priorityClassName"})
_CHANGEABLE_OF_TASKS: Final = frozenset({"replicas", "minAvailable"})
_LONGEST_SHOWN: Final = 60  # characters of a value that was changed
_SCALARS: Final = ("queue", "schedulerName", "maxRetry", "minAvailable")


class JobContext(msgspec.Struct, frozen=True):
    """What holds where a job is: what this installation fills in, which job plugins there are, and the annotations of
    the job's namespace."""

    rules: JobRules
    plugins: JobPlugins
    namespace: Mapping[str, str] = msgspec.field(default_factory=dict)


def defaults(job: VolcanoJob, raw_spec: Mapping[str, Any], context: JobContext) -> dict[str, Any]:
    """What is filled in, as a merge patch. `raw_spec` is the spec as it came; lists are given whole.

    No queue becomes `default`, as in the CRD. What that means is decided when pods are created for the job,
    and may change with the annotations of its namespace.
    """
    filled = with_defaults(job, context.rules).spec
    values = (job.spec.queue or DEFAULT_QUEUE, filled.scheduler_name, filled.max_retry, filled.min_available)
    spec: dict[str, Any] = {
        name: value for name, value in zip(_SCALARS, values, strict=True) if raw_spec.get(name) != value
    }
    given = list(raw_spec.get("tasks") or ())
    tasks = [_filled_task(task, full) for task, full in zip(given, filled.tasks, strict=True)]
    if tasks != given:
        spec["tasks"] = tasks
    required = {
        name
        for wanted in job.spec.plugins
        for name in (context.plugins.classes[wanted].requires if wanted in context.plugins.classes else ())
    }
    if missing := sorted(required - job.spec.plugins.keys()):
        spec["plugins"] = {name: [] for name in missing}
    return {"spec": spec} if spec else {}


def _filled_task(task: Mapping[str, Any], full: Task) -> dict[str, Any]:
    """A task as it came, with its defaults; what stays as it is is shared, as it may be megabytes."""
    filled = {**task, "name": full.name, "minAvailable": full.minimum, "maxRetry": full.max_retry}
    template = task.get("template") or {}
    pod = template.get("spec")
    if isinstance(pod, dict) and pod.get("hostNetwork") and not pod.get("dnsPolicy"):
        filled["template"] = {**template, "spec": {**pod, "dnsPolicy": "ClusterFirstWithHostNet"}}
    return filled


def validate_create(job: VolcanoJob, world: QueueWorld, context: JobContext) -> Violations:
    """What is wrong with a new job; defaults count as filled in."""
    return tuple(job_violations(job, "spec", world, context))


def validate_update(
    before: VolcanoJob,
    after: VolcanoJob,
    raw_before: Mapping[str, Any],
    raw_after: Mapping[str, Any],
    context: JobContext,
) -> Violations:
    """What of the update cannot be, from both objects and their specs as they came.

    Defaults count as filled in, in both: the update has been, and the object may be older than the webhooks.
    """
    changed = tuple(_changes(_filled(before, raw_before, context), _filled(after, raw_after, context)))
    was, now = (tuple(_limits(with_defaults(job, context.rules))) for job in (before, after))
    return (*changed, *new_violations(now, was))


def job_violations(job: VolcanoJob, path: str, world: QueueWorld, context: JobContext) -> Iterator[Violation]:
    """The same for a job in a template; `path` is that of its spec."""
    written = job.spec.queue
    job = with_defaults(job, context.rules, context.namespace)
    name, spec = job.metadata.name, job.spec
    if len(name) > LONGEST_LABEL:
        rule, fix = f"has {len(name)} characters, the limit is {LONGEST_LABEL}", "shorten it"
        yield Violation(field="metadata.name", value=name, rule=rule, fix=fix)
    too_large = tuple(size_violations(path, spec))
    if too_large:
        yield from too_large
        return  # whatever else is wrong with it, it costs too much to find out
    yield from task_violations(name, f"{path}.tasks", spec.tasks)
    yield from _minimum(path, spec)
    yield from policy_violations(f"{path}.policies", spec.policies)
    yield from _plugins(path, job, context.plugins)
    yield from _volumes(f"{path}.volumes", spec.volumes)
    yield from topology_violations(f"{path}.networkTopology", spec.network_topology)
    yield from queue_violations(f"{path}.queue", spec.queue, world, written)


def as_submitted(job: VolcanoJob) -> VolcanoJob:
    """The job without what Volcano's controller adds: next to a claim template it writes the
    name of the claim that it has created."""
    volumes = [
        volume if volume.volume_claim is None else msgspec.structs.replace(volume, volume_claim_name="")
        for volume in job.spec.volumes
    ]
    return msgspec.structs.replace(job, spec=msgspec.structs.replace(job.spec, volumes=volumes))


def _filled(job: VolcanoJob, raw_spec: Mapping[str, Any], context: JobContext) -> dict[str, Any]:
    """The spec as it came, with its defaults, and without what was added to it."""
    patch = defaults(job, raw_spec, context).get("spec", {})
    plugins = {**(raw_spec.get("plugins") or {}), **patch.get("plugins", {})}
    volumes = msgspec.to_builtins(as_submitted(job).spec.volumes)
    return {**raw_spec, **patch, "plugins": plugins, "volumes": volumes}


def _limits(job: VolcanoJob) -> Iterator[Violation]:
    for index, task in enumerate(job.spec.tasks):
        yield from number_violations(f"spec.tasks[{index}]", task)
        yield from pod_name_violations(job.metadata.name, f"spec.tasks[{index}]", task)
    yield from _minimum("spec", job.spec)


def _minimum(path: str, spec: JobSpec) -> Iterator[Violation]:
    replicas = spec.replicas
    if replicas > MOST_PODS:
        rule = f"replicas in total exceed the limit of {MOST_PODS}"
        yield Violation(
            field=f"{path}.tasks",
            value=str(replicas),
            rule=rule,
            fix="lower replicas",
            excess=Fraction(replicas - MOST_PODS),
        )
    if spec.min_available > replicas:
        yield Violation(
            field=f"{path}.minAvailable",
            value=str(spec.min_available),
            rule=f"is more than the replicas of all tasks, {replicas}",
            fix="lower it, or raise replicas",
            excess=Fraction(spec.min_available - replicas),
        )


def _plugins(path: str, job: VolcanoJob, plugins: JobPlugins) -> Iterator[Violation]:
    for name in job.spec.plugins:
        field = f"{path}.plugins[{name}]"
        if name not in plugins.classes:
            there_are = ", ".join(sorted(plugins.classes)) or "none"
            rule = f"is not an installed job plugin (installed: {there_are})"
            yield Violation(field=field, value=name, rule=rule, fix="name one of these, or remove it")
            continue
        try:
            plugin = plugins.plugin_for(job, name)
        except PluginArgumentError as error:
            # The arguments themselves may be keys: the error says as much of them as may be shown.
            problem, _, fix = str(error).removeprefix(f"spec.plugins.{name}: ").partition("; ")
            rule, fix = f"cannot be used: {problem}", fix or "correct the arguments"
            yield Violation(field=field, value=name, rule=rule, fix=fix)
            continue
        master = getattr(plugin, "master", None) if name == "mpi" else None
        if master is not None and job.task(master) is None:
            rule, fix = f"needs a task {master!r}, which does not exist", "add it, or name another one with --master"
            yield Violation(field=field, value=name, rule=rule, fix=fix)


def plugin_warnings(job: VolcanoJob, plugins: JobPlugins) -> Iterator[str]:
    """Of plugins that can be used: what of their arguments is ignored, and which tasks they do without."""
    for name in job.spec.plugins:
        if name in plugins.classes:
            with suppress(PluginArgumentError):
                plugin = plugins.plugin_for(job, name)
                yield from (*plugin.remarks(job), *plugin.warnings)


def annotation_warnings(job: VolcanoJob) -> Iterator[str]:
    """What is ignored of the annotations and labels that the job's PodGroup and pods get."""
    for value in unreadable_of_pod_group(job.metadata):
        yield value.message
    for index, task in enumerate(job.spec.tasks):
        with suppress(msgspec.ValidationError):
            for value in unreadable_of_pod(converted(task.template.get("metadata"), ObjectMeta)):
                yield f"spec.tasks[{index}].template: {value.message}"


def _volumes(path: str, volumes: Sequence[VolumeSpec]) -> Iterator[Violation]:
    first: dict[str, int] = {}
    for index, volume in enumerate(volumes):
        field, where = f"{path}[{index}]", volume.mount_path
        if not where:
            rule, fix = "a path is required", "set mountPath"
            yield Violation(field=f"{field}.mountPath", value="", rule=rule, fix=fix)
        elif (other := first.setdefault(where, index)) != index:
            rule, fix = f"is already the mount path of {path}[{other}]", "choose another path"
            yield Violation(field=f"{field}.mountPath", value=where, rule=rule, fix=fix)
        if volume.volume_claim is not None and volume.volume_claim_name:
            rule, fix = "is set together with volumeClaim", "keep one of them"
            yield Violation(field=f"{field}.volumeClaimName", value=volume.volume_claim_name, rule=rule, fix=fix)
        elif volume.volume_claim_name and not is_subdomain(volume.volume_claim_name):
            rule = "cannot name a PersistentVolumeClaim"
            value = volume.volume_claim_name[:_LONGEST_SHOWN]
            yield Violation(field=f"{field}.volumeClaimName", value=value, rule=rule, fix="name an existing claim")
        elif volume.volume_claim is None and not volume.volume_claim_name:
            rule, fix = "a claim is required", "set volumeClaimName or volumeClaim"
            yield Violation(field=f"{field}.volumeClaimName", value="", rule=rule, fix=fix)


def _changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Violation]:
    """Fields that cannot change, and did."""
    what = "only a job's minAvailable and priorityClassName, and its tasks' replicas and minAvailable, can change"
    for name in sorted((before.keys() | after.keys()) - _CHANGEABLE - {"tasks"}):
        if differ(name, before.get(name), after.get(name)):
            yield _changed(f"spec.{name}", before.get(name), after.get(name), what)
    old, new = before.get("tasks") or [], after.get("tasks") or []
    if len(old) != len(new):
        yield _changed("spec.tasks", f"{len(old)} tasks", f"{len(new)} tasks", what)
        return
    for index, (was, now) in enumerate(zip(old, new, strict=True)):
        for name in sorted((was.keys() | now.keys()) - _CHANGEABLE_OF_TASKS):
            if differ(name, was.get(name), now.get(name)):
                yield _changed(f"spec.tasks[{index}].{name}", was.get(name), now.get(name), what)


def _changed(field: str, before: Any, after: Any, what: str) -> Violation:
    for step in first_difference(field.rpartition(".")[2], before, after):
        field = f"{field}[{step}]" if isinstance(step, int) else f"{field}.{step}"
        before, after = (each[step] if isinstance(step, int) else each.get(step) for each in (before, after))
    return Violation(
        field=field,
        value=_shown(after),
        rule=f"differs from {_shown(before)}, and cannot change",
        fix=f"delete the job and create it again; {what}",
    )


def _shown(value: Any) -> str:
    if value in (None, ""):
        return NOT_SET
    text = value if isinstance(value, str) else orjson.dumps(value).decode()
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…"
