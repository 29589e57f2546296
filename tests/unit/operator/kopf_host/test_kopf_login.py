"""kopf's session: our credentials as they are at the moment of each request, for our server only, and our limits."""

from __future__ import annotations

import asyncio
import gzip
import zlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from kopf._cogs.clients.api import iter_jsonlines

from tests.unit.cluster.kubernetes.http.scripted import OK, Scripted, compressed, serving
from volcano_py.cluster.kubernetes.http.credentials import Credentials
from volcano_py.operator.kopf_host import login as login_module
from volcano_py.operator.kopf_host.login import KopfLogin

pytestmark = pytest.mark.real_time

gzipped = partial(gzip.compress, mtime=0)  # the same bytes at any time of the day


class Endpoint:
    """Keeps the headers it was sent; redirects to `elsewhere` when that is set."""

    def __init__(self) -> None:
        self.authorizations: list[str | None] = []
        self.agents: list[str | None] = []
        self.elsewhere = ""
        app = web.Application()
        app.router.add_get("/{path:.*}", self._answer)
        self.http = TestServer(app)

    async def _answer(self, request: web.Request) -> web.Response:
        self.authorizations.append(request.headers.get("Authorization"))
        self.agents.append(request.headers.get("User-Agent"))
        if self.elsewhere:
            raise web.HTTPFound(self.elsewhere)
        return web.json_response({})

    @property
    def url(self) -> str:
        return str(self.http.make_url("")).rstrip("/")


@asynccontextmanager
async def two_servers() -> AsyncIterator[tuple[Endpoint, Endpoint, Credentials]]:
    ours, other = Endpoint(), Endpoint()
    async with ours.http, other.http:
        credentials = Credentials(None, None)
        credentials.refresh_when_due = lambda: None  # type: ignore[method-assign]
        credentials.server, credentials.authorization = ours.url, "Bearer first"
        yield ours, other, credentials


async def test_every_request_carries_the_newest_token() -> None:
    async with two_servers() as (ours, _, credentials):
        login = KopfLogin(credentials)
        session = (await login.log_in()).aiohttp_session
        await session.get(f"{ours.url}/apis")
        credentials.authorization = "Bearer second"
        await session.get(f"{ours.url}/apis")
        await login.aclose()
    assert ours.authorizations == ["Bearer first", "Bearer second"]
    assert all(agent is not None and agent.startswith("volcano-py/") for agent in ours.agents)


async def test_the_token_goes_to_no_other_server() -> None:
    async with two_servers() as (ours, other, credentials):
        login = KopfLogin(credentials)
        session = (await login.log_in()).aiohttp_session
        ours.elsewhere = f"{other.url}/apis"
        await session.get(f"{ours.url}/apis")
        await login.aclose()
    assert ours.authorizations == ["Bearer first"]
    assert other.authorizations == [None]


async def test_only_a_second_login_renews_the_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    refused: list[tuple[object, object]] = []

    async def renew(login: tuple[object, object]) -> bool:
        refused.append(login)
        return True

    async with two_servers() as (_, _, credentials):
        monkeypatch.setattr(credentials, "renew", renew)
        login = KopfLogin(credentials)
        first = await login.log_in()
        assert refused == []
        second = await login.log_in()
        assert refused == [("Bearer first", True)]
        # kopf refuses a login that equals one which has failed.
        assert first != second
        await login.aclose()
        assert first.aiohttp_session.closed
        assert second.aiohttp_session.closed


@asynccontextmanager
async def scripted_session() -> AsyncIterator[tuple[Scripted, aiohttp.ClientSession]]:
    async with serving() as server:
        credentials = Credentials(None, None)
        credentials.refresh_when_due = lambda: None  # type: ignore[method-assign]
        credentials.server = server.url
        login = KopfLogin(credentials)
        yield server, (await login.log_in()).aiohttp_session
        await login.aclose()


async def asked(session: aiohttp.ClientSession, server: Scripted) -> object:
    return await (await session.get(f"{server.url}/apis")).json(content_type=None)


@pytest.mark.parametrize("encoding", [b"gzip", b"identity"])
async def test_an_answer_is_read_up_to_its_limit(encoding: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(login_module, "PAGE", 2**20)
    body = bytes(2**20 + 1)
    async with scripted_session() as (server, session):
        server.answers = [compressed(gzipped(body) if encoding == b"gzip" else body, encoding)]
        with pytest.raises(aiohttp.ClientConnectionError, match="larger than 1024 KiB"):
            await asked(session, server)
        assert await asked(session, server) == {}


@pytest.mark.parametrize("pack", [gzipped, zlib.compress])
async def test_what_a_proxy_compresses_is_read_and_watched_all_the_same(pack: Callable[[bytes], bytes]) -> None:
    encoding = b"gzip" if pack is gzipped else b"deflate"
    async with scripted_session() as (server, session):
        server.answers = [compressed(pack(b'{"a":1}'), encoding), compressed(pack(b'{"b":1}\n{"c":1}\n'), encoding)]
        assert await asked(session, server) == {"a": 1}
        watch = await session.get(f"{server.url}/apis")
        assert [line async for line in iter_jsonlines(watch.content)] == [b'{"b":1}', b'{"c":1}']


async def test_what_comes_is_limited_before_it_is_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    """What follows the end of the packed data unpacks to nothing."""
    monkeypatch.setattr(login_module, "PAGE", 2**20)
    async with scripted_session() as (server, session):
        server.answers = [compressed(gzipped(b"{}") + bytes(2**20 + 1), b"gzip")]
        with pytest.raises(aiohttp.ClientConnectionError, match="larger than 1024 KiB"):
            await asked(session, server)


async def test_a_compressed_answer_that_ends_early_is_an_error_after_which_kopf_tries_again() -> None:
    async with scripted_session() as (server, session):
        server.answers = [compressed(gzipped(b'{"a":1}')[:-8], b"gzip")]
        with pytest.raises(aiohttp.ClientConnectionError, match="ended early"):
            await asked(session, server)


async def test_an_encoding_that_no_one_knows_is_an_error_after_which_kopf_tries_again() -> None:
    async with scripted_session() as (server, session):
        server.answers = [compressed(b"{}", b"br")]
        with pytest.raises(aiohttp.ClientConnectionError, match="Content-Encoding 'br'"):
            await asked(session, server)


async def test_what_was_not_asked_for_ends_the_connection() -> None:
    async with scripted_session() as (server, session):
        server.answers = [OK + b"|HTTP/1.1 200 OK\r\nContent-Length: 9"]
        assert await asked(session, server) == {}
        await asyncio.sleep(0.02)  # until the rest has come
        assert await asked(session, server) == {}
        assert [number for number, _ in server.requests] == [1, 2]
