"""YAML by libyaml, where PyYAML was built with it: several times as fast, with the same results."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import yaml

_LOADER: Final[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_TOO_DEEP: Final = "exceeded maximum nesting depth"
"""What libyaml 0.2.6 and later say."""


class NestingError(Exception):
    """libyaml reads ahead, so its bound of 1,000 levels may be exceeded before a smaller one of ours is seen to be.

    `mark` is where, with `line` and `column` from 0.
    """

    def __init__(self, mark: Any) -> None:
        super().__init__(f"nested too deep at line {mark.line + 1}, column {mark.column + 1}")
        self.mark = mark


def events(text: str) -> Iterator[yaml.Event]:
    """The events of all documents of the text.

    Raises:
        NestingError: it is nested deeper than libyaml reads.
        yaml.YAMLError: it is not YAML.
    """
    try:
        yield from yaml.parse(text, Loader=_LOADER)
    except yaml.MarkedYAMLError as error:
        if error.problem == _TOO_DEEP:
            raise NestingError(error.problem_mark) from error
        raise


def documents(text: str) -> list[Any]:
    """All documents of the text.

    Raises:
        ValueError: a value is none (`2026-13-01`).
        yaml.YAMLError: it is not YAML.
    """
    return list(yaml.load_all(text, Loader=_LOADER))
