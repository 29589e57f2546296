"""The HTTP face, over real sockets on this machine."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from typing import Any
from unittest.mock import Mock

import aiohttp
import pytest
from aiohttp.test_utils import make_mocked_request
from structlog.testing import capture_logs

from tests.support.connections.ports import silent_port
from volcano_py.observe import health_routes
from volcano_py.observe.checks import Checks
from volcano_py.observe.health import HealthServer
from volcano_py.observe.listen import ListenAddress, ListenError
from volcano_py.observe.metrics import Metrics
from volcano_py.observe.shown import Document, Shown

LOCAL = ListenAddress("127.0.0.1", 0)


class Face:
    """A running server and a client that asks it."""

    def __init__(self) -> None:
        self.metrics = Metrics()
        self.checks = Checks()
        self.status: Document = dict
        self.dump: Document = dict
        self.server: HealthServer | None = None
        self.port = 0
        self.session: aiohttp.ClientSession | None = None

    async def start(self, **options: Any) -> None:
        options = {"render": self.metrics.render, "status": self.status, "dump": self.dump, **options}
        self.server = HealthServer(Shown(checks=self.checks, version={"version": "1.2.3"}, **options))
        (address,) = await self.server.start([LOCAL])
        self.port = address.port
        self.session = aiohttp.ClientSession(f"http://127.0.0.1:{self.port}")

    async def get(self, path: str, **headers: str) -> tuple[int, Any]:
        """Status, and the body read as JSON where it is."""
        assert self.session is not None
        async with self.session.get(path, headers=headers) as response:
            is_json = response.content_type == "application/json"
            return response.status, await (response.json() if is_json else response.text())

    async def stop(self) -> None:
        if self.session is not None:
            await self.session.close()
        if self.server is not None:
            await self.server.stop()


@pytest.fixture
async def face() -> AsyncIterator[Face]:
    face = Face()
    yield face
    await face.stop()


async def test_metrics_are_served_in_the_format_that_was_asked_for(face: Face) -> None:
    await face.start()
    assert face.session is not None
    async with face.session.get("/metrics") as response:
        assert response.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
        assert "volcano_config_valid 0.0\n" in await response.text()
    accept = {"Accept": "application/openmetrics-text; version=1.0.0", "Accept-Encoding": "gzip"}
    async with face.session.get("/metrics", headers=accept) as response:
        assert response.headers["Content-Type"].startswith("application/openmetrics-text")
        assert response.headers["Content-Encoding"] == "gzip"
        assert (await response.text()).endswith("# EOF\n")
    async with face.session.get("/metrics", headers={"Accept-Encoding": "identity"}) as response:
        assert "Content-Encoding" not in response.headers


async def test_probes_report_each_check(face: Face) -> None:
    await face.start()
    synced: list[bool] = []
    face.checks.add_live("loop", lambda: None)
    face.checks.add_ready("informers", lambda: None if synced else "Pod is not synced")
    assert await face.get("/healthz") == (200, {"status": "ok", "checks": [{"name": "loop", "ok": True}]})
    status, body = await face.get("/readyz")
    assert status == 503
    assert body["checks"][0] == {"name": "informers", "ok": False, "problem": "Pod is not synced"}
    synced.append(True)
    assert (await face.get("/readyz"))[0] == 200


async def test_version_status_and_an_index_of_all_paths(face: Face) -> None:
    face.status = lambda: {"leader": True, "queues": ["a", "b"]}
    await face.start()
    assert await face.get("/version") == (200, {"version": "1.2.3"})
    assert await face.get("/status") == (200, {"leader": True, "queues": ["a", "b"]})
    paths = ["/dump", "/healthz", "/metrics", "/readyz", "/status", "/version"]
    assert await face.get("/") == (200, {"paths": paths})


async def test_documents_may_take_their_time(face: Face) -> None:
    async def dump() -> object:
        await asyncio.sleep(0)
        return {"tasks": [{"name": f"t{n}"} for n in range(1000)]}

    face.dump = dump
    await face.start()
    status, body = await face.get("/dump")
    assert (status, len(body["tasks"])) == (200, 1000)


async def test_what_is_not_offered_does_not_exist(face: Face) -> None:
    await face.start(status=None, dump=None)
    assert (await face.get("/status"))[0] == 404
    assert (await face.get("/dump"))[0] == 404


async def test_only_reading_is_allowed(face: Face) -> None:
    await face.start()
    assert face.session is not None
    async with face.session.post("/metrics", data=b"x") as response:
        assert response.status == 405
    async with face.session.head("/healthz") as response:
        assert response.status == 200


@pytest.mark.parametrize(
    ("peer", "host", "is_allowed"),
    [
        ("127.0.0.1", "127.0.0.1:8080", True),
        ("127.0.0.1", "localhost:8080", True),
        ("127.0.0.1", "LOCALHOST", True),
        ("::1", "[::1]:8080", True),
        ("::ffff:127.0.0.1", "localhost", True),
        ("10.1.2.3", "localhost", False),
        ("::ffff:10.1.2.3", "127.0.0.1", False),
        ("fe80::1%eth0", "localhost", False),
        ("127.0.0.1", "evil.example:8080", False),
        ("127.0.0.1", "", False),
        ("127.0.0.1", "[::1", False),
    ],
)
def test_a_caller_is_local_by_its_address_and_by_the_name_it_used(peer: str, host: str, is_allowed: bool) -> None:
    transport = Mock(asyncio.Transport)
    transport.get_extra_info.side_effect = {"peername": (peer, 40000)}.get
    request = make_mocked_request("GET", "/dump", headers={"Host": host}, transport=transport)
    assert health_routes.is_local(request) is is_allowed


async def test_the_dump_is_for_callers_on_this_machine(face: Face) -> None:
    """A web page whose name was pointed at this machine comes from here but under its own name."""
    await face.start()
    assert (await face.get("/dump"))[0] == 200
    status, body = await face.get("/dump", Host="evil.example")
    assert status == 403
    assert "use kubectl port-forward to the pod and ask for it at localhost" in body["error"]


async def test_a_failing_callback_is_reported_and_the_server_goes_on(face: Face) -> None:
    def broken() -> object:
        raise LookupError("no state yet")

    face.status = broken
    await face.start()
    assert await face.get("/status") == (500, {"error": "LookupError: no state yet"})
    assert (await face.get("/healthz"))[0] == 200


async def test_a_document_that_breaks_half_way_is_cut_off_rather_than_closed_as_if_whole(face: Face) -> None:
    class Changing(dict[str, object]):
        def items(self) -> Any:
            yield "first", 1
            raise RuntimeError("dictionary changed size during iteration")

    face.dump = lambda: Changing(first=1)
    await face.start()
    with pytest.raises(aiohttp.ClientError):
        await face.get("/dump")
    assert (await face.get("/healthz"))[0] == 200


async def test_a_caller_that_hangs_up_is_no_error(face: Face) -> None:
    class Endless(dict[str, object]):
        def items(self) -> Any:
            while True:
                yield "more", "x" * 65_536

    face.dump = lambda: Endless(more=1)
    with capture_logs() as logs:
        await face.start()
        reader, writer = await asyncio.open_connection("127.0.0.1", face.port)
        writer.write(b"GET /dump HTTP/1.1\r\nHost: localhost\r\n\r\n")
        await reader.read(1)
        writer.close()
        await writer.wait_closed()
        assert face.server is not None
        await face.server.stop()
    assert [line["event"] for line in logs] == ["serving metrics and health"]


async def test_a_slow_scrape_neither_blocks_probes_nor_lets_callers_pile_up(face: Face) -> None:
    """The render hangs in its thread; three more scrapes wait, the fifth is sent away, probes answer."""
    started, release = threading.Event(), threading.Event()
    running: list[int] = []

    def render(_accept: str) -> tuple[bytes, str]:
        running.append(1)
        started.set()
        assert release.wait(60)
        running.pop()
        return b"x 1\n", "text/plain"

    await face.start(render=render)
    scrapes = [asyncio.create_task(face.get("/metrics")) for _ in range(5)]
    refused, _ = await asyncio.wait(scrapes, return_when=asyncio.FIRST_COMPLETED)
    assert [scrape.result() for scrape in refused] == [(503, {"error": "busy with other requests: try again"})]
    await asyncio.to_thread(started.wait, 60)
    assert (await face.get("/readyz"))[0] == 200
    assert len(running) == 1
    release.set()
    assert sorted(status for status, _ in await asyncio.gather(*scrapes)) == [200, 200, 200, 200, 503]


async def test_a_request_without_end_is_ended(face: Face, monkeypatch: pytest.MonkeyPatch) -> None:
    async def never() -> object:
        await asyncio.Event().wait()
        return {}

    monkeypatch.setattr(health_routes, "_REQUEST_SECONDS", 0.01)
    face.status = never
    await face.start()
    assert await face.get("/status") == (503, {"error": "not done within 0 s: try again"})


async def test_several_addresses_serve_the_same(face: Face) -> None:
    await face.start()
    server = HealthServer(Shown(face.metrics.render, face.checks))
    first, second = await server.start([LOCAL, LOCAL])
    assert first.port != second.port
    async with aiohttp.ClientSession() as session:
        for address in (first, second):
            async with session.get(f"http://{address}/healthz") as response:
                assert response.status == 200
        async with session.get(f"http://{first}/version") as response:
            assert set(await response.json()) == {"version", "python", "platform"}
    await server.stop()


async def test_when_one_address_is_not_available_none_is_listened_on(face: Face) -> None:
    await face.start()
    server = HealthServer(Shown(face.metrics.render, face.checks))
    with silent_port() as free:
        with pytest.raises(ListenError, match=f"{face.port}: .* choose another address"):
            await server.start([ListenAddress("127.0.0.1", free), ListenAddress("127.0.0.1", face.port)])
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection("127.0.0.1", free)


async def test_stopping_is_final_harmless_twice_and_starting_twice_is_a_mistake(face: Face) -> None:
    server = HealthServer(Shown(face.metrics.render, face.checks))
    with silent_port() as port:
        await server.start([ListenAddress("127.0.0.1", port)])
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.close()
        with pytest.raises(RuntimeError, match="is already running"):
            await server.start([LOCAL])
        await server.stop()
        await server.stop()
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection("127.0.0.1", port)
