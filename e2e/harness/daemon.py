"""The scheduler under test: `volcano-py run` as a process of its own, as its own ServiceAccount."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import aiohttp
from prometheus_client.parser import text_string_to_metric_families

from e2e.harness.cluster import Cluster
from e2e.harness.install import SERVICE_ACCOUNT, SYSTEM_NAMESPACE, kubeconfig_view
from volcano_py.local.controlplane import service_account_token
from volcano_py.local.kubeconfig import with_token
from volcano_py.local.ports import LOOPBACK, free_port
from volcano_py.local.processes import ManagedProcess
from volcano_py.local.readiness import wait_ready

_READY_SECONDS = 30.0

_STOP_SECONDS = 20.0
"""Less than the 30 s the shipped Deployment gives it."""

_LOG_LINES = 60


async def daemon_kubeconfig(cluster: Cluster, directory: Path) -> Path:
    """A kubeconfig with a token of the shipped ServiceAccount: all rights the daemon has are those of the manifests."""
    token = await service_account_token(cluster.client, SYSTEM_NAMESPACE, SERVICE_ACCOUNT)
    return with_token(directory / "daemon.kubeconfig", await kubeconfig_view(cluster), token)


class Daemon:
    """One `volcano-py run`. Several may run at a time; the Lease lets one of them work."""

    def __init__(self, name: str, kubeconfig: Path, directory: Path, arguments: Sequence[str]) -> None:
        address = f"{LOOPBACK}:{free_port(set())}"
        self.name = name
        self.url = f"http://{address}"
        command = [
            str(Path(sys.executable).with_name("volcano-py")),
            "run",
            f"--kubeconfig={kubeconfig}",
            f"--listen-address={address}",
            *arguments,
        ]
        # Not the developer's own cluster, by no path.
        environment = {key: value for key, value in os.environ.items() if key != "KUBECONFIG"} | {
            "HOME": str(directory)
        }
        self.process = ManagedProcess(name, command, directory / f"{name}.log", environment)

    async def start(self, *, ready: bool = True) -> None:
        """Start it, and wait for /readyz unless not `ready`."""
        await self.process.start()
        if ready:
            await self.ready()

    async def ready(self) -> None:
        """Wait until /readyz answers 200; an error shows what it answers instead, and the end of the log."""
        await wait_ready(self.process, f"{self.url}/readyz", _READY_SECONDS)

    async def stop(self) -> int | None:
        """SIGTERM, and the exit code. Minus 9 means that it had to be killed."""
        await self.process.stop(_STOP_SECONDS)
        return self.process.exit_code

    async def kill(self) -> None:
        """SIGKILL: it releases nothing."""
        await self.process.kill()

    async def get(self, path: str) -> tuple[int, str]:
        """Status and text of an HTTP request, e.g. to /metrics."""
        async with aiohttp.ClientSession() as session, session.get(self.url + path) as response:
            return response.status, await response.text()

    async def metric(self, name: str, **labels: str) -> float:
        """The sum of the samples of this name whose labels include these; 0 when there are none."""
        _, text = await self.get("/metrics")
        return sum(
            sample.value
            for family in text_string_to_metric_families(text)
            for sample in family.samples
            if sample.name == name and labels.items() <= sample.labels.items()
        )

    def log_records(self) -> list[dict[str, Any]]:
        """The lines of the log that are JSON objects, which is how the daemon logs when nobody looks."""
        records = []
        for line in self.process.log.read_text(encoding="utf-8", errors="replace").splitlines():
            try:
                record = json.loads(line)
            except ValueError:
                continue
            if isinstance(record, dict):
                records.append(record)
        return records

    def diagnosis(self) -> str:
        """How it is and the end of its log, for messages of failed waits."""
        state = "running" if self.process.running else f"ended with exit code {self.process.exit_code}"
        return f"--- {self.name} ({state}), end of its log ---\n{self.process.log_tail(_LOG_LINES)}"
