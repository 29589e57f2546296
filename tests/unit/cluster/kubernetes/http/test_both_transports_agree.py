"""The same requests over both transports: the server gets the same, and the caller the same answer or kind of error."""

from __future__ import annotations

import gzip
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.unit.cluster.fakes import kubeconfig
from tests.unit.cluster.kubernetes.http.scripted import OK, Scripted, compressed, serving
from volcano_py.cluster.kubernetes.http.aiohttp_transport import AiohttpTransport
from volcano_py.cluster.kubernetes.http.answers import BINDING, Answer, BeyondLimitError
from volcano_py.cluster.kubernetes.http.credentials import Credentials
from volcano_py.cluster.kubernetes.http.heads import Head, Headers
from volcano_py.cluster.kubernetes.http.http1_pool import Http1Pool, Server

HEADERS = Headers(
    {
        "Accept": "application/json",
        "Content-Type": "application/json",
        "User-Agent": "volcano-py/test",
        "Accept-Encoding": "identity",
        "Authorization": "Bearer secret",
    }
)


class Request(NamedTuple):
    """A request as the server got it; headers without the order and the case in which they came."""

    line: bytes
    headers: dict[bytes, bytes]
    body: bytes


class Seen(NamedTuple):
    """What both sides saw."""

    requests: list[Request]
    outcomes: list[Answer | str]
    connections: int


async def over_http1_pool(server: Scripted, heads: list[Head], body: bytes, _directory: Path) -> list[Answer | str]:
    pool = Http1Pool(1)
    to = Server(server.url, ssl=True)
    outcomes = [await outcome(pool.exchange(to, head, body, limit=BINDING)) for head in heads]
    await pool.aclose()
    return outcomes


async def over_aiohttp(server: Scripted, heads: list[Head], body: bytes, directory: Path) -> list[Answer | str]:
    transport = AiohttpTransport(await Credentials.load(kubeconfig(directory / "kubeconfig", server.url)), 1)
    outcomes = [await outcome(transport.exchange(head, body, limit=BINDING, urgent=False)) for head in heads]
    await transport.aclose()
    return outcomes


async def outcome(request: Awaitable[Answer]) -> Answer | str:
    """The answer, or the kind of error that callers distinguish."""
    try:
        return await request
    except BeyondLimitError as error:
        return str(error)
    except OSError:
        return "no answer"


async def seen(transport: Transport, answers: list[bytes], heads: list[Head], body: bytes, directory: Path) -> Seen:
    async with serving() as server:
        server.answers = list(answers)
        outcomes = await transport(server, heads, body, directory)
        host = server.url.removeprefix("http://").encode()
        requests = [parsed(text, host) for _, text in server.requests]
        return Seen(requests, outcomes, server.connections)


def parsed(text: bytes, host: bytes) -> Request:
    head, _, body = text.partition(b"\r\n\r\n")
    line, *fields = head.split(b"\r\n")
    headers = {name.lower(): value for name, value in (each.split(b": ", 1) for each in fields)}
    assert len(headers) == len(fields), "no header twice"
    assert headers.pop(b"host") == host, "each test has a port of its own"
    return Request(line, headers, body)


Transport = Callable[[Scripted, list[Head], bytes, Path], Awaitable[list[Answer | str]]]


async def both(answers: list[bytes], heads: list[Head], body: bytes, directory: Path) -> tuple[Seen, Seen]:
    return (
        await seen(over_http1_pool, answers, heads, body, directory),
        await seen(over_aiohttp, answers, heads, body, directory),
    )


