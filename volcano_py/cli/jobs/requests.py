"""The requests that the verbs send to the API server; every function raises `RequestError`, or `UnfitObjectError` with
the fix.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Final

import msgspec
import orjson

from volcano_py.api.effects import JsonObject
from volcano_py.api.names import SCHEDULING_API
from volcano_py.api.objects import PodGroup
from volcano_py.cli.api_objects import ObjectKind, UnfitObjectError
from volcano_py.cli.jobs.commands import Ask, command_for, objection
from volcano_py.cli.pod_groups import is_about_missing_queue, why_it_waits
from volcano_py.cli.printing.changes import listed
from volcano_py.cluster.kubernetes.http.client import KubernetesClient
from volcano_py.cluster.kubernetes.http.errors import ForbiddenError, NotFoundError
from volcano_py.cluster.kubernetes.http.paths import ApiPath
from volcano_py.jobs.model import BATCH_API, JOB_KIND, JobPhase, VolcanoJob
from volcano_py.jobs.names import group_name
from volcano_py.operator.kube_api import BUS_API

JOB: Final = ObjectKind("job", BATCH_API, JOB_KIND)
BEFORE_PODS: Final = frozenset({JobPhase.NEW, JobPhase.PENDING, JobPhase.RESTARTING})
"""Phases in which the minimum of pods does not run yet."""
_POD_GROUP: Final = ObjectKind("podgroup", SCHEDULING_API, "PodGroup")


def decoded(found: JsonObject) -> VolcanoJob:
    """The job as the controller reads it."""
    try:
        return msgspec.convert(found, VolcanoJob)
    except msgspec.ValidationError as error:
        namespace, name = found["metadata"]["namespace"], found["metadata"]["name"]
        raise UnfitObjectError(
            f"job {namespace}/{name} cannot be read: {error}; `volcano-py job view --name {name}"
            f" --namespace {namespace} --output yaml` shows it as it is"
        ) from error


async def why_its_group_waits(client: KubernetesClient, job: VolcanoJob) -> str:
    """What its PodGroup waits for, in the words of the scheduler; "" for nothing, or where we may not know."""
    metadata = job.metadata
    path = _POD_GROUP.path(metadata.namespace, group_name(metadata.name, metadata.uid))
    try:
        return why_it_waits(msgspec.convert(orjson.loads(await client.get(path)), PodGroup))
    except (NotFoundError, ForbiddenError, msgspec.ValidationError):
        return ""


class OfGroup(msgspec.Struct, frozen=True):
    """Of a PodGroup: what it waits for, "" for nothing, and its queue."""

    waits: str
    queue: str


async def groups_of_jobs(client: KubernetesClient, namespace: str) -> dict[tuple[str, str], OfGroup]:
    """Namespace and name of each PodGroup of the namespace ("": of all); nothing where we may not know."""
    groups = {}
    try:
        found = await listed(client, _POD_GROUP.path(namespace))
    except (NotFoundError, ForbiddenError):
        return {}
    for each in found:
        with suppress(msgspec.ValidationError):
            group = msgspec.convert(each, PodGroup)
            key = group.metadata.namespace, group.metadata.name
            groups[key] = OfGroup(waits=why_it_waits(group), queue=group.spec.queue)
    return groups


def may_wait(found: JsonObject) -> bool:
    """Whether what its PodGroup says is of interest."""
    return _phase(found) in (*BEFORE_PODS, JobPhase.RUNNING)


def what_it_waits_for(found: JsonObject, why: str) -> str:
    """`why` its PodGroup waits, as far as it is about the job; of one that runs, only that its queue does not exist."""
    concerns_it = _phase(found) in BEFORE_PODS or (_phase(found) == JobPhase.RUNNING and is_about_missing_queue(why))
    return why if concerns_it else ""


def _phase(found: JsonObject) -> str:
    phase: str = ((found.get("status") or {}).get("state") or {}).get("phase", "")
    return phase


def group_key(found: JsonObject) -> tuple[str, str]:
    """Namespace and name of the job's PodGroup."""
    metadata = found["metadata"]
    return metadata["namespace"], group_name(metadata["name"], metadata["uid"])


async def issue(client: KubernetesClient, ask: Ask, namespace: str, name: str) -> None:
    """Ask the job's controller, which answers in its own time."""
    job = decoded(await JOB.read(client, namespace, name))
    if why_not := objection(ask, job):
        raise UnfitObjectError(why_not)
    await client.post(ApiPath(BUS_API, "commands", namespace), command_for(ask, job))
