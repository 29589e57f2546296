"""A crowd of requests opens a few connections at a time, and uses those that are free before it opens more."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.support.connections.ports import silent_port
from tests.unit.cluster.kubernetes.http.scripted import Scripted, serving
from tests.unit.cluster.kubernetes.http.test_http1_pool_keeps_its_connections import GET, LIMIT, until
from volcano_py.cluster.kubernetes.http.answers import Answer
from volcano_py.cluster.kubernetes.http.http1_pool import OPENED_AT_ONCE, Http1Pool, Server

_CROWD = 3 * OPENED_AT_ONCE


class Gated(Http1Pool):
    """Opens a connection only once it may."""

    def __init__(self) -> None:
        super().__init__(2 * _CROWD)
        self.begun = 0
        self.may_open = asyncio.Semaphore(0)

    async def _connect(self, server: Server) -> Any:
        self.begun += 1
        await self.may_open.acquire()
        return await super()._connect(server)

    def let(self, count: int) -> None:
        for _ in range(count):
            self.may_open.release()


@pytest.fixture
async def server() -> AsyncIterator[Scripted]:
    async with serving() as scripted:
        yield scripted


@pytest.fixture
async def pool() -> AsyncIterator[Gated]:
    opened = Gated()
    yield opened
    await opened.aclose()


def crowd(pool: Http1Pool, url: str) -> list[asyncio.Task[Answer]]:
    to = Server(url, ssl=True)
    return [asyncio.ensure_future(pool.exchange(to, GET, b"", limit=LIMIT)) for _ in range(_CROWD)]


async def test_one_more_are_being_opened_than_are_open_and_never_more_than_a_few(server: Scripted, pool: Gated) -> None:
    server.answers = [b""] * _CROWD  # each request holds its connection
    asked = crowd(pool, server.url)
    being_opened = []
    while server.connections < _CROWD - OPENED_AT_ONCE:
        open_before = server.connections
        await until(lambda begun=open_before: pool.begun > begun)  # type: ignore[misc]
        await asyncio.sleep(0.01)
        being_opened.append(pool.begun - open_before)
        pool.let(being_opened[-1])
        await until(lambda begun=pool.begun: server.connections == begun)  # type: ignore[misc]
    assert being_opened == [1, 2, 4, 8, OPENED_AT_ONCE, OPENED_AT_ONCE]

    server.held.set()
    pool.let(_CROWD)
    assert {answer.status for answer in await asyncio.gather(*asked)} == {200}


async def test_a_connection_that_is_free_serves_those_that_wait(server: Scripted, pool: Gated) -> None:
    asked = crowd(pool, server.url)
    pool.let(1)
    await until(lambda: sum(task.done() for task in asked) == _CROWD - 2)

    assert server.connections == 1
    assert pool.begun == 3
    pool.let(_CROWD)
    await asyncio.gather(*asked)


async def test_requests_that_are_given_up_hold_up_no_others(server: Scripted, pool: Gated) -> None:
    asked = crowd(pool, server.url)
    server.answers = [b""]  # the first request holds its connection, so others are opened
    pool.let(1)
    await until(lambda: pool.begun == 3)
    for task in asked[1::2]:
        task.cancel()
    server.held.set()
    pool.let(_CROWD)

    await asyncio.wait(asked, timeout=5)
    assert all(task.done() for task in asked)
    assert all(task.cancelled() or task.result().status == 200 for task in asked)
    assert not any(task.cancelled() for task in asked[::2])


async def test_each_is_tried_where_nothing_answers(pool: Gated) -> None:
    pool.let(_CROWD)
    with silent_port() as port:
        answers = await asyncio.gather(*crowd(pool, f"http://127.0.0.1:{port}"), return_exceptions=True)

    assert all(isinstance(answer, OSError) for answer in answers)
    assert pool.begun == _CROWD
