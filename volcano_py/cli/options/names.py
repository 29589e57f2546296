"""Names on the command line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import click

from volcano_py.api.dns_names import LONGEST_LABEL, LONGEST_SUBDOMAIN, is_label, is_subdomain


class _Name(click.ParamType[str]):
    """A name that can be part of a path of the API unchanged."""

    name = "name"

    def __init__(self, *, longest: int, dots: bool, allows: Callable[[str], bool]) -> None:
        self._longest = longest
        self._dots = dots
        self._allows = allows

    def allows(self, text: object) -> bool:
        """Whether it is such a name."""
        return isinstance(text, str) and self._allows(text)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        text = str(value)
        if not self.allows(text):
            letters = "lower-case letters, digits, '-' and '.'" if self._dots else "lower-case letters, digits and '-'"
            self.fail(
                f"{text!r} is not a valid name: use {letters}, at most {self._longest} characters, a letter or "
                "digit first and last",
                param,
                ctx,
            )
        return text


LABEL: Final = _Name(longest=LONGEST_LABEL, dots=False, allows=is_label)
"""What namespaces are called, and what is written in labels of pods."""
SUBDOMAIN: Final = _Name(longest=LONGEST_SUBDOMAIN, dots=True, allows=is_subdomain)
"""What most other objects may be called."""
