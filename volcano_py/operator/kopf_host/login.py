"""How kopf logs in: through a session of its own that uses our loaded credentials.

kopf's own ways (its login handlers, `kopf.ConnectionInfo`) would read the kubeconfig a second time, put a token that
is going to be rotated into the session's headers for good, and know nothing of a TLS server name. The session keeps the
rules of our own requests: answers are bounded, and bytes that no request asked for close the connection.
"""

from __future__ import annotations

from importlib.metadata import version

import aiohttp
import kopf
from yarl import URL

from volcano_py.cluster.kubernetes.http.answers import PAGE, BeyondLimitError, Body, limit_of
from volcano_py.cluster.kubernetes.http.connector import Connector
from volcano_py.cluster.kubernetes.http.credentials import Credentials


class _BoundedResponse(aiohttp.ClientResponse):
    """The body of an answer is read whole only as far as its limit."""

    async def read(self) -> bytes:
        if self._body is not None:
            return await super().read()
        try:
            body = Body(limit_of(self.status, PAGE), self.headers.get("Content-Encoding", ""))
            async for chunk in self.content.iter_any():
                body.take(chunk)
            self._body = body.whole()
        except (BeyondLimitError, ConnectionError) as error:
            self.close()
            raise aiohttp.ClientConnectionError(str(error)) from error  # after which kopf tries again
        return self._body


class KopfLogin:
    """Makes kopf's sessions, and closes what kopf leaves open."""

    def __init__(self, credentials: Credentials) -> None:
        self._credentials = credentials
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
            # What a watch sends is passed on as it comes, so it may not be compressed.
            headers={"User-Agent": f"volcano-py/{version('volcano-py')} (kopf)", "Accept-Encoding": "identity"},
            auto_decompress=False,
            response_class=_BoundedResponse,
            proxy=credentials.proxy,
            middlewares=(self._authorize,),
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
