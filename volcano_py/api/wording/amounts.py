"""Amounts of resources as people read them.

They come in the units of `volcano_py.api.report.Amounts`: CPU in millicores, memory and storage in bytes, everything
else as counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from volcano_py.api.quantity import format_binary

_BYTE_RESOURCES: Final = frozenset({"memory", "ephemeral-storage", "storage"})
_LONGEST_EXACT: Final = 5  # digits; `16383Mi` is readable, `17178820608` is not
_UNITS: Final = (("Ei", 60), ("Pi", 50), ("Ti", 40), ("Gi", 30), ("Mi", 20), ("Ki", 10))


def number(resource: str, value: int) -> str:
    """`value` for people, without the resource's name: `3.5` for 3500 millicores, `1.5Gi`, `4`."""
    sign, value = ("-", -value) if value < 0 else ("", value)
    if resource == "cpu":
        whole, milli = divmod(value, 1000)
        return f"{sign}{whole}.{milli:03d}".rstrip("0").rstrip(".")
    if resource in _BYTE_RESOURCES or resource.startswith("hugepages-"):
        return sign + _bytes(value)
    return f"{sign}{value}"


def _exact(resource: str, value: int) -> str:
    """As `number`, never rounded."""
    if resource in _BYTE_RESOURCES or resource.startswith("hugepages-"):
        return format_binary(value)
    return number(resource, value)


def numbers(resource: str, *values: int) -> tuple[str, ...]:
    """`number` of each value, but exact as soon as two different values would read the same (64Gi against 64Gi)."""
    texts = tuple(number(resource, value) for value in values)
    if len(set(texts)) < len(set(values)):
        return tuple(_exact(resource, value) for value in values)
    return texts


def amount(resource: str, value: int) -> str:
    """`3.5 cpu`, `64Gi memory`, `4 nvidia.com/gpu`, `1 pod`."""
    return with_name(resource, number(resource, value))


def amounts(values: Mapping[str, int]) -> str:
    """`8 cpu, 64Gi memory, 4 nvidia.com/gpu`: cpu and memory first, zeros left out; `nothing` when all are."""
    order = sorted(values, key=lambda name: (name != "cpu", name != "memory", name))
    return ", ".join(amount(name, int(values[name])) for name in order if values[name]) or "nothing"


def with_name(resource: str, text: str) -> str:
    """`text`, which `number` or `numbers` has made, and what it is a number of."""
    return f"{text} {'pod' if resource == 'pods' and text == '1' else resource}"


def _bytes(value: int) -> str:
    """The largest unit with at most two decimals; the canonical quantity where that is exact and still short."""
    suffix, power = next((unit for unit in _UNITS if value >> unit[1]), ("", 0))
    if (value * 100) & ((1 << power) - 1):
        canonical = format_binary(value)
        if len(canonical.rstrip("KMGTPEi")) <= _LONGEST_EXACT:
            return canonical
    hundredths = ((value * 100 << 1) + (1 << power)) >> (power + 1)
    text = f"{hundredths // 100}.{hundredths % 100:02d}".rstrip("0").rstrip(".")
    return text + suffix
