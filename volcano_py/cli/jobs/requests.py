"""What the verbs ask of the API server; every function raises `RequestError`, or `UnfitJobError` with the fix."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import orjson

from volcano_py.api.effects import JsonObject
from volcano_py.cli.cluster_access import is_api_missing
from volcano_py.cli.jobs.commands import Ask, command_for, objection
from volcano_py.cluster.kubernetes.client import KubernetesClient
from volcano_py.cluster.kubernetes.errors import ConflictError, ForbiddenError, NotFoundError
from volcano_py.jobs.model import BATCH_API, JOB_KIND, Job
from volcano_py.operator.kube_api import BUS_API, job_path


class UnfitJobError(Exception):
    """The job is not there, or is there already, or is not in a state for it; the text says what to do."""


def jobs_path(namespace: str = "") -> str:
    """The jobs of the namespace, or of all."""
    return job_path(namespace, "") if namespace else f"/apis/{BATCH_API}/jobs"


async def create(client: KubernetesClient, job: JsonObject) -> JsonObject:
    """The job as the server stored it."""
    metadata = job["metadata"]
    try:
        return _tidy(orjson.loads(await client.post(jobs_path(metadata["namespace"]), job)))
    except NotFoundError as error:
        if is_api_missing(error):
            raise
        raise UnfitJobError(
            f"namespace {metadata['namespace']} does not exist: create it, or choose another with --namespace"
        ) from error
    except ConflictError as error:
        raise UnfitJobError(
            f"job {metadata['namespace']}/{metadata.get('name', '')} exists already: choose another name, or"
            " `volcano-py job delete` that one first"
        ) from error


async def read(client: KubernetesClient, namespace: str, name: str) -> JsonObject:
    """The job as the server has it."""
    try:
        return _tidy(orjson.loads(await client.get(job_path(namespace, name))))
    except NotFoundError as error:
        raise _missing(error, namespace, name) from error


def decoded(found: JsonObject) -> Job:
    """The job as the controller reads it."""
    try:
        return msgspec.convert(found, Job)
    except msgspec.ValidationError as error:
        namespace, name = found["metadata"]["namespace"], found["metadata"]["name"]
        raise UnfitJobError(
            f"job {namespace}/{name} cannot be read: {error}; `volcano-py job view --name {name}"
            f" --namespace {namespace} --output yaml` shows it as it is"
        ) from error


async def events_of(client: KubernetesClient, job: JsonObject) -> Sequence[JsonObject] | None:
    """What was told of the job; None when we may not know."""
    metadata = job["metadata"]
    about = f"involvedObject.kind={JOB_KIND},involvedObject.uid={metadata['uid']}"
    try:
        answer = await client.get(f"/api/v1/namespaces/{metadata['namespace']}/events", {"fieldSelector": about})
    except ForbiddenError:
        return None
    found: list[JsonObject] = orjson.loads(answer).get("items") or []
    return found


async def issue(client: KubernetesClient, ask: Ask, namespace: str, name: str) -> None:
    """Ask the job's controller, which answers in its own time."""
    job = decoded(await read(client, namespace, name))
    if why_not := objection(ask, job):
        raise UnfitJobError(why_not)
    await client.post(f"/apis/{BUS_API}/namespaces/{namespace}/commands", command_for(ask, job))


async def delete(client: KubernetesClient, namespace: str, name: str) -> None:
    """Delete the job; the garbage collector takes its pods and PodGroup along."""
    try:
        await client.delete(job_path(namespace, name))
    except NotFoundError as error:
        raise _missing(error, namespace, name) from error


def _missing(error: NotFoundError, namespace: str, name: str) -> Exception:
    if is_api_missing(error):
        return error
    return UnfitJobError(
        f"job {namespace}/{name} does not exist: `volcano-py job list --namespace {namespace}` shows those that do"
    )


def _tidy(found: JsonObject) -> JsonObject:
    """Without `managedFields`, which are longer than the rest and say nothing of the job."""
    metadata = {name: value for name, value in found["metadata"].items() if name != "managedFields"}
    return {**found, "metadata": metadata}
