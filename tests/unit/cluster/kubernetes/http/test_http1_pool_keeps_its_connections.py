"""Connections carry one request after the other, and none ever gets an answer that was meant for another.

The same requests go by both ways to the API server: the client for bindings, and aiohttp.
"""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import ssl
import tracemalloc
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from tests.support.connections.ports import silent_port
from tests.unit.cluster.fakes import kubeconfig
from tests.unit.cluster.kubernetes.http.scripted import OK, Scripted, compressed, serving
from volcano_py.cluster.kubernetes.http import http1_pool as module
from volcano_py.cluster.kubernetes.http.aiohttp_transport import AiohttpTransport
from volcano_py.cluster.kubernetes.http.answers import ERROR, Answer, BeyondLimitError
from volcano_py.cluster.kubernetes.http.credentials import Credentials
from volcano_py.cluster.kubernetes.http.errors import InvalidRequestError
from volcano_py.cluster.kubernetes.http.heads import Head, Headers
from volcano_py.cluster.kubernetes.http.http1_pool import Http1Pool, Server
from volcano_py.local.workdir.certificates import CertificateAuthority

HEADERS = Headers({"Accept": "application/json"})
GET = Head("GET", "/", HEADERS)
LIMIT = 2**20


PATIENCE = 5.0


@pytest.fixture
async def server() -> AsyncIterator[Scripted]:
    async with serving() as scripted:
        yield scripted


@pytest.fixture
async def pool() -> AsyncIterator[Http1Pool]:
    opened = Http1Pool(2)
    yield opened
    await opened.aclose()


@pytest.fixture(params=["own", "aiohttp"])
async def ask(request: pytest.FixtureRequest, server: Scripted, pool: Http1Pool, tmp_path: Path) -> AsyncIterator[Ask]:
    """One request to the server, by either way."""
    transport = AiohttpTransport(await Credentials.load(kubeconfig(tmp_path / "kubeconfig", server.url)), 2)

    def asking(verb: str = "POST", path: str = "/a", body: bytes = b"{}", limit: int = LIMIT) -> asyncio.Task[Answer]:
        head = Head(verb, path, HEADERS)
        if request.param == "own":
            answer: Awaitable[Answer] = pool.exchange(Server(server.url, ssl=True), head, body, limit=limit)
        else:
            answer = transport.exchange(head, body, limit=limit, urgent=False)
        return asyncio.ensure_future(answer)

    yield asking
    await transport.aclose()


Ask = Callable[..., asyncio.Task[Answer]]


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not condition():  # noqa: ASYNC110 - a socket has no event
            await asyncio.sleep(0.001)


async def test_a_request_is_sent_with_host_headers_and_length(server: Scripted, pool: Http1Pool) -> None:
    head, to = Head("POST", "/a?b=c", HEADERS), Server(server.url, ssl=True)
    assert await pool.exchange(to, head, b"body", limit=LIMIT) == Answer(200, b"{}", None)

    host = server.url.removeprefix("http://").encode()
    sent = b"POST /a?b=c HTTP/1.1\r\nHost: " + host + b"\r\nAccept: application/json\r\nContent-Length: 4\r\n\r\nbody"
    assert server.requests == [(1, sent)]


async def test_a_connection_is_used_again(server: Scripted, ask: Ask) -> None:
    for _ in range(3):
        await ask()
    assert server.connections == 1


async def test_no_more_connections_are_opened_than_allowed(server: Scripted, ask: Ask) -> None:
    server.answers = [b"", b"", b""]
    asked = [ask() for _ in range(3)]
    await until(lambda: len(server.requests) == 2)
    server.held.set()

    assert [(await one).status for one in asked] == [200, 200, 200]
    assert server.connections == 2


@pytest.mark.parametrize(
    ("sent", "answer"),
    [
        (b"HTTP/1.1 201 Cre|ated\r\nContent-Le|ngth: 4\r\n\r\n{}|{}", Answer(201, b"{}{}", None)),
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}|\r\n1\r\n \r\n0\r\n\r\n",
            Answer(200, b"{} ", None),
        ),
        (b"HTTP/1.1 100 Continue\r\n\r\n|" + OK, Answer(200, b"{}", None)),
        (compressed(gzip.compress(b"{}", mtime=0), b"gzip"), Answer(200, b"{}", None)),
        (compressed(zlib.compress(b"{}"), b"Deflate"), Answer(200, b"{}", None)),
        (compressed(b"{}", b"identity"), Answer(200, b"{}", None)),
        (b"HTTP/1.1 204 No Content\r\n\r\n", Answer(204, b"", None)),
        (b"HTTP/1.1 429 Slowly\r\nretry-AFTER: 3\r\nContent-Length: 0\r\n\r\n", Answer(429, b"", "3")),
    ],
    ids=[
        "in pieces",
        "chunked",
        "after an interim answer",
        "gzip",
        "deflate",
        "identity",
        "without a body",
        "with a pause asked for",
    ],
)
async def test_an_answer_is_read_whole_and_the_next_one_is_its_own(
    sent: bytes, answer: Answer, server: Scripted, ask: Ask
) -> None:
    server.answers = [sent]

    assert await ask() == answer
    assert await ask() == Answer(200, b"{}", None)
    assert server.connections == 1


