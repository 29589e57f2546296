"""Names on the command line."""

from __future__ import annotations

import re
from typing import Any, Final

import click

_PART: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")


class _Name(click.ParamType[str]):
    """A name that can stand in a path of the API as it is."""

    name = "name"

    def __init__(self, *, longest: int, dots: bool) -> None:
        self._longest = longest
        self._dots = dots

    def allows(self, text: object) -> bool:
        """Whether it is such a name."""
        if not isinstance(text, str) or len(text) > self._longest:
            return False
        return all(_PART.fullmatch(part) for part in (text.split(".") if self._dots else [text]))

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        text = str(value)
        if not self.allows(text):
            letters = "lower-case letters, digits, '-' and '.'" if self._dots else "lower-case letters, digits and '-'"
            self.fail(
                f"{text!r} is no name: use {letters}, at most {self._longest} characters, a letter or digit first and"
                " last",
                param,
                ctx,
            )
        return text


# Lengths are those of DNS-1123.
LABEL: Final = _Name(longest=63, dots=False)
"""What namespaces are called, and what is written in labels of pods."""
SUBDOMAIN: Final = _Name(longest=253, dots=True)
"""What most other objects may be called."""
