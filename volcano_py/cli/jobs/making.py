"""Jobs from the options of `job run`, or from manifests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from volcano_py.api.effects import JsonObject
from volcano_py.api.quantity import parse_quantity
from volcano_py.cli.options.manifests import CannotMakeError, objects_of
from volcano_py.cluster.manifests import Document
from volcano_py.jobs.model import BATCH_API, JOB_KIND

Resources = Mapping[str, str]

TASK: Final = "default0"
"""What the API calls a first task that has no name."""
DEFAULT_RESOURCES: Final[Resources] = {"cpu": "1000m", "memory": "100Mi"}
"""vcctl's."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A job of equal pods, as the options describe it."""

    name: str
    image: str = "busybox"
    min_available: int = 1
    replicas: int = 1
    requests: Resources | None = None
    """None: the limits, or else `DEFAULT_RESOURCES`."""
    limits: Resources | None = None
    """None: the requests."""
    scheduler: str = "volcano"
    queue: str = ""


def job_of(wanted: Wanted, namespace: str) -> JsonObject:
    """The manifest.

    Raises:
        CannotMakeError: more pods are needed than there are, or a limit is below its request.
    """
    if wanted.min_available > wanted.replicas:
        raise CannotMakeError(
            f"--min {wanted.min_available} is more than --replicas {wanted.replicas}: the job would never start"
        )
    requests = wanted.requests or wanted.limits or DEFAULT_RESOURCES
    limits = wanted.limits or requests
    for resource in sorted(requests.keys() & limits.keys()):
        if parse_quantity(limits[resource]) < parse_quantity(requests[resource]):
            raise CannotMakeError(
                f"--limits {resource}={limits[resource]} is below --requests {resource}={requests[resource]}"
            )
    container = {
        "name": "main",
        "image": wanted.image,
        "imagePullPolicy": "IfNotPresent",
        "resources": {"requests": dict(requests), "limits": dict(limits)},
    }
    task = {
        "name": TASK,
        "replicas": wanted.replicas,
        "template": {"spec": {"restartPolicy": "Never", "containers": [container]}},
    }
    spec: JsonObject = {"schedulerName": wanted.scheduler, "minAvailable": wanted.min_available, "tasks": [task]}
    if wanted.queue:
        spec["queue"] = wanted.queue
    metadata = {"name": wanted.name, "namespace": namespace}
    return {"apiVersion": BATCH_API, "kind": JOB_KIND, "metadata": metadata, "spec": spec}


def jobs_of(documents: Sequence[Document], asked: str | None, namespace: str) -> list[JsonObject]:
    """The jobs of manifests; those that name no namespace are made in `namespace`.

    `asked`: what --namespace says, which a manifest must not contradict.

    Raises:
        CannotMakeError: there is none, or a document is something else or contradicts --namespace.
    """
    return objects_of(documents, JOB_KIND, BATCH_API, asked, namespace)
