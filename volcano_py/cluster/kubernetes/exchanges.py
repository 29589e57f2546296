"""Requests whose answers are read whole, over kept connections: what a scheduler sends by the thousand.

With aiohttp a binding takes 130 microseconds of our CPU, 100 of them on its way through that library, which does a lot
that an API server has no use for. So here is what there is a use for and no more: parsing is httptools', finding an
address that answers aiohappyeyeballs', encryption the event loop's.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import zlib
from collections.abc import Callable
from typing import Final, NamedTuple, cast
from urllib.parse import urlsplit

from aiohappyeyeballs import start_connection
from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

from volcano_py.cluster.kubernetes.connections import CONNECT_WITHIN, KEEP_ALIVE, cannot_connect, open_socket

# Seconds that an address may take before the next one of the same name is tried beside it (RFC 8305, section 5).
_NEXT_ADDRESS_AFTER: Final = 0.25


class Server(NamedTuple):
    """Whom to speak to, and how to know it."""

    url: str
    ssl: ssl.SSLContext | bool
    certificate_of: str | None = None
    """The name in its certificate, where that is not the URL's host."""


class Answer(NamedTuple):
    """What the server said."""

    status: int
    body: bytes
    retry_after: str | None


class Exchanges:
    """Connections to one server, with one request under way on each; the one that was used last is used next."""

    def __init__(self, connections: int) -> None:
        """So many for requests that are not urgent; more of them wait. To be made on the loop that will use it."""
        self._loop = asyncio.get_running_loop()
        self._room = asyncio.Semaphore(connections)
        self._no_limit = contextlib.nullcontext()
        self._server: Server | None = None
        self._open: set[_Connection] = set()
        self._idle: list[_Connection] = []  # the longest idle first
        self._sweeping: asyncio.TimerHandle | None = None

    async def exchange(
        self, server: Server, verb: str, path: str, headers: bytes, body: bytes, *, urgent: bool = False
    ) -> Answer:
        """Send one request and read the answer. `headers` are whole lines; Host and Content-Length come by themselves.

        Nothing is repeated: when a kept connection ends instead of answering, the request may have been carried out.

        Raises:
            OSError: there is no connection, or it ended before the answer did.
        """
        async with self._no_limit if urgent else self._room:
            connection = self._kept(server) or await self._connect(server)
            answer = await connection.exchange(
                b"%b %b HTTP/1.1\r\n%b%bContent-Length: %d\r\n\r\n%b"
                % (verb.encode(), path.encode(), connection.host, headers, len(body), body)
            )
            self._keep(connection)
            return answer

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
            # What an old certificate or CA has opened is not used any more.
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
                    lambda: _Connection(server, url.netloc, self._forget),
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
    """One connection: the loop tells it what has come, the parser what that means."""

    def __init__(self, server: Server, host: str, forget: Callable[[_Connection], None]) -> None:
        self.server = server
        self.host = f"Host: {host}\r\n".encode()
        self.idle_since = 0.0
        self._forget = forget
        self._loop = asyncio.get_running_loop()
        self.ended = self._loop.create_future()
        """Done once the connection is no more."""
        self._parser = HttpResponseParser(self)
        self._spent = False
        self._waiter: asyncio.Future[Answer] | None = None
        self._body: list[bytes] = []
        self._encoding = b""
        self._retry_after: str | None = None

    @property
    def reusable(self) -> bool:
        """Whether another request may be sent on it."""
        return not (self._spent or self._transport.is_closing())

    async def exchange(self, request: bytes) -> Answer:
        """Send this and wait for what comes back. Whoever stops waiting ends the connection."""
        if not self.reusable:
            raise _closed()
        self._waiter = self._loop.create_future()
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
        try:
            self._parser.feed_data(data)
        except (HttpParserError, HttpParserUpgrade) as error:
            self._fail(ConnectionError(f"what was answered is not HTTP/1.1: {error}"))
            self.abort()

    def connection_lost(self, error: Exception | None) -> None:
        self._spent = True
        del self._parser  # each refers to the other, and only the collector would find them
        self.ended.set_result(None)
        self._forget(self)
        self._fail(error or _closed())

    def on_message_begin(self) -> None:
        """Of the parser: an answer begins."""
        if self._waiter is None or self._waiter.done():  # to nothing that was asked; the next one would take it for its
            self.abort()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Of the parser: a header of the answer."""
        match name.lower():
            case b"retry-after":
                self._retry_after = value.decode("latin-1")
            case b"content-encoding":
                self._encoding = value.lower()

    def on_body(self, part: bytes) -> None:
        """Of the parser: some of the answer's body."""
        self._body.append(part)

    def on_message_complete(self) -> None:
        """Of the parser: that was all."""
        status, body = self._parser.get_status_code(), b"".join(self._body)
        encoding, retry_after = self._encoding, self._retry_after
        self._body, self._encoding, self._retry_after = [], b"", None
        if status < 200:  # the answer is still to come
            return
        self._spent = self._spent or not self._parser.should_keep_alive()
        try:
            answer = Answer(status, _plain(body, encoding) if encoding else body, retry_after)
        except (zlib.error, ValueError):
            self._fail(ConnectionError(f"the answer cannot be decompressed: Content-Encoding {encoding.decode()}"))
        else:
            if self._waiter is not None and not self._waiter.done():
                self._waiter.set_result(answer)

    def _fail(self, error: Exception) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_exception(error)


def _plain(body: bytes, encoding: bytes) -> bytes:
    """Some proxies compress whatever passes through them, asked or not."""
    match encoding:
        case b"gzip" | b"x-gzip" | b"deflate":
            return zlib.decompress(body, wbits=zlib.MAX_WBITS | 32)  # with the header of either
        case b"identity":
            return body
        case _:
            raise ValueError(encoding)


def _closed() -> ConnectionResetError:
    return ConnectionResetError("the server closed the connection before it had answered")
