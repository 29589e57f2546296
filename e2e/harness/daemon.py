"""The scheduler under test: `volcano-py run` as a process of its own, as its own ServiceAccount."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import aiohttp
import pytest
from prometheus_client.parser import text_string_to_metric_families

from e2e.harness.cluster import Cluster
from e2e.harness.install import SERVICE_ACCOUNT, SYSTEM_NAMESPACE, kubeconfig_view
from e2e.harness.waiting import eventually
from volcano_py.local.controlplane import service_account_token
from volcano_py.local.errors import ProcessFailedError
from volcano_py.local.scheduler import SchedulerProcess
from volcano_py.local.workdir.kubeconfig import with_token

_T = TypeVar("_T")

QUICK_ELECTION = (
    "--leader-elect-lease-duration=6s",
    "--leader-elect-renew-deadline=5s",
    "--leader-elect-retry-period=1s",
)
"""Shorter than the defaults, so that a killed leader's Lease runs out soon; not so short that a busy machine takes it
away from one that lives."""

_LOG_LINES = 60

_ANSWER = aiohttp.ClientTimeout(total=30)
"""Seconds; a request that hangs must not use up the time of the whole wait."""


async def daemon_kubeconfig(cluster: Cluster, path: Path, server: str = "", *, account: str = SERVICE_ACCOUNT) -> Path:
    """A kubeconfig with a token of the shipped ServiceAccount: all rights the daemon has are those of the manifests.

    `server`: another URL than the administrator uses.
    """
    token = await service_account_token(cluster.client, SYSTEM_NAMESPACE, account)
    view = await kubeconfig_view(cluster)
    if server:
        view["clusters"][0]["cluster"]["server"] = server
    return with_token(path, view, token)


class Daemon(SchedulerProcess):
    """One `volcano-py run`. Several may run at the same time; the Lease lets one of them work."""

    async def ready(self) -> None:
        """Wait until /readyz answers 200; the test fails with what it answers instead, and the end of the log."""
        try:
            await super().ready()
        except ProcessFailedError as error:
            pytest.fail(str(error), pytrace=False)

    async def get(self, path: str) -> tuple[int, str]:
        """Status and text of an HTTP request, e.g. to /metrics."""
        async with aiohttp.ClientSession(timeout=_ANSWER) as session, session.get(self.url + path) as response:
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

    async def document(self, path: str) -> dict[str, Any]:
        """What /status or /dump shows."""
        status, text = await self.get(path)
        assert status == 200, f"{path} of {self.name}: {status} {text[:500]}"
        found: dict[str, Any] = json.loads(text)
        return found

    async def eventually(self, what: str, check: Callable[[], Awaitable[_T]]) -> _T:
        """Repeat `check` until it passes (see `waiting`); a failure shows the end of this daemon's log."""
        __tracebackhide__ = True

        async def diagnose() -> str:
            return self.diagnosis()

        return await eventually(f"{what} ({self.name})", check, diagnose=diagnose)

    async def wait_metric(self, name: str, value: float, *, or_more: bool = False, **labels: str) -> None:
        """Wait until the samples of this name and these labels add up to `value`, or to more with `or_more`."""
        __tracebackhide__ = True

        async def reached() -> None:
            now = await self.metric(name, **labels)
            assert now == value or (or_more and now > value), f"{name} {labels or ''} is {now}"

        await self.eventually(f"{name} {labels or ''} is {value}{' or more' if or_more else ''}", reached)

    async def wait_leading(self) -> None:
        """Wait until it has the Lease. A daemon is ready before."""
        __tracebackhide__ = True
        await self.wait_metric("volcano_leader", 1)

    async def wait_queues(self, *names: str, gone: bool = False) -> None:
        """Wait until it knows these queues, or, with `gone`, none of them any more.

        Queues, PodGroups and pods come by watches of their own: work may be known, and decided, before its queue is.
        """
        __tracebackhide__ = True

        async def known() -> None:
            there = (await self.document("/dump"))["queues"]
            wrong = [name for name in names if (name in there) is gone]
            assert not wrong, f"queues {wrong} are {'still' if gone else 'not yet'} known"

        await self.eventually(f"{'deleted ' if gone else ''}queues {', '.join(names)} are known", known)

    def log_records(self) -> list[dict[str, Any]]:
        """The lines of the log that are JSON objects, which is how the daemon logs without a terminal."""
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
