"""Asks UFM for its ports: one request, with the name and password of a Secret."""

from __future__ import annotations

import asyncio
import base64
import binascii
from collections.abc import Mapping, Sequence
from typing import Final

import aiohttp
import msgspec

from volcano_py.cluster.bounded_body import BodyTooLargeError, bounded_body
from volcano_py.cluster.kubernetes.http.errors import ForbiddenError, NotFoundError, RequestError
from volcano_py.cluster.kubernetes.http.paths import ApiPath
from volcano_py.operator.hypernodes.sources import UfmSource
from volcano_py.operator.hypernodes.ufm import Port
from volcano_py.operator.kube_api import KubeApi

_PORTS: Final = "/ufmRest/resources/ports"
_ANSWERS_WITHIN: Final = 30.0  # seconds, as in Volcano
_MOST_BYTES: Final = 64 * 1024 * 1024
"""A port takes about a kilobyte: as many as 10,000 machines with several ports each have."""


class UfmError(RuntimeError):
    """UFM could not be asked, or what it answered cannot be used; the text says why."""


class Credentials(msgspec.Struct, frozen=True):
    username: str
    password: str

    def __repr__(self) -> str:
        return "Credentials(…)"


class _Secret(msgspec.Struct):
    data: Mapping[str, str] = {}


_secret = msgspec.json.Decoder(_Secret)
_ports = msgspec.json.Decoder(list[Port])


async def read_credentials(api: KubeApi, source: UfmSource) -> Credentials:
    """From the Secret that the source names, as it is now.

    Raises:
        UfmError: it is not there, may not be read, or lacks a key.
    """
    namespace, name = source.secret
    try:
        data = _secret.decode(await api.get(ApiPath("v1", "secrets", namespace, name))).data
        found = {key: base64.b64decode(data[key], validate=True).decode() for key in ("username", "password")}
    except NotFoundError as error:
        raise UfmError(f"Secret {namespace}/{name} of the credentials does not exist") from error
    except ForbiddenError as error:
        text = f"Secret {namespace}/{name} of the credentials may not be read: grant get on it, as manifests/ufm does"
        raise UfmError(text) from error
    except RequestError as error:
        raise UfmError(f"Secret {namespace}/{name} of the credentials cannot be read: {error}") from error
    except KeyError as error:
        raise UfmError(f"Secret {namespace}/{name} of the credentials lacks the key {error.args[0]}") from error
    except (binascii.Error, UnicodeDecodeError) as error:
        raise UfmError(f"Secret {namespace}/{name} of the credentials is not text: {error}") from error
    if ":" in found["username"]:  # which basic authentication cannot carry
        raise UfmError(f"Secret {namespace}/{name} of the credentials: username has a colon; use another user")
    return Credentials(found["username"], found["password"])


async def read_ports(source: UfmSource, credentials: Credentials) -> Sequence[Port]:
    """All ports that UFM knows.

    Raises:
        UfmError: there was no answer, or none that can be used.
    """
    url = source.endpoint + _PORTS
    headers = {"Authorization": aiohttp.encode_basic_auth(credentials.username, credentials.password, "utf-8")}
    connector = aiohttp.TCPConnector(ssl=not source.is_insecure)
    try:
        # aiohttp's own limit may lose a cancellation.
        async with (
            asyncio.timeout(_ANSWERS_WITHIN),
            aiohttp.ClientSession(connector=connector, timeout=aiohttp.ClientTimeout(total=None)) as session,
            session.get(url, headers=headers, allow_redirects=False) as response,
        ):
            if response.status != 200:
                raise UfmError(f"{url} answered {response.status}{_advice(response.status)}")
            body = await bounded_body(response, _MOST_BYTES)
    except BodyTooLargeError as error:
        raise UfmError(f"{url} {error}") from error
    except TimeoutError as error:
        raise UfmError(f"{url} did not answer within {_ANSWERS_WITHIN:g} s") from error
    except (aiohttp.ClientError, OSError, ValueError) as error:
        raise UfmError(f"{url} does not answer: {str(error) or type(error).__name__}") from error
    try:
        return await asyncio.to_thread(_ports.decode, body)
    except msgspec.MsgspecError as error:
        raise UfmError(f"{url} did not answer with a list of ports: {error}") from error


def _advice(status: int) -> str:
    if status in (401, 403):
        return ": correct username and password in the Secret"
    if 300 <= status < 400:
        return ": redirects are not followed, as the password would go along; correct endpoint"
    return ""
