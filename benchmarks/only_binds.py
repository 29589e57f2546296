"""The least that a scheduler in Python does: lists the waiting pods once and binds them to nodes in turn.

It decides nothing, watches nothing and reports nothing: what a scheduler on the same client can hope for. In a
checkout, with the project's Python:

    volcano-py bench --peer 'python -m benchmarks.only_binds {kubeconfig}'
"""

from __future__ import annotations

import asyncio
import itertools
import sys
from pathlib import Path

import msgspec
import uvloop

from volcano_py.api.objects import ObjectMeta
from volcano_py.bench.bare_bindings import bind
from volcano_py.cluster.kubernetes.http.client import KubernetesClient
from volcano_py.cluster.kubernetes.http.paths import ApiPath
from volcano_py.daemon.garbage import collect_seldom

_WAITING = {"fieldSelector": "spec.schedulerName=volcano,spec.nodeName="}


class Named(msgspec.Struct):
    """Whatever has a name."""

    metadata: ObjectMeta


async def bind_all(client: KubernetesClient) -> None:
    """Bind what waits now.

    Raises:
        RequestError: the server refused a list or a binding.
    """
    nodes, pods = await asyncio.gather(
        client.list(ApiPath("v1", "nodes"), Named), client.list(ApiPath("v1", "pods"), Named, _WAITING)
    )
    in_turn = zip(pods, itertools.cycle(nodes), strict=False)
    await bind(client, ((pod.metadata.namespace, pod.metadata.name, node.metadata.name) for pod, node in in_turn))


async def main(kubeconfig: Path) -> None:
    """Bind, then stay: whoever measures ends the process."""
    async with await KubernetesClient.connect(kubeconfig, qps=1e5, burst=100_000) as client:
        await bind_all(client)
        await asyncio.Event().wait()


if __name__ == "__main__":
    collect_seldom()
    uvloop.run(main(Path(sys.argv[1])))
