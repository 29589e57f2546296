"""The page for many users, over TLS: signing in, sessions, and that nothing is shown without one."""

from __future__ import annotations

import asyncio
import contextlib
import json
import ssl
import time
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import aiohttp
import pytest
import pytest_asyncio
import structlog.testing

from tests.unit.ui.cluster import OBJECTS, cluster, cordon
from tests.unit.ui.users import ALL, OTHERS, Reviewer, of_namespace, token
from volcano_py.observe.listen import ListenAddress
from volcano_py.operator.webhooks.certificates import issue
from volcano_py.ui import live
from volcano_py.ui.access import Shared
from volcano_py.ui.cluster import Cluster, ClusterError
from volcano_py.ui.rights import reviewed
from volcano_py.ui.rights.sight import EVERYTHING
from volcano_py.ui.serving import serving
from volcano_py.ui.web import sessions
from volcano_py.ui.web.attempts import MOST
from volcano_py.ui.web.sign_in import COOKIE

pytestmark = pytest.mark.real_time

ANN_ENDS = time.time() + 3000  # before a session does, and after the tests
ANN, BOB = token("ann", ANN_ENDS), token("bob")
PAGES: Final = ("/api/board", "/api/updates", "/api/visitor", "/api/explain/queue/vision", "/api/pods/team/runs", "/no")
HERE: Final = ListenAddress("127.0.0.1", 0)


@pytest.fixture
def reviewer() -> Reviewer:
    return Reviewer({ANN: "ann", BOB: "bob"}, {"ann": ALL, "bob": of_namespace("team")})


@pytest.fixture
def certificates(tmp_path: Path) -> Path:
    """A directory as of a mounted Secret."""
    made = issue(("127.0.0.1",), datetime.now(UTC))
    for name, content in (("tls.crt", made.certificate), ("tls.key", made.key), ("ca.crt", made.authorities)):
        (tmp_path / name).write_bytes(content)
    return tmp_path


@pytest_asyncio.fixture
async def url(reviewer: Reviewer, certificates: Path) -> AsyncIterator[str]:
    shared = Shared(reviewer.client, "volcano-system", certificates)
    async with serving(cluster(OBJECTS + OTHERS), HERE, shared=shared) as found:
        yield found


@contextlib.asynccontextmanager
async def browser(url: str, certificates: Path) -> AsyncIterator[aiohttp.ClientSession]:
    """With cookies of its own."""
    trust = aiohttp.TCPConnector(ssl=ssl.create_default_context(cafile=str(certificates / "ca.crt")))
    jar = aiohttp.CookieJar(unsafe=True)  # those of addresses without a name, too
    async with aiohttp.ClientSession(url, cookie_jar=jar, connector=trust) as found:
        yield found


@pytest_asyncio.fixture
async def session(url: str, certificates: Path) -> AsyncIterator[aiohttp.ClientSession]:
    async with browser(url, certificates) as found:
        yield found


async def sign_in(session: aiohttp.ClientSession, text: str, **headers: str) -> aiohttp.ClientResponse:
    async with session.post("/sign-in", data={"token": text}, headers=headers, allow_redirects=False) as answer:
        await answer.read()
        return answer


async def board(session: aiohttp.ClientSession) -> dict[str, Any]:
    async with session.get("/api/board") as answer:
        assert answer.status == 200, await answer.text()
        tables: dict[str, Any] = (await answer.json())["tables"]
        return tables


@pytest.mark.parametrize("path", PAGES)
async def test_without_a_session_there_is_only_the_form(session: aiohttp.ClientSession, path: str) -> None:
    for cookies in ({}, {COOKIE: "wrong"}, {COOKIE: "ü"}):
        async with session.get(path, cookies=cookies) as answer:
            assert answer.status == 401
            assert "vision" not in await answer.text()
    async with session.get("/", allow_redirects=False) as first:
        assert (first.status, first.headers["Location"]) == (303, "/sign-in")
    async with session.get(f"{path}?token={ANN}") as by_address:
        assert by_address.status == 401, "a token in an address opens nothing"


async def test_what_everyone_gets_has_nothing_of_the_cluster(session: aiohttp.ClientSession) -> None:
    for path in ("/sign-in", "/static/style.css", "/static/app.js", "/healthz"):
        async with session.get(path) as answer:
            assert answer.status == 200
            assert "n1" not in json.dumps(dict(answer.headers))
            policy = answer.headers["Content-Security-Policy"]
            assert ("form-action 'self'" if path == "/sign-in" else "form-action 'none'") in policy
            assert "unsafe" not in policy
    async with session.post("/static/app.js") as changed:
        assert changed.status == 401


