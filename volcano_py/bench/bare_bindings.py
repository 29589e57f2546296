"""Bindings and nothing else, as fast as the API server takes them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Final

from volcano_py.cluster.kubernetes.client import KubernetesClient

IN_FLIGHT: Final = 64


async def bind(client: KubernetesClient, bindings: Iterable[tuple[str, str, str]]) -> None:
    """Each pod, given as its namespace, its name and its node.

    Raises:
        RequestError: the server refused one.
    """
    left = iter(bindings)

    async def worker() -> None:
        for namespace, name, node in left:
            body = {"metadata": {"name": name}, "target": {"kind": "Node", "name": node}}
            await client.post(f"/api/v1/namespaces/{namespace}/pods/{name}/binding", body)

    await asyncio.gather(*(worker() for _ in range(IN_FLIGHT)))
