"""The question to UFM against a real HTTP server: what is sent, and what is said of answers that cannot be used."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web

from volcano_py.operator.hypernodes import ufm_client
from volcano_py.operator.hypernodes.sources import UfmSource
from volcano_py.operator.hypernodes.ufm import Port
from volcano_py.operator.hypernodes.ufm_client import Credentials, UfmError, read_ports

pytestmark = pytest.mark.real_time

ADMIN = Credentials("admin", "pässword:1")
PORT = {"description": "Computer IB Port", "system_name": "a1", "peer_node_name": "leaf-1", "guid": "7"}
Handler = Callable[[web.Request], Any]


@asynccontextmanager
async def ufm(handler: Handler) -> AsyncIterator[UfmSource]:
    """A server on a free port."""

    async def handle(request: web.Request) -> web.StreamResponse:
        answer: web.StreamResponse = await handler(request)
        return answer

    app = web.Application()
    app.router.add_get("/ufmRest/resources/ports", handle)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield UfmSource(f"http://127.0.0.1:{runner.addresses[0][1]}", ("ns", "secret"))
    finally:
        await runner.cleanup()


def answering(body: Any, status: int = 200, **headers: str) -> Handler:
    async def handler(_request: web.Request) -> web.Response:
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        return web.Response(status=status, body=raw, headers=headers)

    return handler


async def test_the_password_is_sent_and_ports_are_read() -> None:
    seen: list[str | None] = []

    async def handler(request: web.Request) -> web.Response:
        seen.append(request.headers.get("Authorization"))
        return web.json_response([PORT, {"description": None, "system_name": "a2"}])

    async with ufm(handler) as source:
        ports = await read_ports(source, ADMIN)
    assert ports == [Port("Computer IB Port", "a1", "leaf-1"), Port(None, "a2", "")]
    assert seen == [f"Basic {base64.b64encode('admin:pässword:1'.encode()).decode()}"]


@pytest.mark.parametrize(
    ("handler", "said"),
    [
        (answering([], 401), "answered 401: correct username and password in the Secret"),
        (answering([], 500), "answered 500"),
        (answering([], 302, Location="http://127.0.0.1:1/"), "answered 302: redirects are not followed"),
        (answering(b"<html>"), "did not answer with a list of ports"),
        (answering({"ports": []}), "did not answer with a list of ports"),
        (answering([{"system_name": 7}]), "did not answer with a list of ports"),
        (answering([PORT] * 100), "answered more than 1000 bytes"),
        (answering(b"\xff\xfe"), "did not answer with a list of ports"),
    ],
)
async def test_an_answer_that_cannot_be_used_is_said(
    handler: Handler, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ufm_client, "_MOST_BYTES", 1000)
    async with ufm(handler) as source:
        with pytest.raises(UfmError, match=said) as error:
            await read_ports(source, ADMIN)
    assert ADMIN.password not in str(error.value) + repr(ADMIN)


async def test_an_answer_that_never_ends_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    async def handler(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(b"[")
        await asyncio.sleep(60)
        return response

    monkeypatch.setattr(ufm_client, "_ANSWERS_WITHIN", 0.2)
    async with ufm(handler) as source:
        with pytest.raises(UfmError, match="did not answer within"):
            await read_ports(source, ADMIN)


async def test_nobody_listens() -> None:
    with pytest.raises(UfmError, match="does not answer"):
        await read_ports(UfmSource("http://127.0.0.1:1", ("ns", "secret")), ADMIN)
