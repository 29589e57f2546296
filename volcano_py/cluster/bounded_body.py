"""Answers of servers that are not the API server: read up to a limit, whatever they announce."""

from __future__ import annotations

import aiohttp


class BodyTooLargeError(Exception):
    """The answer is larger than allowed; the text goes on after the name of the server."""


async def bounded_body(response: aiohttp.ClientResponse, most: int) -> bytes:
    """The body, unpacked.

    Raises:
        BodyTooLargeError: it has more than `most` bytes.
    """
    body = bytearray()
    async for chunk in response.content.iter_any():
        body += chunk
        if len(body) > most:
            raise BodyTooLargeError(f"answered more than {most} bytes")
    return bytes(body)
