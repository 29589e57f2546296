"""The part `node-load-custom-metrics`: with it the daemon's account may ask for two metrics, and for no others."""

from __future__ import annotations

import pytest

from e2e.harness.cluster import Cluster
from e2e.harness.install import SERVICE_ACCOUNT
from e2e.harness.rights import user_of
from volcano_py.cluster.kubernetes.http.paths import metric_of_nodes
from volcano_py.cluster.load.custom_metrics import CPU, MEMORY, VERSIONS
from volcano_py.local.kubectl import KubectlError
from volcano_py.shipped import shipped


async def answer(cluster: Cluster, version: str, metric: str) -> str:
    """What the API server, which has no such API, says to the account: that it may not ask, or that there is none."""
    path = str(metric_of_nodes(version, metric))
    with pytest.raises(KubectlError) as refused:
        await cluster.kubectl("get", "--raw", path, "--as", user_of(SERVICE_ACCOUNT))
    return str(refused.value)


async def test_each_metric_may_be_read_in_both_versions_once_the_part_is_applied(installed: Cluster) -> None:
    part = str(shipped("manifests") / "node-load-custom-metrics")
    assert "Forbidden" in await answer(installed, "v1beta2", CPU)
    await installed.kubectl("apply", "--kustomize", part)
    try:

        async def allowed() -> None:
            for version in VERSIONS:
                for metric in (CPU, MEMORY):
                    assert "NotFound" in await answer(installed, version, metric)

        await installed.eventually("the account may read both metrics", allowed)
        assert "Forbidden" in await answer(installed, "v1beta2", "node_temperature")
    finally:
        await installed.kubectl("delete", "--kustomize", part)