@pytest.mark.parametrize("body", [b"{}", b'{"a":"\xc3\xa9"}', b"x" * 300_000], ids=["short", "unicode", "long"])
@pytest.mark.parametrize(
    "target",
    [
        "/api/v1/namespaces/ns/pods/a/binding",
        "/api/v1/namespaces/ns/pods/a/binding?fieldManager=volcano-py&dryRun=All",
        "/api/v1/a%2Fb/%0D%0Ac?x=%20%26%3D%25%23",
        "/api/v1/%C3%A9/a+b/a;b/a:b@c",
        "/api/../v1//a/./b",
    ],
)
async def test_the_server_gets_the_same_request(target: str, body: bytes, tmp_path: Path) -> None:
    heads = [Head("POST", target, HEADERS)]
    own, other = await both([], heads, body, tmp_path)

    assert own == other
    assert own.requests == [
        Request(
            f"POST {target} HTTP/1.1".encode(),
            {name.lower().encode(): value.encode() for name, value in HEADERS.fields.items()}
            | {b"content-length": b"%d" % len(body)},
            body,
        )
    ]


_REDIRECT = b"HTTP/1.1 307 Temporary Redirect\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n\r\n"
_COOKIE = b"HTTP/1.1 200 OK\r\nSet-Cookie: a=b\r\nContent-Length: 2\r\n\r\n{}"
_CLOSE = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}"
_REFUSAL = b"HTTP/1.1 409 Conflict\r\nContent-Length: 2\r\n\r\n{}"
_LATER = b"HTTP/1.1 429 Too Many Requests\r\nRetry-After: 7\r\nContent-Length: 0\r\n\r\n"
_CHUNKED = b"HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n{  |\r\n1\r\n}\r\n0\r\n\r\n"
_TOO_LARGE = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % (BINDING + 1) + bytes(BINDING + 1)
_BOMB = compressed(gzip.compress(bytes(2 * BINDING), mtime=0), b"gzip")


@pytest.mark.parametrize(
    ("answers", "outcomes", "connections"),
    [
        ([_REDIRECT], [Answer(307, b"", None), Answer(200, b"{}", None)], 1),
        ([_COOKIE], [Answer(200, b"{}", None), Answer(200, b"{}", None)], 1),
        ([_CLOSE], [Answer(200, b"{}", None), Answer(200, b"{}", None)], 2),
        ([_REFUSAL], [Answer(409, b"{}", None), Answer(200, b"{}", None)], 1),
        ([_LATER], [Answer(429, b"", "7"), Answer(200, b"{}", None)], 1),
        ([_CHUNKED], [Answer(201, b"{  }", None), Answer(200, b"{}", None)], 1),
        ([compressed(gzip.compress(b"{}", mtime=0), b"gzip")], [Answer(200, b"{}", None), Answer(200, b"{}", None)], 1),
        ([compressed(b"{}", b"br")], ["no answer", Answer(200, b"{}", None)], 2),
        ([b"END"], ["no answer", Answer(200, b"{}", None)], 2),
        ([b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}|END"], ["no answer", Answer(200, b"{}", None)], 2),
        ([b"SSH-2.0-OpenSSH\r\n"], ["no answer", Answer(200, b"{}", None)], 2),
        ([_TOO_LARGE], ["the answer is larger than 1024 KiB", Answer(200, b"{}", None)], 2),
        ([_BOMB], ["the answer is larger than 1024 KiB", Answer(200, b"{}", None)], 2),
        ([OK, b"END"], [Answer(200, b"{}", None), "no answer"], 1),
    ],
    ids=[
        "a redirect is not followed",
        "a cookie is not kept",
        "a connection to be closed",
        "a refusal",
        "a pause asked for",
        "chunked",
        "gzip",
        "an unknown encoding",
        "no answer",
        "half an answer",
        "another protocol",
        "too large",
        "too large when unpacked",
        "no answer on a kept connection",
    ],
)
async def test_the_caller_gets_the_same_answer(
    answers: list[bytes], outcomes: list[Answer | str], connections: int, tmp_path: Path
) -> None:
    head = Head("POST", "/api/v1/namespaces/ns/pods/a/binding", HEADERS)
    own, other = await both(answers, [head, head], b"{}", tmp_path)

    assert (own.requests, own.outcomes) == (other.requests, other.outcomes)
    assert own.outcomes == outcomes
    # aiohttp keeps the connection when it has read all of an answer that is then refused.
    assert own.connections == connections >= other.connections
    assert len(own.requests) == 2, "nothing is sent twice"
