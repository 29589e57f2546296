"""Install, upgrade, rollback and uninstall on a real API server; a daemon runs with what the chart has installed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from e2e.harness.cluster import Cluster
from e2e.harness.daemon import Daemon, daemon_kubeconfig
from e2e.installing.helm import CHART, Helm
from volcano_py.local.client import APIError

NAMESPACE = "volcano-system"
DEPLOYMENT = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/volcano-py"
CONFIG = f"/api/v1/namespaces/{NAMESPACE}/configmaps/volcano-scheduler-configmap"
QUEUE = "/apis/scheduling.volcano.sh/v1beta1/queues/kept"


async def arguments(cluster: Cluster) -> list[str]:
    """Of the daemon's container."""
    deployment: dict[str, Any] = await cluster.client.get(DEPLOYMENT)
    found: list[str] = deployment["spec"]["template"]["spec"]["containers"][0]["args"]
    return found


async def test_the_life_of_a_release(cluster: Cluster, helm_on_cluster: Helm, tmp_path: Path) -> None:
    helm = helm_on_cluster
    where = f"--namespace={NAMESPACE}"
    await helm("install", "volcano", str(CHART), where, "--create-namespace")
    assert (await cluster.client.get(DEPLOYMENT))["spec"]["replicas"] == 2
    await cluster.kubectl("wait", "--for=condition=Established", "--timeout=60s", "crd/queues.scheduling.volcano.sh")
    await cluster.apply(
        [
            {
                "apiVersion": "scheduling.volcano.sh/v1beta1",
                "kind": "Queue",
                "metadata": {"name": "kept"},
                "spec": {"weight": 1},
            }
        ]
    )

    # The Deployment's pods run nothing here, so the daemon runs next to it, as the account that the chart has made.
    daemon = Daemon("installed", await daemon_kubeconfig(cluster, tmp_path / "kubeconfig"), tmp_path, ())
    await daemon.start()
    try:
        await daemon.wait_leading()
        await daemon.wait_queues("kept")
    finally:
        await daemon.stop()

    configuration = 'actions: "enqueue, allocate"\ntiers:\n- plugins:\n  - name: gang\n'
    override = tmp_path / "values.yaml"
    indented = configuration.replace("\n", "\n    ").rstrip()
    override.write_text(f"custom:\n  scheduler_config_override: |\n    {indented}\n")
    before = (await cluster.client.get(CONFIG))["data"]
    await helm(
        "upgrade",
        "volcano",
        str(CHART),
        where,
        f"--values={override}",
        "--set=custom.scheduler_replicas=3,custom.admission_enable=true",
    )
    assert (await cluster.client.get(CONFIG))["data"] == {"volcano-scheduler.conf": configuration}
    assert (await cluster.client.get(DEPLOYMENT))["spec"]["replicas"] == 3
    assert "--admission" in await arguments(cluster)

    await helm("rollback", "volcano", "1", where)
    assert (await cluster.client.get(CONFIG))["data"] == before
    assert (await cluster.client.get(DEPLOYMENT))["spec"]["replicas"] == 2
    assert "--admission" not in await arguments(cluster)

    await helm("uninstall", "volcano", where)
    with pytest.raises(APIError):
        await cluster.client.get(DEPLOYMENT)
    assert (await cluster.client.get(QUEUE))["spec"]["weight"] == 1, "CRDs stay, and with them all queues"
    await helm("install", "volcano", str(CHART), where)
    await helm("uninstall", "volcano", where)
