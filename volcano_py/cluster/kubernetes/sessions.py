"""What aiohttp does for us: watches, whose answers are streams, and all that goes by way of a proxy."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AbstractAsyncContextManager
from functools import lru_cache
from typing import Final

import aiohttp
from yarl import URL

from volcano_py.cluster.kubernetes.clock import Clock
from volcano_py.cluster.kubernetes.connections import CONNECT_WITHIN, KEEP_ALIVE, cannot_connect, open_socket
from volcano_py.cluster.kubernetes.credentials import Credentials
from volcano_py.cluster.kubernetes.exchanges import Answer
from volcano_py.cluster.kubernetes.watch_stream import WatchStream

_READ_BUFFER: Final = 2**20  # bytes; pages and events are larger than aiohttp's 64 KiB, and flow control costs CPU


class Sessions:
    """Connections to one server, with the login that is in force when a request is sent."""

    def __init__(self, credentials: Credentials, connections: int) -> None:
        """`connections` are those of requests that are not urgent. To be made on the loop that will use it."""
        self._credentials = credentials
        self._limited, self._unlimited = _open(connections), _open(0)

    async def aclose(self) -> None:
        """Close all connections."""
        await self._limited.close()
        await self._unlimited.close()

    async def exchange(
        self, verb: str, path: str, headers: Mapping[str, str], body: bytes | None, *, within: float, urgent: bool
    ) -> Answer:
        """Send a request and read all of the answer, in so many seconds.

        Raises:
            OSError: there was no whole answer.
        """
        session = self._unlimited if urgent else self._limited
        with _errors_of_the_system():
            async with self._ask(session, verb, path, headers, body, within) as response:
                return await _whole(response)

    @contextlib.asynccontextmanager
    async def watch(self, path: str, headers: Mapping[str, str], clock: Clock) -> AsyncIterator[WatchStream | Answer]:
        """An open watch, or why there is none; leaving the block closes it.

        Raises:
            OSError: the server did not answer.
        """
        async with contextlib.AsyncExitStack() as stack:
            with _errors_of_the_system():
                asking = self._ask(self._unlimited, "GET", path, headers, None, None)
                response = await stack.enter_async_context(asking)
                stack.callback(response.close)
                refusal = await _whole(response) if response.status >= 300 else None
            yield refusal or WatchStream(_chunks(response), response.close, path.partition("?")[0], clock)

    def _ask(
        self,
        session: aiohttp.ClientSession,
        verb: str,
        path: str,
        headers: Mapping[str, str],
        body: bytes | None,
        within: float | None,
    ) -> AbstractAsyncContextManager[aiohttp.ClientResponse]:
        login = self._credentials
        return session.request(
            verb,
            # Names in the API need no quoting, and parameters have been quoted.
            URL(login.server + path, encoded=True),
            data=body,
            headers=headers,
            timeout=_timeout(within),
            # A redirect would take the token to another server.
            allow_redirects=False,
            ssl=login.ssl,
            server_hostname=login.server_hostname,
            proxy=login.proxy,
        )


async def _chunks(response: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
    with _errors_of_the_system():
        async for chunk in response.content.iter_any():
            yield chunk


async def _whole(response: aiohttp.ClientResponse) -> Answer:
    return Answer(response.status, await response.read(), response.headers.get("Retry-After"))


@contextlib.contextmanager
def _errors_of_the_system() -> Iterator[None]:
    """aiohttp's failures as what they are of: nobody else has to know its names."""
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


def _open(connections: int) -> aiohttp.ClientSession:
    """A session of so many connections at most; 0 is without a limit."""
    connector = aiohttp.TCPConnector(limit=connections, keepalive_timeout=KEEP_ALIVE, socket_factory=open_socket)
    return aiohttp.ClientSession(connector=connector, cookie_jar=aiohttp.DummyCookieJar(), read_bufsize=_READ_BUFFER)


@lru_cache
def _timeout(seconds: float | None) -> aiohttp.ClientTimeout:
    """For a request that may take so long; None is for ever, as watches do."""
    return aiohttp.ClientTimeout(total=seconds, sock_connect=CONNECT_WITHIN)
