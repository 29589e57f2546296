"""Sessions of users who have signed in: bounded in time and number, in memory only."""

from __future__ import annotations

import asyncio
import hashlib
import secrets
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Final

import structlog

from volcano_py.ui.rights.tokens import Holder, UncheckedError
from volcano_py.ui.web.visitor import Visitor

log = structlog.get_logger(__name__)

LASTS: Final = 3600.0
"""Seconds that a session lasts, or less: it ends with the token."""
CHECKED_FOR: Final = 60.0
"""Seconds for which an answer about the token counts: as long a session outlives a token that was taken back."""
UNANSWERED_FOR: Final = 2.0
"""Seconds until a question that had no answer is asked again. Meanwhile the session goes on: to show something needs
answers of the same API server about rights."""
MOST: Final = 1000
MOST_OF_ONE: Final = 10
"""Sessions, of all users and of one; each further one ends the user's oldest, or the oldest of all."""
_AT_ONCE: Final = 8
"""Tokens that are checked again at once."""


class _Session:
    """`check_at`: when the token is asked about again. Its text is here, and nowhere else, as long as the session."""

    __slots__ = ("check_at", "lock", "token", "until", "visitor")

    def __init__(self, visitor: Visitor, token: str, until: float, check_at: float) -> None:
        self.visitor, self.token, self.until, self.check_at = visitor, token, until, check_at
        self.lock = asyncio.Lock()


class Sessions:
    """What is kept of a cookie is its hash."""

    def __init__(
        self, holder_of: Callable[[str], Awaitable[Holder | None]], clock: Callable[[], float] = time.time
    ) -> None:
        """`holder_of`: whose a token is (see `Tokens.holder`). `clock`: seconds since the epoch."""
        self._holder_of, self._clock = holder_of, clock
        self._kept: OrderedDict[bytes, _Session] = OrderedDict()
        self._checking = asyncio.Semaphore(_AT_ONCE)

    def begin(self, holder: Holder, token: str) -> tuple[str, int]:
        """The text of the cookie, and for how many seconds it counts."""
        now = self._clock()
        self.forget()
        own = [key for key, each in self._kept.items() if each.visitor.user.name == holder.user.name]
        for key in own[: max(0, len(own) - MOST_OF_ONE + 1)]:
            del self._kept[key]
        while len(self._kept) >= MOST:
            self._kept.popitem(last=False)
        text, until = secrets.token_urlsafe(32), min(now + LASTS, holder.until)
        visitor = Visitor(holder.user, can_leave=True)
        self._kept[_hash(text)] = _Session(visitor, token, until, now + CHECKED_FOR)
        return text, max(1, int(until - now))

    async def visitor(self, text: str) -> Visitor | None:
        """Whose session it is, if it still lasts. Once a minute it takes as long as the API server's answer."""
        key = _hash(text)
        session = self._kept.get(key)
        if session is None:
            return None
        async with session.lock:
            if session.check_at <= self._clock() < session.until:
                await self._check(key, session)
        return session.visitor if self._kept.get(key) is session and self._clock() < session.until else None

    async def _check(self, key: bytes, session: _Session) -> None:
        """Ask whose the token is now, and end the session if it is no longer that user's."""
        try:
            async with self._checking:
                holder = await self._holder_of(session.token)
        except UncheckedError as error:
            log.warning("token not checked again", error=str(error))
            session.check_at = self._clock() + UNANSWERED_FOR
            return
        user = session.visitor.user
        if holder is None or holder.user.name != user.name:
            log.info("session ended: its token is no longer accepted", user=user.name)
            session.until = 0.0  # for requests that wait
            if self._kept.get(key) is session:
                del self._kept[key]
            return
        session.visitor = Visitor(holder.user, can_leave=True)
        session.check_at = self._clock() + CHECKED_FOR

    def end(self, text: str) -> None:
        """The user signs out."""
        self._kept.pop(_hash(text), None)

    def forget(self) -> None:
        """Keep nothing of sessions whose time is over."""
        now = self._clock()
        for key in [key for key, each in self._kept.items() if each.until <= now]:
            del self._kept[key]


def _hash(text: str) -> bytes:
    return hashlib.sha256(text.encode(errors="replace")).digest()
