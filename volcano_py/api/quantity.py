"""Kubernetes quantities as exact integers.

Grammar: https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/. Accounting is in whole
units (CPU in millicores), so comparisons are exact; a fraction of a unit is rounded up for what is asked and down for
what there is, which can only make the scheduler more careful.
"""

from __future__ import annotations

import re
from enum import Enum
from fractions import Fraction
from functools import lru_cache
from typing import Final

# 2**50 bytes are a pebibyte and 2**50 millicores a thousand billion cores: no node has them. Keeping single values
# below leaves 13 bits of head room for sums in int64.
LARGEST: Final = 2**50

_PATTERN: Final = re.compile(r"([+-]?)(\d+(?:\.\d*)?|\.\d+)([numkKMGTPE]i?|[eE][+-]?\d+)?", re.ASCII)
_LONGEST = 64  # characters; the API server's own output never exceeds half of it
_DECIMAL: Final = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY: Final = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_SUFFIXES: Final = {power: name for name, power in _DECIMAL.items()}
# Beyond this power of ten a value is capped anyway; it bounds the work that `1e999999999` can cause.
_LARGEST_EXPONENT: Final = 400
_NANO_EXPONENT: Final = 9
_NANO: Final = 10**_NANO_EXPONENT

Nano = int | Fraction
"""Billionths, the finest that Kubernetes itself distinguishes; a fraction only of what is finer still."""


class QuantityError(ValueError):
    """A text that is no Kubernetes quantity."""


class Rounding(Enum):
    """Which way a fraction of a unit goes."""

    UP = "up"
    DOWN = "down"


def parse_quantity(text: str | int | float) -> Fraction:
    """The exact value of a quantity such as `100m`, `1.5Gi`, `2e3`.

    Raises:
        QuantityError: the text does not follow the quantity grammar.
    """
    return from_nano(parse_nano(text))


def from_nano(value: Nano) -> Fraction:
    """The exact value of this many billionths."""
    return Fraction(value, _NANO)


def parse_nano(text: str | int | float) -> Nano:
    """The exact value in billionths: sums of many are ten times faster in whole numbers than in fractions.

    Raises:
        QuantityError: the text does not follow the quantity grammar.
    """
    return _parse(str(text).strip())


# A cluster uses few distinct quantities, over and over. The bound, some 4 MiB, is beyond those of the largest pod.
@lru_cache(maxsize=16_384)
def _parse(text: str) -> Nano:
    match = _PATTERN.fullmatch(text) if len(text) <= _LONGEST else None
    if match is None:
        raise QuantityError(f"{text[:_LONGEST]!r} is not a quantity (examples: 2, 500m, 1.5Gi, 1e3)")
    sign, number, suffix = match.groups(default="")
    whole, _, decimals = number.partition(".")
    bits = exponent = 0
    if suffix in _BINARY:
        bits = _BINARY[suffix]
    elif suffix in _DECIMAL:
        exponent = _DECIMAL[suffix]
    elif suffix[0] in "eE" and len(suffix) > 1 and suffix[1] != "i":
        exponent = max(-_LARGEST_EXPONENT, min(int(suffix[1:]), _LARGEST_EXPONENT))
    else:
        raise QuantityError(f"{text!r} has the unknown suffix {suffix!r} (known: n u m k M G T P E Ki Mi Gi Ti Pi Ei)")
    digits, power = int(whole + decimals) << bits, _NANO_EXPONENT + exponent - len(decimals)
    nano = digits * 10**power if power >= 0 else _whole_if_possible(Fraction(digits, 10**-power))
    return -nano if sign == "-" else nano


def _whole_if_possible(value: Fraction) -> Nano:
    return value.numerator if value.denominator == 1 else value


def to_units(value: Fraction, *, scale: int = 1, rounding: Rounding = Rounding.UP) -> int:
    """`value × scale` as an integer, without any cap (`scale` is 1000 for millicores)."""
    return _rounded(value.numerator * scale, value.denominator, rounding)


def nano_to_units(value: Nano, *, scale: int = 1, rounding: Rounding = Rounding.UP) -> int:
    """The same of a value in billionths."""
    return _rounded(value.numerator * scale, value.denominator * _NANO, rounding)


def _rounded(numerator: int, denominator: int, rounding: Rounding) -> int:
    return -(-numerator // denominator) if rounding is Rounding.UP else numerator // denominator


def format_decimal(value: int, *, exponent: int = 0) -> str:
    """Canonical decimal form of `value × 10^exponent` (-3 for millicores): the largest suffix without a fraction."""
    if value == 0:
        return "0"
    while value % 1000 == 0 and exponent < 18:
        value //= 1000
        exponent += 3
    return f"{value}{_SUFFIXES[exponent]}"


def format_binary(value: int) -> str:
    """Canonical binary form of a number of bytes, such as `64Gi`."""
    suffix = ""
    for name in _BINARY:
        if value == 0 or value % 1024:
            break
        value //= 1024
        suffix = name
    return f"{value}{suffix}"
