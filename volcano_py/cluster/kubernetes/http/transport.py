"""Sends requests to the API server: over our own client, or over aiohttp where there is a proxy."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version
from typing import TYPE_CHECKING, Final

from volcano_py.cluster.kubernetes.clock import Clock
from volcano_py.cluster.kubernetes.http.answers import Answer
from volcano_py.cluster.kubernetes.http.credentials import Credentials
from volcano_py.cluster.kubernetes.http.heads import Head, Headers
from volcano_py.cluster.kubernetes.http.http1_pool import Http1Pool, Server
from volcano_py.cluster.kubernetes.http.paths import ApiPath, Params, target
from volcano_py.cluster.kubernetes.http.watch_stream import WatchStream

if TYPE_CHECKING:
    from volcano_py.cluster.kubernetes.http.aiohttp_transport import AiohttpTransport

JSON: Final = "application/json"

# The server sends a list uncompressed as thousands of small pieces: reading 10,000 pods (16 MB) took 0.15 s of CPU, and
# compressed 0.05. The server took 0.19 and 0.17 s. It does not compress answers below 128 KiB, such as one object.
_GZIP: Final = "gzip"
_IDENTITY: Final = "identity"

_MOST_LOGINS: Final = 64  # whose headers are remembered; tokens are rotated away


class Transport:
    """Connections to one server, with the login that is in force when a request is sent."""

    def __init__(self, credentials: Credentials, connections: int) -> None:
        """`connections` are for requests that are not urgent. Create it on the loop that will use it."""
        self._credentials, self._connections = credentials, connections
        self._http1 = Http1Pool(connections)
        self._aiohttp: AiohttpTransport | None = None
        self._agent = f"volcano-py/{version('volcano-py')}"
        self._headers: dict[tuple[str, str, str, str | None], Headers] = {}

    async def aclose(self) -> None:
        """Close all connections."""
        await self._http1.aclose()
        if self._aiohttp is not None:
            await self._aiohttp.aclose()

    async def send(
        self,
        verb: str,
        path: ApiPath,
        params: Params | None,
        body: bytes | None,
        *,
        content_type: str,
        accept: str,
        limit: int,
        within: float,
        urgent: bool,
    ) -> Answer:
        """Send a request and read all of the answer, within this many seconds. An urgent one waits for no connection.

        Raises:
            OSError: there was no whole answer.
            BeyondLimitError: the answer is larger than `limit` bytes.
            InvalidRequestError: a header cannot be sent.
        """
        encoding = _GZIP if verb == "GET" else _IDENTITY
        head = Head(verb, target(path, params), self._headers_for(content_type, accept, encoding))
        async with asyncio.timeout(within):
            if self._credentials.proxy:
                return await self._by_proxy().exchange(head, body, limit=limit, urgent=urgent)
            return await self._http1.exchange(self._server(), head, body, limit=limit, urgent=urgent)

    @asynccontextmanager
    async def watch(
        self, path: ApiPath, params: Params, *, accept: str, clock: Clock
    ) -> AsyncIterator[WatchStream | Answer]:
        """An open watch, or why there is none; leaving the block closes it.

        Raises:
            OSError: the server did not answer.
            InvalidRequestError: a header cannot be sent.
        """
        head = Head("GET", target(path, params), self._headers_for(JSON, accept, _IDENTITY))
        if self._credentials.proxy:
            async with self._by_proxy().watch(head, str(path), clock) as opened:
                yield opened
            return
        async with self._http1.watch(self._server(), head) as (answer, close):
            yield answer if isinstance(answer, Answer) else WatchStream(aiter(answer), close, str(path), clock)

    def _server(self) -> Server:
        login = self._credentials
        return Server(login.server, login.ssl, login.server_hostname)

    def _by_proxy(self) -> AiohttpTransport:
        """Loaded where it is needed only: aiohttp takes a tenth of the CPU of a start."""
        if self._aiohttp is None:
            from volcano_py.cluster.kubernetes.http.aiohttp_transport import AiohttpTransport

            self._aiohttp = AiohttpTransport(self._credentials, self._connections)
        return self._aiohttp

    def _headers_for(self, content_type: str, accept: str, encoding: str) -> Headers:
        authorization = self._credentials.authorization
        key = content_type, accept, encoding, authorization
        found = self._headers.get(key)
        if found is None:
            fields = {
                "Accept": accept,
                "Content-Type": content_type,
                "User-Agent": self._agent,
                "Accept-Encoding": encoding,
            }
            if authorization:
                fields["Authorization"] = authorization
            if len(self._headers) >= _MOST_LOGINS:
                self._headers.clear()
            found = self._headers[key] = Headers(fields)
        return found
