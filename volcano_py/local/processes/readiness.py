"""Waiting until a process answers."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Sequence

import aiohttp

from volcano_py.local.processes.processes import ManagedProcess

_POLL_SECONDS = 0.05
_ANSWER_SECONDS = 2.0


async def wait_ready(
    process: ManagedProcess, url: str, seconds: float, *, needs: Sequence[ManagedProcess] = ()
) -> None:
    """Return once `url` answers 200.

    Raises ProcessFailedError, with the end of the log, when the process or one that it `needs` ends before, or when
    `seconds` pass.
    """
    deadline = asyncio.get_running_loop().time() + seconds
    connector = aiohttp.TCPConnector(ssl=_unverified())
    async with aiohttp.ClientSession(connector=connector, timeout=aiohttp.ClientTimeout(total=None)) as session:
        answer = ""
        while (answer := await _answer(session, url)) != "200":
            for each in (process, *needs):
                if not each.running:
                    raise each.failure("did not come up")
            if asyncio.get_running_loop().time() > deadline:
                raise process.failure(f"was not ready after {seconds:.0f} s; {url} says: {answer}")
            await asyncio.sleep(_POLL_SECONDS)


async def _answer(session: aiohttp.ClientSession, url: str) -> str:
    """ "200", or what is said instead."""
    try:
        # aiohttp's own limit may lose a cancellation.
        async with asyncio.timeout(_ANSWER_SECONDS), session.get(url) as response:
            if response.status == 200:
                return "200"
            return f"{response.status} {(await response.text())[:500].strip()}"
    except (aiohttp.ClientError, TimeoutError, OSError) as error:
        return str(error) or type(error).__name__


def _unverified() -> ssl.SSLContext:
    """Self-made certificates on the loopback interface; whether a process is ready is no secret.

    `ssl.create_default_context` would read the certificates of the system, which takes 20 ms.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context