async def test_a_token_becomes_a_session_in_a_cookie_that_scripts_cannot_read(session: aiohttp.ClientSession) -> None:
    answer = await sign_in(session, f"  {ANN}\n")
    assert (answer.status, answer.headers["Location"]) == (303, "/")
    cookie = answer.headers["Set-Cookie"]
    assert cookie.startswith(f"{COOKIE}=")
    for part in ("HttpOnly", "Secure", "SameSite=Strict", "Path=/"):
        assert part in cookie
    assert "Domain" not in cookie
    left = ANN_ENDS - time.time()
    assert left - 10 < int(answer.cookies[COOKIE]["max-age"]) <= left + 10, "it ends with the token"
    assert ANN not in cookie
    assert "others/secret" in (await board(session))["jobs"]
    async with session.get("/api/visitor") as who:
        assert await who.json() == {"user": "ann", "canLeave": True}


async def test_a_wrong_token_is_refused_and_no_answer_or_log_has_it(session: aiohttp.ClientSession) -> None:
    with structlog.testing.capture_logs() as logs:
        wrong = await sign_in(session, "wrong-token")
        right = await sign_in(session, ANN)
        assert (await sign_in(session, " ")).status == 400
    assert (wrong.status, "Set-Cookie" in wrong.headers, right.status) == (403, False, 303)
    assert "The cluster does not accept this token" in await wrong.text()
    assert "wrong-token" not in await wrong.text()
    assert [each["event"] for each in logs] == ["token refused", "signed in"]
    assert not any(text in str(logs) for text in ("wrong-token", ANN))


async def test_without_an_api_server_nobody_signs_in(session: aiohttp.ClientSession, reviewer: Reviewer) -> None:
    reviewer.is_silent = True
    for _ in range(MOST + 1):
        answer = await sign_in(session, ANN)
        assert (answer.status, "Set-Cookie" in answer.headers) == (503, False)
    reviewer.is_silent = False
    assert (await sign_in(session, ANN)).status == 303, "these were no failures"


async def test_whoever_tries_tokens_has_to_wait(session: aiohttp.ClientSession) -> None:
    answers = await asyncio.gather(*(sign_in(session, f"wrong-{number}") for number in range(MOST + 3)))
    assert sorted(answer.status for answer in answers) == [403] * MOST + [429] * 3
    right = await sign_in(session, ANN)
    assert (right.status, 1 <= int(right.headers["Retry-After"]) <= 10) == (429, True)


async def test_each_user_sees_what_that_user_may(url: str, certificates: Path) -> None:
    async with browser(url, certificates) as ann, browser(url, certificates) as bob:
        assert (await sign_in(ann, ANN)).status == (await sign_in(bob, BOB)).status == 303
        assert {*(await board(ann))["jobs"]} == {"team/runs", "team/waits", "others/secret"}
        tables = await board(bob)
        assert ({*tables["jobs"]}, tables["nodes"], tables["queues"]) == ({"team/runs", "team/waits"}, {}, {})
        for path, status in {
            "/api/explain/podgroup/team/waits": 200,
            "/api/explain/podgroup/others/secret": 404,
            "/api/explain/queue/vision": 404,
            "/api/explain/node/n1": 404,
            "/api/pods/team/waits": 200,
            "/api/pods/others/secret": 404,
        }.items():
            async with bob.get(path) as answer:
                assert answer.status == status, path
                assert status == 404 or "secret" not in await answer.text()
            async with ann.get(path) as answer:
                assert answer.status == 200, path
        for path, body in (("/api/what-if", {"cordon": ["n1"]}), ("/api/plan", {"text": cluster().text})):
            async with bob.post(path, json=body) as answer:
                assert (answer.status, "all work" in (await answer.json())["error"]) == (400, True)
            async with ann.post(path, json=body) as answer:
                assert answer.status == 200


async def events(stream: aiohttp.ClientResponse) -> AsyncIterator[str]:
    """Of a stream, without the first one, which says when to come back."""
    text = ""
    async for part in stream.content.iter_any():
        *whole, text = (text + part.decode()).split("\n\n")
        for event in whole:
            if not event.startswith("retry"):
                yield event


@contextlib.asynccontextmanager
async def ann_follows(
    reviewer: Reviewer, certificates: Path
) -> AsyncIterator[tuple[Cluster, aiohttp.ClientSession, AsyncIterator[str]]]:
    """The cluster, ann's browser, and the events that it follows, of which the first has come."""
    source, shared = cluster(OBJECTS + OTHERS), Shared(reviewer.client, "volcano-system", certificates)
    async with serving(source, HERE, shared=shared) as url, browser(url, certificates) as ann:
        await sign_in(ann, ANN)
        async with ann.get("/api/updates?after=0") as stream:
            following = events(stream)
            assert '"n1"' in await anext(following)
            yield source, ann, following


async def test_a_stream_is_what_its_user_may_see(url: str, certificates: Path) -> None:
    async with browser(url, certificates) as bob:
        await sign_in(bob, BOB)
        async with bob.get("/api/updates?after=0") as stream:
            event = await anext(events(stream))
        assert "team/waits" in event
        assert "secret" not in event


