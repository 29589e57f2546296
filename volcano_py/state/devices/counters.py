"""Counters that devices of a pool share: what a card has of them, and what each of its parts consumes.

A card and its parts are devices of their own. Which of them can be given together follows from the counters.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from volcano_py.api.devices.slices import CounterSet, SliceDevice
from volcano_py.api.quantity import parse_quantity

Amounts = NDArray[np.int64]
CounterName = tuple[str, str]
"""Of the set, and in it."""

_MOST: Final = 2**40
"""Of a value, in units: sums over all devices of a cluster stay far below the largest whole number."""


class Counters(msgspec.Struct, frozen=True, eq=False):
    """Counters [C], and entries [E] of what devices consume of them: one for each device and counter, by device.

    Amounts are in units of the counter that divide all of them. Where that unit is too small to count in, it is larger:
    then what is consumed is rounded up.

    Attributes:
        device: [E] positions, ascending.
        counter: [E]
        amount: [E]
        value: [C] what there is.
        counter_set: [C] the number of the set that it is in, from 0.
        like: [D] devices with one number consume the same; 0: nothing.
    """

    device: NDArray[np.intp]
    counter: NDArray[np.intp]
    amount: Amounts
    value: Amounts
    counter_set: NDArray[np.intp]
    like: NDArray[np.intp]

    def left(self, used: NDArray[np.bool_]) -> Amounts:
        """[C] what there is beyond what these devices [D] consume."""
        found, taking = self.value.copy(), used[self.device]
        np.subtract.at(found, self.counter[taking], self.amount[taking])
        return found


def read_counters(sets: Sequence[CounterSet], devices: Sequence[SliceDevice]) -> Counters:
    """Those of a pool, whose devices consume no others.

    Raises:
        QuantityError: a value is no quantity.
    """
    values = {
        (each.name, name): parse_quantity(counter.value) for each in sets for name, counter in each.counters.items()
    }
    consumed = [_consumed(device) for device in devices]
    units = {name: _unit(value, [each[name] for each in consumed if name in each]) for name, value in values.items()}
    numbers = {name: number for number, name in enumerate(values)}
    entries = [
        (at, numbers[name], _units(amount, values[name], units[name]))
        for at, each in enumerate(consumed)
        for name, amount in each.items()
    ]
    kinds: dict[frozenset[tuple[CounterName, Fraction]], int] = {frozenset(): 0}
    like = [kinds.setdefault(frozenset(each.items()), len(kinds)) for each in consumed]
    set_numbers = {each.name: number for number, each in enumerate(sets)}
    device, counter, amount = np.array(entries, dtype=np.int64).reshape(-1, 3).T
    return Counters(
        device=device.astype(np.intp),
        counter=counter.astype(np.intp),
        amount=np.ascontiguousarray(amount),
        value=np.array([math.floor(value / units[name]) for name, value in values.items()], dtype=np.int64),
        counter_set=np.array([set_numbers[name] for name, _ in values], dtype=np.intp),
        like=np.array(like, dtype=np.intp),
    )


def joined(pools: Sequence[tuple[int, Counters]], size: int) -> Counters:
    """As one, those of pools, each with the position of its first device; there are `size` devices."""
    like = np.zeros(size, dtype=np.intp)
    parts, counters, sets, kinds = [_NONE], 0, 0, 0
    for first, pool in pools:
        like[first : first + len(pool.like)] = np.where(pool.like > 0, pool.like + kinds, 0)
        device, counter, counter_set = pool.device + first, pool.counter + counters, pool.counter_set + sets
        parts.append(Counters(device, counter, pool.amount, pool.value, counter_set, pool.like))
        counters += len(pool.value)
        sets += int(pool.counter_set.max(initial=-1)) + 1
        kinds += int(pool.like.max(initial=0))
    return Counters(
        device=np.concatenate([part.device for part in parts]),
        counter=np.concatenate([part.counter for part in parts]),
        amount=np.concatenate([part.amount for part in parts]),
        value=np.concatenate([part.value for part in parts]),
        counter_set=np.concatenate([part.counter_set for part in parts]),
        like=like,
    )


_NO_POSITIONS: Final = np.zeros(0, dtype=np.intp)
_NO_AMOUNTS: Final[Amounts] = np.zeros(0, dtype=np.int64)
_NONE: Final = Counters(_NO_POSITIONS, _NO_POSITIONS, _NO_AMOUNTS, _NO_AMOUNTS, _NO_POSITIONS, _NO_POSITIONS)


def _consumed(device: SliceDevice) -> Mapping[CounterName, Fraction]:
    return {
        (each.counter_set, name): parse_quantity(counter.value)
        for each in device.consumes_counters
        for name, counter in each.counters.items()
    }


def _unit(value: Fraction, amounts: Sequence[Fraction]) -> Fraction:
    """That divides all of them, unless there would be too many of it."""
    every = [each for each in (value, *amounts) if each]
    if not every:
        return Fraction(1)
    divisor = Fraction(math.gcd(*(each.numerator for each in every)), math.lcm(*(each.denominator for each in every)))
    return max(divisor, abs(value) / _MOST)


def _units(amount: Fraction, value: Fraction, unit: Fraction) -> int:
    """What is more than there is counts as little more."""
    return math.ceil(min(amount, value + unit) / unit)
