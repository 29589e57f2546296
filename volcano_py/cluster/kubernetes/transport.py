"""How a request gets to the API server: as an exchange, or by aiohttp for a stream as an answer or a proxy between."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from functools import lru_cache
from importlib.metadata import version
from typing import Final
from urllib.parse import urlencode, urlsplit

from volcano_py.cluster.kubernetes.clock import Clock
from volcano_py.cluster.kubernetes.credentials import Credentials
from volcano_py.cluster.kubernetes.exchanges import Answer, Exchanges, Server
from volcano_py.cluster.kubernetes.sessions import Sessions
from volcano_py.cluster.kubernetes.watch_stream import WatchStream

Params = Mapping[str, str | int]

JSON: Final = "application/json"

_MOST_LOGINS: Final = 64  # whose headers are remembered; tokens are rotated away


class Transport:
    """Connections to one server, with the login that is in force when a request is sent."""

    def __init__(self, credentials: Credentials, connections: int) -> None:
        """`connections` are those of requests that are not urgent. To be made on the loop that will use it."""
        self._credentials = credentials
        self._exchanges = Exchanges(connections)
        self._sessions = Sessions(credentials, connections)
        self._agent = f"volcano-py/{version('volcano-py')}"
        self._headers: dict[tuple[str, str, str | None], tuple[dict[str, str], bytes]] = {}

    async def aclose(self) -> None:
        """Close all connections."""
        await self._exchanges.aclose()
        await self._sessions.aclose()

    async def send(
        self,
        verb: str,
        path: str,
        params: Params | None,
        body: bytes | None,
        *,
        content_type: str,
        accept: str,
        within: float,
        urgent: bool,
    ) -> Answer:
        """Send a request and read all of the answer, in so many seconds. An urgent one waits for no connection.

        Raises:
            OSError: there was no whole answer.
        """
        login = self._credentials
        headers, lines = self._headers_for(content_type, accept)
        if params:
            path = _with(path, params)
        if login.proxy:
            return await self._sessions.exchange(verb, path, headers, body, within=within, urgent=urgent)
        server = Server(login.server, login.ssl, login.server_hostname)
        async with asyncio.timeout(within):
            return await self._exchanges.exchange(
                server, verb, _below(login.server) + path, lines, body or b"", urgent=urgent
            )

    def watch(
        self, path: str, params: Params, *, accept: str, clock: Clock
    ) -> AbstractAsyncContextManager[WatchStream | Answer]:
        """An open watch, or why there is none; leaving the block closes it.

        Raises:
            OSError: the server did not answer.
        """
        headers, _ = self._headers_for(JSON, accept)
        return self._sessions.watch(_with(path, params), headers, clock)

    def _headers_for(self, content_type: str, accept: str) -> tuple[dict[str, str], bytes]:
        """As names and values, and as they are sent."""
        authorization = self._credentials.authorization
        key = content_type, accept, authorization
        found = self._headers.get(key)
        if found is None:
            headers = {"Accept": accept, "Content-Type": content_type, "User-Agent": self._agent}
            # Compressing costs the server and us more CPU than the bytes saved on a cluster's own network.
            headers["Accept-Encoding"] = "identity"
            if authorization:
                headers["Authorization"] = authorization
            if len(self._headers) >= _MOST_LOGINS:
                self._headers.clear()
            lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
            found = self._headers[key] = headers, lines.encode()
        return found


@lru_cache(8)
def _below(server: str) -> str:
    """The path in the server's own address: a gateway has several servers below its own."""
    return urlsplit(server).path


def _with(path: str, params: Params) -> str:
    return f"{path}?{urlencode(params)}"
