"""A small HTTP/1.1 client for the API server.

A binding over aiohttp takes three times the CPU (figures: docs/architecture.md), and loading aiohttp takes a fifth of
the CPU of a start. `transport.py` decides which request goes where; nothing else uses this module. httptools parses,
aiohappyeyeballs finds an address that answers, and the event loop encrypts.

Limits:

- Requests under way: one on each connection, and so many connections at most. Further requests wait, without a limit.
  Urgent ones and watches do not count, and wait for no other request.
- Answer: the caller's limit, 1 MiB for a binding (`answers.BINDING`), for everything that comes on the wire, headers
  included, and once more for what it unpacks to. Beyond that `BeyondLimitError`. A watch has no such limit: its
  connection is not read while `answers.AHEAD` bytes wait for the reader.
- Connections that are being opened: 16 (`OPENED_AT_ONCE`). Other requests wait for these, or for one that is free.
- Time: 10 s to connect (`connections.CONNECT_WITHIN`), another address of the same name is tried after 250 ms. The
  caller limits the time for an answer. An idle connection is closed after 75 s (`connections.KEEP_ALIVE`).
- Encodings: identity, gzip and deflate; any other is an error.

Refused: upgrades, and bytes that no open request has asked for; both end the connection. Not supported: redirects (the
answer is passed on), cookies, proxies, pipelining, requests without a body length. Nothing is sent twice but a GET on a
kept connection that ends before any byte of the answer came.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, nullcontext
from typing import Final, NamedTuple, cast
from urllib.parse import urlsplit

from aiohappyeyeballs import start_connection
from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

from volcano_py.cluster.kubernetes.http.answers import (
    ERROR,
    Answer,
    BeyondLimitError,
    Body,
    Stream,
    limit_of,
    without_explanation,
)
from volcano_py.cluster.kubernetes.http.connections import CONNECT_WITHIN, KEEP_ALIVE, cannot_connect, open_socket
from volcano_py.cluster.kubernetes.http.heads import Head

# Seconds that an address may take before the next one of the same name is tried as well (RFC 8305, section 5).
_NEXT_ADDRESS_AFTER: Final = 0.25

# A new connection takes a millisecond of CPU on both sides. When all are opened at once, the first request goes out
# when the last handshake is about to end; one after the other would wait for the network each time.
OPENED_AT_ONCE: Final = 16


class Server(NamedTuple):
    """The address of a server, and how to verify its certificate."""

    url: str
    ssl: ssl.SSLContext | bool
    certificate_of: str | None = None
    """The name in its certificate, where that is not the URL's host."""


