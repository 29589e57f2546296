"""A fake API server on a free port, a client for it, and time under control."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.unit.cluster.claim_bench import CLAIMS, VOLUMES, Bench, claim_body, usable_from, volume_body
from tests.unit.cluster.device_bench import ClaimServer, DeviceBench
from tests.unit.cluster.fakes import (
    PATIENCE,
    FakeApi,
    FakeClock,
    RecordingOutcomes,
    RecordingSink,
    Reply,
    Request,
    kubeconfig,
    settle,
)
from volcano_py.api.volumes import SELECTED_NODE
from volcano_py.cluster.kubernetes.http.answers import Answer
from volcano_py.cluster.kubernetes.http.client import KubernetesClient
from volcano_py.cluster.kubernetes.http.credentials import Credentials
from volcano_py.cluster.kubernetes.http.transport import Transport
from volcano_py.cluster.kubernetes.http.watch_stream import WatchStream

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


class CountingTransport(Transport):
    """Knows how many answers are on their way."""

    awaited = 0

    async def send(self, *args: Any, **options: Any) -> Answer:
        with self._one_more():
            return await super().send(*args, **options)

    @asynccontextmanager
    async def watch(self, *args: Any, **options: Any) -> AsyncIterator[WatchStream | Answer]:
        async with AsyncExitStack() as stack:
            with self._one_more():
                stream = await stack.enter_async_context(super().watch(*args, **options))
            yield stream

    @contextmanager
    def _one_more(self) -> Iterator[None]:
        self.awaited += 1
        try:
            yield
        finally:
            self.awaited -= 1


@pytest.fixture
async def client(api: FakeApi, clock: FakeClock, tmp_path: Path) -> AsyncIterator[KubernetesClient]:
    """Time does not pass while an answer is on its way to it, unless the server keeps it."""
    credentials = await Credentials.load(kubeconfig(tmp_path / "kubeconfig", api.url), clock=clock)
    transport = CountingTransport(credentials, 128)
    async with KubernetesClient(credentials, transport, clock=clock) as connected:

        async def all_answered() -> None:
            await settle()
            async with asyncio.timeout(PATIENCE):
                while transport.awaited > api.held:  # noqa: ASYNC110 - a socket has no event
                    await asyncio.sleep(0.001)
            await settle()

        clock.until_settled = all_answered
        yield connected


@pytest.fixture
def sink() -> RecordingSink:
    return RecordingSink()


@pytest.fixture
def outcomes() -> RecordingOutcomes:
    return RecordingOutcomes()


@pytest.fixture
async def background() -> AsyncIterator[Background]:
    """Run a coroutine next to the test, and end it with the test."""
    tasks: list[asyncio.Task[Any]] = []

    def start(coroutine: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        tasks.append(asyncio.create_task(coroutine))
        return tasks[-1]

    yield start
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


@pytest.fixture
def bench(client: KubernetesClient, outcomes: RecordingOutcomes, clock: FakeClock) -> Bench:
    return Bench(client, outcomes, clock)


@pytest.fixture
def server(api: FakeApi) -> FakeApi:
    """A claim; a volume that is free, and one that is made if it is ordered, both for node-1."""

    def keep(request: Request) -> Reply:
        kept = Reply(body=volume_body(**request.body["spec"], **usable_from("node-1")))
        api.on("GET", f"{VOLUMES}/pv-1", kept)
        return kept

    api.on("GET", f"{CLAIMS}/data", Reply(body=claim_body()))
    for name in ("pv-1", "made"):
        api.on("GET", f"{VOLUMES}/{name}", Reply(body=volume_body(name, **usable_from("node-1"))))
    api.on("PATCH", f"{VOLUMES}/pv-1", keep)
    api.on("PATCH", f"{CLAIMS}/data", Reply(body=claim_body(version=8, annotations={SELECTED_NODE: "node-1"})))
    return api


@pytest.fixture
def claims(api: FakeApi) -> ClaimServer:
    """The API server with one claim, which has no devices."""
    server = ClaimServer(api)
    server.add()
    return server


@pytest.fixture
def device_bench(client: KubernetesClient, outcomes: RecordingOutcomes, clock: FakeClock) -> DeviceBench:
    return DeviceBench(client, outcomes, clock)
