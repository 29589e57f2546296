"""The paths below /api, over a real socket."""

from __future__ import annotations

import io
from collections.abc import AsyncIterator

import aiohttp
import pytest
import pytest_asyncio

from tests.unit.ui.cluster import cluster, cordon
from volcano_py.observe.listen import ListenAddress
from volcano_py.ui import live
from volcano_py.ui.cluster import Cluster
from volcano_py.ui.serving import serving
from volcano_py.ui.web.api import MOST_BYTES

pytestmark = pytest.mark.real_time


@pytest.fixture
def source() -> Cluster:
    return cluster()


@pytest_asyncio.fixture
async def session(source: Cluster) -> AsyncIterator[aiohttp.ClientSession]:
    """Inside."""
    async with serving(source, ListenAddress("127.0.0.1", 0)) as url:
        jar = aiohttp.CookieJar(unsafe=True)
        async with aiohttp.ClientSession(url.partition("/?")[0], cookie_jar=jar) as found:
            async with found.get(url):
                pass
            yield found


async def test_the_page_and_its_files_are_served(session: aiohttp.ClientSession) -> None:
    async with session.get("/") as page:
        assert page.content_type == "text/html"
    async with session.get("/static/app.js") as script:
        assert script.content_type == "text/javascript"
    for path in ("/static/none.js", "/static/../ui/live.py", "/static/%2e%2e/live.py", "/static/vendor/uplot/LICENSE"):
        async with session.get(path) as missing:
            assert missing.status == 404


async def test_updates_are_server_sent_events(session: aiohttp.ClientSession) -> None:
    async with session.get("/api/updates?after=0") as stream:
        assert stream.content_type == "text/event-stream"
        text = b""
        while b"\n\ndata" not in text and b"data: {" not in text:
            text += await stream.content.readany()
        assert text.startswith(b"retry: 1000\n\nid: 1\ndata: {")
    async with session.get("/api/updates?after=x") as refused:
        assert refused.status == 400


async def test_a_browser_that_closes_the_page_is_no_error(
    session: aiohttp.ClientSession, source: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    async with session.get("/api/updates?after=0") as stream:
        await stream.content.readuntil(b"data: ")
        stream.close()
    for name in ("n1", "n2", "n1", "n2"):  # the first one may still reach the socket
        cordon(source, name)
        async with session.get("/api/board") as answer:
            number = (await answer.json())["number"]
        async with session.get(f"/api/updates?after={number - 1}") as other:
            await other.content.readuntil(b"data: ")
            await other.content.readuntil(b"data: ")
    assert [record.message for record in caplog.records] == []


async def test_pages_that_were_closed_count_no_longer(
    session: aiohttp.ClientSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "BEAT", 0.01)
    for _ in range(60):
        async with session.get("/api/updates?after=1") as stream:
            assert stream.status == 200
            await stream.content.readuntil(b": nothing new")
            stream.close()


async def test_a_job_a_queue_and_a_node_are_explained(session: aiohttp.ClientSession) -> None:
    async with session.get("/api/explain/podgroup/team/waits") as job:
        assert (await job.json())["now"]["reason"] == "NeverFits"
    async with session.get("/api/explain/queue/vision") as queue:
        assert (await queue.json())["standing"]["queue"] == "vision"
    async with session.get("/api/explain/node/none") as missing:
        assert missing.status == 404
        assert "node none does not exist" in (await missing.json())["error"]
    async with session.get("/api/pods/team/runs") as pods:
        assert await pods.json() == [{"name": "runs-0", "node": "n1", "phase": "Running"}]


async def test_a_trial_is_asked_for_as_json(session: aiohttp.ClientSession) -> None:
    async with session.post("/api/what-if", json={"removeNode": ["n1"]}) as found:
        assert (await found.json())["changes"]
    async with session.post("/api/what-if", json={"colour": "red"}) as strange:
        assert (strange.status, "colour" in (await strange.json())["error"]) == (400, True)
    async with session.post("/api/what-if", data="{}") as form:
        assert form.status == 415
    body = io.BytesIO(b'{"text": "' + b"x" * MOST_BYTES + b'"}')
    async with session.post("/api/plan", data=body, headers={"Content-Type": "application/json"}) as huge:
        assert huge.status == 413
