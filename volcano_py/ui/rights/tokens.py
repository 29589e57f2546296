"""Whose a token is, as a TokenReview says it."""

from __future__ import annotations

import base64
import binascii
import re
import time
from collections.abc import Mapping
from math import inf
from typing import Final

import msgspec

from volcano_py.cluster.kubernetes.http.client import KubernetesClient
from volcano_py.cluster.kubernetes.http.errors import RequestError
from volcano_py.cluster.kubernetes.http.paths import ApiPath
from volcano_py.ui.rights.sight import User

REVIEWS: Final = ApiPath("authentication.k8s.io/v1", "tokenreviews")
_TOKEN: Final = re.compile(r"[\x21-\x7e]{1,16384}", re.ASCII)
"""What can be one: it is a single word in a header, and headers have their limits."""
_WITHIN: Final = 5.0
"""Seconds for an answer."""


class UncheckedError(Exception):
    """It is not known whether the token is right; the text says why, and has nothing of the token."""


class Holder(msgspec.Struct, frozen=True):
    """Whose a token is. `until`: seconds since the epoch at which it ends, infinity where it does not say."""

    user: User
    until: float = inf


class _Review(msgspec.Struct, frozen=True):
    class Status(msgspec.Struct, frozen=True):
        class Info(msgspec.Struct, frozen=True):
            username: str = ""
            uid: str = ""
            groups: tuple[str, ...] | None = None
            extra: Mapping[str, tuple[str, ...]] | None = None

        authenticated: bool = False
        user: Info = Info()

    status: Status = Status()


class _Claims(msgspec.Struct, frozen=True):
    exp: float = inf


class Tokens:
    """Asks the API server. Its own account needs the right to create tokenreviews."""

    def __init__(self, client: KubernetesClient) -> None:
        self._client = client

    async def holder(self, token: str) -> Holder | None:
        """Whose it is; None when the API server does not accept it. The token is kept nowhere.

        Raises:
            UncheckedError: the API server has not answered.
        """
        if not _TOKEN.fullmatch(token):
            return None
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": token}}
        try:
            answer = msgspec.json.decode(await self._client.post(REVIEWS, body, within=_WITHIN), type=_Review)
        except (RequestError, msgspec.MsgspecError) as error:
            raise UncheckedError(f"the API server has not said whose the token is ({type(error).__name__})") from None
        found, until = answer.status.user, _ends(token)
        if not answer.status.authenticated or not found.username or until <= time.time():
            return None
        extra = tuple(sorted((key, tuple(values)) for key, values in (found.extra or {}).items()))
        return Holder(User(found.username, found.uid, tuple(found.groups or ()), extra), until)


def _ends(token: str) -> float:
    """What a token that has claims says of its own end. The API server has checked it; others do not say."""
    parts = token.split(".")
    if len(parts) != 3:
        return inf
    try:
        claims = base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4))
        return msgspec.json.decode(claims, type=_Claims).exp
    except (binascii.Error, ValueError, msgspec.MsgspecError):
        return inf
