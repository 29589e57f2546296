"""Amounts of resources in whole units: which names count, from exact quantities, and back to text. No numpy."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from volcano_py.api.quantity import LARGEST, Rounding, format_binary, format_decimal, to_units


def is_counted(name: str) -> bool:
    """Whether a resource name takes part in scheduling (object counts and quota prefixes do not)."""
    if name in {"cpu", "memory", "pods", "ephemeral-storage"}:
        return True
    if name.startswith(("hugepages-", "attachable-volumes-")):
        return True
    return "/" in name and not name.startswith(("count/", "requests.", "limits."))


def whole_units(
    amounts: Mapping[str, Fraction], rounding: Rounding, most: int = LARGEST
) -> tuple[dict[str, int], str | None]:
    """Exact amounts as whole units (cpu in millicores), counted names only, capped at `most`.

    Returns the units and the first name that had to be capped, if any.
    """
    units: dict[str, int] = {}
    capped: str | None = None
    for name, value in amounts.items():
        if not is_counted(name):
            continue
        unit = to_units(value, scale=1000 if name == "cpu" else 1, rounding=rounding)
        if unit > most:
            capped, unit = capped or name, most
        units[name] = unit
    return units, capped


def canonical(name: str, units: int) -> str:
    """Whole units as the quantity text that Kubernetes would print."""
    if name == "cpu":
        return format_decimal(units, exponent=-3)
    if name in {"memory", "ephemeral-storage"} or name.startswith("hugepages-"):
        return format_binary(units)
    return format_decimal(units)
