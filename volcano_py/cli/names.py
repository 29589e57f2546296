"""Names on the command line."""

from __future__ import annotations

import re
from typing import Any, Final

import click

_LABEL: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_LONGEST: Final = 63  # DNS-1123 label, which namespaces are, and what is written in labels of pods

_LONGEST_SUBDOMAIN: Final = 253  # DNS-1123 subdomain


def is_label(text: object) -> bool:
    """Whether it can be the name of a namespace."""
    return isinstance(text, str) and len(text) <= _LONGEST and _LABEL.fullmatch(text) is not None


class _Label(click.ParamType[str]):
    """A name that can stand in a path of the API as it is."""

    name = "name"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        text = str(value)
        if not is_label(text):
            self.fail(
                f"{text!r} is no name: use lower-case letters, digits and '-', at most {_LONGEST} characters,"
                " a letter or digit first and last",
                param,
                ctx,
            )
        return text


LABEL: Final = _Label()


class _Subdomain(click.ParamType[str]):
    """A name that may have dots, as those of most objects may."""

    name = "name"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        text = str(value)
        if len(text) > _LONGEST_SUBDOMAIN or not all(_LABEL.fullmatch(part) for part in text.split(".")):
            self.fail(
                f"{text!r} is no name: use lower-case letters, digits, '-' and '.', at most {_LONGEST_SUBDOMAIN}"
                " characters, a letter or digit first and last",
                param,
                ctx,
            )
        return text


SUBDOMAIN: Final = _Subdomain()