@pytest.mark.parametrize(
    ("sent", "reported"),
    [
        (b"END", "closed the connection before it had answered|Server disconnected"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}|END", "closed the connection before|not completed"),
        (b"SSH-2.0-OpenSSH\r\n", r"what was answered is not HTTP/1\.1|Expected HTTP/"),
        (compressed(b"{}", b"gzip"), "the answer cannot be decompressed: .*incorrect header check"),
        (compressed(b"{}", b"br"), "the answer cannot be decompressed: Content-Encoding 'br'"),
    ],
    ids=[
        "none",
        "half of one",
        "another protocol",
        "no gzip after all",
        "an encoding that was not asked for",
    ],
)
async def test_what_is_no_answer_is_an_error_and_nothing_is_repeated(
    sent: bytes, reported: str, server: Scripted, ask: Ask
) -> None:
    server.answers = [OK, sent]
    await ask()

    with pytest.raises(OSError, match=reported):
        await ask()
    assert [number for number, _ in server.requests] == [1, 1]
    assert await ask() == Answer(200, b"{}", None)


async def test_a_connection_that_the_server_wants_closed_is_not_used_again(server: Scripted, ask: Ask) -> None:
    server.answers = [b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"]
    await ask()
    await ask()

    assert [number for number, _ in server.requests] == [1, 2]


async def test_a_connection_that_the_server_has_closed_is_not_used_again(server: Scripted, ask: Ask) -> None:
    server.answers = [OK + b"|END"]
    await ask()
    await asyncio.sleep(0.05)
    assert (await ask()).status == 200
    assert [number for number, _ in server.requests] == [1, 2]


SECOND = b"HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n"


@pytest.mark.parametrize(
    "more",
    [SECOND, b"|" + SECOND, SECOND[:-4], b"|" + SECOND[:-4], b"{}", b"|{}", b"|\r\n"],
    ids=["a second", "a late second", "half of one", "a late half", "bytes left over", "late bytes", "a late line"],
)
async def test_what_was_not_asked_for_ends_the_connection(more: bytes, server: Scripted, ask: Ask) -> None:
    server.answers = [OK + more]
    with contextlib.suppress(OSError):  # aiohttp drops the answer, too, when it comes in one piece with what is none
        await ask()
    await until(lambda: server.written == 1)
    await asyncio.sleep(0.02)
    assert (await ask()).status == 200
    assert [number for number, _ in server.requests] == [1, 2]


async def test_a_connection_that_becomes_another_protocol_is_not_used_again(server: Scripted, ask: Ask) -> None:
    server.answers = [b"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: h2c\r\n\r\n"]
    first = ask()
    await asyncio.wait((first,))
    assert first.exception() is not None or first.result().status == 101
    assert (await ask()).status == 200
    assert [number for number, _ in server.requests] == [1, 2]


def chunked(body: bytes) -> bytes:
    """A body without a length."""
    return b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)


BOMB = gzip.compress(bytes(64 * 2**20), mtime=0)  # 64 KiB


@pytest.mark.parametrize(
    "sent",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % (LIMIT + 1) + bytes(LIMIT + 1),
        chunked(bytes(LIMIT + 1)),
        compressed(BOMB, b"gzip"),
        compressed(zlib.compress(bytes(64 * 2**20)), b"deflate"),
    ],
    ids=["plain", "of unknown length", "gzip", "deflate"],
)
async def test_an_answer_is_read_up_to_its_limit(sent: bytes, server: Scripted, ask: Ask) -> None:
    server.answers = [sent]
    tracemalloc.start()
    try:
        with pytest.raises(BeyondLimitError, match="larger than 1024 KiB"):
            await ask()
        assert tracemalloc.get_traced_memory()[1] < 16 * LIMIT
    finally:
        tracemalloc.stop()
    assert await ask() == Answer(200, b"{}", None)


