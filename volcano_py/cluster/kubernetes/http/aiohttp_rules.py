"""aiohttp's connections to the API server, closed when bytes come that no request asked for."""

from __future__ import annotations

from functools import partial
from ssl import SSLContext
from typing import Any

import aiohttp
from aiohttp.client_proto import ResponseHandler

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
