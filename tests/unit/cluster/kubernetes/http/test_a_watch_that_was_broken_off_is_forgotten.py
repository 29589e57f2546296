"""Watches are broken off by the dozen each time that lists are refreshed; nothing of them may stay."""

from __future__ import annotations

import asyncio
import gc
import weakref

import pytest

from tests.support.connections.paths import at
from tests.unit.cluster.fakes import FakeApi
from volcano_py.cluster.kubernetes.http.client import KubernetesClient
from volcano_py.cluster.kubernetes.http.errors import UnreachableError
from volcano_py.cluster.kubernetes.http.watch_stream import WatchStream


async def broken_off(api: FakeApi, client: KubernetesClient) -> weakref.ref[WatchStream]:
    """A watch that another client ended while it was read."""
    async with client.watch(at("/api/v1/pods"), {"resourceVersion": "1"}) as stream:

        async def read() -> None:
            async for _ in stream:
                pass

        reader = asyncio.create_task(read())
        watch = await api.watch()
        await asyncio.sleep(0)
        stream.abort()
        with pytest.raises(UnreachableError):
            await reader
        watch.end()
        return weakref.ref(stream)


async def test_nothing_refers_to_it_once_another_was(api: FakeApi, client: KubernetesClient) -> None:
    first, second, _ = [await broken_off(api, client) for _ in range(3)]
    gc.collect()
    assert (first(), second()) == (None, None)
