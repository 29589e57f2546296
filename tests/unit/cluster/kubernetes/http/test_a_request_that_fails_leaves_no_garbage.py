"""Errors come with connections and whole answers; under faults there are hundreds a minute, so that they must be freed
by themselves, not when the collector comes by."""

from __future__ import annotations

import asyncio
import contextlib
import gc
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path

import aiohttp
import pytest
from httptools import HttpResponseParser

from tests.support.connections.paths import at
from tests.support.measuring.garbage import garbage_kept
from tests.unit.cluster.fakes import FakeApi, Reply, kubeconfig, refusal
from volcano_py.cluster.kubernetes.http.client import KubernetesClient, PatchType
from volcano_py.cluster.kubernetes.http.errors import RequestError

PODS = at("/api/v1/pods")

Call = Callable[[KubernetesClient], Awaitable[object]]


async def get(client: KubernetesClient) -> object:
    return await client.get(PODS)


async def patch(client: KubernetesClient) -> object:
    return await client.patch(PODS, {"status": {}}, PatchType.STRATEGIC, within=5)


async def watch(client: KubernetesClient) -> object:
    async with client.watch(PODS, {}) as stream:
        return [line async for line in stream]


async def pages(client: KubernetesClient) -> object:
    return [page async for page in client.pages(PODS)]


@pytest.mark.parametrize("call", [get, patch, watch, pages])
@pytest.mark.parametrize(
    "answer",
    [
        refusal(410, "Expired"),
        refusal(429, "TooManyRequests"),
        refusal(401, "Unauthorized"),
        Reply(500, "no Status object"),
        Reply(drop=True),
        Reply(200, "{"),
    ],
    ids=["410", "429", "401", "500", "broken off", "unreadable"],
)
async def test_nothing_is_left_to_the_collector(
    answer: Reply, call: Call, api: FakeApi, client: KubernetesClient
) -> None:
    for method in ("GET", "PATCH"):
        api.on(method, PODS, answer)
    api.refuse_watch(*[answer] * 8)
    await failing(call, client)  # what is made only once has been made
    with garbage_kept() as garbage:
        for _ in range(3):
            await failing(call, client)
        assert left(garbage) == {}


async def test_nothing_is_left_of_an_answer_that_was_cut_off(tmp_path: Path) -> None:
    server = await asyncio.start_server(cut_off, "127.0.0.1", 0)
    host, port = server.sockets[0].getsockname()
    path = kubeconfig(tmp_path / "kubeconfig", f"http://{host}:{port}")
    async with server, await KubernetesClient.connect(path) as client:
        await failing(get, client)
        with garbage_kept() as garbage:
            for call in (get, pages, watch):
                await failing(call, client)
            assert left(garbage) == {}


async def cut_off(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """A server that promises more than it sends."""
    await reader.readuntil(b"\r\n\r\n")
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{}")
    await writer.drain()
    writer.close()


async def failing(call: Call, client: KubernetesClient) -> None:
    with contextlib.suppress(RequestError):
        await call(client)


def left(garbage: list[object]) -> Counter[str]:
    """What the collector finds of ours; the server, in the same process, makes its own garbage."""
    gc.collect()
    ours = aiohttp.ClientResponse | HttpResponseParser | Exception
    return Counter(type(each).__name__ for each in garbage if isinstance(each, ours))
