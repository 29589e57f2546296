"""A fake API server on a free port, a client for it, and time under control."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from tests.unit.cluster.fakes import FakeApi, FakeClock, RecordingOutcomes, RecordingSink, kubeconfig
from volcano_py.cluster.kubernetes.client import KubernetesClient

Background = Callable[[Coroutine[Any, Any, Any]], "asyncio.Task[Any]"]


@pytest.fixture
async def api() -> AsyncIterator[FakeApi]:
    server = FakeApi()
    await server.start()
    yield server
    await server.stop()


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
async def client(api: FakeApi, clock: FakeClock, tmp_path: Path) -> AsyncIterator[KubernetesClient]:
    path = kubeconfig(tmp_path / "kubeconfig", api.url)
    async with await KubernetesClient.connect(path, clock=clock) as connected:
        yield connected


@pytest.fixture
def sink() -> RecordingSink:
    return RecordingSink()


@pytest.fixture
def outcomes() -> RecordingOutcomes:
    return RecordingOutcomes()


@pytest.fixture
async def background() -> AsyncIterator[Background]:
    """Run a coroutine beside the test, and end it with the test."""
    tasks: list[asyncio.Task[Any]] = []

    def start(coroutine: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        tasks.append(asyncio.create_task(coroutine))
        return tasks[-1]

    yield start
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
