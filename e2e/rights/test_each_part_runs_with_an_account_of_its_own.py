"""The overlay `split-accounts`: scheduler, controllers and admission as processes with the rights of their part."""

from __future__ import annotations

import json
import re

from e2e.conftest import SimulatedNodes
from e2e.harness.daemon import Daemon
from e2e.harness.install import SERVICE_ACCOUNT
from e2e.harness.namespace import Namespace
from e2e.harness.objects import deployment, pod_spec
from e2e.harness.rights import CONTROLLERS_ACCOUNT
from e2e.harness.views import listed


async def test_pods_of_deployments_and_jobs_run_and_no_account_is_refused_anything(
    split: dict[str, Daemon], namespace: Namespace, simulated_nodes: SimulatedNodes
) -> None:
    """A Job needs Secrets, Services, ConfigMaps, a NetworkPolicy and claims; the bare pods get a PodGroup."""
    pool = await simulated_nodes(2)
    spec = pod_spec(node_selector=pool.selector, scheduler_name="", restartPolicy="Never")
    task = {"name": "worker", "replicas": 2, "template": {"spec": spec}}
    claim = {"accessModes": ["ReadWriteOnce"], "storageClassName": "", "resources": {"requests": {"storage": "1Gi"}}}
    volume = {"mountPath": "/data", "volumeClaim": claim}
    plugins: dict[str, list[str]] = {"ssh": [], "svc": [], "env": []}
    await namespace.apply(
        {
            "apiVersion": "batch.volcano.sh/v1alpha1",
            "kind": "Job",
            "metadata": {"name": "job"},
            "spec": {"minAvailable": 2, "tasks": [task], "plugins": plugins},
        },
        {
            "apiVersion": "batch.volcano.sh/v1alpha1",
            "kind": "Job",
            "metadata": {"name": "with-a-claim"},
            "spec": {"minAvailable": 1, "tasks": [{**task, "replicas": 1}], "volumes": [volume]},
        },
        deployment("web", 2, node_selector=pool.selector),
    )
    await namespace.wait_phases(Running=4, Pending=1)

    async def known() -> None:
        groups = await namespace.pod_groups()
        assert sorted(group.phase for group in groups) == ["Inqueue", "Running", "Running"], listed(groups)
        job = await namespace.cluster.client.get(
            f"/apis/batch.volcano.sh/v1alpha1/namespaces/{namespace.name}/jobs/job"
        )
        assert job["status"]["state"]["phase"] == "Running"

    await namespace.cluster.eventually("the groups are Running but for that of the unbound claim", known)
    for daemon in split.values():
        assert (await daemon.get("/readyz"))[0] == 200
        # A namespace this young may have no service account yet, which is "forbidden" as well.
        refused = [text for text in map(json.dumps, daemon.log_records()) if re.search(r"User .* cannot ", text)]
        assert not refused, "\n".join(refused)
    for account in (SERVICE_ACCOUNT, CONTROLLERS_ACCOUNT):
        assert await split[account].metric("volcano_leader") == 1
    assert await split[SERVICE_ACCOUNT].metric("volcano_state_drift") == 0
