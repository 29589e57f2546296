"""Fixtures of the tests about installing: helm, and a control plane of their own."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from e2e.harness.cluster import Cluster
from e2e.harness.rights import DAEMON_USERS, Right, used_rights
from e2e.installing.helm import Helm
from volcano_py.local.binaries.binaries import ensure_binaries
from volcano_py.local.controlplane import ControlPlane
from volcano_py.local.workdir.layout import Settings


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def control_plane(used_elsewhere: set[Right]) -> AsyncIterator[ControlPlane]:
    async with ControlPlane(settings=Settings(audit_log=True, audited_users=DAEMON_USERS)) as plane:
        yield plane
        used_elsewhere.update(used_rights(plane.audit_log))


@pytest.fixture(scope="module")
def cluster(control_plane: ControlPlane) -> Cluster:
    return Cluster.of(control_plane)


@pytest.fixture(scope="session")
def helm_binary() -> Path:
    """Built once, in two minutes."""
    return ensure_binaries(["helm"])["helm"]


@pytest.fixture
def helm(helm_binary: Path, tmp_path: Path) -> Helm:
    """Without a cluster."""
    return Helm(helm_binary, tmp_path)


@pytest.fixture
def helm_on_cluster(helm_binary: Path, tmp_path: Path, control_plane: ControlPlane) -> Helm:
    """As the cluster's administrator."""
    return Helm(helm_binary, tmp_path, control_plane.kubeconfig)
