"""Dividing a cluster among queues by weight, up to what each may have and not below what it is guaranteed.

Picture vessels as wide as the queues' weights, filled from one tap until the cluster is used up: a queue stops at its
cap (what it asks for, and no more than it may have), the rest runs on to the others. A guarantee is had from the start;
a queue whose first portion, its weight's part of the whole cluster, is less than its guarantee keeps the guarantee and
goes on filling from there.

This is the fixed point of Volcano's rounds, worked out resource by resource without going round after round, so it
always ends: each pass below fills at least one queue for good. Where Volcano's first round would hand out more than
there is, because the guarantee of a queue exceeds its part, the others' level sinks until everything fits.

Everything is worked out in integers, fractions as pairs of them, so the outcome is exact and does not depend on the
order of the queues.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

Ratio = tuple[int, int]
"""Numerator and denominator: exact, and cheaper than a Fraction, of which a thousand queues would need many."""


class Division(msgspec.Struct, frozen=True):
    """What each queue deserves.

    Attributes:
        exact: [Q, R] the amounts, for shares.
        whole: [Q, R] the same rounded down to whole units, for comparisons with what is held: the sum over the queues
            never exceeds the total, unless the guarantees alone do.
    """

    exact: NDArray[np.float64]
    whole: NDArray[np.int64]


def divide(
    total: NDArray[np.int64], weights: Sequence[int], guarantees: NDArray[np.int64], caps: NDArray[np.int64]
) -> Division:
    """Divide `total` [R] among Q queues: `weights` [Q] are positive, `guarantees` and `caps` are [Q, R]."""
    caps = np.maximum(caps, guarantees)
    whole, exact = caps.copy(), caps.astype(np.float64)
    for dim in range(len(total)):
        column = caps[:, dim].tolist()
        if sum(column) <= total[dim]:
            continue
        ratios = divide_one(int(total[dim]), weights, guarantees[:, dim].tolist(), column)
        whole[:, dim] = [numerator // denominator for numerator, denominator in ratios]
        exact[:, dim] = [numerator / denominator for numerator, denominator in ratios]
    return Division(exact, whole)


def divide_one(total: int, weights: Sequence[int], guarantees: Sequence[int], caps: Sequence[int]) -> list[Ratio]:
    """Divide `total` units of one resource; each cap is at least the guarantee."""
    if sum(caps) <= total:
        return [(cap, 1) for cap in caps]
    if sum(guarantees) >= total:
        return [(guarantee, 1) for guarantee in guarantees]
    queues = [_Queue(*numbers) for numbers in zip(weights, guarantees, caps, strict=True)]
    weight = sum(weights)
    # First portions are total × a queue's weight / weight; this and what follows is scaled by `weight`.
    portions = [_clip(total * queue.weight, queue, weight) for queue in queues]
    spare = total * weight - sum(portions)
    if spare < 0:
        return _sink(total, queues)
    return _rise(spare, queues, portions, weight)


class _Queue(NamedTuple):
    weight: int
    guarantee: int
    cap: int


def _clip(amount: int, queue: _Queue, scale: int) -> int:
    return max(queue.guarantee * scale, min(amount, queue.cap * scale))


def _rise(spare: int, queues: list[_Queue], portions: list[int], scale: int) -> list[Ratio]:
    """Add `spare` to the portions by weight, up to the caps (which together exceed what there is)."""
    amounts = [(queue.cap, 1) for queue in queues]
    rising = [i for i, queue in enumerate(queues) if portions[i] < queue.cap * scale]
    while rising:
        width = sum(queues[i].weight for i in rising)
        still = [i for i in rising if portions[i] * width + spare * queues[i].weight < queues[i].cap * scale * width]
        if len(still) == len(rising):
            for i in rising:
                amounts[i] = (portions[i] * width + spare * queues[i].weight, scale * width)
            break
        spare -= sum(queues[i].cap * scale - portions[i] for i in set(rising).difference(still))
        rising = still
    return amounts


def _sink(total: int, queues: list[_Queue]) -> list[Ratio]:
    """One level for all, each between its guarantee and its cap, such that the sum is `total`.

    Each pass supposes the level that the undecided would have if none had bounds. When their bounds add more than
    they take away, the true level is lower, so those at their guarantee stay there; else those at their cap do.
    """
    amounts: list[Ratio] = [(0, 1)] * len(queues)
    undecided = list(range(len(queues)))
    while undecided:
        width = sum(queues[i].weight for i in undecided)
        settled = _settled(total, width, {i: queues[i] for i in undecided})
        if not settled:
            for i in undecided:
                amounts[i] = (total * queues[i].weight, width)
            break
        for i, amount in settled.items():
            amounts[i] = (amount, 1)
        total -= sum(settled.values())
        undecided = [i for i in undecided if i not in settled]
    return amounts


def _settled(total: int, width: int, undecided: dict[int, _Queue]) -> dict[int, int]:
    """Index of a queue → its guarantee or its cap, for those that stay there when `total` is divided by weight
    (`width`: the sum of all weights)."""
    short = {i: max(queue.guarantee * width - total * queue.weight, 0) for i, queue in undecided.items()}
    over = {i: max(total * queue.weight - queue.cap * width, 0) for i, queue in undecided.items()}
    excess = sum(short.values()) - sum(over.values())
    settled = {i: undecided[i].guarantee for i, amount in short.items() if amount and excess >= 0}
    settled.update({i: undecided[i].cap for i, amount in over.items() if amount and excess <= 0})
    return settled
