"""Scalars as Go programs write and read them: booleans, durations, comma lists."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Final

# strconv.ParseBool's list, complete.
_TRUE: Final = frozenset({"1", "t", "T", "TRUE", "true", "True"})
_FALSE: Final = frozenset({"0", "f", "F", "FALSE", "false", "False"})

# time.ParseDuration's units, in nanoseconds. Both micro signs are Go's.
_NANOSECONDS: Final = {
    "ns": 1,
    "us": 1_000,
    "\u00b5s": 1_000,
    "\u03bcs": 1_000,
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "m": 60_000_000_000,
    "h": 3_600_000_000_000,
}
_COMPONENT: Final = re.compile(r"([0-9]*)(?:\.([0-9]*))?([^0-9.]+)")
# time.Duration counts nanoseconds in an int64: about 292 years.
_MAX_NANOSECONDS: Final = 2**63 - 1
# More digits than an int64 has say nothing more, and would cost time.
_MAX_DIGITS: Final = 40


def parse_bool(text: str) -> bool:
    """A boolean in one of the spellings of Go's ParseBool (1, t, T, TRUE, true, True, 0, f, …).

    Raises ValueError for anything else, `yes` and `on` included.
    """
    if text in _TRUE:
        return True
    if text in _FALSE:
        return False
    raise ValueError(f'"{text[:20]}" is not a boolean; write true or false')


def parse_duration(text: str) -> timedelta:
    """A duration such as `300ms`, `-1.5h` or `1m30s`, as Go's ParseDuration; rounded to microseconds.

    Raises ValueError when the text is not a duration or exceeds about 292 years.
    """
    sign, body = (-1, text[1:]) if text.startswith("-") else (1, text.removeprefix("+"))
    if body == "0":
        return timedelta()
    if not body or len(body) > _MAX_DIGITS * len(_NANOSECONDS):
        raise ValueError(_not_a_duration(text))
    total = 0
    end = 0
    while end < len(body):
        component = _COMPONENT.match(body, end)
        if component is None:
            raise ValueError(_not_a_duration(text))
        total += _component_nanoseconds(component, text)
        end = component.end()
    if total > _MAX_NANOSECONDS:
        raise ValueError(f'the duration "{text[:20]}" is longer than 292 years')
    return sign * timedelta(microseconds=round(total / 1_000))


def format_duration(duration: timedelta) -> str:
    """The shortest Go spelling: `1m30s`, `250ms`, `0s`."""
    microseconds = duration // timedelta(microseconds=1)
    if microseconds == 0:
        return "0s"
    sign, rest = ("-", -microseconds) if microseconds < 0 else ("", microseconds)
    parts = []
    for unit, size in (("h", 3_600_000_000), ("m", 60_000_000), ("s", 1_000_000), ("ms", 1_000), ("us", 1)):
        count, rest = divmod(rest, size)
        if count:
            parts.append(f"{count}{unit}")
    return sign + "".join(parts)


def split_names(text: str) -> tuple[str, ...]:
    """Names of a comma list, trimmed, empty ones and repetitions dropped, in order."""
    return tuple(dict.fromkeys(name for part in text.split(",") if (name := part.strip())))


def _component_nanoseconds(component: re.Match[str], text: str) -> int:
    whole, fraction, unit = component[1], component[2] or "", component[3]
    if not (whole or fraction) or len(whole) > _MAX_DIGITS or not (whole + fraction).isascii():
        raise ValueError(_not_a_duration(text))
    size = _NANOSECONDS.get(unit)
    if size is None:
        raise ValueError(f'unknown unit "{unit[:20]}" in the duration "{text[:20]}"; use ns, us, ms, s, m or h')
    fraction = fraction[:_MAX_DIGITS]
    scale: int = 10 ** len(fraction)
    return int(whole or "0") * size + int(fraction or "0") * size // scale


def _not_a_duration(text: str) -> str:
    hint = ", and a number needs its unit" if text.isdecimal() else ""
    return f'"{text[:20]}" is not a duration{hint}; write one such as 30s, 5m or 1h30m'
