"""A reverse proxy between the daemon and the API server that injects the faults of its plan."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import ssl
import zlib
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping
from types import TracebackType
from typing import Self

import aiohttp
import orjson
from aiohttp import web
from multidict import CIMultiDictProxy
from yarl import URL

from e2e.faults.injection.plans import REFUSALS, Call, Calm, Fault, Injection, Plan
from volcano_py.local.processes.ports import LOOPBACK

_PASSED_ON = ("Authorization", "Accept", "Content-Type", "User-Agent")
_PASSED_BACK = ("Content-Type", "Retry-After", "Audit-Id")
_RETRY_AFTER_SECONDS = 1
_SWAP_WITHIN = 0.5
"""Seconds that an event waits for the next one to be swapped with."""

AnswerListener = Callable[[Call, int, bytes, float], None]
"""Called with a call, status and body of the server's answer to it, and when (loop time) the server was sent it; before
the daemon has the answer."""


class FaultProxy:
    """An async context manager: serves `url`, forwards to `server`, and breaks what `plan` says.

    `plan` may be exchanged at any time. `injected` counts the faults that really happened, by kind of call and fault.
    """

    def __init__(self, server: str, *, trust: ssl.SSLContext, serve: ssl.SSLContext | None) -> None:
        """`trust` verifies the API server; `serve` is the proxy's own side of TLS (None: plain HTTP)."""
        self.plan: Plan = Calm()
        self.injected: Counter[tuple[str, Fault]] = Counter()
        self.listeners: list[AnswerListener] = []
        self._server, self._trust, self._serve = server, trust, serve
        self._injection = asyncio.Event()
        self._runner: web.ServerRunner | None = None
        self._session: aiohttp.ClientSession | None = None
        self.url = ""

    async def __aenter__(self) -> Self:
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(ssl=self._trust, limit=0),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=10),
            auto_decompress=False,
            skip_auto_headers=("Content-Type",),
        )
        # A request whose client has gone is ended at once: what the gate holds for a killed daemon must never pass.
        server = web.Server(self._handle, handler_cancellation=True, access_log=None)
        self._runner = web.ServerRunner(server, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, LOOPBACK, 0, ssl_context=self._serve)
        await site.start()
        host, port = self._runner.addresses[0][:2]
        self.url = f"{'https' if self._serve else 'http'}://{host}:{port}"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._runner is not None:
            await self._runner.cleanup()
        if self._session is not None:
            await self._session.close()

    @property
    def faults(self) -> int:
        """How many have been injected."""
        return self.injected.total()

    async def until_injected(self, count: int) -> None:
        """Return when there have been that many faults."""
        while self.faults < count:
            self._injection.clear()
            await self._injection.wait()

    async def until_quiet(self, seconds: float) -> None:
        """Return when there has been no fault for that long."""
        with contextlib.suppress(TimeoutError):
            while True:
                self._injection.clear()
                async with asyncio.timeout(seconds):
                    await self._injection.wait()

    # -- calls -----------------------------------------------------------------------------------------------------

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        call = call_of(request.method, request.path, request.query)
        injection = await self.plan.for_call(call)
        try:
            if injection is not None and (answer := await self._instead(request, call, injection)) is not None:
                return answer
            sent = asyncio.get_running_loop().time()
            async with self._forward(request) as upstream:
                if call.verb == "watch" and upstream.status < 300:
                    return await self._watch(request, call, upstream, injection)
                return await self._answer(request, call, upstream, injection, sent)
        except (aiohttp.ClientError, TimeoutError, OSError):
            # The API server is away, or went away in the middle: the daemon sees its connection break.
            return _cut(request)

    async def _instead(self, request: web.BaseRequest, call: Call, injection: Injection) -> web.StreamResponse | None:
        """What happens instead of the call, or, with None, has happened before it."""
        fault = injection.fault
        if fault in REFUSALS:
            self._count(call, fault)
            return _refusal(fault)
        if fault is Fault.RESET:
            self._count(call, fault)
            return _cut(request)
        if fault in (Fault.SLOW, Fault.SILENT):
            self._count(call, fault)
            await asyncio.sleep(injection.seconds)
            return _cut(request) if fault is Fault.SILENT else None
        return None

    @contextlib.asynccontextmanager
    async def _forward(self, request: web.BaseRequest) -> AsyncIterator[aiohttp.ClientResponse]:
        assert self._session is not None
        headers = {name: request.headers[name] for name in _PASSED_ON if name in request.headers}
        async with self._session.request(
            request.method,
            URL(self._server + request.raw_path, encoded=True),
            data=await request.read() or None,
            headers={**headers, "Accept-Encoding": "identity"},
            allow_redirects=False,
        ) as upstream:
            yield upstream

    async def _answer(
        self,
        request: web.BaseRequest,
        call: Call,
        upstream: aiohttp.ClientResponse,
        injection: Injection | None,
        sent: float,
    ) -> web.StreamResponse:
        body = await upstream.read()
        for listener in self.listeners:
            listener(call, upstream.status, body, sent)
        if injection is not None and injection.fault is Fault.ANSWER_LOST:
            self._count(call, injection.fault)
            return _cut(request)
        headers = _passed_back(upstream.headers)
        if injection is not None and injection.fault is Fault.ANSWER_CUT:
            self._count(call, injection.fault)
            partial = web.StreamResponse(status=upstream.status, headers={**headers, "Content-Length": str(len(body))})
            await partial.prepare(request)
            await partial.write(body[: len(body) // 2])
            return _cut(request, partial)
        if injection is not None and injection.fault is Fault.COMPRESSED:
            self._count(call, injection.fault)
            body, headers = gzip.compress(body, _QUICK), {**headers, **_COMPRESSED}
        return web.Response(status=upstream.status, body=body, headers=headers)

    def _count(self, call: Call, fault: Fault) -> None:
        self.injected[call.group, fault] += 1
        self._injection.set()

    # -- watches ---------------------------------------------------------------------------------------------------

    async def _watch(
        self, request: web.BaseRequest, call: Call, upstream: aiohttp.ClientResponse, injection: Injection | None
    ) -> web.StreamResponse:
        is_compressed = injection is not None and injection.fault is Fault.COMPRESSED
        headers = {**_passed_back(upstream.headers), **(_COMPRESSED if is_compressed else {})}
        response = (_CompressedStream if is_compressed else web.StreamResponse)(status=upstream.status, headers=headers)
        await response.prepare(request)
        if is_compressed:
            self._count(call, Fault.COMPRESSED)
        lines: asyncio.Queue[tuple[float, bytes] | None] = asyncio.Queue()
        reader = asyncio.create_task(_read_lines(upstream, lines))
        try:
            whole = await self._pass_events(call, lines, response)
        finally:
            reader.cancel()
            await asyncio.gather(reader, return_exceptions=True)
        return response if whole else _cut(request, response)

    async def _pass_events(
        self, call: Call, lines: asyncio.Queue[tuple[float, bytes] | None], response: web.StreamResponse
    ) -> bool:
        """Whether the watch ended as watches do; otherwise its connection is to be cut."""
        loop = asyncio.get_running_loop()
        kept, late_until = b"", 0.0
        while True:
            try:
                async with asyncio.timeout(_SWAP_WITHIN if kept else None):
                    arrived = await lines.get()
            except TimeoutError:
                await response.write(kept)
                kept = b""
                continue
            if arrived is None:
                await response.write(kept)
                return True
            moment, line = arrived
            injection = None if line.startswith(b'{"type":"BOOKMARK"') else await self.plan.for_event(call)
            fault = injection.fault if injection is not None else None
            if fault in _LAST:
                self._count(call, fault)
                await response.write(kept)
                return await _end_with(fault, line, lines, response)
            if fault is Fault.DROPPED:
                self._count(call, fault)
                continue
            if fault is Fault.SWAPPED and not kept:
                kept = line
                continue
            # What arrived while another was late, is late already.
            if fault is Fault.DELAYED and injection is not None and moment >= late_until:
                self._count(call, fault)
                await asyncio.sleep(injection.seconds)
                late_until = loop.time()
            if fault is Fault.DOUBLED:
                self._count(call, fault)
                line += line
            if kept:
                self._count(call, Fault.SWAPPED)
            await response.write(line + kept)
            kept = b""


_COMPRESSED = {"Content-Encoding": "gzip"}
_QUICK = 1
"""Of nine levels of compression, the one that costs least."""


class _CompressedStream(web.StreamResponse):
    """What is written goes out at once, compressed."""

    def __init__(self, *, status: int, headers: Mapping[str, str]) -> None:
        super().__init__(status=status, headers=headers)
        self._gzip = zlib.compressobj(_QUICK, wbits=16 + zlib.MAX_WBITS)

    async def write(self, data: bytes | bytearray | memoryview) -> None:
        await super().write(self._gzip.compress(data) + self._gzip.flush(zlib.Z_SYNC_FLUSH))

    async def write_eof(self, data: bytes = b"") -> None:
        await super().write_eof(self._gzip.compress(data) + self._gzip.flush())


_LAST = frozenset({Fault.WATCH_CUT, Fault.WATCH_CUT_IN_EVENT, Fault.WATCH_EXPIRED, Fault.WATCH_MUTE})
"""Faults after which no event comes any more."""


async def _end_with(
    fault: Fault, line: bytes, lines: asyncio.Queue[tuple[float, bytes] | None], response: web.StreamResponse
) -> bool:
    """Whether the watch ends as watches do; otherwise its connection is to be cut."""
    if fault is Fault.WATCH_CUT_IN_EVENT:
        await response.write(line[: len(line) // 2])
    elif fault is Fault.WATCH_EXPIRED:
        await response.write(_EXPIRED)
    elif fault is Fault.WATCH_MUTE:
        while await lines.get() is not None:
            pass
    return fault in (Fault.WATCH_EXPIRED, Fault.WATCH_MUTE)


_EXPIRED = (
    orjson.dumps(
        {
            "type": "ERROR",
            "object": {
                "kind": "Status",
                "apiVersion": "v1",
                "status": "Failure",
                "message": "too old resource version: an injected fault",
                "reason": "Expired",
                "code": 410,
            },
        }
    )
    + b"\n"
)


def call_of(method: str, path: str, query: Mapping[str, str]) -> Call:
    """What a request of the Kubernetes API is about."""
    parts = [part for part in path.split("/") if part]
    # /api/v1/… or /apis/GROUP/VERSION/…
    rest = parts[2:] if parts[:1] == ["api"] else parts[3:]
    namespace = ""
    if rest[:1] == ["namespaces"] and len(rest) > 2:
        namespace, rest = rest[1], rest[2:]
    resource, name, subresource = (*rest, "", "", "")[:3]
    if method == "GET" and query.get("watch") in ("1", "true", "True"):
        verb = "watch"
    elif method == "GET":
        verb = "get" if name else "list"
    else:
        verb = {"POST": "create", "PUT": "update"}.get(method, method.lower())
    return Call(verb, f"{resource}/{subresource}" if subresource else resource, namespace, name)


async def _read_lines(upstream: aiohttp.ClientResponse, lines: asyncio.Queue[tuple[float, bytes] | None]) -> None:
    """Whole lines with the time of their arrival; None at the end."""
    loop = asyncio.get_running_loop()
    try:
        async for line in _lines(upstream):
            lines.put_nowait((loop.time(), line))
    finally:
        lines.put_nowait(None)


async def _lines(upstream: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
    unfinished = b""
    async for chunk in upstream.content.iter_any():
        *whole, unfinished = (unfinished + chunk).split(b"\n")
        for line in whole:
            yield line + b"\n"


def _refusal(fault: Fault) -> web.Response:
    status, reason = REFUSALS[fault]
    headers = {"Retry-After": str(_RETRY_AFTER_SECONDS)} if status == 429 else {}
    body = {
        "kind": "Status",
        "apiVersion": "v1",
        "status": "Failure",
        "message": "an injected fault",
        "reason": reason,
        "code": status,
    }
    return web.Response(status=status, body=orjson.dumps(body), content_type="application/json", headers=headers)


def _cut(request: web.BaseRequest, response: web.StreamResponse | None = None) -> web.StreamResponse:
    """Break the connection; what is returned goes nowhere."""
    if request.transport is not None:
        request.transport.abort()
    return response if response is not None else web.Response()


def _passed_back(headers: CIMultiDictProxy[str]) -> dict[str, str]:
    return {name: headers[name] for name in _PASSED_BACK if name in headers}
