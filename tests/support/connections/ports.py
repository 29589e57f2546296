"""A port without a listener."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def silent_port() -> Iterator[int]:
    """Connections to it on 127.0.0.1 are refused. Meanwhile the system gives it to no other process that lets it
    choose; one that asks for this one gets it."""
    with socket.socket() as holder:
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        holder.bind(("127.0.0.1", 0))
        yield holder.getsockname()[1]
