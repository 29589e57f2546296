"""Volcano Jobs and their pods as objects, for tests of the pure part."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec

from volcano_py.api.names import DISRUPTION_TARGET, PREEMPTION_BY_SCHEDULER
from volcano_py.api.objects import Condition, Pod, PodGroup
from volcano_py.jobs.defaults import JobRules, with_defaults
from volcano_py.jobs.group import group_of
from volcano_py.jobs.members import Members
from volcano_py.jobs.model import VolcanoJob
from volcano_py.jobs.pods import pod_of

NOW = 1_800_000_000.0


def moment(seconds: float = 0.0) -> str:
    """So long after `NOW`, as the API writes it."""
    return datetime.fromtimestamp(NOW + seconds, UTC).isoformat()


def task(name: str = "worker", replicas: int = 1, *, cpu: str = "1", **fields: Any) -> dict[str, Any]:
    container = {"name": "main", "image": "work", "resources": {"requests": {"cpu": cpu}}}
    return {"name": name, "replicas": replicas, "template": {"spec": {"containers": [container]}}, **fields}


def job(
    *tasks: dict[str, Any], phase: str = "Running", status: dict[str, Any] | None = None, **spec: Any
) -> VolcanoJob:
    """A job called `train` with its defaults filled in; `spec` and `status` as the API has them."""
    state = {"phase": phase, "lastTransitionTime": moment()}
    body = {
        "metadata": {"name": "train", "namespace": "ns", "uid": "job-uid", "generation": 1},
        "spec": {"tasks": list(tasks) or [task()], **spec},
        "status": {"state": state, **(status or {})},
    }
    return with_defaults(msgspec.convert(body, VolcanoJob), JobRules())


def pods(of: VolcanoJob, states: dict[str, str], **changes: Any) -> list[Pod]:
    """Pods of the job. `states`: name without the job's → phase, with `!` behind it when the pod is being deleted.

    `changes` are merged into each pod's metadata.
    """
    made = []
    for name, state in states.items():
        task_name, _, index = name.rpartition("-")
        owner = of.task(task_name)
        assert owner is not None
        body = pod_of(of, owner, int(index))
        metadata = {**body["metadata"], "uid": f"uid-{name}", "creationTimestamp": moment(), **changes}
        if state.endswith("!"):
            metadata["deletionTimestamp"] = moment()
        status: dict[str, Any] = {"phase": state.rstrip("!")}
        if status["phase"] == "Running":
            status["conditions"] = [{"type": "Ready", "status": "True"}]
        made.append(msgspec.convert({**body, "metadata": metadata, "status": status}, Pod, strict=False))
    return made


def failed(pod: Pod, exit_code: int, *, seconds: float = 0.0) -> Pod:
    """The pod, failed with this code so long after `NOW`."""
    status = {
        "phase": "Failed",
        "containerStatuses": [{"name": "main", "state": {"terminated": {"exitCode": exit_code}}}],
        "conditions": [{"type": "Ready", "status": "False", "lastTransitionTime": moment(seconds)}],
    }
    return msgspec.structs.replace(pod, status=msgspec.convert(status, type(pod.status), strict=False))


def evicted(pod: Pod, reason: str = PREEMPTION_BY_SCHEDULER, *, status: str = "True") -> Pod:
    """The pod, being deleted; its condition DisruptionTarget has this reason, by default the scheduler's."""
    target = Condition(type=DISRUPTION_TARGET, status=status, reason=reason)
    others = [each for each in pod.status.conditions if each.type != DISRUPTION_TARGET]
    metadata = msgspec.structs.replace(pod.metadata, deletion_timestamp=datetime.fromtimestamp(NOW + 30, UTC))
    marked = msgspec.structs.replace(pod.status, conditions=[*others, target])
    return msgspec.structs.replace(pod, metadata=metadata, status=marked)


def members(of: VolcanoJob, states: dict[str, str]) -> Members:
    return Members.of(of, pods(of, states))


def group(of: VolcanoJob, phase: str = "Running", **metadata: Any) -> PodGroup:
    """The PodGroup that the job has made."""
    body = group_of(of, {})
    full = {**body["metadata"], "uid": "group-uid", **metadata}
    return msgspec.convert({**body, "metadata": full, "status": {"phase": phase}}, PodGroup, strict=False)


def names(listed: Sequence[Any]) -> list[str]:
    """Names of pods, of whatever they are."""
    return [each["metadata"]["name"] if isinstance(each, dict) else each[0] for each in listed]
