"""The tenants of this suite are real ones: they run work in their namespace and are refused everywhere else."""

from __future__ import annotations

import pytest

from e2e.conftest import SimulatedNodes
from e2e.harness.daemon import Daemon
from e2e.harness.objects import pod
from e2e.harness.tenant import Tenant
from volcano_py.local.client import APIError


async def test_a_tenant_runs_pods_and_cannot_read_those_of_another(
    daemon: Daemon, attacker: Tenant, victim: Tenant, simulated_nodes: SimulatedNodes
) -> None:
    pool = await simulated_nodes(1)
    for tenant in (attacker, victim):
        await tenant.apply(pod("mine", node_selector=pool.selector))
        await tenant.namespace.wait_phases(Running=1)
    with pytest.raises(APIError, match="403"):
        await attacker.client.delete(f"/api/v1/namespaces/{victim.name}/pods/mine")
