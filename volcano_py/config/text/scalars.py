"""What an unquoted YAML scalar means to Volcano, whose Go library reads YAML 1.1 with a few rules of its own.

PyYAML's own resolver differs where it hurts: it takes `12:30` for a base-60 number and leaves `y` a string.
"""

from __future__ import annotations

import re
from typing import Final, TypeAlias

Value: TypeAlias = "bool | int | float | str | None"

# gopkg.in/yaml.v2 resolves exactly these words.
_WORDS: Final[dict[str, Value]] = {
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), False),
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), float("nan")),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), float("inf")),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), float("-inf")),
}
_INTEGER: Final = re.compile(r"([-+]?)(?:0[xX]([0-9a-fA-F]+)|0[bB]([01]+)|0[oO]?([0-7]+)|(0|[1-9][0-9]*))")
_BASES: Final = (16, 2, 8, 10)
_FLOAT: Final = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
# Go also has unsigned ones up to 2**64 - 1, but no argument of Volcano can hold them.
_INT64: Final = range(-(2**63), 2**63)
# No number that fits 64 bits or a float needs more; longer ones are text (and would be slow to convert).
_MAX_NUMBER_LENGTH: Final = 400


def resolve(text: str) -> Value:
    """The value of an unquoted scalar."""
    if text in _WORDS:
        return _WORDS[text]
    if not text or text[0] not in "+-.0123456789":
        return text
    number = to_number(text.replace("_", ""))
    return text if number is None else number


def to_number(text: str) -> int | float | None:
    """The integer (64 bits) or finite float that the text spells, else None."""
    if len(text) > _MAX_NUMBER_LENGTH:
        return None
    integer = to_integer(text)
    return to_float(text) if integer is None else integer


def to_integer(text: str) -> int | None:
    """The integer that the text spells (decimal, 0x, 0b, 0o or leading 0) within 64 bits, else None."""
    if len(text) > _MAX_NUMBER_LENGTH or (match := _INTEGER.fullmatch(text)) is None:
        return None
    digits, base = next((group, base) for group, base in zip(match.groups()[1:], _BASES, strict=True) if group)
    value = int(digits, base) * (-1 if match[1] == "-" else 1)
    return value if value in _INT64 else None


def to_float(text: str) -> float | None:
    """The finite float that the text spells, else None."""
    if len(text) > _MAX_NUMBER_LENGTH or _FLOAT.fullmatch(text) is None:
        return None
    value = float(text)
    return value if abs(value) != float("inf") else None


def to_bool(text: str) -> bool | None:
    """The boolean that the text spells in YAML 1.1, else None."""
    value = _WORDS.get(text)
    return value if isinstance(value, bool) else None
