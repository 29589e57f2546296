"""Free TCP ports on the loopback interface."""

from __future__ import annotations

import random
import socket
from pathlib import Path

from volcano_py.local.errors import LocalError

LOOPBACK = "127.0.0.1"

_LOWEST = 10240
"""Below are the ports of well-known services, the control plane's own defaults among them."""

_USUAL_EPHEMERAL_START = 32768
"""Linux' default, for systems that do not report theirs."""

_ATTEMPTS = 200


def free_port(taken: set[int]) -> int:
    """A port without a listener, not in `taken`, and below the system's range of ephemeral ports.

    A port of that range may be given to any outgoing connection while a server restarts; worse, a client that
    retries a loopback connection can be given the very port it connects to, and then talks to itself. `taken` gets
    the answer, so that the next call cannot return it.
    """
    highest = _ephemeral_start() - 1
    for _ in range(_ATTEMPTS):
        port = random.randint(_LOWEST, highest)
        if port not in taken and _is_free(port):
            taken.add(port)
            return port
    raise LocalError(f"no free TCP port between {_LOWEST} and {highest} on {LOOPBACK} after {_ATTEMPTS} attempts")


def _is_free(port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        # Servers set it too: connections of an earlier server that linger in TIME_WAIT do not matter.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
    return True


def _ephemeral_start() -> int:
    try:
        start = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text(encoding="ascii").split()[0])
    except (OSError, ValueError, IndexError):
        return _USUAL_EPHEMERAL_START
    # A machine that hands out almost every port leaves no room below; then any port is as good as another.
    return start if start > _LOWEST + _ATTEMPTS else _USUAL_EPHEMERAL_START
