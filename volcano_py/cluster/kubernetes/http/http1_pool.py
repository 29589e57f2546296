"""A small HTTP/1.1 client for bindings, the one request that a scheduler sends by the thousand.

A binding over aiohttp takes three times the CPU (figures: docs/architecture.md). `transport.py` decides which request
goes where; nothing else uses this module. httptools parses, aiohappyeyeballs finds an address that answers, and the
event loop encrypts.

Limits:

- Requests under way: one on each connection, and so many connections at most. Further requests wait, without a limit.
- Answer: the caller's limit, 1 MiB for a binding (`answers.BINDING`), for everything that comes on the wire, headers
  included, and once more for what it unpacks to. Beyond that `BeyondLimitError`.
- Connections that are being opened: one more than are open, and 16 at most (`OPENED_AT_ONCE`). Other requests wait for
  these, or for one that is free.
- Time: 10 s to connect (`connections.CONNECT_WITHIN`), another address of the same name is tried after 250 ms. The
  caller limits the time for an answer. An idle connection is closed after 75 s (`connections.KEEP_ALIVE`).
- Encodings: identity, gzip and deflate; any other is an error.

Refused: upgrades, and bytes that no open request has asked for; both end the connection. Not supported: redirects (the
answer is passed on), cookies, proxies, pipelining, answers without an end, requests without a body length. Nothing is
sent twice.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections import deque
from collections.abc import Callable
from typing import Final, NamedTuple, cast
from urllib.parse import urlsplit

from aiohappyeyeballs import start_connection
from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

from volcano_py.cluster.kubernetes.http.answers import Answer, BeyondLimitError, Body
from volcano_py.cluster.kubernetes.http.connections import CONNECT_WITHIN, KEEP_ALIVE, cannot_connect, open_socket
from volcano_py.cluster.kubernetes.http.heads import Head

# Seconds that an address may take before the next one of the same name is tried as well (RFC 8305, section 5).
_NEXT_ADDRESS_AFTER: Final = 0.25

# A new connection takes a millisecond of CPU on both sides. When all are opened at once, the first request goes out
# when the last handshake is about to end; one after the other would wait for the network each time. So there are 1, 2,
# 4, 8 and then 16 at a time.
OPENED_AT_ONCE: Final = 16


class Server(NamedTuple):
    """The address of a server, and how to verify its certificate."""

    url: str
    ssl: ssl.SSLContext | bool
    certificate_of: str | None = None
    """The name in its certificate, where that is not the URL's host."""


class Http1Pool:
    """Connections to one server, with one request under way on each; the one that was used last is used next."""

    def __init__(self, connections: int) -> None:
        """At most this many connections; requests beyond them wait. Create it on the loop that will use it."""
        self._loop = asyncio.get_running_loop()
        self._room = asyncio.Semaphore(connections)
        self._server: Server | None = None
        self._open: set[_Connection] = set()
        self._idle: list[_Connection] = []  # the longest idle first
        self._sweeping: asyncio.TimerHandle | None = None
        self._opening = 0
        self._waiting: deque[asyncio.Future[None]] = deque()  # requests without a connection, the first one first

    async def exchange(self, server: Server, head: Head, body: bytes, *, limit: int) -> Answer:
        """Send one request and read the answer. Host and Content-Length come by themselves.

        Nothing is repeated: when a kept connection ends instead of answering, the request may have been carried out.

        Raises:
            OSError: there is no connection, or it ended before the answer did.
            BeyondLimitError: the answer is larger than `limit` bytes.
        """
        async with self._room:
            connection = self._kept(server) or await self._connection(server)
            first = f"{head.method} {connection.below}{head.target} HTTP/1.1\r\n".encode("ascii")
            length = b"Content-Length: %d\r\n\r\n" % len(body)
            request = b"".join((first, connection.host, head.headers.lines, length, body))
            answer = await connection.exchange(request, limit)
            self._keep(connection)
            return answer

    async def _connection(self, server: Server) -> _Connection:
        """One that is kept, at once or as soon as there is one, or a new one when it is its turn to be opened."""
        while (connection := self._kept(server)) is None:
            if self._may_open > 0:
                self._opening += 1
                try:
                    return await self._connect(server)
                finally:
                    self._opening -= 1
                    self._wake(self._may_open)
            await self._woken()
        return connection

    @property
    def _may_open(self) -> int:
        """So many more connections may be opened now."""
        return min(1 + len(self._open), OPENED_AT_ONCE) - self._opening

    async def _woken(self) -> None:
        """Wait for a connection that becomes idle, or has been opened."""
        waiter = self._loop.create_future()
        self._waiting.append(waiter)
        try:
            await waiter
        except asyncio.CancelledError:
            if not waiter.cancelled():  # it was our turn
                self._wake(1)
            raise

    def _wake(self, count: int) -> None:
        """Let so many of the requests that wait look again."""
        while self._waiting and count > 0:
            waiter = self._waiting.popleft()
            if not waiter.done():  # it is when its request was given up
                waiter.set_result(None)
                count -= 1

    async def aclose(self) -> None:
        """Close all connections."""
        if self._sweeping is not None:
            self._sweeping.cancel()
        connections = list(self._open)
        for connection in connections:
            connection.abort()
        await asyncio.gather(*(connection.ended for connection in connections))

    def _kept(self, server: Server) -> _Connection | None:
        if server != self._server:
            # Connections that were opened with an old certificate or CA are not used again.
            self._server = server
            while self._idle:
                self._idle.pop().abort()
        while self._idle:
            connection = self._idle.pop()
            if connection.reusable:
                return connection
        return None

    def _keep(self, connection: _Connection) -> None:
        if connection.reusable and connection.server == self._server:
            connection.idle_since = self._loop.time()
            self._idle.append(connection)
            self._wake(1)
            if self._sweeping is None:
                self._sweeping = self._loop.call_later(KEEP_ALIVE, self._sweep)
        else:
            connection.abort()

    def _sweep(self) -> None:
        """Close what has been idle for long, before the server does so while a request is on its way."""
        self._sweeping = None
        now = self._loop.time()
        while self._idle and self._idle[0].idle_since + KEEP_ALIVE <= now:
            self._idle.pop(0).abort()
        if self._idle:
            self._sweeping = self._loop.call_at(self._idle[0].idle_since + KEEP_ALIVE, self._sweep)

    async def _connect(self, server: Server) -> _Connection:
        url = urlsplit(server.url)
        encrypted = url.scheme == "https"
        host, port = url.hostname or "", url.port or (443 if encrypted else 80)
        try:
            async with asyncio.timeout(CONNECT_WITHIN):
                addresses = await self._loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
                opened = await start_connection(
                    addresses, happy_eyeballs_delay=_NEXT_ADDRESS_AFTER, interleave=1, socket_factory=open_socket
                )
                _, connection = await self._loop.create_connection(
                    lambda: _Connection(server, self._forget),
                    sock=opened,
                    ssl=server.ssl if encrypted else None,
                    server_hostname=(server.certificate_of or host) if encrypted else None,
                )
        except OSError as error:
            raise cannot_connect(host, port, error) from error
        if connection.reusable:
            self._open.add(connection)
        return connection

    def _forget(self, connection: _Connection) -> None:
        self._open.discard(connection)
        if connection in self._idle:
            self._idle.remove(connection)