@pytest.mark.parametrize("ask", ["aiohttp"], indirect=True)
async def test_a_long_explanation_of_a_refusal_is_not_read(server: Scripted, ask: Ask) -> None:
    server.answers = [b"HTTP/1.1 404 Not Found\r\nContent-Length: %d\r\n\r\n" % (ERROR + 1) + bytes(ERROR + 1)]
    answer = await ask(limit=2 * ERROR)
    assert (answer.status, answer.body) == (404, b"the explanation was not read: it is larger than 1024 KiB")


@pytest.mark.parametrize("byte", [*range(0x21), 0x7F, 0xE9])
def test_neither_method_nor_target_can_hold_a_byte_that_ends_it(byte: int) -> None:
    for verb, target in ((f"GET{byte:c}", "/"), ("GET", f"/a{byte:c}b")):
        with pytest.raises(InvalidRequestError, match="free of spaces and control characters"):
            Head(verb, target, HEADERS)


@pytest.mark.parametrize("byte", [*range(0x20), 0x7F])
def test_no_header_can_hold_a_byte_that_ends_its_line(byte: int) -> None:
    with pytest.raises(InvalidRequestError, match="header 'Authorization' is not free of control") as error:
        Headers({"Authorization": f"Bearer secret{byte:c}"})
    assert "secret" not in str(error.value)


async def test_an_answer_that_is_no_longer_awaited_goes_to_no_other_request(server: Scripted, ask: Ask) -> None:
    server.answers = [b""]
    given_up = ask()
    await until(lambda: len(server.requests) == 1)
    given_up.cancel()
    with pytest.raises(asyncio.CancelledError):
        await given_up
    server.held.set()

    assert (await ask("GET", "/b")).status == 200
    assert [number for number, _ in server.requests] == [1, 2]


@pytest.mark.parametrize("ask", ["own"], indirect=True)
async def test_idle_connections_are_closed_before_the_server_does_so(
    server: Scripted, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "KEEP_ALIVE", 0.05)
    await ask()
    await asyncio.sleep(0.15)
    await ask()
    assert server.connections == 2


async def test_a_server_that_is_not_there_is_named(pool: Http1Pool) -> None:
    with silent_port() as port:
        server = Server(f"http://127.0.0.1:{port}", ssl=True)
        with pytest.raises(OSError, match=f"cannot connect to 127.0.0.1:{port}: "):
            await pool.exchange(server, GET, b"", limit=LIMIT)


async def test_connections_end_with_their_client(server: Scripted) -> None:
    pool = Http1Pool(1)
    await pool.exchange(Server(server.url, ssl=True), GET, b"", limit=LIMIT)
    await pool.aclose()
    await until(server.writers[0].transport.is_closing)


def trusting(authority: CertificateAuthority) -> ssl.SSLContext:
    return ssl.create_default_context(cadata=authority.certificate.decode())


@pytest.fixture
async def encrypted(tmp_path: Path) -> AsyncIterator[tuple[Scripted, CertificateAuthority]]:
    """A server whose certificate names the API server, not its address."""
    authority = CertificateAuthority("ca")
    pair = authority.serving("server", ["kubernetes.default"], [])
    certificate, key = tmp_path / "certificate", tmp_path / "key"
    certificate.write_bytes(pair.certificate)
    key.write_bytes(pair.key)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate, key)
    async with serving(context) as scripted:
        yield scripted, authority


async def test_the_server_must_be_the_one_its_certificate_names(
    encrypted: tuple[Scripted, CertificateAuthority], pool: Http1Pool
) -> None:
    scripted, authority = encrypted
    context = trusting(authority)

    named = Server(scripted.url, context, "kubernetes.default")
    assert (await pool.exchange(named, GET, b"", limit=LIMIT)).status == 200
    with pytest.raises(OSError, match=r"certificate is not valid for '127\.0\.0\.1'"):
        await pool.exchange(Server(scripted.url, context), GET, b"", limit=LIMIT)
    stranger = trusting(CertificateAuthority("other"))
    with pytest.raises(OSError, match="certificate verify failed"):
        await pool.exchange(Server(scripted.url, stranger, "kubernetes.default"), GET, b"", limit=LIMIT)


async def test_another_certificate_of_ours_is_shown_by_other_connections(
    encrypted: tuple[Scripted, CertificateAuthority], pool: Http1Pool
) -> None:
    scripted, authority = encrypted
    for context in (trusting(authority), trusting(authority)):
        await pool.exchange(Server(scripted.url, context, "kubernetes.default"), GET, b"", limit=LIMIT)

    assert [number for number, _ in scripted.requests] == [1, 2]
