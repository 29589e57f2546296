"""Looks at the cluster all the time."""

from __future__ import annotations

import asyncio

from e2e.faults.invariants.cluster import Picture, overcommitted_nodes
from e2e.harness.cluster import Cluster

_LOOK_EVERY = 1.0


class Witness:
    """Looks at the cluster all the time for what must never be, not even while everything fails."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self.looks = 0
        self.seen: list[str] = []

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            picture = await Picture.of(self._cluster.client)
            self.seen += overcommitted_nodes(picture)
            self.looks += 1
            await asyncio.sleep(_LOOK_EVERY)
