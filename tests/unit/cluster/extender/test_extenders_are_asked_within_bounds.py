"""Requests to a real server: slow, broken, huge, redirecting, gone. No text has the address."""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from functools import partial
from threading import Event, Thread

import pytest
from aiohttp import web

from volcano_py.api.extender.answers import PredicateAnswer
from volcano_py.api.extender.client import Failure, Question
from volcano_py.cluster.extender import client as module
from volcano_py.cluster.extender.client import AT_A_TIME, HttpExtender

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@contextmanager
def serving(handler: Handler) -> Iterator[str]:
    """The address of a server that answers every request so, in a thread of its own: the test waits for answers."""
    loop, started, address = asyncio.new_event_loop(), Event(), list[str]()

    async def start() -> web.AppRunner:
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", handler)
        runner = web.AppRunner(app)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        address.append(f"http://user:hunter2@127.0.0.1:{runner.addresses[0][1]}/base")
        return runner

    def run() -> None:
        runner = loop.run_until_complete(start())
        started.set()
        loop.run_forever()
        loop.run_until_complete(runner.cleanup())
        loop.close()

    thread = Thread(target=run)
    thread.start()
    started.wait(10)
    try:
        yield address[0]
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)


@pytest.fixture
def client() -> Iterator[HttpExtender]:
    made = HttpExtender()
    yield made
    made.close()


def one(client: HttpExtender, handler: Handler, within: float = 5.0) -> bytes | Failure:
    with serving(handler) as url:
        (answer,) = client.post(url, "predicate", [b'{"task":{}}'], within)
    if isinstance(answer, Failure):
        assert "127.0.0.1" not in answer.why
    return answer


def test_a_question_is_posted_as_json(client: HttpExtender) -> None:
    seen: list[tuple[str, str, str, bytes]] = []

    async def handler(request: web.Request) -> web.Response:
        seen.append((request.method, request.path, request.headers["Content-Type"], await request.read()))
        return web.Response(body=b'{"status":""}')

    assert one(client, handler) == b'{"status":""}'
    assert seen == [("POST", "/base/predicate", "application/json", b'{"task":{}}')]


@pytest.mark.parametrize("status", [201, 204, 302, 400, 404, 500, 503])
def test_anything_but_200_is_a_failure(client: HttpExtender, status: int) -> None:
    async def handler(_request: web.Request) -> web.Response:
        return web.Response(status=status, headers={"Location": "/other"})

    assert one(client, handler) == Failure(f"answered {status}")


def test_redirects_are_not_followed(client: HttpExtender) -> None:
    seen: list[str] = []

    async def handler(request: web.Request) -> web.Response:
        seen.append(request.path)
        return web.Response(status=307, headers={"Location": "/elsewhere"})

    assert one(client, handler) == Failure("answered 307")
    assert seen == ["/base/predicate"]


def test_a_slow_answer_is_given_up_in_time(client: HttpExtender) -> None:
    async def handler(_request: web.Request) -> web.Response:
        await asyncio.sleep(5)
        return web.Response()

    with serving(handler) as url:
        before = time.monotonic()
        answers = client.post(url, "predicate", [b"{}"] * AT_A_TIME, 0.2)
        assert time.monotonic() - before < 3
    assert answers == [Failure("did not answer in time")] * AT_A_TIME