class _Connection(asyncio.Protocol):
    """One connection. The event loop passes in what arrives, the parser calls back with what it means."""

    def __init__(self, server: Server, forget: Callable[[_Connection], None]) -> None:
        url = urlsplit(server.url)
        self.server = server
        self.host = f"Host: {url.netloc}\r\n".encode()
        self.below = url.path
        """A gateway has several servers below its own address."""
        self.idle_since = 0.0
        self._forget = forget
        self._loop = asyncio.get_running_loop()
        self.ended = self._loop.create_future()
        """Done once the connection is no more."""
        self._parser = HttpResponseParser(self)
        self._spent = False
        self._waiter: asyncio.Future[Answer] | None = None
        self._limit = 0
        self._came = 0  # bytes since the request that is open was sent
        self._body: list[bytes] = []
        self._encoding = ""
        self._retry_after: str | None = None

    @property
    def reusable(self) -> bool:
        """Whether another request may be sent on it."""
        return not (self._spent or self._transport.is_closing())

    async def exchange(self, request: bytes, limit: int) -> Answer:
        """Send this and wait for what comes back. A caller that stops waiting ends the connection."""
        if not self.reusable:
            raise _closed()
        self._waiter = self._loop.create_future()
        self._limit, self._came = limit, 0
        self._transport.write(request)
        try:
            return await self._waiter
        except BaseException:
            self.abort()
            raise
        finally:
            self._waiter = None

    def abort(self) -> None:
        """End it now."""
        self._spent = True
        if not self.ended.done():  # asyncio's encrypted ones cannot be ended twice
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self._came += len(data)
        if self._waiter is None or self._waiter.done():
            self.abort()  # the next request would take it for its answer
        elif self._came > self._limit:
            self._fail(BeyondLimitError(self._limit))
        else:
            try:
                self._parser.feed_data(data)
            except (HttpParserError, HttpParserUpgrade) as error:
                self._fail(ConnectionError(f"the answer is not HTTP/1.1: {error}"))

    def connection_lost(self, error: Exception | None) -> None:
        self._spent = True
        del self._parser  # each refers to the other, and only the collector would find them
        self.ended.set_result(None)
        self._forget(self)
        self._fail(error or _closed())

    def on_message_begin(self) -> None:
        """Of the parser: an answer begins."""
        self._body, self._encoding, self._retry_after = [], "", None
        if self._waiter is None or self._waiter.done():  # a second answer, right behind the first
            self.abort()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Of the parser: a header of the answer."""
        match name.lower():
            case b"retry-after":
                self._retry_after = value.decode("latin-1")
            case b"content-encoding":
                self._encoding = value.decode("latin-1")

    def on_body(self, part: bytes) -> None:
        """Of the parser: some of the answer's body."""
        self._body.append(part)

    def on_message_complete(self) -> None:
        """Of the parser: that was all."""
        status = self._parser.get_status_code()
        if status < 200:  # the answer is still to come
            return
        self._spent = self._spent or not self._parser.should_keep_alive()
        try:
            body = Body(self._limit, self._encoding)
            body.take(b"".join(self._body))
            answer = Answer(status, body.whole(), self._retry_after)
        except (BeyondLimitError, ConnectionError) as error:
            self._fail(error)
        else:
            if self._waiter is not None and not self._waiter.done():
                self._waiter.set_result(answer)

    def _fail(self, error: Exception) -> None:
        """There is no answer on this connection, and never will be."""
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_exception(error)
        self.abort()


def _closed() -> ConnectionResetError:
    return ConnectionResetError("the server closed the connection before it had answered")
