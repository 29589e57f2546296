"""Jobs of a JobFlow: their names, and what they are created from, a JobTemplate with the flow's own changes."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from volcano_py.api.effects import JsonObject
from volcano_py.jobs.flows.model import FLOW_API, FLOW_KIND, JobFlow, JobTemplate, Step
from volcano_py.jobs.model import BATCH_API, JOB_KIND, VolcanoJob
from volcano_py.jobs.names import LONGEST_LABEL

CREATED_BY_TEMPLATE: Final = "volcano.sh/createdByJobTemplate"
CREATED_BY_FLOW: Final = "volcano.sh/createdByJobFlow"
"""Labels and annotations of a Job, `<namespace>.<name>`."""

# Lists whose items are identified by a field; the first field that all of them have counts. Other lists are replaced.
_KEYS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "tasks": ("name",),
        "containers": ("name",),
        "initContainers": ("name",),
        "env": ("name",),
        "volumes": ("name", "mountPath"),
        "volumeMounts": ("mountPath",),
        "ports": ("containerPort",),
        "imagePullSecrets": ("name",),
    }
)


def flow_job_name(flow: JobFlow, step: str) -> str:
    """Name of the step's Job."""
    return f"{flow.metadata.name}-{step}"


def template_of(job: VolcanoJob) -> str:
    """The JobTemplate that the Job was created from, as `<namespace>.<name>`, by its annotation; "" if it has none."""
    return job.metadata.annotations.get(CREATED_BY_TEMPLATE, "")


def template_mark(template: JobTemplate) -> str:
    """What Jobs created from the template have as annotation."""
    return f"{template.metadata.namespace}.{template.metadata.name}"


def flow_job(flow: JobFlow, step: Step, template: JobTemplate) -> JsonObject:
    """The Job of the step."""
    namespace, name = flow.metadata.namespace, flow.metadata.name
    marks = {CREATED_BY_TEMPLATE: template_mark(template), CREATED_BY_FLOW: f"{namespace}.{name}"}
    # `blockOwnerDeletion` is left out, because setting it needs rights on the owner's finalizers.
    owner = {"apiVersion": FLOW_API, "kind": FLOW_KIND, "name": name, "uid": flow.metadata.uid, "controller": True}
    return {
        "apiVersion": BATCH_API,
        "kind": JOB_KIND,
        "metadata": {
            "name": flow_job_name(flow, step.name),
            "namespace": namespace,
            # A long name is no valid label; nothing of ours looks for it.
            "labels": {key: value for key, value in marks.items() if len(value) <= LONGEST_LABEL},
            "annotations": marks,
            "ownerReferences": [owner],
        },
        "spec": patched(template.spec, step.patch.job_spec if step.patch is not None else {}),
    }


def patched(spec: JsonObject, patch: Mapping[str, Any]) -> JsonObject:
    """The spec with the changes of the patch; both stay as they are.

    Objects are merged field by field, and null takes a field away. In lists of tasks, containers, variables, ports,
    volumes and mounts, items of the same name (port and protocol, path) are merged and others added; other lists are
    replaced.
    """
    merged: JsonObject = _merged(copy.deepcopy(spec), patch)
    return merged


def _merged(value: Any, patch: Any, field: str = "") -> Any:
    if isinstance(patch, Mapping):
        result = dict(value) if isinstance(value, Mapping) else {}
        for key, change in patch.items():
            if change is None:
                result.pop(key, None)
            else:
                result[key] = _merged(result.get(key), change, key)
        return result
    if isinstance(patch, list) and isinstance(value, list) and (key := _key_of(field, [*value, *patch])):
        return _merged_list(value, patch, key)
    return copy.deepcopy(patch)


def _key_of(field: str, items: list[Any]) -> str:
    """The field that identifies the items; "" if an item has none."""

    def tells_apart(key: str) -> bool:
        return all(isinstance(item, Mapping) and isinstance(item.get(key), str | int) for item in items)

    return next((key for key in _KEYS.get(field, ()) if tells_apart(key)), "")


def _merged_list(items: list[Any], patches: list[Any], key: str) -> list[Any]:
    merged = {_identity(item, key): item for item in items}
    for patch in patches:
        identity = _identity(patch, key)
        merged[identity] = _merged(merged.get(identity), patch)
    return list(merged.values())


def _identity(item: Mapping[str, Any], key: str) -> tuple[str | int, str]:
    # A port's number may be there once for each protocol.
    return item[key], str(item.get("protocol") or "TCP") if key == "containerPort" else ""
