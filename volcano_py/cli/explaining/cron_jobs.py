"""The CronJob that `explain` is asked about. Decisions need none, so captures have none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import click
import msgspec

from volcano_py.api.objects import ObjectMeta
from volcano_py.capture.file import is_capture
from volcano_py.capture.model import Unread
from volcano_py.cli.options.cluster_access import on_cluster
from volcano_py.cli.options.manifests import read_documents
from volcano_py.cluster.kubernetes.http.errors import ForbiddenError, NotFoundError
from volcano_py.explain.of_cron_job import CRON_APIS, Cron
from volcano_py.jobs.crons.plan import CRON_KIND, CronJob
from volcano_py.operator.kube_api import object_path

if TYPE_CHECKING:
    from collections.abc import Sequence

    from volcano_py.cli.options.captured import Source
    from volcano_py.cluster.kubernetes.http.client import KubernetesClient

_SO: Final = "its Jobs are known, but not when the next one is created"


def cron_of(source: Source, kind: str, namespace: str, name: str) -> tuple[Cron | None, Unread | None]:
    """The CronJob, of the first API of its kind (`CRON_APIS`) that has one, or None where there is none; and what could
    not be read, if anything.

    Raises:
        click.ClickException: the cluster does not answer, or the object is not valid.
    """
    what, versions = f"{CRON_KIND} {namespace}/{name}", CRON_APIS[kind]
    if not source.files:
        return on_cluster(
            source.kubeconfig, source.context, lambda client: _live(client, versions, namespace, name, what)
        )
    if is_capture(source.files[0]):
        return None, Unread(what, "captures have no CronJobs", _SO)
    bodies = [document.body for document in read_documents(source.files)]
    found = [body for body in bodies if body.get("kind") == CRON_KIND and _is_named(body, namespace, name)]
    for version in versions:
        for body in found:
            if body.get("apiVersion") == version:
                return _cron(version, body, what), None
    return None, None


async def _live(
    client: KubernetesClient, versions: Sequence[str], namespace: str, name: str, what: str
) -> tuple[Cron | None, Unread | None]:
    unread: Unread | None = None
    for version in versions:
        try:
            answer = await client.get(object_path(version, CRON_KIND, namespace, name))
        except NotFoundError:  # or the cluster has no such kind
            continue
        except ForbiddenError as error:
            unread = unread or Unread(what, error.message or "forbidden", _SO)
            continue
        return _cron(version, msgspec.json.decode(answer), what), None
    return None, unread


def _is_named(body: dict[str, Any], namespace: str, name: str) -> bool:
    try:
        metadata = msgspec.convert(body.get("metadata"), ObjectMeta)
    except msgspec.ValidationError:
        return False
    return (metadata.namespace or "default", metadata.name) == (namespace, name)


def _cron(version: str, body: dict[str, Any], what: str) -> Cron:
    try:
        return Cron(version, msgspec.convert(body, CronJob))
    except msgspec.ValidationError as error:
        raise click.ClickException(f"{what} cannot be read: {error}") from error
