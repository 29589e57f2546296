"""A watch over either way to the API server: its pieces as they come, a refusal as a whole, and its end as an error or
none. What is read ahead of a slow reader is bounded."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from tests.unit.cluster.fakes import kubeconfig
from tests.unit.cluster.kubernetes.http.scripted import OK, Scripted, serving
from volcano_py.api.names import SCHEDULING_API
from volcano_py.cluster.kubernetes.clock import SYSTEM_CLOCK
from volcano_py.cluster.kubernetes.http import answers as module
from volcano_py.cluster.kubernetes.http.answers import Answer, Stream
from volcano_py.cluster.kubernetes.http.credentials import Credentials
from volcano_py.cluster.kubernetes.http.heads import Head, Headers
from volcano_py.cluster.kubernetes.http.http1_pool import Http1Pool, Server
from volcano_py.cluster.kubernetes.http.paths import ApiPath
from volcano_py.cluster.kubernetes.http.transport import JSON, Transport
from volcano_py.cluster.kubernetes.http.watch_stream import WatchStream

GROUPS = ApiPath(SCHEDULING_API, "podgroups")
GET = Head("GET", "/a", Headers({"Accept": JSON}))
HEAD = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
END = b"|0\r\n\r\n"

Opening = Callable[[], AbstractAsyncContextManager[WatchStream | Answer]]


def piece(data: bytes) -> bytes:
    """A part of a body, in a packet of its own."""
    return b"|%x\r\n%b\r\n" % (len(data), data)


@pytest.fixture
async def server() -> AsyncIterator[Scripted]:
    async with serving() as scripted:
        yield scripted


@pytest.fixture(params=["own", "by proxy"])
async def opening(
    request: pytest.FixtureRequest, server: Scripted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Opening]:
    """A watch of PodGroups, by either way."""
    address = server.url
    if request.param == "by proxy":
        monkeypatch.setenv("http_proxy", server.url)
        address = "http://cluster.example"
    transport = Transport(await Credentials.load(kubeconfig(tmp_path / "kubeconfig", address)), 1)
    yield lambda: transport.watch(GROUPS, {"watch": 1}, accept=JSON, clock=SYSTEM_CLOCK)
    await transport.aclose()


async def lines(watch: WatchStream | Answer) -> list[bytes]:
    assert isinstance(watch, WatchStream)
    return [line async for line in watch]


async def test_events_come_until_the_server_ends_the_watch(server: Scripted, opening: Opening) -> None:
    server.answers = [HEAD + piece(b'{"a"') + piece(b":1}\n{}\n") + piece(b"[]\n{cut off") + END]
    async with opening() as watch:
        assert await lines(watch) == [b'{"a":1}', b"{}", b"[]"]


async def test_the_first_event_comes_before_the_second_was_sent(server: Scripted, opening: Opening) -> None:
    server.answers = [HEAD + piece(b"{}\n")]
    async with opening() as watch:
        assert isinstance(watch, WatchStream)
        assert await anext(aiter(watch)) == b"{}"


async def test_a_watch_that_breaks_off_is_an_error(server: Scripted, opening: Opening) -> None:
    server.answers = [HEAD + piece(b"{}\n") + b"|END"]
    async with opening() as watch:
        with pytest.raises(Exception, match=r"^WATCH /apis/") as error:
            await lines(watch)
    assert isinstance(error.value.__cause__, OSError)


async def test_a_watch_that_is_aborted_breaks_off(server: Scripted, opening: Opening) -> None:
    server.answers = [HEAD + piece(b"{}\n")]
    async with opening() as watch:
        assert isinstance(watch, WatchStream)
        events = aiter(watch)
        await anext(events)
        watch.abort()
        with pytest.raises(Exception, match=r"^WATCH /apis/"):
            await anext(events)


async def test_a_refusal_is_an_answer(server: Scripted, opening: Opening) -> None:
    server.answers = [b"HTTP/1.1 410 Gone\r\nRetry-After: 7\r\nContent-Length: 2\r\n\r\n{|}"]
    async with opening() as watch:
        assert watch == Answer(410, b"{}", "7")


async def test_compressed_events_are_unpacked(server: Scripted, opening: Opening) -> None:
    packed = gzip.compress(b"{}\n" * 1000, mtime=0)
    assert b"|" not in packed
    head = HEAD.replace(b"\r\n\r\n", b"\r\nContent-Encoding: gzip\r\n\r\n")
    server.answers = [head + piece(packed[:20]) + piece(packed[20:]) + END]
    async with opening() as watch:
        assert await lines(watch) == [b"{}"] * 1000


async def test_an_unknown_encoding_is_an_error(server: Scripted, opening: Opening) -> None:
    server.answers = [HEAD.replace(b"\r\n\r\n", b"\r\nContent-Encoding: br\r\n\r\n") + piece(b"{}\n") + END]
    with pytest.raises(Exception, match="Content-Encoding 'br'"):
        async with opening() as watch:
            await lines(watch)


async def test_a_connection_is_used_again_when_the_server_has_ended_the_watch(
    server: Scripted, opening: Opening
) -> None:
    server.answers = [HEAD + piece(b"{}\n") + END, HEAD + piece(b"[]\n")]
    async with opening() as watch:
        assert await lines(watch) == [b"{}"]
    async with opening() as watch:
        assert isinstance(watch, WatchStream)
        assert await anext(aiter(watch)) == b"[]"
    async with opening():
        pass
    assert [number for number, _ in server.requests] == [1, 1, 2], "we have ended the second watch ourselves"


class Reading(asyncio.ReadTransport):
    """Records what is asked of it."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[str] = []

    def pause_reading(self) -> None:
        self.calls.append("pause")

    def resume_reading(self) -> None:
        self.calls.append("resume")

    def is_closing(self) -> bool:
        return False


async def test_nothing_is_read_ahead_of_a_slow_reader_beyond_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "AHEAD", 10)
    reading = Reading()
    stream = Stream("", reading)
    stream.take(b"x" * 9)
    assert reading.calls == []
    stream.take(b"y")
    stream.take(b"z")
    assert reading.calls == ["pause"]

    parts = aiter(stream)
    assert await anext(parts) == b"x" * 9 + b"yz"
    assert reading.calls == ["pause", "resume"]
    stream.take(b"last")
    stream.end(None)
    assert [part async for part in parts] == [b"last"]


@pytest.mark.parametrize(
    ("method", "second", "sent"),
    [("GET", b"END", [1, 1, 2]), ("POST", b"END", [1, 1]), ("GET", b"HTTP/1.1 200 |END", [1, 1])],
    ids=["a GET", "no other request", "no answer that has begun"],
)
async def test_a_get_is_repeated_when_a_kept_connection_turns_out_to_be_closed(
    method: str, second: bytes, sent: list[int], server: Scripted
) -> None:
    server.answers = [OK, second]
    pool = Http1Pool(1)
    to = Server(server.url, ssl=True)
    await pool.exchange(to, GET, None, limit=1000)
    again = pool.exchange(to, Head(method, "/a", GET.headers), None, limit=1000)
    if len(sent) == 3:
        assert await again == Answer(200, b"{}", None)
    else:
        with pytest.raises(ConnectionError):
            await again
    await pool.aclose()
    assert [number for number, _ in server.requests] == sent
