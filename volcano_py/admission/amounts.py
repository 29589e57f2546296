"""Resource lists: read exactly, compared resource by resource, shown as people write them."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Final

from volcano_py.admission.violation import Violation
from volcano_py.api.objects import ResourceList
from volcano_py.api.quantity import QuantityError, parse_quantity, to_units
from volcano_py.state.table.units import canonical

Amounts = Mapping[str, Fraction]
"""Resource → exact amount, in Kubernetes' units (cores, bytes)."""

ZERO: Final = Fraction(0)


def read(given: ResourceList, field: str) -> tuple[dict[str, Fraction], list[Violation]]:
    """The amounts that can be read, and what is wrong with the others; `field` is the path of the list."""
    amounts: dict[str, Fraction] = {}
    violations: list[Violation] = []
    for name, text in given.items():
        problem = ""
        try:
            amount = parse_quantity(text)
        except QuantityError:
            amount, problem = ZERO, "is not a quantity"
        if amount < 0:
            problem = "is negative"
        elif "/" in name and amount.denominator != 1:
            problem = "is not a whole number, and devices cannot be divided"
        if problem:
            fix = "write an amount such as 2, 500m or 1.5Gi" if "/" not in name else "write a whole number such as 2"
            violations.append(Violation(field=f"{field}[{name}]", value=str(text), rule=problem, fix=fix))
        else:
            amounts[name] = amount
    return amounts, violations


def may_be_overcommitted(name: str) -> bool:
    """Whether pods may ask for less of the resource than they may use: not of devices and huge pages."""
    is_device = "/" in name and "kubernetes.io/" not in name
    return not is_device and not name.startswith("hugepages-")


def shown(name: str, amount: Fraction) -> str:
    """An amount of the resource as Kubernetes would print it."""
    return canonical(name, to_units(amount, scale=1000 if name == "cpu" else 1))
