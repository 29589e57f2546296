"""What the extender says, as messages repeat it.

A message of a pod is written again when it changes, and the extender is asked every few seconds. So a text that differs
from the one before only in words with digits (a time, a counter, an id) is repeated in its new form only once in some
minutes; other words are repeated at once.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, MutableMapping
from typing import Any, Final

import msgspec

from volcano_py.config.text.logins import without_login

STEADY_FOR: Final = 300.0
"""Seconds for which other digits alone change no message."""
_LONGEST: Final = 120
"""Characters of a foreign text."""
_MOST_READ: Final = 8 * _LONGEST
_MOST_ALIKE: Final = 10
"""Texts of one cycle that differ in their digits alone; if there are more, messages have none of these words."""
_MOST_TEXTS: Final = 50
"""Different texts of one cycle; of further ones a message only has that there was one."""
_MOST_KEPT: Final = 10_000
_WITH_DIGITS: Final = re.compile(r"(?<!\S)[^\s\d]*+\d\S*")
_MEMORY: Final = "texts"


def short(text: str) -> str:
    """A foreign text as part of a sentence: one printable line, cut."""
    return _cut(_line(text))


def _line(text: str) -> str:
    read = without_login(text[:_MOST_READ])
    return " ".join("".join(each if each.isprintable() else " " for each in read).split())


def _cut(line: str) -> str:
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"


class _Kept(msgspec.Struct):
    """What is remembered from cycle to cycle.

    Attributes:
        since: seconds since the epoch.
        texts: what a text is about → the text without words with digits, and as messages have it.
        many: texts without words with digits, of which one cycle had many.
    """

    since: float
    texts: dict[Hashable, tuple[str, str]] = {}
    many: set[str] = set()


class Texts:
    """For one session; `memory` lasts from cycle to cycle."""

    def __init__(self, memory: MutableMapping[str, Any], now: float) -> None:
        self._kept: _Kept = memory.setdefault(_MEMORY, _Kept(now))
        if not 0 <= now - self._kept.since < STEADY_FOR:  # for all at once, so that a message changes once
            self._kept.since = now
            self._kept.texts.clear()
            if len(self._kept.many) > _MOST_KEPT:  # not before: messages would change twice
                self._kept.many.clear()
        self._alike: dict[str, set[str]] = {}
        self._said: set[str] = set()

    def of(self, about: Hashable, text: str) -> str:
        """The text for a message. `about`: the same in each cycle for what the extender says the same of."""
        said = self._steady(about, _line(text))
        if said not in self._said and len(self._said) >= _MOST_TEXTS:
            return "for another reason"
        self._said.add(said)
        return said

    def _steady(self, about: Hashable, line: str) -> str:
        rest = _cut(_WITH_DIGITS.sub("…", line))
        if _WITH_DIGITS.search(line) is None or rest in self._kept.many:
            return rest
        known = self._kept.texts.get(about, ("", ""))
        said = known[1] if known[0] == rest else _cut(line)
        alike = self._alike.setdefault(rest, set())
        alike.add(said)
        if len(alike) > _MOST_ALIKE or len(self._kept.texts) >= _MOST_KEPT:
            self._kept.many.add(rest)
            return rest
        self._kept.texts[about] = rest, said
        return said
