"""Requests over aiohttp: all but bindings, which go over `http1_pool.py` unless there is a proxy."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import Any, Final

import aiohttp
from aiohttp.client_proto import ResponseHandler
from yarl import URL

from volcano_py.cluster.kubernetes.clock import Clock
from volcano_py.cluster.kubernetes.http.answers import (
    ERROR,
    Answer,
    BeyondLimitError,
    Body,
    Unpacker,
    limit_of,
    without_explanation,
)
from volcano_py.cluster.kubernetes.http.connections import CONNECT_WITHIN, KEEP_ALIVE, cannot_connect, open_socket
from volcano_py.cluster.kubernetes.http.credentials import Credentials
from volcano_py.cluster.kubernetes.http.heads import Head
from volcano_py.cluster.kubernetes.http.watch_stream import WatchStream

_READ_BUFFER: Final = 2**20  # bytes; pages and events are larger than aiohttp's 64 KiB, and flow control costs CPU

# No limit of aiohttp's for the whole request. When it ends in the same turn of the loop in which the task is cancelled,
# aiohttp (3.14) raises TimeoutError, and the task goes on; asyncio.timeout lets the cancellation through.
_TIMEOUT: Final = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_WITHIN)


class AiohttpTransport:
    """Connections to one server, with the login that is in force when a request is sent.

    All requests share them: a watch goes over the connection on which its kind was listed. Opening one takes a
    millisecond of CPU on both sides, and a daemon opens two dozen watches when it starts.
    """

    def __init__(self, credentials: Credentials, connections: int) -> None:
        """`connections` are for requests that are not urgent. Create it on the loop that will use it."""
        self._credentials = credentials
        self._room = asyncio.Semaphore(connections)
        self._session = _open()

    async def aclose(self) -> None:
        """Close all connections."""
        await self._session.close()

    async def exchange(self, head: Head, body: bytes | None, *, limit: int, urgent: bool) -> Answer:
        """Send a request and read all of the answer. The time limit is the caller's.

        Raises:
            OSError: there was no whole answer.
            BeyondLimitError: the answer is larger than `limit` bytes.
        """
        async with contextlib.nullcontext() if urgent else self._room:
            with _errors_of_the_system():
                async with self._ask(head, body) as response:
                    return await _whole(response, limit)

    @contextlib.asynccontextmanager
    async def watch(self, head: Head, path: str, clock: Clock) -> AsyncIterator[WatchStream | Answer]:
        """An open watch, or why there is none; leaving the block closes it. `path` is for messages.

        Raises:
            OSError: the server did not answer.
        """
        async with contextlib.AsyncExitStack() as stack:
            with _errors_of_the_system():
                response = await stack.enter_async_context(self._ask(head, None))
                stack.callback(response.close)
                refusal = await _whole(response, ERROR) if response.status >= 300 else None
            yield refusal or WatchStream(_chunks(response), response.close, path, clock)

    def _ask(self, head: Head, body: bytes | None) -> AbstractAsyncContextManager[aiohttp.ClientResponse]:
        login = self._credentials
        return self._session.request(
            head.method,
            # Quoted where it is built; quoting it twice would make it another one.
            URL(login.server + head.target, encoded=True),
            data=body,
            headers=head.headers.fields,
            # A redirect would take the token to another server.
            allow_redirects=False,
            ssl=login.ssl,
            server_hostname=login.server_hostname,
            proxy=login.proxy,
        )


class _Handler(ResponseHandler):
    """Closes its connection when bytes arrive that no request asked for. aiohttp would keep them, and take them for the
    answer to the next request on this connection."""

    is_asked = False
    """Whether there is a request whose answer has not been read."""

    def set_response_params(self, **params: Any) -> None:
        """aiohttp calls it when it sends a request."""
        self.is_asked = True
        super().set_response_params(**params)

    def data_received(self, data: bytes) -> None:
        if data and not self.is_asked:
            self.abort()
            return
        super().data_received(data)
        if self._payload is not None and self._payload.is_eof() and self._has_begun_another():
            self.abort()

    def _has_begun_another(self) -> bool:
        """Whether the parser has read bytes of another answer. Call it when it has read one answer to the end."""
        try:
            return self._parser is not None and self._parser.feed_eof() is not None
        except Exception:
            return True


class _Connector(aiohttp.TCPConnector):
    """Keeps connections on which nothing comes unasked."""

    def __init__(self) -> None:
        super().__init__(limit=0, keepalive_timeout=KEEP_ALIVE, socket_factory=open_socket)
        self._factory: partial[_Handler] = partial(_Handler, loop=self._loop)  # type: ignore[assignment]

    def _release(self, key: Any, protocol: ResponseHandler, *, should_close: bool = False) -> None:
        if isinstance(protocol, _Handler):
            protocol.is_asked = False
        super()._release(key, protocol, should_close=should_close)


async def _chunks(response: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
    with _errors_of_the_system():
        unpacker = Unpacker(response.headers.get("Content-Encoding", ""))
        async for chunk in response.content.iter_any():
            for piece in unpacker.pieces(chunk):
                yield piece


async def _whole(response: aiohttp.ClientResponse, limit: int) -> Answer:
    retry_after = response.headers.get("Retry-After")
    body = Body(limit_of(response.status, limit), response.headers.get("Content-Encoding", ""))
    try:
        async for chunk in response.content.iter_any():
            body.take(chunk)
    except BeyondLimitError:
        response.close()
        if response.status >= 300:
            return without_explanation(response.status, retry_after)
        raise
    return Answer(response.status, body.whole(), retry_after)


@contextlib.contextmanager
def _errors_of_the_system() -> Iterator[None]:
    """Raise aiohttp's errors as OSError, so that no other module has to know them."""
    try:
        yield
    except aiohttp.ClientConnectorError as error:
        # Its own text has the address of an SSL context in memory.
        raise cannot_connect(error.host, error.port, error.os_error) from error
    except aiohttp.ClientError as error:
        # aiohttp raises one and the same object whenever a response is closed that is being read. Its traceback would
        # grow by each of them, and keep their buffers.
        error.__traceback__ = None
        raise ConnectionError(str(error) or type(error).__name__) from error


def _open() -> aiohttp.ClientSession:
    """A session without a limit of its own."""
    return aiohttp.ClientSession(
        connector=_Connector(),
        cookie_jar=aiohttp.DummyCookieJar(),
        read_bufsize=_READ_BUFFER,
        timeout=_TIMEOUT,
        # aiohttp unpacks everything that has arrived, without a limit.
        auto_decompress=False,
    )
