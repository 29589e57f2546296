"""Answers of the server, and how large they may be: nothing is read, or unpacked, beyond its limit.

A tenant decides how large its objects are, and 300 KiB of gzip can hold 600 MiB. Limits are for the bytes on the wire
and, on their own, for the bytes they unpack to.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Final, NamedTuple

_MIB: Final = 2**20

# etcd takes objects of 1.5 MiB by default; as JSON, in which `<` has six characters, such an object can have 9 MiB.
OBJECT: Final = 16 * _MIB
"""One object, and one event of a watch."""
PAGE: Final = 64 * _MIB
"""A page of a list: 2,000 objects of 33 KB on average. A page that is larger is asked for with fewer objects."""
WHOLE_LIST: Final = 512 * _MIB
"""A list in one page, which is the way out where pages grow too old: 100,000 pods of 5 KB."""
BINDING: Final = 1 * _MIB
"""Success is 150 bytes; a refusal has the words of a webhook in it."""
ERROR: Final = 1 * _MIB
"""The explanation of a refusal, whatever was asked for."""

_PIECE: Final = _MIB  # bytes that are unpacked at a time


class Answer(NamedTuple):
    """What the server said."""

    status: int
    body: bytes
    retry_after: str | None


class BeyondLimitError(Exception):
    """An answer is larger than `limit` bytes."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"the answer is larger than {limit >> 10} KiB")
        self.limit = limit


class Unpacker:
    """Takes the bytes of a body as they come, and gives them unpacked: some proxies compress, asked or not."""

    def __init__(self, encoding: str) -> None:
        """`encoding` is the header Content-Encoding.

        Raises:
            ConnectionError: it is an unknown one.
        """
        self._inflate = None
        if encoding.lower() in ("gzip", "x-gzip", "deflate"):
            self._inflate = zlib.decompressobj(zlib.MAX_WBITS | 32)  # with the header of either
        elif encoding.lower() not in ("", "identity"):
            raise ConnectionError(f"the answer cannot be decompressed: Content-Encoding {encoding[:100]!r}")

    @property
    def is_complete(self) -> bool:
        """Whether nothing is missing at the end of what came."""
        return self._inflate is None or self._inflate.eof

    def pieces(self, data: bytes) -> Iterator[bytes]:
        """What this part of the body unpacks to, in pieces of bounded size.

        Raises:
            ConnectionError: it cannot be decompressed.
        """
        if self._inflate is None:
            yield data
            return
        try:
            while piece := self._inflate.decompress(data, _PIECE):
                yield piece
                data = self._inflate.unconsumed_tail
        except zlib.error as error:
            raise ConnectionError(f"the answer cannot be decompressed: {error}") from error


class Body:
    """The body of one answer, collected until it is complete."""

    def __init__(self, limit: int, encoding: str = "") -> None:
        """`limit` is in bytes, for what comes and for what it unpacks to. Raises as `Unpacker`."""
        self._limit, self._unpacker = limit, Unpacker(encoding)
        self._parts: list[bytes] = []
        self._came = self._unpacked = 0

    def take(self, data: bytes) -> None:
        """Another part came.

        Raises:
            BeyondLimitError: there is too much of it.
            ConnectionError: it cannot be decompressed.
        """
        self._came += len(data)
        for piece in self._unpacker.pieces(data):
            self._unpacked += len(piece)
            if max(self._came, self._unpacked) > self._limit:
                self._parts.clear()
                raise BeyondLimitError(self._limit)
            self._parts.append(piece)
        if self._came > self._limit:
            raise BeyondLimitError(self._limit)

    def whole(self) -> bytes:
        """All of it.

        Raises:
            ConnectionError: a compressed body ended early.
        """
        if self._came and not self._unpacker.is_complete:
            raise ConnectionError("the answer cannot be decompressed: it ended early")
        return b"".join(self._parts)


def limit_of(status: int, limit: int) -> int:
    """The limit for an answer with this status to a request whose answers have that limit."""
    return limit if status < 300 else min(limit, ERROR)


def without_explanation(status: int, retry_after: str | None) -> Answer:
    """A refusal whose explanation was too long to be read: the status alone says what to do."""
    return Answer(status, b"the explanation was not read: it is larger than %d KiB" % (ERROR >> 10), retry_after)
