"""YAML of manifests, within bounds: aliases that would expand without end, and nesting that no object has, are refused.

The text is looked through before anything is made of it. An alias costs nothing to read, but whatever is made of the
document afterwards would copy what it stands for: ten lines that each name the line before ten times are 10¹⁰ values.
"""

from __future__ import annotations

import re
from typing import Any, Final

import msgspec
import yaml

from volcano_py.yaml_events import NestingError, documents, events

MOST_ALIASED: Final = 100_000
"""Values that the aliases of a text may stand for, all together."""
DEEPEST: Final = 100
"""Levels of lists and mappings in each other, aliases expanded. A pod has about 12."""
LONGEST_NUMBER: Final = 1000
"""Characters. Numbers to the base of 60 (`1:30`) take a time that grows with the square of their length."""

_LONG: Final = 100  # characters of a text that count as a further value
_NUMBER: Final = re.compile(r"[-+]?[0-9.][0-9a-fA-FxXoO_.:+-]*")


class BoundError(ValueError):
    """The text exceeds a bound; the message says where, and which."""


class _Open(msgspec.Struct):
    """A list or mapping whose end has not come. `size` counts values, itself included; `height` counts levels."""

    anchor: str | None
    size: int = 1
    height: int = 1


class _Bounds:
    """Counts what the events of a text would make."""

    def __init__(self) -> None:
        self._open: list[_Open] = []
        self._anchors: dict[str, tuple[int, int] | None] = {}  # None: its end has not come
        self._aliased = 0

    def take(self, event: yaml.Event) -> None:
        match event:
            case yaml.DocumentStartEvent():
                self._anchors.clear()
            case yaml.ScalarEvent():
                if event.style in (None, "") and len(event.value) > LONGEST_NUMBER and _NUMBER.fullmatch(event.value):
                    raise _error(event, f"a number of more than {LONGEST_NUMBER} characters; quote it if it is text")
                self._put(event, event.anchor, 1 + len(event.value) // _LONG, 0)
            case yaml.AliasEvent():
                # (one without an anchor before it is refused when the documents are made)
                meant = self._anchors.get(str(event.anchor), (1, 0))
                if meant is None:
                    raise _error(event, f"the alias *{str(event.anchor)[:60]} is inside the value that it refers to")
                size, height = meant
                self._aliased += size
                if self._aliased > MOST_ALIASED:
                    raise _error(event, f"aliases expand to more than {MOST_ALIASED} values; write them out")
                self._put(event, None, size, height)
            case yaml.SequenceStartEvent() | yaml.MappingStartEvent():
                if event.anchor is not None:
                    self._anchors[event.anchor] = None
                self._open.append(_Open(event.anchor))
                self._check_depth(event, 0)
            case yaml.SequenceEndEvent() | yaml.MappingEndEvent():
                done = self._open.pop()
                self._put(event, done.anchor, done.size, done.height)

    def _put(self, event: yaml.Event, anchor: str | None, size: int, height: int) -> None:
        """A value is complete."""
        if anchor is not None:
            self._anchors[anchor] = size, height
        self._check_depth(event, height)
        if self._open:
            parent = self._open[-1]
            parent.size += size
            parent.height = max(parent.height, height + 1)

    def _check_depth(self, event: yaml.Event, height: int) -> None:
        if len(self._open) + height > DEEPEST:
            raise _error(event, f"nested deeper than {DEEPEST} levels")


def load_all(text: str) -> list[Any]:
    """All documents of the text.

    Raises:
        BoundError: a bound is exceeded, or a value is none (`2026-13-01`).
        yaml.YAMLError: it is not YAML.
    """
    bounds = _Bounds()
    try:
        for event in events(text):
            bounds.take(event)
    except NestingError as error:
        raise _error_at(error.mark, f"nested deeper than {DEEPEST} levels") from error
    try:
        return documents(text)
    except ValueError as error:
        raise BoundError(f"a value cannot be read: {error}") from error


def _error(event: yaml.Event, problem: str) -> BoundError:
    return _error_at(event.start_mark, problem)


def _error_at(mark: Any, problem: str) -> BoundError:
    return BoundError(f"line {mark.line + 1}, column {mark.column + 1}: {problem}")