class Http1Pool:
    """Connections to one server, with one request under way on each; the one that was used last is used next.

    All requests share them: a watch goes over the connection on which its kind was listed. Opening one takes a
    millisecond of CPU on both sides, and a daemon opens two dozen watches when it starts.
    """

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

    async def exchange(
        self, server: Server, head: Head, body: bytes | None, *, limit: int, urgent: bool = False
    ) -> Answer:
        """Send one request and read the answer. Host and Content-Length come by themselves.

        When a kept connection ends instead of answering, the request may have been carried out: only a GET is repeated.

        Raises:
            OSError: there is no connection, or it ended before the answer did.
            BeyondLimitError: the answer is larger than `limit` bytes.
        """
        async with nullcontext() if urgent else self._room:
            kept = self._kept(server)
            connection = kept or await self._connection(server, urgent=urgent)
            try:
                answer = await connection.exchange(head, body, limit)
            except ConnectionError:
                if kept is None or head.method != "GET" or kept.has_heard:
                    raise
                connection = await self._connection(server, urgent=urgent)
                answer = await connection.exchange(head, body, limit)
            self._keep(connection)
            return answer

    @asynccontextmanager
    async def watch(self, server: Server, head: Head) -> AsyncIterator[tuple[Stream | Answer, Callable[[], None]]]:
        """The answer as it comes, or a refusal, and what ends it; leaving the block does so, too.

        Raises:
            OSError: the server did not answer.
        """
        connection = self._kept(server) or await self._connection(server, urgent=True)
        try:
            yield await connection.open(head), connection.abort
        finally:
            if connection.has_answered:
                self._keep(connection)
            else:
                connection.abort()

    async def _connection(self, server: Server, *, urgent: bool) -> _Connection:
        """One that is kept, at once or as soon as there is one, or a new one when it is its turn to be opened."""
        while (connection := self._kept(server)) is None:
            if urgent or self._opening < OPENED_AT_ONCE:
                self._opening += 1
                try:
                    return await self._connect(server)
                finally:
                    self._opening -= 1
                    self._wake_one()
            await self._woken()
        return connection

    async def _woken(self) -> None:
        """Wait for a connection that becomes idle, or has been opened."""
        waiter = self._loop.create_future()
        self._waiting.append(waiter)
        try:
            await waiter
        except asyncio.CancelledError:
            if not waiter.cancelled():  # it was our turn
                self._wake_one()
            raise

    def _wake_one(self) -> None:
        while self._waiting:
            waiter = self._waiting.popleft()
            if not waiter.done():  # it is when its request was given up
                waiter.set_result(None)
                return

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
            self._wake_one()
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
        self.idle_since = 0.0
        self._host = f"Host: {url.netloc}\r\n".encode()
        self._below = url.path  # a gateway has several servers below its own address
        self._forget = forget
        self._loop = asyncio.get_running_loop()
        self.ended = self._loop.create_future()
        """Done once the connection is no more."""
        self._parser = HttpResponseParser(self)
        self._spent = False
        self._waiter: asyncio.Future[Answer | Stream] | None = None
        self._streams = False  # what is asked for has no end
        self._stream: Stream | None = None  # of a watch that is open
        self._limit = 0
        self._came = 0  # bytes since the request that is open was sent
        self._body: Body | None = None
        self._encoding = ""
        self._retry_after: str | None = None

    @property
    def reusable(self) -> bool:
        """Whether another request may be sent on it."""
        return not (self._spent or self._transport.is_closing())

    @property
    def has_heard(self) -> bool:
        """Whether anything has come since the last request was sent."""
        return self._came > 0

    @property
    def has_answered(self) -> bool:
        """Whether nothing more of an answer is to come."""
        return self._stream is None and not self._is_awaited

    async def exchange(self, head: Head, body: bytes | None, limit: int) -> Answer:
        """Send this and wait for what comes back. A caller that stops waiting ends the connection."""
        self._streams = False
        answer = await self._answered(head, body, limit)
        assert isinstance(answer, Answer)
        return answer

    async def open(self, head: Head) -> Stream | Answer:
        """Send this and wait for the first lines of the answer. With a refusal, its whole explanation."""
        self._streams = True
        return await self._answered(head, None, ERROR)

    async def _answered(self, head: Head, body: bytes | None, limit: int) -> Answer | Stream:
        if not self.reusable:
            raise _closed()
        self._waiter = self._loop.create_future()
        self._limit, self._came = limit, 0
        self._transport.write(self._request(head, body))
        try:
            return await self._waiter
        except BaseException:
            self.abort()
            raise
        finally:
            self._waiter = None

    def _request(self, head: Head, body: bytes | None) -> bytes:
        first = f"{head.method} {self._below}{head.target} HTTP/1.1\r\n".encode("ascii")
        length = b"\r\n" if body is None else b"Content-Length: %d\r\n\r\n" % len(body)
        return b"".join((first, self._host, head.headers.lines, length, body or b""))

    @property
    def _is_awaited(self) -> bool:
        return self._waiter is not None and not self._waiter.done()

    def abort(self) -> None:
        """End it now."""
        self._spent = True
        if not self.ended.done():  # asyncio's encrypted ones cannot be ended twice
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self._came += len(data)
        if self._stream is None and not self._is_awaited:
            self.abort()  # the next request would take it for its answer
            return
        try:
            self._parser.feed_data(data)
        except (HttpParserError, HttpParserUpgrade) as error:
            self._fail(ConnectionError(f"the answer is not HTTP/1.1: {error}"))
        if self._is_awaited and self._came > self._limit:
            self._give_up(BeyondLimitError(self._limit))

    def connection_lost(self, error: Exception | None) -> None:
        self._spent = True
        del self._parser  # each refers to the other, and only the collector would find them
        self.ended.set_result(None)
        self._forget(self)
        self._fail(error or _closed())

    def on_message_begin(self) -> None:
        """Of the parser: an answer begins."""
        self._body, self._encoding, self._retry_after = None, "", None
        if not self._is_awaited:  # a second answer, right behind the first
            self.abort()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Of the parser: a header of the answer."""
        match name.lower():
            case b"retry-after":
                self._retry_after = value.decode("latin-1")
            case b"content-encoding":
                self._encoding = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        """Of the parser: the body follows."""
        status = self._parser.get_status_code()
        if status < 200 or not self._is_awaited:
            return
        try:
            if self._streams and status < 300:
                self._stream = Stream(self._encoding, self._transport)
                self._reply(self._stream)
            else:
                self._body = Body(limit_of(status, self._limit), self._encoding)
        except ConnectionError as error:
            self._fail(error)

    def on_body(self, part: bytes) -> None:
        """Of the parser: some of the answer's body."""
        if self._stream is not None:
            self._stream.take(part)
        elif self._body is not None:
            try:
                self._body.take(part)
            except (BeyondLimitError, ConnectionError) as error:
                self._body = None
                self._give_up(error)

    def on_message_complete(self) -> None:
        """Of the parser: that was all."""
        if self._parser.get_status_code() < 200:  # the answer is still to come
            return
        self._spent = self._spent or not self._parser.should_keep_alive()
        if self._stream is not None:
            self._stream.end(None)
            self._stream = None
        if self._body is None:
            return
        try:
            self._reply(Answer(self._parser.get_status_code(), self._body.whole(), self._retry_after))
        except ConnectionError as error:
            self._fail(error)
        self._body = None

    def _give_up(self, error: Exception) -> None:
        """The body cannot be read. Of a refusal with too many words, the status alone says enough."""
        status = self._parser.get_status_code()
        if isinstance(error, BeyondLimitError) and status >= 300:
            self._reply(without_explanation(status, self._retry_after))
        self._fail(error)

    def _reply(self, answer: Answer | Stream) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(answer)

    def _fail(self, error: Exception) -> None:
        """There is no answer on this connection, or no more of it, and never will be."""
        if self._stream is not None:
            self._stream.end(error)
        elif self._waiter is not None and not self._waiter.done():
            self._waiter.set_exception(error)
        self.abort()


def _closed() -> ConnectionResetError:
    return ConnectionResetError("the server closed the connection before it had answered")
