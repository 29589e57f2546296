"""Sends requests to the API server: bindings over our own client, all others over aiohttp."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager
from importlib.metadata import version
from typing import Final

from volcano_py.cluster.kubernetes.clock import Clock
from volcano_py.cluster.kubernetes.http.aiohttp_transport import AiohttpTransport
from volcano_py.cluster.kubernetes.http.answers import Answer
from volcano_py.cluster.kubernetes.http.credentials import Credentials
from volcano_py.cluster.kubernetes.http.heads import Head, Headers
from volcano_py.cluster.kubernetes.http.http1_pool import Http1Pool, Server
from volcano_py.cluster.kubernetes.http.paths import ApiPath, Params, target
from volcano_py.cluster.kubernetes.http.watch_stream import WatchStream

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
        self._credentials = credentials
        self._http1 = Http1Pool(connections)
        self._aiohttp = AiohttpTransport(credentials, connections)
        self._agent = f"volcano-py/{version('volcano-py')}"
        self._headers: dict[tuple[str, str, str, str | None], Headers] = {}

    async def aclose(self) -> None:
        """Close all connections."""
        await self._http1.aclose()
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
        login = self._credentials
        encoding = _GZIP if verb == "GET" else _IDENTITY
        head = Head(verb, target(path, params), self._headers_for(content_type, accept, encoding))
        async with asyncio.timeout(within):
            if path.subresource != "binding" or login.proxy:
                return await self._aiohttp.exchange(head, body, limit=limit, urgent=urgent)
            server = Server(login.server, login.ssl, login.server_hostname)
            return await self._http1.exchange(server, head, body or b"", limit=limit)

    def watch(
        self, path: ApiPath, params: Params, *, accept: str, clock: Clock
    ) -> AbstractAsyncContextManager[WatchStream | Answer]:
        """An open watch, or why there is none; leaving the block closes it.

        Raises:
            OSError: the server did not answer.
            InvalidRequestError: a header cannot be sent.
        """
        head = Head("GET", target(path, params), self._headers_for(JSON, accept, _IDENTITY))
        return self._aiohttp.watch(head, str(path), clock)

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
