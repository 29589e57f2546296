"""A tenant promises itself the whole cluster, with PodGroups without pods and with pods that fit nowhere."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path

import yaml

from e2e.conftest import SimulatedNodes
from e2e.harness.daemon import Daemon
from e2e.harness.objects import deployment, gang, pod, pod_group, volcano_job
from e2e.harness.tenant import Tenant

_SHIPPED = Path(__file__).parents[2] / "manifests" / "base" / "configmap.yaml"
_NODES = 2
_CPU = 4
"""Of each node."""


def shipped_with(timeout: str) -> str:
    """The shipped configuration, with another time for pods to be created."""
    text: str = yaml.safe_load(_SHIPPED.read_text(encoding="utf-8"))["data"]["volcano-scheduler.conf"]
    return text + f"configurations:\n- name: enqueue\n  arguments: {{promiseTimeout: {timeout}}}\n"


async def promise_the_cluster_twice(attacker: Tenant) -> None:
    """PodGroups without pods that ask for all there is; the first one is admitted."""
    whole = {"cpu": str(_NODES * _CPU)}
    await attacker.apply(*(pod_group(f"empty-{index}", 1, minResources=whole) for index in range(2)))
    await attacker.namespace.wait_pod_group("empty-0", "Inqueue")


async def apply_pods_that_fit_nowhere(attacker: Tenant) -> None:
    """26 pods, `useless-0` to `useless-25`."""
    await attacker.apply(*(pod(f"useless-{index}", cpu="1", node_selector={"pool": "none"}) for index in range(26)))


@asynccontextmanager
async def replacing(attacker: Tenant, names: tuple[str, ...], *, every: float) -> AsyncIterator[None]:
    """One PodGroup without pods of each name; in turns, one is deleted and another is created."""
    groups = f"/apis/scheduling.volcano.sh/v1beta1/namespaces/{attacker.name}/podgroups"

    async def replace() -> None:
        for turn in count():
            name = names[turn % len(names)]
            if turn >= len(names):
                await attacker.client.delete(f"{groups}/{name}-{turn - len(names)}")
            await attacker.apply(pod_group(f"{name}-{turn}", 1, minResources={"cpu": "4800m"}))
            await asyncio.sleep(every)

    task = asyncio.create_task(replace())
    try:
        yield
        assert not task.done(), task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_a_job_is_admitted_although_empty_groups_replace_each_other_for_ever(
    attacker: Tenant,
    victim: Tenant,
    simulated_nodes: SimulatedNodes,
    daemon: Daemon,
    configure: Callable[[str], Awaitable[None]],
) -> None:
    """Each is deleted before its time is over, when another has been admitted that keeps the job out as well."""
    await configure(shipped_with("5s"))
    await simulated_nodes(_NODES, cpu=str(_CPU))
    async with replacing(attacker, ("one", "other"), every=2):
        await attacker.namespace.wait_pod_group("one-0", "Inqueue")
        await attacker.namespace.wait_pod_group("other-1", "Inqueue")
        await victim.apply(volcano_job("large", 3, cpu="2"))
        await victim.namespace.wait_phases(Running=3)


async def test_a_job_within_its_part_runs_and_a_larger_one_when_the_promise_has_lapsed(
    attacker: Tenant,
    victim: Tenant,
    simulated_nodes: SimulatedNodes,
    daemon: Daemon,
    configure: Callable[[str], Awaitable[None]],
) -> None:
    """The attacker gets a message that says what happened to its promise."""
    await configure(shipped_with("24h"))
    await simulated_nodes(_NODES, cpu=str(_CPU))
    await promise_the_cluster_twice(attacker)
    await apply_pods_that_fit_nowhere(attacker)

    await victim.apply(volcano_job("small", 2, cpu="2"))
    await victim.namespace.wait_phases(Running=2)
    await victim.client.delete(f"/apis/batch.volcano.sh/v1alpha1/namespaces/{victim.name}/jobs/small")
    await victim.namespace.wait_phases()
    await victim.apply(volcano_job("large", 3, cpu="2"))
    await configure(shipped_with("1s"))
    await victim.namespace.wait_phases(Running=3)
    lapsed = await attacker.namespace.wait_pod_group("empty-0", "Pending")
    assert "PromiseLapsed: " in str(lapsed.status), lapsed.status


async def test_a_deployment_within_its_part_runs_and_grows_next_to_promises_of_the_whole_cluster(
    attacker: Tenant,
    victim: Tenant,
    simulated_nodes: SimulatedNodes,
    daemon: Daemon,
    configure: Callable[[str], Awaitable[None]],
) -> None:
    """Its pods come one by one, and their PodGroup after them; a larger number waits until the promises have lapsed."""
    await configure(shipped_with("24h"))
    await simulated_nodes(_NODES, cpu=str(_CPU))
    await promise_the_cluster_twice(attacker)

    await victim.apply(deployment("web", 1, cpu="1"))
    await victim.namespace.wait_phases(Running=1)
    await victim.apply(deployment("web", 3, cpu="1"))
    await victim.namespace.wait_phases(Running=3)
    await configure(shipped_with("1s"))
    await victim.apply(deployment("web", 7, cpu="1"))
    await victim.namespace.wait_phases(Running=7)


async def test_pods_and_gangs_and_jobs_run_next_to_pods_that_fit_no_node(
    attacker: Tenant, victim: Tenant, simulated_nodes: SimulatedNodes, daemon: Daemon
) -> None:
    """With the shipped configuration as it is; the attacker's pods still say what an autoscaler listens to."""
    await simulated_nodes(_NODES, cpu=str(_CPU))
    await apply_pods_that_fit_nowhere(attacker)
    reported = await attacker.namespace.wait_reported("useless-25", reason="Unschedulable")
    assert "NodesRefuse" in str(reported.status)
    work = volcano_job("work", 2, cpu="1")
    await victim.apply(pod("single", cpu="2"), *gang("pair", 2, cpu="1"), work, deployment("web", 2, cpu="1"))
    await victim.namespace.wait_phases(Running=7)
