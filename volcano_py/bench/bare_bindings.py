"""Bindings and nothing else, as fast as the API server takes them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from volcano_py.cluster.kubernetes.http.client import KubernetesClient
from volcano_py.cluster.kubernetes.http.paths import ApiPath
from volcano_py.daemon.options import BINDS_IN_FLIGHT


async def bind(client: KubernetesClient, bindings: Iterable[tuple[str, str, str]]) -> None:
    """Each pod, given as its namespace, its name and its node; as many at a time as the daemon binds by default.

    Raises:
        RequestError: the server refused one.
    """
    left = iter(bindings)

    async def worker() -> None:
        for namespace, name, node in left:
            body = {"metadata": {"name": name}, "target": {"kind": "Node", "name": node}}
            await client.post(ApiPath("v1", "pods", namespace).of(name, "binding"), body)

    await asyncio.gather(*(worker() for _ in range(BINDS_IN_FLIGHT)))
