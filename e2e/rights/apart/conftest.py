"""The overlay `split-accounts` on a control plane of its own: three processes, each as the account of its part.

So whatever the scheduler's account does there, it does with the rights of that part alone.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
import yaml

from e2e.harness.cluster import Cluster
from e2e.harness.daemon import Daemon, daemon_kubeconfig
from e2e.harness.install import SERVICE_ACCOUNT, install
from e2e.harness.rights import ADMISSION_ACCOUNT, CONTROLLERS_ACCOUNT, Right, audited_control_plane, granted_rights
from e2e.harness.webhooks.admission import answered, open_door
from volcano_py.local.controlplane import ControlPlane
from volcano_py.shipped import shipped

OVERLAY = shipped("manifests") / "overlays" / "split-accounts"
RIGHTS = ("ServiceAccount", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding")


@pytest_asyncio.fixture(scope="package", loop_scope="session")
async def control_plane(used_elsewhere: set[Right]) -> AsyncIterator[ControlPlane]:
    async with audited_control_plane(used_elsewhere) as control_plane:
        yield control_plane


@pytest.fixture(scope="package")
def cluster(control_plane: ControlPlane) -> Cluster:
    return Cluster.of(control_plane)


@pytest_asyncio.fixture(scope="package", loop_scope="session")
async def overlay(cluster: Cluster) -> list[dict[str, Any]]:
    """Its accounts, roles and bindings."""
    rendered = await cluster.kubectl("kustomize", str(OVERLAY))
    return [each for each in yaml.safe_load_all(rendered) if each and each["kind"] in RIGHTS]


@pytest.fixture(scope="package")
def granted(overlay: list[dict[str, Any]]) -> set[Right]:
    return granted_rights(overlay)


@pytest_asyncio.fixture(scope="package", loop_scope="session")
async def installed(cluster: Cluster) -> Cluster:
    await install(cluster)
    return cluster


@pytest_asyncio.fixture(scope="package", loop_scope="session")
async def parts(
    installed: Cluster, overlay: list[dict[str, Any]], tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[dict[str, Daemon]]:
    """The processes by their accounts. The controllers come first, so that they create the queues that must exist."""
    directory = tmp_path_factory.mktemp("parts")
    door = await open_door(installed)
    await installed.apply(overlay)
    found: dict[str, Daemon] = {}
    try:
        for account, verb, flags in (
            (ADMISSION_ACCOUNT, "admission", door.flags[1:]),
            (CONTROLLERS_ACCOUNT, "run", ["--scheduling=false"]),
            (SERVICE_ACCOUNT, "run", ["--controllers=none"]),
        ):
            kubeconfig = await daemon_kubeconfig(installed, directory / f"{account}.kubeconfig", account=account)
            command = (sys.executable, "-m", "volcano_py", verb)
            found[account] = Daemon(account, kubeconfig, directory, flags, command=command)
            installed.diagnostics.append(found[account].diagnosis)
            await found[account].start()
        await answered(door)
        yield found
    finally:
        for daemon in found.values():
            await daemon.stop()
