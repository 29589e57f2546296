"""How kopf logs in: through a session of its own that uses our loaded credentials.

kopf's own ways (its login handlers, `kopf.ConnectionInfo`) would read the kubeconfig a second time, put a token that
is going to be rotated into the session's headers for good, and know nothing of a TLS server name. The session keeps the
rules of our own requests: answers are bounded, and bytes that no request asked for close the connection.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from importlib.metadata import version
from typing import Any

import aiohttp
import kopf
from aiohttp.connector import Connection
from yarl import URL

from volcano_py.cluster.kubernetes.http.aiohttp_rules import Connector, pieces, whole
from volcano_py.cluster.kubernetes.http.answers import PAGE, BeyondLimitError, limit_of
from volcano_py.cluster.kubernetes.http.credentials import Credentials


class _Unpacked:
    """What kopf sees as the body of an answer: some proxies compress, asked or not."""

    def __init__(self, content: aiohttp.StreamReader, encoding: str) -> None:
        self._content, self._encoding = content, encoding

    def __getattr__(self, name: str) -> Any:
        return getattr(self._content, name)

    async def iter_chunked(self, _size: int) -> AsyncIterator[bytes]:
        """In pieces as they come; so kopf reads its watches."""
        try:
            async for piece in pieces(self._content, self._encoding):
                yield piece
        except ConnectionError as error:
            raise aiohttp.ClientConnectionError(str(error)) from error  # after which kopf tries again


class _BoundedResponse(aiohttp.ClientResponse):
    """The body of an answer is read whole only as far as its limit."""

    async def start(self, connection: Connection) -> aiohttp.ClientResponse:
        await super().start(connection)
        self._packed, self._encoding = self.content, self.headers.get("Content-Encoding", "")
        self.content = _Unpacked(self._packed, self._encoding)  # type: ignore[assignment]
        return self

    async def read(self) -> bytes:
        if self._body is not None:
            return await super().read()
        try:
            self._body = await whole(self._packed, self._encoding, limit_of(self.status, PAGE))
        except (BeyondLimitError, ConnectionError) as error:
            self.close()
            raise aiohttp.ClientConnectionError(str(error)) from error  # after which kopf tries again
        return self._body


class KopfLogin:
    """Makes kopf's sessions, and closes what kopf leaves open. `observers` see its requests and their answers."""

    def __init__(self, credentials: Credentials, *observers: aiohttp.ClientMiddlewareType) -> None:
        self._credentials, self._observers = credentials, observers
        self._sessions: list[aiohttp.ClientSession] = []
        self._refused: tuple[object, object] | None = None

    async def log_in(self, **_: object) -> kopf.AiohttpSession:
        """kopf's login handler. kopf comes back when the server has answered 401 to what it got before."""
        credentials = self._credentials
        if self._refused is not None:
            await credentials.renew(self._refused)
        self._refused = credentials.authorization, credentials.ssl
        session = aiohttp.ClientSession(
            connector=Connector(credentials.ssl),
            cookie_jar=aiohttp.DummyCookieJar(),
            headers={"User-Agent": f"volcano-py/{version('volcano-py')} (kopf)"},
            auto_decompress=False,  # which has no limit
            response_class=_BoundedResponse,
            proxy=credentials.proxy,
            middlewares=(*self._observers, self._authorize),
        )
        self._sessions.append(session)
        return kopf.AiohttpSession(server=credentials.server, aiohttp_session=session)

    async def aclose(self) -> None:
        """Close all sessions: kopf closes them when it stops in peace only."""
        while self._sessions:
            await self._sessions.pop().close()

    async def _authorize(
        self, request: aiohttp.ClientRequest, send: aiohttp.ClientHandlerType
    ) -> aiohttp.ClientResponse:
        credentials = self._credentials
        credentials.refresh_when_due()
        # A redirect must not take the token to another server.
        if request.url.origin() == URL(credentials.server).origin():
            request.server_hostname = credentials.server_hostname
            if credentials.authorization:
                request.headers["Authorization"] = credentials.authorization
        return await send(request)
