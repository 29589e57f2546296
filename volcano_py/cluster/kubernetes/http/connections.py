"""Sockets to the API server: kept open, with probes that notice when the other side has vanished."""

from __future__ import annotations

import socket
from typing import Final

from aiohappyeyeballs import AddrInfoType

KEEP_ALIVE: Final = 75.0  # seconds; below the 90 s after which the API server closes an idle connection
CONNECT_WITHIN: Final = 10.0  # seconds

_KEEP_ALIVE_PROBES: Final = {"TCP_KEEPIDLE": 15, "TCP_KEEPINTVL": 5, "TCP_KEEPCNT": 3, "TCP_USER_TIMEOUT": 30_000}
"""Seconds until the first probe and between probes, their number; milliseconds for sent data to be acknowledged."""


def cannot_connect(host: str, port: int | None, error: OSError) -> ConnectionError:
    """The same text for an error in both transports."""
    cause = error.strerror or str(error) or f"it took longer than {CONNECT_WITHIN:g} s"
    return ConnectionError(f"cannot connect to {host}:{port}: {cause}")


def open_socket(address: AddrInfoType) -> socket.socket:
    """A socket that notices within half a minute that the other side has vanished without a word."""
    family, kind, protocol, _, _ = address
    connection = socket.socket(family, kind, protocol)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    # Not every platform has these; where they are missing the stall detection of watches remains.
    for option, value in _KEEP_ALIVE_PROBES.items():
        if hasattr(socket, option):
            connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)
    return connection
