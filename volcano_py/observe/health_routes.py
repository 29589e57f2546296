"""What the daemon's HTTP server answers: /metrics, /healthz, /readyz, /version, /status and, for this machine only,
/dump.

It must answer while the scheduler is at its busiest and must never hold it up: probes are a few function calls, metrics
are rendered in a thread, one scrape at a time, and documents are sent in pieces. Few requests that cost much are
answered at the same time; the others get 503 and a Retry-After.
"""

from __future__ import annotations

import asyncio
import gzip
import inspect
import ipaddress
from collections.abc import Iterable, Mapping
from socket import socket
from typing import Final
from urllib.parse import urlsplit

import structlog
from aiohttp import web
from aiohttp.typedefs import Handler

from volcano_py.observe.checks import ProbeResult
from volcano_py.observe.encoding import json_chunks, to_json
from volcano_py.observe.shown import Document, Shown

_SENDING: Final = web.RequestKey("sending", web.StreamResponse)
_JSON: Final = "application/json"
_SLOW_PATHS: Final = frozenset({"/metrics", "/status", "/dump"})
# Two Prometheus servers, a person and a dashboard; a scrape that cannot start will be tried again by itself.
_SLOW_PLACES: Final = 4
# Longer than Prometheus waits (10 s by default); a dump of a large cluster over a port-forward takes longest.
_REQUEST_SECONDS: Final = 60.0
_KEEP_ALIVE_SECONDS: Final = 30.0
_SHUTDOWN_SECONDS: Final = 2.0
# Prometheus' own choice: the higher levels cost several times as much for a few percent.
_GZIP_LEVEL: Final = 1
_LONGEST_LINE: Final = 4096  # bytes of a request line or header; nothing here takes long ones

log = structlog.get_logger(__name__)


async def serve(shown: Shown, sockets: Iterable[socket]) -> web.AppRunner:
    """Answer on these listening sockets until the runner is cleaned up."""
    runner = web.AppRunner(
        HealthRoutes(shown).application(),
        handle_signals=False,
        access_log=None,
        keepalive_timeout=_KEEP_ALIVE_SECONDS,
        shutdown_timeout=_SHUTDOWN_SECONDS,
        max_line_size=_LONGEST_LINE,
        max_field_size=_LONGEST_LINE,
    )
    await runner.setup()
    for each in sockets:
        await web.SockSite(runner, each).start()
    return runner


class HealthRoutes:
    """The paths, and how many requests each may have under way."""

    def __init__(self, shown: Shown) -> None:
        self._shown = shown
        self._rendering = asyncio.Lock()
        self._places = _SLOW_PLACES

    def application(self) -> web.Application:
        """With the paths of what there is to show."""
        app = web.Application(middlewares=[self._bounded])
        app.router.add_get("/", self._index)
        app.router.add_get("/metrics", self._metrics)
        app.router.add_get("/healthz", self._healthz)
        app.router.add_get("/readyz", self._readyz)
        app.router.add_get("/version", self._show_version)
        if self._shown.status is not None:
            app.router.add_get("/status", self._show_status)
        if self._shown.dump is not None:
            app.router.add_get("/dump", self._show_dump)
        return app

    @web.middleware
    async def _bounded(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Few slow requests at a time, each with a time limit; an error is logged and answered with 500."""
        is_slow = request.path in _SLOW_PATHS
        if is_slow and self._places == 0:
            return _json(503, {"error": "busy with other requests: try again"}, {"Retry-After": "5"})
        self._places -= is_slow
        try:
            async with asyncio.timeout(_REQUEST_SECONDS):
                return await handler(request)
        except web.HTTPException:
            raise
        except ConnectionError as error:  # as a rule the caller hung up, and no connection is left to answer on
            return _failed(request, 500, f"{type(error).__name__}: {error}")
        except TimeoutError:
            return _failed(request, 503, f"not done within {_REQUEST_SECONDS:.0f} s: try again")
        except Exception as error:
            log.exception("request failed", path=request.path)
            return _failed(request, 500, f"{type(error).__name__}: {error}")
        finally:
            self._places += is_slow

    async def _index(self, request: web.Request) -> web.Response:
        paths = sorted({route.resource.canonical for route in request.app.router.routes() if route.resource} - {"/"})
        return _json(200, {"paths": paths})

    async def _metrics(self, request: web.Request) -> web.Response:
        accept = ",".join(request.headers.getall("Accept", []))
        wants_gzip = "gzip" in request.headers.get("Accept-Encoding", "")
        async with self._rendering:
            body, content_type = await asyncio.to_thread(self._scrape, accept, wants_gzip)
        headers = {"Content-Type": content_type}
        if wants_gzip:
            headers["Content-Encoding"] = "gzip"
        return web.Response(body=body, headers=headers)

    def _scrape(self, accept: str, wants_gzip: bool) -> tuple[bytes, str]:
        body, content_type = self._shown.render(accept)
        return (gzip.compress(body, _GZIP_LEVEL) if wants_gzip else body), content_type

    async def _healthz(self, _request: web.Request) -> web.Response:
        return _probe(self._shown.checks.live())

    async def _readyz(self, _request: web.Request) -> web.Response:
        return _probe(self._shown.checks.ready())

    async def _show_version(self, _request: web.Request) -> web.Response:
        return _json(200, self._shown.version)

    async def _show_status(self, request: web.Request) -> web.StreamResponse:
        return await _send(request, self._shown.status)

    async def _show_dump(self, request: web.Request) -> web.StreamResponse:
        if not is_local(request):
            return _json(
                403,
                {
                    "error": "/dump shows the whole cluster and answers on this machine only: use kubectl port-forward "
                    "to the pod and ask for it at localhost"
                },
            )
        return await _send(request, self._shown.dump)


def _probe(result: ProbeResult) -> web.Response:
    return _json(200 if result.is_ok else 503, result.document())


def _json(status: int, document: object, headers: Mapping[str, str] | None = None) -> web.Response:
    return web.Response(status=status, body=to_json(document) + b"\n", content_type=_JSON, headers=headers)


def _failed(request: web.Request, status: int, problem: str) -> web.StreamResponse:
    """Answer with this error; if half an answer is sent already, cut the connection instead."""
    sent: web.StreamResponse | None = request.get(_SENDING)
    if sent is None:
        return _json(status, {"error": problem})
    if request.transport is not None:
        request.transport.abort()
    return sent


async def _send(request: web.Request, source: Document | None) -> web.StreamResponse:
    """The document in pieces; the event loop gets a turn between them."""
    if source is None:
        raise web.HTTPNotFound
    document = source()
    if inspect.isawaitable(document):
        document = await document
    response = web.StreamResponse(headers={"Content-Type": _JSON, "Cache-Control": "no-store"})
    request[_SENDING] = response
    await response.prepare(request)
    for chunk in json_chunks(document):
        await response.write(chunk)
        await asyncio.sleep(0)
    await response.write_eof(b"\n")
    return response


def is_local(request: web.Request) -> bool:
    """The caller is on this machine, and so is the name it used: a web page whose own name was pointed at 127.0.0.1
    (DNS rebinding) sends that name as Host."""
    peer = request.transport.get_extra_info("peername") if request.transport is not None else None
    try:
        named = urlsplit(f"//{request.headers.get('Host', '')}").hostname or ""
    except ValueError:  # brackets that do not match
        return False
    return peer is not None and _is_loopback(str(peer[0])) and (named == "localhost" or _is_loopback(named))


def _is_loopback(text: str) -> bool:
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return (mapped or address).is_loopback
