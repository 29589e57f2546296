"""What the verbs ask of the API server; every function raises `RequestError`, or `UnfitObjectError` with the fix."""

from __future__ import annotations

from typing import Final

import msgspec

from volcano_py.api.effects import JsonObject
from volcano_py.cli.jobs.commands import Ask, command_for, objection
from volcano_py.cli.objects import Kind, UnfitObjectError
from volcano_py.cluster.kubernetes.client import KubernetesClient
from volcano_py.jobs.model import BATCH_API, JOB_KIND, Job
from volcano_py.operator.kube_api import BUS_API

JOB: Final = Kind("job", BATCH_API, JOB_KIND)


def decoded(found: JsonObject) -> Job:
    """The job as the controller reads it."""
    try:
        return msgspec.convert(found, Job)
    except msgspec.ValidationError as error:
        namespace, name = found["metadata"]["namespace"], found["metadata"]["name"]
        raise UnfitObjectError(
            f"job {namespace}/{name} cannot be read: {error}; `volcano-py job view --name {name}"
            f" --namespace {namespace} --output yaml` shows it as it is"
        ) from error


async def issue(client: KubernetesClient, ask: Ask, namespace: str, name: str) -> None:
    """Ask the job's controller, which answers in its own time."""
    job = decoded(await JOB.read(client, namespace, name))
    if why_not := objection(ask, job):
        raise UnfitObjectError(why_not)
    await client.post(f"/apis/{BUS_API}/namespaces/{namespace}/commands", command_for(ask, job))
