"""Reads one request of the webhook port: a POST with a Content-Length, which is all that API servers send.

What a caller may do otherwise is refused before its body is read: transfer codings, content codings, other methods.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from http import HTTPStatus
from typing import Final

import httptools
import msgspec

LARGEST_HEAD: Final = 16 * 2**10
"""Bytes of a request line and its headers; those of an API server have a few hundred."""
_PIECE: Final = 64 * 2**10  # bytes of a body that are read at a time
_END: Final = b"\r\n\r\n"


class RefusedError(Exception):
    """A request that is answered with an error instead of being read to its end."""

    def __init__(self, status: HTTPStatus, problem: str) -> None:
        super().__init__(problem)
        self.status = status


class Head(msgspec.Struct, frozen=True):
    """A request line and what matters of its headers."""

    path: str
    length: int
    keeps_alive: bool


async def read_head(reader: asyncio.StreamReader, first: bytes) -> Head:
    """The head of a request, of which the first byte has been read.

    Raises:
        RefusedError: it is none that a webhook answers.
        asyncio.IncompleteReadError: the peer has hung up.
    """
    try:
        text = first + await reader.readuntil(_END)
    except asyncio.LimitOverrunError as error:
        raise RefusedError(
            HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, f"the headers have more than {LARGEST_HEAD} bytes"
        ) from error
    if len(text) > LARGEST_HEAD:
        raise RefusedError(
            HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, f"the headers have more than {LARGEST_HEAD} bytes"
        )
    return _Parsed(text).head()


async def read_body(reader: asyncio.StreamReader, length: int, hold: Callable[[int], None]) -> bytes:
    """The body, piece by piece; `hold` is called with the size of each, and may raise to end this.

    Pieces are joined when all have come: a buffer that grows would leave holes of all sizes in the process's memory.

    Raises:
        asyncio.IncompleteReadError: the peer has hung up.
    """
    pieces: list[bytes] = []
    left = length
    while left:
        piece = await reader.read(min(_PIECE, left))
        if not piece:
            raise asyncio.IncompleteReadError(b"", length)
        hold(len(piece))
        pieces.append(piece)
        left -= len(piece)
    return b"".join(pieces)


def answer(status: HTTPStatus, body: bytes, *, keeps_alive: bool) -> bytes:
    """A whole answer, as it is sent."""
    lines = [
        f"HTTP/1.1 {status.value} {status.phrase}",
        "Content-Type: application/json; charset=utf-8",
        f"Content-Length: {len(body)}",
        *(() if keeps_alive else ("Connection: close",)),
        *(("Retry-After: 1",) if status in (HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.TOO_MANY_REQUESTS) else ()),
    ]
    return "\r\n".join(lines).encode() + _END + body


class _Parsed:
    """Callbacks of the parser."""

    def __init__(self, text: bytes) -> None:
        self._url = b""
        self._headers: dict[bytes, list[bytes]] = {}
        self._begun, self._has_body = 0, False
        # Not kept: it refers to this object, and the two of them would be garbage in a cycle.
        parser = httptools.HttpRequestParser(self)
        try:
            parser.feed_data(text)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            raise RefusedError(HTTPStatus.BAD_REQUEST, "the request is malformed") from error
        self._method, self._keeps_alive = parser.get_method(), parser.should_keep_alive()

    def on_message_begin(self) -> None:
        self._begun += 1

    def on_url(self, url: bytes) -> None:
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers.setdefault(name.lower(), []).append(value)

    def on_body(self, _body: bytes) -> None:
        self._has_body = True

    def head(self) -> Head:
        """
        Raises:
            RefusedError: it is none that a webhook answers.
        """
        if self._begun != 1 or self._has_body:  # the parser has found another end than we have
            raise RefusedError(HTTPStatus.BAD_REQUEST, "the request is malformed")
        if self._method != b"POST":
            raise RefusedError(HTTPStatus.METHOD_NOT_ALLOWED, "reviews are sent with POST")
        if b"content-encoding" in self._headers:
            raise RefusedError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "send the review without Content-Encoding")
        lengths = self._headers.get(b"content-length", [])
        if b"transfer-encoding" in self._headers or len(lengths) != 1 or not lengths[0].isdigit():
            raise RefusedError(HTTPStatus.LENGTH_REQUIRED, "send the review with one Content-Length")
        path = self._url.partition(b"?")[0].decode("latin-1")
        return Head(path, int(lengths[0]), self._keeps_alive)
