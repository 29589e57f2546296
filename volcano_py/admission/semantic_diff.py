"""Whether two values of a spec mean the same. Clients that decode an object into their own types may write it
differently.

Those in Go write `null` and `{}` for what was left out, and `0` for a `divisor`, leave out what is empty, and write
`1000m` as `1`, `10m` as `10m0s`, and a quantity that is null as `0`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from volcano_py.api.go_values import parse_duration
from volcano_py.api.quantity import QuantityError, parse_quantity

# By the names of their fields, as pods and jobs have them.
_LISTS_OF_AMOUNTS: Final = frozenset({"requests", "limits", "overhead"})
_AMOUNTS: Final = frozenset({"sizeLimit", "divisor"})
_DURATIONS: Final = frozenset({"timeout", "runningEstimate"})


def differ(field: str, one: Any, other: Any) -> bool:
    """Whether the two are different values of the field of this name; left out and empty are the same."""
    return bool(one != other and _meaning(field, one) != _meaning(field, other))


def first_difference(field: str, one: Any, other: Any) -> list[str | int]:
    """The way to the first field that differs, as deep as both values have the same shape; [] if that is the field
    itself. Each value is looked at once, however deep it is."""
    return _first_difference(_meaning(field, one), _meaning(field, other)) or []


def _first_difference(one: Any, other: Any) -> list[str | int] | None:
    """The same for meanings; None if they are equal."""
    steps: Iterable[str | int]
    pairs: Iterator[tuple[Any, Any]]
    if isinstance(one, dict) and isinstance(other, dict):
        steps = sorted(one.keys() | other.keys())
        pairs = ((one.get(step), other.get(step)) for step in steps)
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        steps = range(len(one))
        pairs = zip(one, other, strict=True)
    else:
        return None if one == other else []
    for step, (was, now) in zip(steps, pairs, strict=True):
        if (way := _first_difference(was, now)) is not None:
            return [step, *way]
    return None


def _meaning(field: str, value: Any) -> Any:
    """The value without empty parts; None if nothing else is left."""
    if isinstance(value, Mapping):
        if field in _LISTS_OF_AMOUNTS:
            return {name: _amount(each) for name, each in value.items()} or None
        inner = {name: _meaning(name, each) for name, each in value.items()}
        return {name: each for name, each in inner.items() if each is not None} or None
    if isinstance(value, list):
        return [_meaning("", each) for each in value] or None
    if field in _AMOUNTS:
        return _amount(value) or None
    if field in _DURATIONS:
        return _duration(value)
    return value or None


def _amount(value: Any) -> Any:
    try:
        return parse_quantity(0 if value is None else value)
    except QuantityError:
        return value


def _duration(value: Any) -> Any:
    try:
        return parse_duration(str(value)) if value else None
    except ValueError:
        return value
