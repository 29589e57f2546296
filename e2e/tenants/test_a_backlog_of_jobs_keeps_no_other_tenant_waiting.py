"""A tenant's hundreds of jobs: another's job of two pods runs while most of them still wait for their turn."""

from __future__ import annotations

from typing import Any

from e2e.conftest import SimulatedNodes
from e2e.harness.daemon import Daemon
from e2e.harness.objects import pod_spec
from e2e.harness.tenant import Tenant

BACKLOG = 400
STILL_WAITING = 100
"""Where all wait in one line it is none: the last job in line has its pods when all have theirs."""


def jobs_path(tenant: Tenant) -> str:
    return f"/apis/batch.volcano.sh/v1alpha1/namespaces/{tenant.name}/jobs"


def small_job(name: str, selector: dict[str, str]) -> dict[str, Any]:
    template = {"spec": pod_spec(cpu="10m", memory="1Mi", node_selector=selector)}
    task = {"name": "t", "replicas": 2, "template": template}
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {"tasks": [task]},
    }


async def test_a_job_of_two_pods_runs_while_most_of_the_backlog_waits(
    daemon: Daemon, attacker: Tenant, victim: Tenant, simulated_nodes: SimulatedNodes
) -> None:
    pool = await simulated_nodes(10)
    selector = dict(pool.selector)
    await attacker.client.create_many(
        jobs_path(attacker), [small_job(f"small-{number}", selector) for number in range(BACKLOG)]
    )
    await victim.client.create(jobs_path(victim), small_job("mine", selector))
    await victim.namespace.wait_phases(Running=2)
    jobs = (await attacker.client.get(jobs_path(attacker)))["items"]
    phases = [job.get("status", {}).get("state", {}).get("phase", "") for job in jobs]
    assert sum(phase != "Running" for phase in phases) >= STILL_WAITING, phases
