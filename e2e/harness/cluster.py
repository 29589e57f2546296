"""The cluster under test: our own control plane, or any that a kubeconfig names."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Self, TypeVar

import yaml

from e2e.harness import waiting
from e2e.harness.applying import Applier
from e2e.harness.rights import DAEMON_USERS
from e2e.harness.views import EventView, PodGroupView, PodView, QueueView, listed
from e2e.harness.webhooks.clients import WebhookClients
from volcano_py.local import components
from volcano_py.local.binaries.binaries import ensure_binaries
from volcano_py.local.client import APIClient, APIError
from volcano_py.local.controlplane import ControlPlane
from volcano_py.local.kubectl import Kubectl
from volcano_py.local.processes.ports import free_port
from volcano_py.local.processes.processes import ManagedProcess
from volcano_py.local.processes.readiness import wait_ready
from volcano_py.local.workdir.certificates import write_private
from volcano_py.local.workdir.layout import Settings

_T = TypeVar("_T")

EXTERNAL_BINARIES = ("kubectl", "kwok")
"""What the tests need when the cluster is not their own."""

_LEASE_SECONDS = 40
"""kubelet's own; a real cluster's node controller declares a node without a fresh lease dead after about as long."""

_KWOK_READY_SECONDS = 60.0

_VOLCANO = "/apis/scheduling.volcano.sh/v1beta1"


class Cluster:
    """A cluster, seen and changed as its administrator. `control_plane` is None when it is not our own, and
    `webhook_clients` where its API server presents no certificate to webhooks."""

    def __init__(
        self,
        kubeconfig: Path,
        kubectl: Kubectl,
        client: APIClient,
        control_plane: ControlPlane | None,
        webhook_clients: WebhookClients | None = None,
    ) -> None:
        self.kubeconfig = kubeconfig
        self.kubectl = kubectl
        self.client = client
        self.control_plane = control_plane
        self.webhook_clients = webhook_clients
        self._applier = Applier(client)
        self.diagnostics: list[Callable[[], str]] = []
        """Each adds its text to the message of a failed wait; daemons add the end of their logs."""

    @classmethod
    def of(cls, plane: ControlPlane, webhook_clients: WebhookClients | None = None) -> Self:
        """The cluster of a control plane of our own."""
        return cls(plane.kubeconfig, plane.kubectl, plane.client, plane, webhook_clients)

    async def apply(self, objects: str | Iterable[dict[str, Any]], namespace: str = "") -> None:
        """Server-side apply YAML text or objects; `namespace` for those that name none."""
        if isinstance(objects, str):
            objects = filter(None, yaml.safe_load_all(objects))
        for each in objects:
            await self._applier.apply(each, namespace)

    async def pods(self, namespace: str, selector: str = "") -> list[PodView]:
        """The pods of a namespace, by name; `selector` is a label selector."""
        query = {"labelSelector": selector} if selector else {}
        return [PodView(item) for item in await self._list(f"/api/v1/namespaces/{namespace}/pods", **query)]

    async def pod_groups(self, namespace: str) -> list[PodGroupView]:
        return [PodGroupView(item) for item in await self._list(f"{_VOLCANO}/namespaces/{namespace}/podgroups")]

    async def pod_group(self, namespace: str, name: str) -> PodGroupView:
        return PodGroupView(await self.client.get(f"{_VOLCANO}/namespaces/{namespace}/podgroups/{name}"))

    async def queues(self) -> dict[str, QueueView]:
        """All queues by name."""
        return {item["metadata"]["name"]: QueueView(item) for item in await self._list(f"{_VOLCANO}/queues")}

    async def events(self, namespace: str) -> list[EventView]:
        return [EventView(item) for item in await self._list(f"/api/v1/namespaces/{namespace}/events")]

    async def delete(self, path: str) -> None:
        """Delete the object at an API path; one that is not there counts as deleted."""
        try:
            await self.client.delete(path)
        except APIError as error:
            if error.status != 404:
                raise

    async def wait_namespaces_gone(self) -> None:
        """Wait until no namespace is being deleted; to be done before the API server is stopped or killed.

        A server that comes back serves CRDs a moment later than the rest: Kubernetes then takes a namespace for empty,
        and the rest of its objects stays, e.g. PodGroups, which all later tests see.
        """

        async def gone() -> None:
            items = (await self.client.get("/api/v1/namespaces"))["items"]
            leaving = [each["metadata"]["name"] for each in items if "deletionTimestamp" in each["metadata"]]
            assert not leaving, f"being deleted: {', '.join(leaving)}"

        await self.eventually("no namespace is being deleted", gone)

    async def wait_queue_event(self, queue: str, reason: str, *, saying: str) -> None:
        """Wait for an event of this reason about a queue with `saying` in its message."""
        __tracebackhide__ = True

        async def seen() -> None:
            # events about what has no namespace live in this one
            found = [each for each in await self.events("default") if each.about == f"Queue/{queue}"]
            assert any(each.reason == reason and saying in each.message for each in found), listed(found)

        await self.eventually(f"an event {reason} about queue {queue} saying {saying!r}", seen)

    async def eventually(
        self, what: str, check: Callable[[], Awaitable[_T]], *, seconds: float = waiting.WAIT_SECONDS
    ) -> _T:
        """Repeat `check` until it passes (see `waiting`); a failure shows what was last seen and the daemons' logs."""
        __tracebackhide__ = True
        return await waiting.eventually(what, check, seconds=seconds, diagnose=self._diagnose)

    async def _list(self, path: str, **query: str) -> list[dict[str, Any]]:
        items: list[dict[str, Any]] = (await self.client.get(path, **query))["items"]
        return sorted(items, key=lambda item: str(item["metadata"]["name"]))

    async def _diagnose(self) -> str:
        return "\n".join(diagnosis() for diagnosis in self.diagnostics)


@asynccontextmanager
async def local_cluster() -> AsyncIterator[Cluster]:
    """A control plane of our own, for as long as the block lasts. Its audit log has every request of the daemons."""
    with tempfile.TemporaryDirectory() as directory:
        clients = WebhookClients.create(Path(directory))
        settings = Settings(audit_log=True, audited_users=DAEMON_USERS, apiserver_flags=clients.apiserver_flags)
        async with ControlPlane(settings=settings) as plane:
            yield Cluster.of(plane, clients)


@asynccontextmanager
async def external_cluster(kubeconfig: Path, directory: Path) -> AsyncIterator[Cluster]:
    """The cluster of this kubeconfig's current context, with our simulated kubelets.

    Nothing of it is ours: the tests must clean up after themselves.
    """
    binaries = ensure_binaries(EXTERNAL_BINARIES)
    view = await Kubectl(binaries["kubectl"], kubeconfig)("config", "view", "--raw", "--minify", "--flatten")
    flat = write_private(directory / "admin.kubeconfig", view.encode())
    port = free_port(set())
    component = components.kwok(directory, port, flat, binaries["kwok"], lease_seconds=_LEASE_SECONDS)
    # With our own environment: an exec plugin of the kubeconfig may need more than a clean one has.
    kwok = ManagedProcess(component.name, component.command, directory / "kwok.log")
    await kwok.start()
    try:
        await wait_ready(kwok, component.ready_url, _KWOK_READY_SECONDS)
        async with APIClient(flat) as client:
            yield Cluster(flat, Kubectl(binaries["kubectl"], flat), client, None)
    finally:
        await kwok.stop(grace_seconds=5)
