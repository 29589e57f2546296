"""Reads bodies of answers that aiohttp receives: nothing is read, or unpacked, beyond its limit.

aiohttp itself unpacks everything that has arrived, without a limit; sessions are opened with `auto_decompress=False`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator

import aiohttp

from volcano_py.cluster.kubernetes.http.answers import Body, Unpacker


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