async def test_rights_that_are_taken_away_end_the_stream_and_what_is_shown(
    reviewer: Reviewer, certificates: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reviewed, "ALLOWED_FOR", 0.0)
    async with ann_follows(reviewer, certificates) as (source, ann, following):
        reviewer.rights["ann"] = frozenset()
        cordon(source, "n1")
        assert await anext(following) == "event: again\ndata: {}"
        assert not (await board(ann))["nodes"]
        # A browser that comes back with what it saw before gets no changes of it either.
        async with ann.get(f"/api/updates?after=1&sight={EVERYTHING.mark}") as stream:
            assert await anext(events(stream)) == "event: again\ndata: {}"


async def test_a_token_that_is_taken_back_ends_the_session_and_its_streams(
    reviewer: Reviewer, certificates: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "CHECKED_FOR", 0.0)
    async with ann_follows(reviewer, certificates) as (source, ann, following):
        del reviewer.users[ANN]
        cordon(source, "n1")
        assert await anext(following) == "event: again\ndata: {}"
        async with ann.get("/api/board") as answer:
            assert answer.status == 401


async def test_a_stream_of_a_cluster_in_which_nothing_changes_ends_too(
    reviewer: Reviewer, certificates: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "CHECKED_FOR", 0.0)
    monkeypatch.setattr(live, "BEAT", 0.01)
    shared = Shared(reviewer.client, "volcano-system", certificates)
    async with serving(cluster(), HERE, shared=shared) as url, browser(url, certificates) as ann:
        await sign_in(ann, ANN)
        async with ann.get("/api/updates?after=1") as stream:
            following = events(stream)
            assert await anext(following) == ": nothing new"
            del reviewer.users[ANN]
            async for event in following:
                if event != ": nothing new":
                    assert event == "event: again\ndata: {}"
                    break


async def test_who_signs_out_in_one_tab_has_left_the_others(reviewer: Reviewer, certificates: Path) -> None:
    async with ann_follows(reviewer, certificates) as (source, ann, following):
        async with ann.post("/sign-out"):
            cordon(source, "n1")
        assert await anext(following) == "event: again\ndata: {}"


async def test_a_session_ends_when_the_user_signs_out(session: aiohttp.ClientSession) -> None:
    await sign_in(session, ANN)
    (kept,) = (each.value for each in session.cookie_jar if each.key == COOKIE)
    async with session.post("/sign-out") as left:
        assert (left.status, left.cookies[COOKIE].value) == (204, "")
    async with session.get("/api/board", cookies={COOKIE: kept}) as answer:
        assert answer.status == 401


@pytest.mark.parametrize("path", ["/sign-in", "/sign-out", "/api/what-if", "/api/plan"])
async def test_requests_that_another_site_sends_are_refused(session: aiohttp.ClientSession, path: str) -> None:
    await sign_in(session, ANN)
    for origin in ("https://elsewhere.example", "null", str(session._base_url).replace("https", "http")):
        async with session.post(path, headers={"Origin": origin}, data={"token": ANN}) as answer:
            assert (answer.status, "Set-Cookie" in answer.headers) == (403, False)
    async with session.post(path, headers={"Origin": str(session._base_url).rstrip("/")}, json={}) as own:
        assert own.status in (204, 400, 415)


async def test_streams_and_questions_of_one_user_are_bounded(session: aiohttp.ClientSession) -> None:
    await sign_in(session, ANN)
    async with contextlib.AsyncExitStack() as stack:
        for _ in range(20):
            stream = await stack.enter_async_context(session.get("/api/updates?after=0"))
            assert stream.status == 200
        async with session.get("/api/updates?after=0") as more:
            assert more.status == 429


async def test_a_proxy_may_end_tls_and_says_whom_it_serves(reviewer: Reviewer, certificates: Path) -> None:
    shared = Shared(reviewer.client, "volcano-system")
    async with serving(cluster(), HERE, shared=shared) as url, browser(url, certificates) as session:
        host = url.removeprefix("http://").rstrip("/")
        plain = await sign_in(session, ANN, **{"X-Forwarded-Proto": "http"})
        assert (plain.status, "Set-Cookie" in plain.headers) == (403, False)
        for _ in range(MOST):
            await sign_in(session, "wrong", **{"X-Forwarded-For": "1.2.3.4, 5.6.7.8"})
        assert (await sign_in(session, ANN, **{"X-Forwarded-For": "9.9.9.9, 5.6.7.8"})).status == 429
        right = await sign_in(
            session,
            ANN,
            **{"X-Forwarded-For": "5.6.7.8, 1.2.3.4", "X-Forwarded-Proto": "https", "Origin": f"https://{host}"},
        )
        assert (right.status, "Secure" in right.headers["Set-Cookie"]) == (303, True)


async def test_without_a_certificate_nothing_is_served(reviewer: Reviewer, tmp_path: Path) -> None:
    with pytest.raises(ClusterError, match="there is no certificate to serve with"):
        async with serving(cluster(), HERE, shared=Shared(reviewer.client, "volcano-system", tmp_path)):
            pass
