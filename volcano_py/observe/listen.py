"""`--listen-address`: parsing it and opening its socket."""

from __future__ import annotations

import asyncio
import errno
import socket
from typing import Final

import msgspec

_BACKLOG: Final = 128
_HIGHEST_PORT: Final = 65535


class ListenError(OSError):
    """An address that cannot be listened on; the message names it and what would help."""


class ListenAddress(msgspec.Struct, frozen=True):
    """`host` is empty for all interfaces; `port` 0 lets the system choose."""

    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> ListenAddress:
        """`:8080`, `127.0.0.1:0`, `localhost:8080`, `[::1]:8080`.

        Raises:
            ValueError: it is none of these.
        """
        host, colon, port = text.strip().rpartition(":")
        if host.startswith("[") and host.endswith("]"):
            host = host[1:-1]
        elif ":" in host:
            colon = ""
        is_number = port.isascii() and port.isdigit()
        if not colon or not is_number or int(port) > _HIGHEST_PORT:
            raise ValueError(f"listen address {text!r} is not HOST:PORT (examples: :8080, 127.0.0.1:0, [::1]:8080)")
        return cls(host, int(port))

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


async def open_socket(address: ListenAddress) -> socket.socket:
    """A listening TCP socket, for IPv4 and IPv6 at once when the host is empty.

    Raises:
        ListenError: the port is taken, forbidden, or the host is none of this machine's.
    """
    try:
        if not address.host:
            return _all_interfaces(address.port)
        infos = await asyncio.get_running_loop().getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
        family, _, _, _, target = infos[0]
        return socket.create_server(target[:2], family=family, backlog=_BACKLOG)
    except OSError as error:
        raise ListenError(
            error.errno, f"cannot listen on {address}: {error.strerror or error}; choose another address, or port 0"
        ) from error


def chosen(sock: socket.socket) -> ListenAddress:
    """Where a socket listens really: the port that the system chose."""
    host, port = sock.getsockname()[:2]
    return ListenAddress(host, port)


def _all_interfaces(port: int) -> socket.socket:
    if socket.has_dualstack_ipv6():
        try:
            return socket.create_server(("", port), family=socket.AF_INET6, backlog=_BACKLOG, dualstack_ipv6=True)
        except OSError as error:
            # IPv6 compiled in but switched off, as in many containers.
            if error.errno not in {errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT}:
                raise
    return socket.create_server(("", port), family=socket.AF_INET, backlog=_BACKLOG)
