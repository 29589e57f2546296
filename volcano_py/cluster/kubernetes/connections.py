"""Connections to the API server: kept open, and found out when the other side has vanished."""

from __future__ import annotations

import socket
from functools import lru_cache
from typing import Final

import aiohttp

_KEEP_ALIVE: Final = 75.0  # seconds; below the 90 s after which the API server closes an idle connection
_CONNECT_WITHIN: Final = 10.0  # seconds
_READ_BUFFER: Final = 2**20  # bytes; pages and events are larger than aiohttp's 64 KiB, and flow control costs CPU

_KEEP_ALIVE_PROBES: Final = {"TCP_KEEPIDLE": 15, "TCP_KEEPINTVL": 5, "TCP_KEEPCNT": 3, "TCP_USER_TIMEOUT": 30_000}
"""Seconds until the first probe and between probes, their number; milliseconds for sent data to be acknowledged."""


def open_session(connections: int) -> aiohttp.ClientSession:
    """A session of so many connections at most; 0 is without a limit. Must be called on the loop that will use it."""
    connector = aiohttp.TCPConnector(limit=connections, keepalive_timeout=_KEEP_ALIVE, socket_factory=_socket)
    return aiohttp.ClientSession(connector=connector, cookie_jar=aiohttp.DummyCookieJar(), read_bufsize=_READ_BUFFER)


@lru_cache
def timeout(seconds: float | None) -> aiohttp.ClientTimeout:
    """For a request that may take so long; None is for ever, as watches do."""
    return aiohttp.ClientTimeout(total=seconds, sock_connect=_CONNECT_WITHIN)


def _socket(address: aiohttp.AddrInfoType) -> socket.socket:
    """A socket that notices within half a minute that the other side has vanished without a word."""
    family, kind, protocol, _, _ = address
    connection = socket.socket(family, kind, protocol)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    # Not every platform has these; where they are missing the stall detection of watches remains.
    for option, value in _KEEP_ALIVE_PROBES.items():
        if hasattr(socket, option):
            connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)
    return connection
