"""A tenant creates the largest objects that the API server takes, and pods that look at all other pods."""

from __future__ import annotations

from typing import Any

from e2e.conftest import SimulatedNodes
from e2e.harness.cluster import Cluster
from e2e.harness.daemon import Daemon
from e2e.harness.install import LEASE_PATH
from e2e.harness.objects import pod, volcano_job
from e2e.harness.tenant import Tenant
from volcano_py.api.bounds import CROWDED_TERMS

HOST = "kubernetes.io/hostname"


async def transitions(cluster: Cluster) -> int:
    """How often the Lease has changed hands."""
    lease: dict[str, Any] = await cluster.client.get(LEASE_PATH)
    return int(lease["spec"].get("leaseTransitions") or 0)


def not_in(value: str) -> dict[str, Any]:
    """A selector of its own that selects all pods."""
    return {"matchExpressions": [{"key": "other", "operator": "NotIn", "values": [value]}]}


async def strangers_run(victim: Tenant, name: str, **of_pods: Any) -> None:
    await victim.apply(pod(name, cpu="100m", **of_pods))
    await victim.namespace.wait_phases(Running=1)
    await victim.namespace.delete_pod(name)
    await victim.namespace.wait_phases()


async def test_a_job_of_a_thousand_tasks_that_wait_for_each_other(
    daemon: Daemon, installed: Cluster, attacker: Tenant, victim: Tenant, simulated_nodes: SimulatedNodes
) -> None:
    pool = await simulated_nodes(2)
    before = await transitions(installed)
    job = volcano_job("large", 1)
    template = {"spec": {"containers": [{"name": "c", "image": "i"}]}}
    job["spec"] = {
        "minAvailable": 1,
        "tasks": [
            {
                "name": f"t{number}",
                "replicas": 1,
                "template": template,
                "dependsOn": {"name": [f"t{other}" for other in range(max(0, number - 120), number)]},
            }
            for number in range(1000)
        ],
    }
    jobs = f"/apis/batch.volcano.sh/v1alpha1/namespaces/{attacker.name}/jobs"
    await attacker.client.create(jobs, job)
    for number in range(3):
        await strangers_run(victim, f"small-{number}", node_selector=pool.selector)
    await attacker.namespace.wait_event("JobStatusError", "Job/large", saying="exceed the limit of 10000")
    assert await attacker.namespace.pods() == []
    assert await transitions(installed) == before
    await daemon.ready()


async def test_pods_that_each_look_at_all_others(
    daemon: Daemon, installed: Cluster, attacker: Tenant, victim: Tenant, simulated_nodes: SimulatedNodes
) -> None:
    pool = await simulated_nodes(2)
    before = await transitions(installed)
    crowd = []
    for number in range(CROWDED_TERMS.most * 4):
        spread = {"maxSkew": 1, "topologyKey": HOST, "whenUnsatisfiable": "ScheduleAnyway"}
        spreads = [{**spread, "labelSelector": not_in(f"v{number}")}]
        own: dict[str, Any] = {"topologySpreadConstraints": spreads, "nodeSelector": {"no": "where"}}
        crowd.append(pod(f"spread-{number}", cpu="1m", labels={"pod": f"p{number}"}, **own))
    soft = [
        {"weight": 1, "podAffinityTerm": {"topologyKey": HOST, "labelSelector": not_in(f"w{number}")}}
        for number in range(50)
    ]
    wishes = {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": soft}}
    crowd.append(pod("soft", cpu="1m", affinity=wishes))
    await attacker.client.create_many(f"/api/v1/namespaces/{attacker.name}/pods", crowd)
    for number in range(3):
        await strangers_run(victim, f"small-{number}", node_selector=pool.selector)
    await attacker.namespace.wait_reported("soft", saying="spec.affinity has 50 terms about pods: at most 32")
    await installed.eventually("all but the terms that are allowed are reported", lambda: reported(attacker))
    assert await transitions(installed) == before
    await daemon.ready()


async def reported(attacker: Tenant) -> None:
    """Three in four of the crowd have one term too many, and say so: the writes of one namespace take their time."""
    conditions = [each.condition("PodScheduled") or {} for each in await attacker.namespace.pods()]
    crowded = [each for each in conditions if "different terms" in each.get("message", "")]
    assert len(crowded) == CROWDED_TERMS.most * 3
