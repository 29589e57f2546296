"""A client of an API server that is under the test's control."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.unit.cluster.fakes import FakeApi, kubeconfig
from volcano_py.cluster.kubernetes.http.client import KubernetesClient


@pytest.fixture
async def api() -> AsyncIterator[FakeApi]:
    server = FakeApi()
    await server.start()
    yield server
    await server.stop()


@pytest.fixture
async def client(api: FakeApi, tmp_path: Path) -> AsyncIterator[KubernetesClient]:
    async with await KubernetesClient.connect(kubeconfig(tmp_path / "kubeconfig", api.url)) as ready:
        yield ready
