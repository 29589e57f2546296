"""Which configuration is in force while texts arrive from several origins. Pure: the reader of a file calls `offer`.

The mounted file and the ConfigMap's watch deliver the same edits, the file up to minutes later. Each distinct text
gets a place in a history, and each origin a cursor into it: an origin that delivers what another has delivered
before is catching up, and neither repeats a reload nor takes an edit back.
"""

from __future__ import annotations

import hashlib
from enum import StrEnum
from typing import Final

import msgspec

from volcano_py.config.catalogue import Catalogue
from volcano_py.config.defaults import default_configuration_text
from volcano_py.config.model import SchedulerConfiguration
from volcano_py.config.parse import parse_configuration
from volcano_py.config.text.problems import Code, Problem, Severity

# Edits that one origin can lag behind another and still be recognised.
_HISTORY: Final = 64


class OutcomeKind(StrEnum):
    ACCEPTED = "accepted"  # the offered configuration is in force from now on
    UNCHANGED = "unchanged"  # nothing new in this text
    REJECTED = "rejected"  # invalid or unavailable; what was in force stays


class Outcome(msgspec.Struct, frozen=True):
    """What an offer led to.

    `configuration` is the one in force afterwards (None: none yet, schedule nothing). `problems` are those of the
    offered text, for `format_problems(problems, text)`. `valid` is for the gauge and readiness: the newest text is
    valid and every origin can be read. `is_default`: the built-in default is in force for want of a valid
    text.
    """

    kind: OutcomeKind
    origin: str
    configuration: SchedulerConfiguration | None
    problems: tuple[Problem, ...]
    text: str
    valid: bool
    is_default: bool


class Reloader:
    """Keeps the last good configuration. Not thread-safe: belongs to the event loop."""

    def __init__(self, catalogue: Catalogue, *, strict: bool = False, use_default_on_invalid: bool = False) -> None:
        self._catalogue = catalogue
        self._strict = strict
        self._use_default = use_default_on_invalid
        self._configuration: SchedulerConfiguration | None = None
        self._text = ""
        self._is_default = False
        self._is_newest_valid = True
        self._history: list[str] = []
        self._cursors: dict[str, int] = {}
        self._unavailable: set[str] = set()

    @property
    def configuration(self) -> SchedulerConfiguration | None:
        """The configuration in force; None before the first valid one."""
        return self._configuration

    @property
    def text(self) -> str:
        """The text of the configuration in force; "" before the first valid one."""
        return self._text

    @property
    def valid(self) -> bool:
        return self._is_newest_valid and not self._unavailable

    def offer(self, text: str, origin: str) -> Outcome:
        """Takes the current text of an origin (a file path, a ConfigMap's name) and decides; never raises."""
        self._unavailable.discard(origin)
        if not self._is_news(hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest(), origin):
            return self._outcome(OutcomeKind.UNCHANGED, origin, (), text)
        result = parse_configuration(text, self._catalogue, source=origin, strict=self._strict)
        if result.config is None:
            self._is_newest_valid = False
            self._fall_back()
            return self._outcome(OutcomeKind.REJECTED, origin, result.problems, text)
        is_same = self._configuration is not None and result.config.digest == self._configuration.digest
        is_news = not is_same or not self._is_newest_valid or self._is_default
        self._is_newest_valid = True
        self._is_default = False
        self._configuration, self._text = result.config, text
        kind = OutcomeKind.ACCEPTED if is_news else OutcomeKind.UNCHANGED
        return self._outcome(kind, origin, result.problems, text)

    def offer_failure(self, reason: str, origin: str) -> Outcome:
        """An origin that cannot be read, such as a missing file or a deleted ConfigMap; `reason` says why."""
        message = f"{origin} cannot be read: {reason}"
        problem = Problem(Severity.ERROR, "", 0, 0, message, Code.UNAVAILABLE)
        is_repeated = origin in self._unavailable
        self._unavailable.add(origin)
        self._fall_back()
        kind = OutcomeKind.UNCHANGED if is_repeated else OutcomeKind.REJECTED
        return self._outcome(kind, origin, (problem,), "")

    def withdraw(self, origin: str) -> Outcome:
        """An origin that is gone, and with it what was wrong with its text; what is in force stays."""
        self._unavailable.discard(origin)
        if self._cursors.pop(origin, None) is not None:
            # Should its text come again, it is as new as it was.
            del self._history[max(self._cursors.values(), default=-1) + 1 :]
            self._is_newest_valid = True
        return self._outcome(OutcomeKind.UNCHANGED, origin, (), "")

    def _is_news(self, fingerprint: str, origin: str) -> bool:
        """Moves the origin's cursor; whether this text is a new edit rather than one seen already."""
        cursor = self._cursors.get(origin, -1)
        if cursor >= 0 and self._history[cursor] == fingerprint:
            return False
        for place in range(cursor + 1, len(self._history)):
            if self._history[place] == fingerprint:
                self._cursors[origin] = place
                return False
        self._history.append(fingerprint)
        self._cursors[origin] = len(self._history) - 1
        if len(self._history) > _HISTORY:
            self._history.pop(0)
            self._cursors = {name: max(place - 1, 0) for name, place in self._cursors.items()}
        return True

    def _fall_back(self) -> None:
        if self._configuration is None and self._use_default:
            text = default_configuration_text()
            default = parse_configuration(text, self._catalogue, source="default")
            self._configuration, self._text = default.config, text
            self._is_default = default.config is not None

    def _outcome(self, kind: OutcomeKind, origin: str, problems: tuple[Problem, ...], text: str) -> Outcome:
        return Outcome(kind, origin, self._configuration, problems, text, self.valid, self._is_default)
