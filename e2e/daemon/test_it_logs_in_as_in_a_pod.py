"""The login of the shipped Deployment: the variables and files that a kubelet gives to a pod."""

from __future__ import annotations

from pathlib import Path

from e2e.conftest import SimulatedNodes
from e2e.harness.cluster import Cluster
from e2e.harness.daemon import Daemon
from e2e.harness.install import give_lease_back
from e2e.harness.namespace import Namespace
from e2e.harness.objects import gang
from volcano_py.local.controlplane import ControlPlane
from volcano_py.local.install import daemon_environment


async def test_a_daemon_without_a_kubeconfig_binds_with_the_token_of_its_pod(
    installed: Cluster,
    control_plane: ControlPlane,
    namespace: Namespace,
    simulated_nodes: SimulatedNodes,
    tmp_path: Path,
) -> None:
    pool = await simulated_nodes(1)
    daemon = Daemon("in-a-pod", None, tmp_path, variables=await daemon_environment(control_plane))
    await daemon.start()
    try:
        await namespace.apply(gang("train", 2, node_selector=pool.selector))
        await namespace.wait_phases(Running=2)
    finally:
        assert await daemon.stop() == 0
        await give_lease_back(installed)
