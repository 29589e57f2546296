"""Requests to a source of load outside the cluster: bounded in time and size, never redirected.

Addresses may contain a login (`https://name:password@host`); no message shows it.
"""

from __future__ import annotations

import asyncio
import base64
import ssl
from typing import Any, Final
from urllib.parse import urlsplit, urlunsplit

import aiohttp

from volcano_py.cluster.bounded_body import BodyTooLargeError, bounded_body
from volcano_py.cluster.load.source import LoadError, LoadSettings, Login


class Web:
    """Must be made on the loop that uses it.

    Attributes:
        shown: the address for messages, without a login.
    """

    def __init__(self, settings: LoadSettings, path: str, *, example: str, within: float, most_bytes: int) -> None:
        """`path` follows the address. `within`: seconds for each answer.

        Raises:
            LoadError: the address is no URL, there are two logins, or the file of authorities cannot be used.
        """
        if not _is_url(settings.address):
            raise LoadError(f"address {_without_login(settings.address)!r} is not a URL; write one such as {example}")
        if settings.login is not None and "@" in urlsplit(settings.address).netloc:
            raise LoadError("address has a login, and so has elasticsearch.username; remove one of them")
        self._url = settings.address.rstrip("/") + path
        self.shown = _without_login(self._url)
        self._within, self._most_bytes = within, most_bytes
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(ssl=_trust(settings), limit=2),
            timeout=aiohttp.ClientTimeout(total=None),
            headers=_authorization(settings.login),
        )

    async def ask(self, verb: str, **content: Any) -> tuple[int, bytes]:
        """Status and body of the answer; `content` is aiohttp's `params` or `json`.

        Raises:
            LoadError: there was none.
        """
        try:
            # aiohttp's own limit may lose a cancellation.
            async with (
                asyncio.timeout(self._within),
                self._session.request(verb, self._url, allow_redirects=False, **content) as response,
            ):
                return response.status, await bounded_body(response, self._most_bytes)
        except BodyTooLargeError as error:
            raise LoadError(f"{self.shown} {error}") from error
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
            raise LoadError(f"{self.shown} does not answer: {self._reason(error)}") from error

    def _reason(self, error: Exception) -> str:
        text = str(error) or type(error).__name__
        return text.replace(self._url, self.shown)

    async def aclose(self) -> None:
        """Close connections."""
        await self._session.close()


_LONGEST: Final = 200


def _without_login(address: str) -> str:
    """The address as far as messages show it."""
    try:
        parts = urlsplit(address)
        if "@" in parts.netloc:
            return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))
    except ValueError:
        pass
    return address.rpartition("@")[2][:_LONGEST]


def _authorization(login: Login | None) -> dict[str, str]:
    """The header of basic authentication (RFC 7617)."""
    if login is None:
        return {}
    return {"Authorization": "Basic " + base64.b64encode(f"{login.name}:{login.password}".encode()).decode()}


def _is_url(address: str) -> bool:
    try:
        parts = urlsplit(address)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # half an IPv6 address, or a port that is none
        return False


def _trust(settings: LoadSettings) -> ssl.SSLContext | bool:
    """For https only."""
    if settings.insecure:
        return False
    if not settings.ca_file:
        return True
    try:
        return ssl.create_default_context(cafile=settings.ca_file)
    except (OSError, ValueError) as error:  # ValueError: no path can be that
        raise LoadError(f"tls.caFile {settings.ca_file}: {getattr(error, 'strerror', None) or error}") from error
