"""quantity() and semver(), and what can be done with their results.

Source: the CEL libraries "Kubernetes quantity library" and "Kubernetes semver library" in
https://kubernetes.io/docs/reference/using-api/cel/.
"""

from __future__ import annotations

import math
import re
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final

from volcano_py.api.quantity import from_nano, parse_nano
from volcano_py.plugins.predicates.devices.cel.functions import (
    QUANTITY,
    SEMVER,
    CelType,
    Function,
    Tagged,
    is_valid,
    text_of,
)

_IDENTIFIER: Final = r"(?:0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*)"
_SEMVER: Final = re.compile(
    rf"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-({_IDENTIFIER}(?:\.{_IDENTIFIER})*))?(\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?",
    re.ASCII,
)
_LEADING_ZEROS: Final = re.compile(r"^0+(?=\d)")
_LARGEST_NUMBER: Final = 2**64
_LARGEST_INT: Final = 2**63


def quantity(text: str) -> Tagged:
    """Raises ValueError."""
    if text != text.strip():
        raise ValueError(f"{text!r} is not a quantity: it begins or ends with a space")
    # Kubernetes keeps billionths at most, and rounds what is finer up.
    return _quantity(from_nano(math.ceil(parse_nano(text))))


def semver(text: str, is_normalised: bool = False) -> Tagged:
    """Raises ValueError. The build, after `+`, says nothing of which version is newer and is left out.

    `is_normalised` accepts a `v` in front, leading zeros, and versions without minor or patch number.
    """
    read = _normalised(text) if is_normalised else text
    match = _SEMVER.fullmatch(read)
    if match is None or any(int(number) >= _LARGEST_NUMBER for number in match.group(1, 2, 3)):
        raise ValueError(f"{text!r} is not a semantic version (an example: 1.2.3)")
    return {SEMVER: read[: match.start(5)] if match[5] else read}


def _normalised(text: str) -> str:
    parts = [_LEADING_ZEROS.sub("", part) for part in text.removeprefix("v").split(".", 2)]
    if len(parts) < 3 and any(sign in parts[-1] for sign in "+-"):
        raise ValueError(f"{text!r} is not a semantic version: only one with a patch number can have a suffix")
    return ".".join([*parts, "0", "0"][:3])


def _quantity(value: Fraction) -> Tagged:
    return {QUANTITY: str(value)}


def _value(value: Tagged) -> Fraction:
    return Fraction(text_of(value, QUANTITY))


def _operand(value: Tagged | int) -> Fraction:
    return Fraction(value) if isinstance(value, int) else _value(value)


@lru_cache(maxsize=4096)
def _rank(text: str) -> tuple[Any, ...]:
    """Sorts versions as semver.org says: numbers below words, and a version with a suffix before the one without."""
    numbers, _, suffix = text.partition("-")
    identifiers = [(0, int(each), "") if each.isdigit() else (1, 0, each) for each in suffix.split(".") if suffix]
    return tuple(map(int, numbers.split("."))), not suffix, identifiers


def _compare(one: Tagged, other: Tagged) -> int:
    if SEMVER in one:
        left, right = _rank(text_of(one, SEMVER)), _rank(text_of(other, SEMVER))
        return (left > right) - (left < right)
    difference = _value(one) - _value(other)
    return (difference > 0) - (difference < 0)


def _is_whole(value: Tagged) -> bool:
    number = _value(value)
    return number.denominator == 1 and -_LARGEST_INT <= number < _LARGEST_INT


def _as_integer(value: Tagged) -> int:
    if not _is_whole(value):
        raise ValueError(f"{text_of(value, QUANTITY)} is not a whole number of 64 bits")
    return int(_value(value))


def _part(at: int) -> Any:
    return lambda value: _rank(text_of(value, SEMVER))[0][at]


_BOOL, _INT, _MAP, _STRING = CelType.BOOL, CelType.INT, CelType.MAP, CelType.STRING

FUNCTIONS: Final = (
    Function("quantity", (_STRING,), _MAP, quantity),
    Function("isQuantity", (_STRING,), _BOOL, is_valid(quantity)),
    Function("isInteger", (_MAP,), _BOOL, _is_whole, is_member=True),
    Function("asInteger", (_MAP,), _INT, _as_integer, is_member=True),
    Function("asApproximateFloat", (_MAP,), CelType.DOUBLE, lambda one: float(_value(one)), is_member=True),
    Function("sign", (_MAP,), _INT, lambda one: (_value(one) > 0) - (_value(one) < 0), is_member=True),
    *(
        Function(name, (_MAP, operand), _MAP, call, is_member=True)
        for operand in (_MAP, _INT)
        for name, call in (
            ("add", lambda one, other: _quantity(_value(one) + _operand(other))),
            ("sub", lambda one, other: _quantity(_value(one) - _operand(other))),
        )
    ),
    *(
        Function(name, parameters, result, call)
        for parameters in ((_STRING,), (_STRING, _BOOL))
        for name, result, call in (("semver", _MAP, semver), ("isSemver", _BOOL, is_valid(semver)))
    ),
    Function("major", (_MAP,), _INT, _part(0), is_member=True),
    Function("minor", (_MAP,), _INT, _part(1), is_member=True),
    Function("patch", (_MAP,), _INT, _part(2), is_member=True),
    Function("compareTo", (_MAP, _MAP), _INT, _compare, is_member=True),
    Function("isGreaterThan", (_MAP, _MAP), _BOOL, lambda one, other: _compare(one, other) > 0, is_member=True),
    Function("isLessThan", (_MAP, _MAP), _BOOL, lambda one, other: _compare(one, other) < 0, is_member=True),
)
