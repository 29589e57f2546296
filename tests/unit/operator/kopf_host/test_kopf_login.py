"""kopf's session: our credentials as they are at the moment of each request, and for our server only."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from volcano_py.cluster.kubernetes.http.credentials import Credentials
from volcano_py.operator.kopf_host.login import KopfLogin

pytestmark = pytest.mark.real_time


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
