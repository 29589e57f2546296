"""The door, over a real socket."""

from __future__ import annotations

from collections.abc import AsyncIterator

import aiohttp
import pytest
import pytest_asyncio

from tests.unit.ui.cluster import cluster
from volcano_py.observe.listen import ListenAddress
from volcano_py.ui.serving import serving

pytestmark = pytest.mark.real_time


@pytest_asyncio.fixture
async def url() -> AsyncIterator[str]:
    async with serving(cluster(), ListenAddress("127.0.0.1", 0)) as found:
        yield found


@pytest_asyncio.fixture
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as found:
        yield found


PATHS = ("/", "/static/app.js", "/api/board", "/api/updates", "/api/explain/node/n1", "/nothing")


@pytest.mark.parametrize("path", PATHS)
async def test_no_token_is_401_and_a_wrong_one_403(url: str, session: aiohttp.ClientSession, path: str) -> None:
    origin = url.partition("/?")[0]
    async with session.get(origin + path) as none:
        assert none.status == 401
        assert "n1" not in await none.text()
    async with session.get(f"{origin}{path}?token=wrong") as wrong:
        assert (wrong.status, "Set-Cookie" in wrong.headers) == (403, False)
    port = origin.rpartition(":")[2]
    async with session.get(origin + path, cookies={f"volcano-py-ui-{port}": "wrong"}) as cookie:
        assert cookie.status == 403


async def test_the_token_is_taken_from_the_address_into_a_cookie(url: str, session: aiohttp.ClientSession) -> None:
    async with session.get(f"{url}&theme=x", allow_redirects=False) as first:
        assert (first.status, first.headers["Location"]) == (303, "/?theme=x")
        cookie = first.headers["Set-Cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=Lax" in cookie
    async with session.get(f"{url.partition('/?')[0]}/api/board") as board:
        assert board.status == 200
        assert set((await board.json())["tables"]["nodes"]) == {"n1", "n2"}


async def test_each_start_has_a_token_of_its_own(url: str) -> None:
    async with serving(cluster(), ListenAddress("127.0.0.1", 0)) as other:
        assert other.partition("token=")[2] != url.partition("token=")[2]


async def test_every_answer_has_the_policy_refusals_too(url: str, session: aiohttp.ClientSession) -> None:
    for path in (url, url.partition("/?")[0] + "/nothing", url.partition("/?")[0] + "/api/board"):
        async with session.get(path, allow_redirects=False) as answer:
            policy = answer.headers["Content-Security-Policy"]
            assert policy.startswith("default-src 'none'; script-src 'self';")
            assert "unsafe" not in policy
            assert answer.headers["X-Content-Type-Options"] == "nosniff"
            assert answer.headers["Cache-Control"] == "no-store"
            assert "Server" not in answer.headers


async def test_requests_that_another_site_sends_are_refused(url: str, session: aiohttp.ClientSession) -> None:
    async with session.get(url):
        pass
    origin = url.partition("/?")[0]
    async with session.get(f"{origin}/api/board", headers={"Origin": "http://elsewhere.example"}) as foreign:
        assert foreign.status == 403
    async with session.get(f"{origin}/api/board", headers={"Origin": origin}) as own:
        assert own.status == 200
