"""What can be done with lists and sets.

Sources: "Kubernetes list library" in https://kubernetes.io/docs/reference/using-api/cel/, and the CEL extension "sets".
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, Final

from volcano_py.plugins.predicates.devices.cel.functions import CelType, Function

_NUMBERS: Final = (int, float)


def _is_same(one: Any, other: Any) -> bool:
    """Equal in CEL, where a bool is not a number."""
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_is_same, one, other))
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)


def _holds(items: list[Any], item: Any) -> bool:
    return any(_is_same(each, item) for each in items)


def _contains(items: list[Any], others: list[Any]) -> bool:
    return all(_holds(items, each) for each in others)


def _is_equivalent(one: list[Any], other: list[Any]) -> bool:
    return _contains(one, other) and _contains(other, one)


def _intersects(one: list[Any], other: list[Any]) -> bool:
    return any(_holds(one, each) for each in other)


def _sum(items: list[Any]) -> Any:
    """Of an empty list 0, which is equal to 0.0 as well.

    Raises:
        ValueError: these cannot be added.
    """
    if any(isinstance(each, bool) or not isinstance(each, _NUMBERS) for each in items):
        raise ValueError(f"{items} are not numbers")
    return sum(items)


def _comparable(items: list[Any]) -> list[Any]:
    """Raises ValueError: they have no order."""
    kinds = {float if isinstance(each, _NUMBERS) and not isinstance(each, bool) else type(each) for each in items}
    if len(kinds) > 1 or not kinds <= {bool, float, str, bytes}:
        raise ValueError(f"{items} cannot be compared")
    return items


def _extreme(items: list[Any], *, is_greatest: bool) -> Any:
    if not items:
        raise ValueError("an empty list has no smallest and no greatest item")
    return max(_comparable(items)) if is_greatest else min(_comparable(items))


def _is_sorted(items: list[Any]) -> bool:
    return all(one <= other for one, other in pairwise(_comparable(items)))


def _index(items: list[Any], item: Any) -> int:
    return next((at for at, each in enumerate(items) if _is_same(each, item)), -1)


def _last_index(items: list[Any], item: Any) -> int:
    return next((at for at in reversed(range(len(items))) if _is_same(items[at], item)), -1)


_BOOL, _DYN, _LIST = CelType.BOOL, CelType.DYN, CelType.LIST

FUNCTIONS: Final = (
    Function("sets.contains", (_LIST, _LIST), _BOOL, _contains),
    Function("sets.equivalent", (_LIST, _LIST), _BOOL, _is_equivalent),
    Function("sets.intersects", (_LIST, _LIST), _BOOL, _intersects),
    Function("isSorted", (_LIST,), _BOOL, _is_sorted, is_member=True),
    Function("sum", (_LIST,), _DYN, _sum, is_member=True),
    Function("min", (_LIST,), _DYN, lambda items: _extreme(items, is_greatest=False), is_member=True),
    Function("max", (_LIST,), _DYN, lambda items: _extreme(items, is_greatest=True), is_member=True),
    Function("indexOf", (_LIST, _DYN), CelType.INT, _index, is_member=True),
    Function("lastIndexOf", (_LIST, _DYN), CelType.INT, _last_index, is_member=True),
)
