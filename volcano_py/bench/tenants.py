"""Tenants of the cluster that is measured: each has a namespace, and a token with the rights of `edit` in it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Iterable, Iterator
from contextlib import asynccontextmanager
from typing import Final

import aiohttp

from volcano_py.bench.loads.attacks import Edit, Manifest
from volcano_py.local.client import APIClient, APIError
from volcano_py.local.controlplane import ControlPlane, wait_for_default_service_account

_ACCOUNT: Final = "tenant"
_RBAC: Final = "/apis/rbac.authorization.k8s.io/v1"
# In the order of deletion: controllers give a Job its pods, and a pod its PodGroup, as long as it exists.
_PATHS: Final = {
    "Job": "/apis/batch.volcano.sh/v1alpha1/namespaces/{}/jobs",
    "Pod": "/api/v1/namespaces/{}/pods",
    "PodGroup": "/apis/scheduling.volcano.sh/v1beta1/namespaces/{}/podgroups",
}
_IN_FLIGHT: Final = 64  # requests of one tenant; more adds nothing
_ALLOWED_WITHIN: Final = 30.0  # seconds until new RBAC rules are in force
_LOOK_AGAIN: Final = 0.1  # seconds


class Tenant:
    """One tenant. `refused` counts the requests that the API server answered with an error, `edited` the edits that it
    has made."""

    def __init__(self, namespace: str, client: APIClient) -> None:
        self.namespace = namespace
        self.refused = 0
        self.edited = 0
        self._client = client

    async def create(self, objects: Iterable[Manifest]) -> None:
        """Create all of them, many at a time. What is refused is counted: that is one way to stop an attack."""
        waiting = iter(objects)

        async def worker() -> None:
            for body in waiting:
                await self._send(self._client.create(self._path(body["kind"]), body))

        await asyncio.gather(*(worker() for _ in range(_IN_FLIGHT)))

    async def edit(self, edits: Iterator[Edit], per_second: float) -> None:
        """Edit at this rate until cancelled, or until the edits end. An object is edited again only once the API server
        has answered: edits of one object that are under way at the same time undo each other's work there, and soon it
        makes fewer of them."""
        started, under_way = time.monotonic(), dict[str, asyncio.Task[None]]()
        async with asyncio.TaskGroup() as group:
            for number, each in enumerate(edits):
                await asyncio.sleep(max(0.0, started + number / per_second - time.monotonic()))
                path = f"{self._path(each.kind)}/{each.name}"
                if path in under_way:
                    await under_way[path]
                under_way[path] = group.create_task(self._edit(path, each.patch))

    async def _edit(self, path: str, patch: Manifest) -> None:
        if await self._send(self._client.merge_patch(path, patch)):
            self.edited += 1

    async def clear(self) -> None:
        """Delete all of the tenant's work, and wait until it is gone."""
        while (path := await self._first_with_objects()) is not None:
            await self._send(self._client.delete(path, {"gracePeriodSeconds": 0}))

    async def _first_with_objects(self) -> str | None:
        """The path of the first kind of which the tenant still has an object."""
        for kind in _PATHS:
            path = self._path(kind)
            if (await self._client.get(path, limit="1"))["items"]:
                return path
        return None

    def _path(self, kind: str) -> str:
        return _PATHS[kind].format(self.namespace)

    async def _send(self, request: Awaitable[object]) -> bool:
        """Whether the API server did what was asked for."""
        try:
            await request
        except (APIError, aiohttp.ClientError, TimeoutError):
            self.refused += 1
            return False
        return True


@asynccontextmanager
async def tenant(plane: ControlPlane, namespace: str) -> AsyncIterator[Tenant]:
    """A new namespace and its user, whose rights are in force."""
    admin = plane.client
    await admin.create("/api/v1/namespaces", {"metadata": {"name": namespace}})
    await wait_for_default_service_account(admin, namespace)
    await admin.create(f"/api/v1/namespaces/{namespace}/serviceaccounts", {"metadata": {"name": _ACCOUNT}})
    subject = {"kind": "ServiceAccount", "name": _ACCOUNT, "namespace": namespace}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "edit"}
    binding = {"metadata": {"name": _ACCOUNT}, "roleRef": role, "subjects": [subject]}
    await admin.create(f"{_RBAC}/namespaces/{namespace}/rolebindings", binding)
    async with APIClient(await plane.kubeconfig_for_service_account(namespace, _ACCOUNT)) as client:
        await _wait_allowed(client, namespace)
        yield Tenant(namespace, client)


async def _wait_allowed(client: APIClient, namespace: str) -> None:
    """Wait until the role is bound and has the rules of our kinds.

    Raises:
        APIError: that takes too long.
    """
    deadline = time.monotonic() + _ALLOWED_WITHIN
    while True:
        try:
            for path in _PATHS.values():
                await client.get(path.format(namespace), limit="1")
        except APIError:
            if time.monotonic() > deadline:
                raise
            await asyncio.sleep(_LOOK_AGAIN)
        else:
            return