def test_a_body_that_never_ends_is_given_up_in_time(client: HttpExtender) -> None:
    async def handler(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        for _ in range(100):
            await response.write(b" ")
            await asyncio.sleep(0.05)
        return response

    assert one(client, handler, 0.2) == Failure("did not answer in time")


@pytest.mark.parametrize("is_packed", [False, True])
def test_a_huge_answer_is_given_up(client: HttpExtender, monkeypatch: pytest.MonkeyPatch, is_packed: bool) -> None:
    monkeypatch.setattr(module, "MOST_BYTES", 1000)

    async def handler(_request: web.Request) -> web.Response:
        response = web.Response(body=b"x" * 100_000)
        if is_packed:
            response.enable_compression(web.ContentCoding.gzip)
        return response

    assert one(client, handler) == Failure("answered more than 1000 bytes")


def test_a_connection_that_breaks_is_a_failure(client: HttpExtender) -> None:
    async def handler(request: web.Request) -> web.Response:
        assert request.transport is not None
        request.transport.abort()
        return web.Response()

    assert one(client, handler) == Failure("closed the connection without an answer")


def test_a_server_that_is_not_there_is_a_failure(client: HttpExtender) -> None:
    (answer,) = client.post("http://user:hunter2@127.0.0.1:9/base", "predicate", [b"{}"], 5.0)
    assert answer == Failure("cannot be reached: Connection refused")


def test_a_certificate_that_is_not_trusted_is_named() -> None:
    error = ssl.SSLCertVerificationError(1, "[SSL: CERTIFICATE_VERIFY_FAILED] certificate of host.example")
    error.reason = "CERTIFICATE_VERIFY_FAILED"
    assert module.reason_of(error) == "TLS failed (certificate verify failed)"


def test_what_is_no_http_is_a_failure(client: HttpExtender) -> None:
    async def handler(request: web.Request) -> web.Response:
        assert request.transport is not None
        request.transport.write(b"SSH-2.0-server\r\n")
        return web.Response()

    assert one(client, handler) == Failure("answered with something that is no valid HTTP")


def test_a_host_that_has_no_address_is_a_failure(client: HttpExtender) -> None:
    (answer,) = client.post("http://extender.invalid/secret-token", "predicate", [b"{}"], 5.0)
    assert isinstance(answer, Failure)
    assert "invalid" not in answer.why
    assert "secret-token" not in answer.why


def test_questions_are_answered_together_and_in_their_order(client: HttpExtender) -> None:
    running, most = [0], [0]

    async def handler(request: web.Request) -> web.Response:
        running[0] += 1
        most[0] = max(most[0], running[0])
        await asyncio.sleep(0.05)
        running[0] -= 1
        return web.Response(body=await request.read())

    bodies = [str(number).encode() for number in range(40)]
    with serving(handler) as url:
        before = time.monotonic()
        answers = client.post(url, "predicate", bodies, 5.0)
    assert answers == bodies
    assert 2 <= most[0] <= AT_A_TIME
    assert time.monotonic() - before < 40 * 0.05


def test_each_answer_is_counted() -> None:
    counted: list[tuple[str, str]] = []
    client = HttpExtender(on_answer=lambda verb, outcome, _seconds: counted.append((verb, outcome)))

    async def handler(request: web.Request) -> web.Response:
        return web.Response(status=200 if await request.read() == b"good" else 500)

    with serving(handler) as url:
        client.post(url, "predicate", [b"good", b"bad"], 5.0)
    client.close()
    assert sorted(counted) == [("predicate", "answered"), ("predicate", "failed")]


def test_a_client_that_was_closed_can_be_used_again(client: HttpExtender) -> None:
    async def handler(_request: web.Request) -> web.Response:
        return web.Response(body=b"{}")

    assert one(client, handler) == b"{}"
    client.close()
    client.close()
    assert one(client, handler) == b"{}"


def test_no_question_brings_no_answer(client: HttpExtender) -> None:
    assert client.post("http://127.0.0.1:9", "predicate", [], 1.0) == []


def test_answers_are_read_and_timed_with_the_making_of_questions(client: HttpExtender) -> None:
    async def handler(request: web.Request) -> web.Response:
        return web.Response(body=await request.read())

    def make(body: bytes) -> bytes:
        time.sleep(0.05)
        return body

    bodies = (b'{"Status": "no", "code": 3}', b"[]")
    with serving(handler) as url:
        questions = [Question("", partial(make, body)) for body in bodies]
        answers = client.ask(url, "predicate", questions, PredicateAnswer, 5.0)
    assert answers.found[0] == PredicateAnswer("no", 3)
    assert isinstance(answers.found[1], Failure)
    assert 0.1 <= answers.seconds < 3
