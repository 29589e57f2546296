"""Devices that several claims share: how much of their capacity a claim takes, and what all claims have taken.

A driver says by a policy which amounts can be taken. A device that is not shared is given whole; what a request says of
capacity is only a condition then.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Final

import msgspec
import numpy as np

from volcano_py.api.quantity import format_binary, format_decimal, parse_quantity
from volcano_py.state.devices.counters import Amounts
from volcano_py.state.devices.device import Device, Policy

Capacity = tuple[tuple[str, str], ...]
"""What a request asks of each capacity, by name and as written."""
Taken = dict[int, int]
"""Column → amount, in units of the column."""

_MOST: Final = 2**50
"""Of a value, in units: sums over the claims of a device stay below the largest whole number."""
_FINEST: Final = 9
"""Kubernetes knows billionths at most."""


class _Column(msgspec.Struct, frozen=True):
    """One capacity of one device."""

    number: int
    name: str
    value: Fraction
    unit: Fraction

    def units(self, amount: Fraction) -> int:
        """What is more than there is counts as little more."""
        return math.ceil(min(amount, self.value + self.unit) / self.unit)


class Shares:
    """Columns [K] for the capacity of devices that are shared. Amounts are in a unit of each column, and rounded up.

    Attributes:
        value: [K] what there is.
    """

    def __init__(self, devices: Sequence[Device]) -> None:
        self._columns: dict[int, tuple[_Column, ...]] = {}
        values = list[int]()
        for position, device in enumerate(devices):
            if device.is_shared:
                columns = tuple(_columns(device, len(values)))
                values += [math.floor(column.value / column.unit) for column in columns]
                self._columns[position] = columns
        self.value: Amounts = np.array(values, dtype=np.int64)

    @property
    def positions(self) -> list[int]:
        """Of the devices that are shared, ascending."""
        return list(self._columns)

    def __contains__(self, position: int) -> bool:
        return position in self._columns

    def whole(self, position: int) -> Taken:
        """What a claim takes that has the whole device; nothing of one that is not shared."""
        return {column.number: column.units(column.value) for column in self._columns.get(position, ())}

    def taken(self, position: int, amounts: Mapping[str, Fraction]) -> Taken:
        """What a claim takes of a shared device that consumes these amounts, by `domain/name`."""
        return {
            column.number: column.units(amounts.get(column.name, Fraction(0))) for column in self._columns[position]
        }


NO_SHARES: Final = Shares(())


def consumption(device: Device, asked: Capacity) -> dict[str, Fraction] | None:
    """What is consumed of each capacity of the device, by `domain/name`; None if it cannot be had, however free the
    device is."""
    wanted: dict[str, Fraction] = {}
    for name, text in asked:
        full = name if "/" in name else f"{device.driver}/{name}"
        if full not in device.capacity or full in wanted:
            return None
        wanted[full] = parse_quantity(text)
    found: dict[str, Fraction] = {}
    for name, text in device.capacity.items():
        value, amount = parse_quantity(text), wanted.get(name)
        taken = _allowed(amount, value, device.policies.get(name))
        if taken is None or not 0 <= taken <= value:
            return None
        found[name] = taken
    return found


def written(amount: Fraction) -> str:
    """As a quantity: multiples of 1024 are most likely bytes."""
    if amount.denominator == 1 and amount % 1024 == 0:
        return format_binary(amount.numerator)
    return format_decimal(math.ceil(amount * 10**_FINEST), exponent=-_FINEST)


def read_consumed(driver: str, consumed: Mapping[str, str | int | float]) -> dict[str, Fraction]:
    """What an allocation says, by `domain/name`. Raises QuantityError."""
    return {name if "/" in name else f"{driver}/{name}": parse_quantity(each) for name, each in consumed.items()}


def _columns(device: Device, first: int) -> Iterator[_Column]:
    for number, (name, text) in enumerate(device.capacity.items(), start=first):
        value = parse_quantity(text)
        yield _Column(number, name, value, _unit(value))


def _unit(value: Fraction) -> Fraction:
    """The finest of which there are not too many."""
    unit = Fraction(1, 10**_FINEST)
    while value / unit > _MOST:
        unit *= 1000
    return unit


def _allowed(asked: Fraction | None, value: Fraction, policy: Policy | None) -> Fraction | None:
    """The least that can be taken and is enough; None if there is no such amount."""
    if policy is None:
        return value if asked is None else asked
    if asked is None:
        return value if policy.default is None else policy.default
    if policy.values:
        return min((each for each in policy.values if each >= asked), default=None)
    taken = max(asked, policy.least)
    if policy.step is not None:
        taken = policy.least + math.ceil((taken - policy.least) / policy.step) * policy.step
    return None if policy.most is not None and taken > policy.most else taken
