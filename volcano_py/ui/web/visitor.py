"""Who has sent a request, as the door has found it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, Protocol

import msgspec
from aiohttp import web
from aiohttp.typedefs import Middleware

from volcano_py.ui.rights.sight import User


class Visitor(msgspec.Struct, frozen=True):
    """Whoever looks at the page."""

    user: User
    can_leave: bool = False
    """Whether there is a session to end."""


_KEY: Final = web.RequestKey("volcano-py-visitor", Visitor)


class Door(Protocol):
    """Lets requests in, and says whose they are."""

    @property
    def middleware(self) -> Middleware:
        """Answers requests that may not pass; of the others, it notes the visitor."""

    async def visitor(self, request: web.Request) -> Visitor | None:
        """Who has sent the request; None if that visitor may not, or no longer, come in."""

    def routes(self) -> list[web.RouteDef]:
        """Paths of its own."""

    def address(self, own: str) -> str:
        """What opens the page that is served at `own`, HOST:PORT."""


def note(request: web.Request, visitor: Visitor) -> None:
    """From now on it is known who has sent the request."""
    request[_KEY] = visitor


def visitor_of(request: web.Request) -> Visitor:
    """Who has sent it."""
    return request[_KEY]


class Share:
    """What one user has under way at most, so that no other waits for it."""

    def __init__(self, most: int, what: str) -> None:
        self._most, self._what = most, what
        self._held: Counter[str] = Counter()

    @contextmanager
    def held(self, user: User) -> Iterator[None]:
        """One more, inside.

        Raises:
            HTTPTooManyRequests: the user has as many as there may be.
        """
        if self._held[user.name] >= self._most:
            raise web.HTTPTooManyRequests(text=f"429: you have {self._most} {self._what} open: close one of them\n")
        self._held[user.name] += 1
        try:
            yield
        finally:
            self._held[user.name] -= 1
            if not self._held[user.name]:
                del self._held[user.name]
