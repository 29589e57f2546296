"""What can be wrong with a configuration, as values: each problem says what, where and how to fix it."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Final

import msgspec

from volcano_py.api.wording.suggestion import suggestion
from volcano_py.config.text.logins import without_login

# Thousands of problems are not read; the rest is counted.
MAX_PROBLEMS: Final = 200

_SHOWN_LENGTH: Final = 60


class Severity(StrEnum):
    """ERROR makes the configuration invalid; WARNING is reported and leaves it in force."""

    ERROR = "error"
    WARNING = "warning"


class Code(StrEnum):
    """Closed list of the kinds of problem, for metrics, tests and machine-readable output."""

    SYNTAX = "syntax"  # not YAML, or YAML this file format has no use for
    TOO_LARGE = "too-large"  # size, depth or alias expansion beyond the limits
    DUPLICATE_KEY = "duplicate-key"
    UNKNOWN_KEY = "unknown-key"
    UNKNOWN_PLUGIN = "unknown-plugin"
    UNKNOWN_ACTION = "unknown-action"
    UNSUPPORTED = "unsupported"  # Volcano has this plugin or action, this scheduler does not
    WRONG_TYPE = "wrong-type"
    INVALID_VALUE = "invalid-value"
    MISSING = "missing"
    COERCED = "coerced"  # read as the type although written as another
    EMPTY_VALUE = "empty-value"
    OUT_OF_RANGE = "out-of-range"  # another value was put in its place
    ADVICE = "advice"  # a remark of an argument model about a value it accepts
    REPEATED = "repeated"  # plugin, entry or argument given more than once
    CONFLICT = "conflict"  # two parts that cannot work together
    CONTRADICTION = "contradiction"  # accepted, but part of it can have no effect
    UNAVAILABLE = "unavailable"  # the text could not be obtained at all
    MORE = "more"  # problems beyond MAX_PROBLEMS


class Position(msgspec.Struct, frozen=True, order=True):
    """Place in the text; line and column count from 1, and 0 means unknown."""

    line: int = 0
    column: int = 0


NOWHERE: Final = Position()


class Where(msgspec.Struct, frozen=True):
    """A place in the configuration: its path, such as `tiers[1].plugins[0].name`, and its position."""

    path: str = ""
    position: Position = NOWHERE

    def key(self, name: str, position: Position) -> Where:
        shown = name if _is_plain(name) else quoted(name)
        return Where(f"{self.path}.{shown}" if self.path else shown, position)

    def item(self, index: int, position: Position) -> Where:
        return Where(f"{self.path}[{index}]", position)


class Problem(msgspec.Struct, frozen=True):
    """One finding. `line` and `column` count from 1 (0: unknown); `message` is a whole sentence."""

    severity: Severity
    path: str
    line: int
    column: int
    message: str
    code: Code

    def __str__(self) -> str:
        place = f"line {self.line}, column {self.column}: " if self.line else ""
        subject = f"{self.path}: " if self.path else ""
        return f"{place}{self.severity}: {subject}{self.message}"


class Problems(msgspec.Struct):
    """Collects every problem of one reading, so that all are reported at once."""

    strict: bool = False
    _found: list[Problem] = msgspec.field(default_factory=list)
    _errors: int = 0
    _dropped: int = 0
    _dropped_errors: int = 0

    def error(self, code: Code, where: Where, message: str) -> None:
        self._errors += 1
        self._add(Problem(Severity.ERROR, where.path, *_line_column(where), message, code))

    def warning(self, code: Code, where: Where, message: str) -> None:
        self._add(Problem(Severity.WARNING, where.path, *_line_column(where), message, code))

    def lenient(self, code: Code, where: Where, message: str) -> None:
        """A warning that strict reading turns into an error."""
        if self.strict:
            self.error(code, where, message)
        else:
            self.warning(code, where, message)

    def suggestion(self, name: str, known: Iterable[str]) -> str:
        """` (did you mean "…"?)` when a known name is close to this one, else nothing.

        Comparing names is slow, so it ends together with the room for problems.
        """
        return "" if len(self._found) >= MAX_PROBLEMS else suggestion(name, known)

    @property
    def errors(self) -> int:
        """How many errors there are, those not shown included."""
        return self._errors

    @property
    def valid(self) -> bool:
        return self._errors == 0

    def in_order(self) -> tuple[Problem, ...]:
        """All problems in the order of the text, then one line for those beyond MAX_PROBLEMS."""
        found = sorted(self._found, key=lambda problem: (problem.line, problem.column))
        if self._dropped:
            severity = Severity.ERROR if self._dropped_errors else Severity.WARNING
            message = f"{self._dropped} more problems are not shown; fix those above first"
            found.append(Problem(severity, "", 0, 0, message, Code.MORE))
        return tuple(found)

    def _add(self, problem: Problem) -> None:
        if len(self._found) < MAX_PROBLEMS:
            self._found.append(problem)
        else:
            self._dropped += 1
            self._dropped_errors += problem.severity is Severity.ERROR


def quoted(text: str) -> str:
    """Text as it may be put into a message: in quotes, one line, printable, at most 60 characters, without logins."""
    text = without_login(text, "***@")
    clipped = text if len(text) <= _SHOWN_LENGTH else text[: _SHOWN_LENGTH - 1] + "…"
    safe = "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in clipped)
    return f'"{safe}"'


def _line_column(where: Where) -> tuple[int, int]:
    return where.position.line, where.position.column


def _is_plain(name: str) -> bool:
    return 0 < len(name) <= _SHOWN_LENGTH and name.isprintable() and " " not in name
