"""A tenant names a PriorityClass in its PodGroup that its quota forbids for pods."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from e2e.conftest import SimulatedNodes
from e2e.harness.cluster import Cluster
from e2e.harness.daemon import Daemon
from e2e.harness.objects import gang, pod, pod_group, volcano_job
from e2e.harness.preemption import PREEMPTING, URGENT
from e2e.harness.tenant import Tenant
from volcano_py.local.client import APIError

_CLASS = "e2e-urgent"

_FORBIDDEN = {
    "apiVersion": "v1",
    "kind": "ResourceQuota",
    "metadata": {"name": "no-urgent-pods"},
    "spec": {
        "hard": {"pods": "0"},
        "scopeSelector": {"matchExpressions": [{"scopeName": "PriorityClass", "operator": "In", "values": [_CLASS]}]},
    },
}


async def test_the_class_of_a_podgroup_counts_no_more_than_those_of_its_pods(
    attacker: Tenant,
    victim: Tenant,
    installed: Cluster,
    simulated_nodes: SimulatedNodes,
    daemon: Daemon,
    configure: Callable[[str], Awaitable[None]],
) -> None:
    """Neither a gang nor a Volcano Job evicts a pod, while a tenant that may have such pods can."""
    await installed.apply([URGENT])
    await configure(PREEMPTING)
    pool = await simulated_nodes(2, cpu="2")
    await attacker.namespace.apply(_FORBIDDEN)
    await victim.apply(*gang("work", 2, cpu="2", node_selector=pool.selector))
    before = {each.name: each.raw["metadata"]["uid"] for each in await victim.namespace.wait_phases(Running=2)}

    async def refused() -> None:
        with pytest.raises(APIError, match="no-urgent-pods"):
            await attacker.client.create(
                f"/api/v1/namespaces/{attacker.name}/pods", pod("forbidden", cpu="1", priority_class=_CLASS)
            )

    await installed.eventually("the quota is in force", refused)
    await attacker.apply(
        pod_group("pretender", 2, priority_class=_CLASS),
        *(pod(f"pretender-{n}", group="pretender", cpu="2", node_selector=pool.selector) for n in (0, 1)),
        volcano_job("boaster", 1, cpu="2"),
    )
    await attacker.namespace.wait_reported("pretender-1")
    await attacker.namespace.wait_reported("boaster-worker-0")
    assert {each.name: each.raw["metadata"]["uid"] for each in await victim.namespace.wait_phases(Running=2)} == before

    await victim.apply(pod("urgent", cpu="2", priority_class=_CLASS, node_selector=pool.selector))

    async def runs() -> None:
        found = {each.name: each.phase for each in await victim.namespace.pods()}
        assert found.get("urgent") == "Running", found

    await installed.eventually("a pod of the class takes the place of another", runs)
