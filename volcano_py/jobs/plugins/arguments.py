"""Arguments of job plugins, written as those of a Go program: `--port=22`, `-port 22`, `--wait-master-enabled`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from volcano_py.api.bounds import ARGUMENTS
from volcano_py.api.go_values import parse_bool
from volcano_py.jobs.plugins.plugin import PluginArgumentError

LARGEST_PORT: Final = 65535

_LONGEST_SHOWN: Final = 40  # characters of a value in a message; keys are long, and secret


class Arguments:
    """The arguments of one plugin of one Job. Of an argument that is given twice the last one holds.

    `known` are the names a plugin has, `switches` those among them that need no value. What is none of them is left
    out, as in Volcano, and described in `warnings`.
    """

    def __init__(
        self,
        plugin: str,
        given: Sequence[str],
        known: Sequence[str],
        switches: frozenset[str] = frozenset(),
        *,
        warnings: list[str],
    ) -> None:
        """
        Raises:
            PluginArgumentError: an argument has no value; or there are too many.
        """
        self._plugin = plugin
        self._values: dict[str, str] = {}
        if len(given) > ARGUMENTS.most:
            raise self.error(f"{len(given)} arguments are given; at most {ARGUMENTS.most} are read")
        rest = iter(given)
        for text in rest:
            name, has_value, value = text.lstrip("-").partition("=")
            if not text.startswith("-") or name not in known:
                expected = ", ".join(f"--{each}" for each in known) or "it takes none"
                what = f"{text[:_LONGEST_SHOWN]!r} is not one of its arguments, and is ignored (known: {expected})"
                warnings.append(str(self.error(what)))
                continue
            if not has_value:
                if name in switches:
                    value = "true"
                elif (following := next(rest, None)) is not None:
                    value = following
                else:
                    raise self.error(f"--{name} has no value; write --{name}=VALUE")
            self._values[name] = value

    def error(self, what: str) -> PluginArgumentError:
        """The error that says so."""
        return PluginArgumentError(f"spec.plugins.{self._plugin}: {what}")

    def text(self, name: str, default: str) -> str:
        """A value that must not be empty.

        Raises:
            PluginArgumentError: it is.
        """
        value = self._values.get(name, default)
        if not value:
            raise self.error(f"--{name} is empty; give it a value, or leave it out for {default!r}")
        return value

    def optional(self, name: str) -> str:
        """A value that may be missing; then it is empty."""
        return self._values.get(name, "")

    def switch(self, name: str, default: bool) -> bool:
        """true or false.

        Raises:
            PluginArgumentError: it is neither.
        """
        value = self._values.get(name)
        if value is None:
            return default
        try:
            return parse_bool(value)
        except ValueError:
            raise self.error(f"--{name} is {value[:_LONGEST_SHOWN]!r}; write true or false") from None

    def port(self, name: str, default: int) -> int:
        """A port number.

        Raises:
            PluginArgumentError: it is none.
        """
        return self.number(name, default, 1, LARGEST_PORT)

    def number(self, name: str, default: int, smallest: int, largest: int) -> int:
        """A whole number within bounds.

        Raises:
            PluginArgumentError: it is none, or beyond them.
        """
        text = self._values.get(name)
        if text is None:
            return default
        if text.isascii() and text.isdigit() and len(text) <= len(str(largest)) and smallest <= int(text) <= largest:
            return int(text)
        raise self.error(f"--{name} is {text[:_LONGEST_SHOWN]!r}; give a whole number from {smallest} to {largest}")
