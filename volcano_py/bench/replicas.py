"""Replicas of the daemon as the shipped Deployment runs them: with a Lease, and restarted when one ends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from volcano_py.api.names import DEFAULT_SCHEDULER_NAME, SYSTEM_NAMESPACE
from volcano_py.local.controlplane import ControlPlane
from volcano_py.local.install import daemon_kubeconfig
from volcano_py.local.scheduler import SchedulerProcess

REPLICAS: Final = 2
"""As in the shipped Deployment."""

_LEASE: Final = f"/apis/coordination.k8s.io/v1/namespaces/{SYSTEM_NAMESPACE}/leases/{DEFAULT_SCHEDULER_NAME}"
_PAUSE: Final = 1.0  # seconds before a replica that ended is started again


class Replicas:
    """`restarts` counts how often one ended by itself, which is what it does when it loses the Lease."""

    def __init__(self, plane: ControlPlane) -> None:
        self._plane = plane
        self.restarts = 0

    async def lease_transitions(self) -> int:
        """How often the Lease has changed hands so far."""
        lease = await self._plane.client.get(_LEASE)
        return int(lease["spec"].get("leaseTransitions", 0))

    async def keep(self, process: SchedulerProcess) -> None:
        """Start it again whenever it ends, until cancelled."""
        while True:
            await process.process.wait_unexpected_end()
            self.restarts += 1
            await asyncio.sleep(_PAUSE)
            await process.start(ready=False)


@asynccontextmanager
async def replicas(plane: ControlPlane) -> AsyncIterator[Replicas]:
    """All of them, ready."""
    kubeconfig = await daemon_kubeconfig(plane)
    running = Replicas(plane)
    processes = [SchedulerProcess(f"replica-{number}", kubeconfig, plane.work_dir) for number in range(REPLICAS)]
    keepers = []
    try:
        for process in processes:
            await process.start()
            keepers.append(asyncio.create_task(running.keep(process), name=process.name))
        yield running
    finally:
        for keeper in keepers:
            keeper.cancel()
        await asyncio.gather(*keepers, return_exceptions=True)
        for process in processes:
            await process.stop()
