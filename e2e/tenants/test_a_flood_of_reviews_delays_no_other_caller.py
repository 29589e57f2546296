"""A tenant keeps the webhooks busy with Jobs as large as an API server takes: others are bound, and judged."""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest

from e2e.conftest import SimulatedNodes, StartDaemon
from e2e.harness.install import LEASE_PATH
from e2e.harness.objects import Object, pod
from e2e.harness.tenant import Tenant
from e2e.harness.waiting import eventually
from e2e.harness.webhooks.admission import Door, answered
from e2e.tenants.conftest import Row, record
from e2e.tenants.strangers import LONGEST_WAIT, standing, wait_for_node
from volcano_py.local.client import APIError

_AT_A_TIME = 2
_LARGEST = 3 * 2**20  # bytes of a request
_PODS = 5


def job(name: str, **spec: Any) -> Object:
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "registry.k8s.io/pause"}]}}
    tasks = [{"name": "t", "replicas": 1, "template": template}]
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {"queue": "default", "tasks": tasks, **spec},
    }


def large_job() -> Object:
    """Of many small values, which cost more to read than a few large ones."""
    made = job("large")
    made["spec"]["tasks"][0]["template"]["spec"]["containers"][0]["env"] = [
        {"name": f"V{number}", "value": "x"} for number in range(_LARGEST // 32)
    ]
    return made


def jobs_of(tenant: Tenant) -> str:
    return f"/apis/batch.volcano.sh/v1alpha1/namespaces/{tenant.name}/jobs?dryRun=All"


class Flood:
    """A tenant who sends the same large Job again and again; nothing is stored. `answers` counts those judged."""

    def __init__(self, tenant: Tenant) -> None:
        self._tenant, self._job = tenant, large_job()
        self.answers = 0
        self.reported = ""

    async def send(self) -> None:
        while True:
            try:
                await self._tenant.client.create(jobs_of(self._tenant), self._job)
                self.answers += 1
            except APIError as error:
                self.reported = str(error)[:500]
            except (aiohttp.ClientError, TimeoutError) as error:
                self.reported = repr(error)

    async def wait_answers(self, least: int) -> None:
        async def reached() -> None:
            assert self.answers >= least, f"{self.answers} answers; {self.reported}"

        await eventually(f"{least} large Jobs are judged", reached)


@contextlib.asynccontextmanager
async def flood_of(tenant: Tenant) -> AsyncIterator[Flood]:
    flood = Flood(tenant)
    senders = [asyncio.create_task(flood.send()) for _ in range(_AT_A_TIME)]
    try:
        yield flood
    finally:
        for sender in senders:
            sender.cancel()
        await asyncio.gather(*senders, return_exceptions=True)


async def test_while_large_jobs_are_judged_pods_are_bound_and_other_jobs_judged(
    door: Door,
    start_daemon: StartDaemon,
    attacker: Tenant,
    victim: Tenant,
    simulated_nodes: SimulatedNodes,
    request: pytest.FixtureRequest,
) -> None:
    pool = await simulated_nodes(1)
    daemon = await start_daemon(*door.flags)
    await daemon.wait_leading()
    await answered(door)
    lease = (await door.cluster.client.get(LEASE_PATH))["spec"]
    async with flood_of(attacker) as flood:
        await flood.wait_answers(1)
        mine = [pod(f"mine-{number}", cpu="10m", node_selector=pool.selector) for number in range(_PODS)]
        waits = [await wait_for_node(victim.client, victim.name, each) for each in mine]
        filled = await victim.client.create(jobs_of(victim), job("mine"))
        assert filled["spec"]["schedulerName"] == "volcano"
        during = flood.answers
        await flood.wait_answers(during + 1)
    lost = sum(map(math.isfinite, waits)) - await standing(victim.namespace)
    record(request.config, Row("Jobs of three megabytes, again and again", waits, lost, flood.reported))
    assert max(waits) <= LONGEST_WAIT, f"{waits}\n{daemon.diagnosis()}"
    assert lost == 0, daemon.diagnosis()
    now = (await door.cluster.client.get(LEASE_PATH))["spec"]
    assert (now["holderIdentity"], now["leaseTransitions"]) == (lease["holderIdentity"], lease["leaseTransitions"])
    assert await daemon.metric("volcano_admission_reviews_total", outcome="failed") == 0
