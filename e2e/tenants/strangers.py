"""Pods of other tenants while one attacks: how long they wait for a node, and how many stay."""

from __future__ import annotations

import asyncio
import contextlib
import math
import time
from typing import Final

from e2e.harness.namespace import Namespace
from e2e.harness.objects import Object
from volcano_py.local.client import APIClient

LONGEST_WAIT: Final = 5.0
"""Seconds within which each pod of others must get its node. The waits are some tenths of a second on a quiet machine
(docs/performance.md), and about one while other work runs; machines of CI may be slower still."""

_PATIENCE: Final = 30.0  # seconds; so the table shows by how much a wait was too long


async def wait_for_node(client: APIClient, namespace: str, pod: Object) -> float:
    """Create the pod: the seconds from the request until the pod has a node, infinite if it gets none."""
    pods, name = f"/api/v1/namespaces/{namespace}/pods", pod["metadata"]["name"]
    asked = time.monotonic()
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_PATIENCE):
            await client.create(pods, pod)
            async with contextlib.aclosing(client.watch(pods, fieldSelector=f"metadata.name={name}")) as changes:
                async for change in changes:
                    if change["object"]["spec"].get("nodeName"):
                        return time.monotonic() - asked
    return math.inf


async def standing(namespace: Namespace) -> int:
    """How many pods have a node, and have neither ended nor are being deleted."""
    return sum(bool(pod.node) and pod.phase in {"Pending", "Running"} for pod in await namespace.pods())
