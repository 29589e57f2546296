"""Sessions of users who have signed in: bounded in time and number, in memory only."""

from __future__ import annotations

import hashlib
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from volcano_py.ui.rights.tokens import Holder
from volcano_py.ui.web.visitor import Visitor

LASTS: Final = 3600.0
"""Seconds that a session lasts, or less: it ends with the token."""
MOST: Final = 1000
MOST_OF_ONE: Final = 10
"""Sessions, of all users and of one; each further one ends the user's oldest, or the oldest of all."""


class Sessions:
    """What is kept of a cookie is its hash, and of a token only whose it is."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        """`clock`: seconds since the epoch."""
        self._clock = clock
        self._kept: OrderedDict[bytes, Visitor] = OrderedDict()

    def begin(self, holder: Holder) -> tuple[str, int]:
        """The text of the cookie, and for how many seconds it counts."""
        now = self._clock()
        visitor = Visitor(holder.user, min(now + LASTS, holder.until), can_leave=True)
        self._forget(now)
        own = [key for key, each in self._kept.items() if each.user.name == holder.user.name]
        for key in own[: max(0, len(own) - MOST_OF_ONE + 1)]:
            del self._kept[key]
        while len(self._kept) >= MOST:
            self._kept.popitem(last=False)
        text = secrets.token_urlsafe(32)
        self._kept[_hash(text)] = visitor
        return text, max(1, int(visitor.until - now))

    def visitor(self, text: str) -> Visitor | None:
        """Whose session it is, if it still lasts."""
        found = self._kept.get(_hash(text))
        return found if found is not None and found.until > self._clock() else None

    def end(self, text: str) -> None:
        """The user signs out."""
        self._kept.pop(_hash(text), None)

    def _forget(self, now: float) -> None:
        for key in [key for key, each in self._kept.items() if each.until <= now]:
            del self._kept[key]


def _hash(text: str) -> bytes:
    return hashlib.sha256(text.encode(errors="replace")).digest()
