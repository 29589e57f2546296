"""What the keeper of the NodeShard has to know of pods: which are on their way to a node, and which are there."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from volcano_py.api.objects import ApiObject, Pod
from volcano_py.cluster.kubernetes.http.client import KubernetesClient
from volcano_py.cluster.kubernetes.http.paths import field_selector
from volcano_py.cluster.kubernetes.watching.informers import Informers
from volcano_py.cluster.kubernetes.watching.kinds import POD
from volcano_py.state.cluster_state import ClusterState

_FEW: Final = 50
"""Nodes whose pods are read one by one; for more of them, all pods are listed."""
_AT_A_TIME: Final = 8


class PodsOfNodes:
    """See `operator.shards.keeper.PodsOfNodes`. `learn` is the daemon's; `informers` gives those that follow pods."""

    def __init__(
        self,
        client: KubernetesClient,
        state: ClusterState,
        *,
        learn: Callable[[str, ApiObject], None],
        informers: Callable[[], Informers],
    ) -> None:
        self._client, self._state, self._learn, self._informers = client, state, learn, informers
        self._turns = asyncio.Semaphore(_AT_A_TIME)

    def awaiting(self, names: frozenset[str]) -> frozenset[str]:
        """Those of the nodes to which pods are on their way."""
        return self._state.awaiting(names)

    async def catch_up(self, names: frozenset[str]) -> None:
        """Returns when the state knows every pod that was on these nodes when this was called."""
        if len(names) > _FEW:
            await self._informers().relist(POD.name)
        else:
            await asyncio.gather(*map(self._read, names))

    async def _read(self, node: str) -> None:
        async with self._turns:
            selected = {"fieldSelector": field_selector({"spec.nodeName": node})}
            for pod in await self._client.list(POD.path, Pod, selected):
                self._learn(POD.name, pod)
