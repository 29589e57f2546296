"""Our rules for aiohttp: bytes that no request asked for close a connection, and bodies have limits.

aiohttp itself unpacks all that has arrived, without a limit, so sessions are opened with `auto_decompress=False`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from functools import partial
from ssl import SSLContext
from typing import Any

import aiohttp
from aiohttp.client_proto import ResponseHandler

from volcano_py.cluster.kubernetes.http.answers import Body, Unpacker
from volcano_py.cluster.kubernetes.http.connections import KEEP_ALIVE, open_socket


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


class Connector(aiohttp.TCPConnector):
    """Keeps connections on which nothing comes unasked."""

    def __init__(self, ssl: SSLContext | bool = True) -> None:
        """`ssl` is for requests that give none."""
        super().__init__(limit=0, keepalive_timeout=KEEP_ALIVE, socket_factory=open_socket, ssl=ssl)
        self._factory: partial[_Handler] = partial(_Handler, loop=self._loop)  # type: ignore[assignment]

    def _release(self, key: Any, protocol: ResponseHandler, *, should_close: bool = False) -> None:
        if isinstance(protocol, _Handler):
            protocol.is_asked = False
        super()._release(key, protocol, should_close=should_close)


async def pieces(content: aiohttp.StreamReader, encoding: str) -> AsyncIterator[bytes]:
    """A body that has no end, as it comes: unpacked, in pieces of bounded size. `encoding` is its Content-Encoding.

    Raises:
        ConnectionError: it cannot be unpacked.
        aiohttp.ClientError: the connection broke.
    """
    unpacker = Unpacker(encoding)
    async for chunk in content.iter_any():
        for piece in unpacker.pieces(chunk):
            yield piece


async def whole(content: aiohttp.StreamReader, encoding: str, limit: int) -> bytes:
    """All of a body, unpacked.

    Raises:
        BeyondLimitError: it has more than `limit` bytes, as it comes or unpacked.
        ConnectionError: it cannot be unpacked.
        aiohttp.ClientError: the connection broke.
    """
    body = Body(limit, encoding)
    async for chunk in content.iter_any():
        body.take(chunk)
    return body.whole()
