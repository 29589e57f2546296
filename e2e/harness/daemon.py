"""The scheduler under test: `volcano-py run` as a process of its own, as its own ServiceAccount."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from prometheus_client.parser import text_string_to_metric_families

from e2e.harness.cluster import Cluster
from e2e.harness.install import SERVICE_ACCOUNT, SYSTEM_NAMESPACE, kubeconfig_view
from volcano_py.local.controlplane import service_account_token
from volcano_py.local.errors import ProcessFailedError
from volcano_py.local.kubeconfig import with_token
from volcano_py.local.scheduler import SchedulerProcess

_LOG_LINES = 60


async def daemon_kubeconfig(cluster: Cluster, path: Path, server: str = "") -> Path:
    """A kubeconfig with a token of the shipped ServiceAccount: all rights the daemon has are those of the manifests.

    `server`: another URL than the administrator uses.
    """
    token = await service_account_token(cluster.client, SYSTEM_NAMESPACE, SERVICE_ACCOUNT)
    view = await kubeconfig_view(cluster)
    if server:
        view["clusters"][0]["cluster"]["server"] = server
    return with_token(path, view, token)


class Daemon(SchedulerProcess):
    """One `volcano-py run`. Several may run at a time; the Lease lets one of them work."""

    async def ready(self) -> None:
        """Wait until /readyz answers 200; the test fails with what it answers instead, and the end of the log."""
        try:
            await super().ready()
        except ProcessFailedError as error:
            pytest.fail(str(error), pytrace=False)

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
