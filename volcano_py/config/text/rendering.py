"""Problems as people read them: the sentence, the offending line, and a caret below the place."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from typing import Final

from volcano_py.config.text.logins import without_login
from volcano_py.config.text.problems import Problem, Severity

# All line breaks of YAML 1.1, so that line numbers agree with the parser's.
_LINE_BREAK: Final = re.compile("\r\n|[\n\r\x85\u2028\u2029]")
_WIDTH: Final = 100
# Credentials of metrics sources and extenders stand in this file; problems go to logs and Events.
_SECRET: Final = re.compile(r"((?:password|token|secret|credential)[^:]{0,40}:\s*)\S.*", re.IGNORECASE)


def format_problems(problems: Iterable[Problem], text: str, *, source: str = "volcano-scheduler.conf") -> str:
    """One paragraph for each problem, in the order given, and a last line that counts them. Empty for none."""
    lines = _LINE_BREAK.split(text)
    listed = list(problems)
    if not listed:
        return ""
    paragraphs = [_paragraph(problem, lines, source) for problem in listed]
    return "\n".join((*paragraphs, summary(listed)))


def in_short(problems: Iterable[Problem], *, room: int) -> str:
    """The problems on one line of at most `room` characters, errors first, none cut in two where one fits.

    For Events, of which tables show the first line only and the API server keeps 1,024 characters.
    """
    listed = sorted(problems, key=lambda problem: problem.severity is not Severity.ERROR)
    lines = [" ".join(str(problem).split()) for problem in listed]
    for shown in range(len(lines), 0, -1):
        text = "; ".join(lines[:shown]) + _rest(len(lines) - shown)
        if len(text) <= room:
            return text
    return lines[0][: room - 1] + "…" if lines else ""


def _rest(count: int) -> str:
    return f"; {count} more in the log and by volcano-py config check" if count else ""


def summary(problems: Iterable[Problem]) -> str:
    """`2 errors, 1 warning`."""
    severities = [problem.severity for problem in problems]
    counts = ((severities.count(severity), severity) for severity in Severity)
    return ", ".join(f"{count} {severity}{'' if count == 1 else 's'}" for count, severity in counts if count) or (
        "no problems"
    )


def _paragraph(problem: Problem, lines: list[str], source: str) -> str:
    place = f"{source}:{problem.line}:{problem.column}" if problem.line else source
    subject = f"{problem.path}: " if problem.path else ""
    head = f"{place}: {problem.severity}: {subject}{problem.message}"
    if not 0 < problem.line <= len(lines):
        return head
    shown = without_login(_SECRET.sub(r"\1***", lines[problem.line - 1]), "***@")
    line, before = _window(shown, max(problem.column - 1, 0))
    margin = f"{problem.line:>5} | "
    return f"{head}\n{margin}{line}\n{' ' * (len(margin) - 2)}| {before}^"


def _window(line: str, offset: int) -> tuple[str, str]:
    """The part of the line around the offset, made printable, and blanks as wide as the text before the offset."""
    start = max(0, offset - _WIDTH * 2 // 3) if len(line) > _WIDTH else 0
    end = start + _WIDTH
    head, tail = ("…" if start else ""), ("…" if end < len(line) else "")
    shown = head + "".join(map(_printable, line[start:end])) + tail
    before = " " * sum(_columns(_printable(character)) for character in head + line[start:offset])
    return shown, before


def _printable(character: str) -> str:
    if character == "\t":
        return "    "
    return character if character.isprintable() else "\N{REPLACEMENT CHARACTER}"


def _columns(text: str) -> int:
    """Columns on a terminal."""
    return sum(_character_columns(character) for character in text)


def _character_columns(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
