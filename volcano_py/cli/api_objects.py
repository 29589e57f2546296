"""Objects of one kind in a namespace: verbs create, read and delete them; errors say what to do."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import click
import orjson

from volcano_py.api.effects import JsonObject
from volcano_py.cli.options.cluster_access import is_api_missing, on_cluster
from volcano_py.cli.options.manifests import CannotMakeError
from volcano_py.cli.printing.changes import tidy
from volcano_py.cluster.kubernetes.http.client import KubernetesClient
from volcano_py.cluster.kubernetes.http.errors import ConflictError, ForbiddenError, NotFoundError
from volcano_py.cluster.kubernetes.http.paths import ApiPath, field_selector
from volcano_py.operator.kube_api import object_path

T = TypeVar("T")


class UnfitObjectError(Exception):
    """The object is not there, or is there already, or is not in a state for it; the text says what to do."""


@dataclass(frozen=True, slots=True)
class ObjectKind:
    """A kind of the API, and the verb of the command line that is about it, such as `job`."""

    verb: str
    api_version: str
    kind: str

    def path(self, namespace: str = "", name: str = "") -> ApiPath:
        """One object, those of the namespace, or ("") those of all."""
        return object_path(self.api_version, self.kind, namespace, name)

    async def create(self, client: KubernetesClient, body: JsonObject) -> JsonObject:
        """The object as the server stored it.

        Raises:
            UnfitObjectError: its name is taken, or its namespace does not exist.
            RequestError: the server refuses.
        """
        metadata = body["metadata"]
        namespace = metadata["namespace"]
        try:
            return tidy(orjson.loads(await client.post(self.path(namespace), body)))
        except NotFoundError as error:
            if is_api_missing(error):
                raise
            raise UnfitObjectError(
                f"namespace {namespace} does not exist: create it, or choose another with --namespace"
            ) from error
        except ConflictError as error:
            raise UnfitObjectError(
                f"{self.verb} {namespace}/{metadata.get('name', '')} exists already: choose another name, or"
                f" `volcano-py {self.verb} delete` that one first"
            ) from error

    async def read(self, client: KubernetesClient, namespace: str, name: str) -> JsonObject:
        """The object as the server has it.

        Raises:
            UnfitObjectError: it does not exist.
            RequestError: the server refuses.
        """
        try:
            return tidy(orjson.loads(await client.get(self.path(namespace, name))))
        except NotFoundError as error:
            raise self._missing(error, namespace, name) from error

    async def delete(self, client: KubernetesClient, namespace: str, name: str) -> None:
        """Delete the object; the garbage collector takes along what it owns.

        Raises:
            UnfitObjectError: it does not exist.
            RequestError: the server refuses.
        """
        try:
            await client.delete(self.path(namespace, name))
        except NotFoundError as error:
            raise self._missing(error, namespace, name) from error

    async def patch(self, client: KubernetesClient, namespace: str, name: str, body: JsonObject) -> None:
        """Change the object by a merge patch.

        Raises:
            UnfitObjectError: it does not exist.
            RequestError: the server refuses.
        """
        try:
            await client.patch(self.path(namespace, name), body)
        except NotFoundError as error:
            raise self._missing(error, namespace, name) from error

    async def events_of(self, client: KubernetesClient, found: JsonObject) -> Sequence[JsonObject] | None:
        """The events about the object; None when we may not read them."""
        metadata = found["metadata"]
        about = field_selector({"involvedObject.kind": self.kind, "involvedObject.uid": metadata["uid"]})
        try:
            answer = await client.get(ApiPath("v1", "events", metadata["namespace"]), {"fieldSelector": about})
        except ForbiddenError:
            return None
        events: list[JsonObject] = orjson.loads(answer).get("items") or []
        return events

    def _missing(self, error: NotFoundError, namespace: str, name: str) -> Exception:
        if is_api_missing(error):
            return error
        return UnfitObjectError(
            f"{self.verb} {namespace}/{name} does not exist: `volcano-py {self.verb} list --namespace {namespace}`"
            " shows those that do"
        )


def on_objects(kubeconfig: Path | None, context: str | None, work: Callable[[KubernetesClient], Awaitable[T]]) -> T:
    """As `on_cluster`; what does not fit an object, or the options, ends the verb with its text.

    Raises:
        click.ClickException: there is no cluster, it refuses, or the object is not fit for it.
    """
    try:
        return on_cluster(kubeconfig, context, work)
    except (UnfitObjectError, CannotMakeError) as error:
        raise click.ClickException(str(error)) from error
