"""Requests over aiohttp: all but bindings, which go over `http1_pool.py` unless there is a proxy."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager
from typing import Final

import aiohttp
from yarl import URL

from volcano_py.cluster.kubernetes.clock import Clock
from volcano_py.cluster.kubernetes.http.aiohttp_rules import Connector, pieces, whole
from volcano_py.cluster.kubernetes.http.answers import ERROR, Answer, BeyondLimitError, limit_of, without_explanation
from volcano_py.cluster.kubernetes.http.connections import CONNECT_WITHIN, cannot_connect
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
                    return await _answer(response, limit)

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
                refusal = await _answer(response, ERROR) if response.status >= 300 else None
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


async def _chunks(response: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
    with _errors_of_the_system():
        async for piece in pieces(response.content, _encoding(response)):
            yield piece


async def _answer(response: aiohttp.ClientResponse, limit: int) -> Answer:
    retry_after = response.headers.get("Retry-After")
    try:
        body = await whole(response.content, _encoding(response), limit_of(response.status, limit))
    except BeyondLimitError:
        response.close()
        if response.status >= 300:
            return without_explanation(response.status, retry_after)
        raise
    return Answer(response.status, body, retry_after)


def _encoding(response: aiohttp.ClientResponse) -> str:
    return response.headers.get("Content-Encoding", "")


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
        connector=Connector(),
        cookie_jar=aiohttp.DummyCookieJar(),
        read_bufsize=_READ_BUFFER,
        timeout=_TIMEOUT,
        auto_decompress=False,  # which has no limit
    )
