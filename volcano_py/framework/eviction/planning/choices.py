"""All choices of units as columns, the cheapest first: for few candidates only, as their number doubles with each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from math import prod
from typing import Final, NamedTuple

import numpy as np

from volcano_py.framework.eviction.planning.bundles import Counts, Flags, Floats, Stock
from volcano_py.framework.eviction.planning.cost import PLACES
from volcano_py.state.table.table import Rows

MOST_CHOICES: Final = 16384
"""As many are compared in some milliseconds."""

Key = tuple[float, ...]


class Atoms(NamedTuple):
    """What choices are made of, as columns [A]: pods that go alone, and jobs that go whole.

    Attributes:
        row: the rows of the pods; of a job that goes whole, that of one of its pods.
        job: the rows of the jobs.
        whole: the job goes whole.
        complete: the job goes whole, and has its minimums.
        rank: the places of their queues in victim queue order.
        priority: of the jobs.
        size: what is freed, as a sum of parts of the cluster.
        turn: the places among all candidates.
        freed: [A, N, D] what is freed on some nodes, of some resources.
    """

    row: Rows
    job: Rows
    whole: Flags
    complete: Flags
    rank: Rows
    priority: Counts
    size: Floats
    turn: Counts
    freed: Counts


class Choices:
    """Sets of atoms, the cheapest first."""

    def __init__(self, atoms: Atoms, chosen: Flags, *, surplus_first: bool) -> None:
        """`chosen` [C, A]: the atoms of each choice; `surplus_first`: those in which a job goes whole come last."""
        keys = _keys(atoms, chosen)
        keys[:, 0] *= surplus_first
        order = np.lexsort(keys.T[::-1])
        self._chosen, self._keys = chosen[order], keys[order]
        self._is_open = np.ones(len(order), dtype=np.bool_)

    def __iter__(self) -> Iterator[tuple[Rows, Key]]:
        """The atoms of a choice, and its cost: whether a job goes whole, the last rank, the highest priority, how many
        jobs, complete gangs and pods that go alone, what is freed, the last turn."""
        at = 0
        while (left := np.flatnonzero(self._is_open[at:])).size:
            at += int(left[0])
            yield np.flatnonzero(self._chosen[at]), tuple(self._keys[at].tolist())
            at += 1

    def leave_out(self, atoms: Rows) -> None:
        """No choice with all of these comes any more."""
        self._is_open &= ~self._chosen[:, atoms].all(axis=1)


class Found(NamedTuple):
    """Choices from a stock.

    Attributes:
        at: [A] the atoms, by their positions in the stock.
        whole: [A] the job goes whole.
        chosen: [C, A] sets of atoms.
        are_all: the sets are all that there are.
    """

    at: Rows
    whole: Flags
    chosen: Flags
    are_all: bool


def choices_of(stock: Stock, first: Rows, most: int = MOST_CHOICES) -> Found:
    """All sets of atoms: of each job as many pods as it can give at most, or all of it. If those are more than `most`,
    jobs are left out: the last in victim queue order and in turn, those in `first` after all others.

    Of pods of a job that are alike, those go first that are the first to go.
    """
    at: list[int] = []
    is_whole: list[bool] = []
    options: list[list[tuple[int, ...]]] = []
    count, are_all = 1, True
    for job in _in_order(stock, first):
        if 2 * count > most:
            are_all = False
            break
        positions = np.flatnonzero(stock.job == job)
        positions = positions[np.argsort(stock.turn[positions])]
        atoms, found = _of_job(stock, positions, len(at), most, count)
        if not found:
            are_all = False
            continue
        count *= len(found)
        options.append(found)
        at += atoms
        is_whole += [False] * (len(at) - len(is_whole) - 1) + [bool(stock.whole[positions[0]])]
    chosen = _combined(options, len(at))
    return Found(np.array(at, dtype=np.intp), np.array(is_whole, dtype=np.bool_), chosen, are_all)


def _in_order(stock: Stock, first: Rows) -> list[int]:
    """The jobs: those in `first`, and the others by victim queue order and turn."""
    order = np.lexsort((stock.turn, stock.rank, ~np.isin(stock.job, first)))
    return list(dict.fromkeys(stock.job[order].tolist()))


def _of_job(
    stock: Stock, positions: Rows, start: int, most: int, others: int
) -> tuple[list[int], list[tuple[int, ...]]]:
    """The atoms of a job with pods at these positions, the first of which gets the number `start`, and sets of them;
    none if they are more than `most` together with the `others` of other jobs."""
    spare = positions[stock.spare[positions]].tolist()
    groups: dict[tuple[int, bytes], list[int]] = {}
    for place, position in enumerate(spare, start):
        alike = (int(stock.node[position]), stock.request[position].tobytes())
        groups.setdefault(alike, []).append(place)
    is_whole = bool(stock.whole[positions[0]])
    each, spares = list(groups.values()), int(stock.spares[positions[0]])
    ways = prod(min(len(group), spares) + 1 for group in each)
    if ways > most or (_count(each, spares) + is_whole) * others > most:
        return spare, []
    found = _options(each, spares)
    if not is_whole:
        return spare, found
    return [*spare, int(positions[0])], [*found, (start + len(spare),)]


def _options(groups: Sequence[Sequence[int]], spares: int) -> list[tuple[int, ...]]:
    """What a job can give pod by pod, `spares` pods in all. Of each group the first go first."""
    counts = product(*(range(min(len(group), spares) + 1) for group in groups))
    return [
        tuple(atom for group, count in zip(groups, each, strict=True) for atom in group[:count])
        for each in counts
        if sum(each) <= spares
    ]


def _count(groups: Sequence[Sequence[int]], spares: int) -> int:
    """How many choices `_options` would list."""
    ways = [1] + [0] * spares
    """How many choices of the groups so far take no pod, one pod, …"""
    for group in groups:
        ways = [sum(ways[max(taken - len(group), 0) : taken + 1]) for taken in range(spares + 1)]
    return sum(ways)


def _combined(options: Sequence[Sequence[tuple[int, ...]]], size: int) -> Flags:
    """[C, A] one option of each job, in all ways."""
    chosen: Flags = np.zeros((1, size), dtype=np.bool_)
    for each in options:
        flags = np.zeros((len(each), size), dtype=np.bool_)
        for number, atoms in enumerate(each):
            flags[number, list(atoms)] = True
        chosen = (chosen[:, None, :] | flags[None]).reshape(-1, size)
    return chosen


def _keys(atoms: Atoms, chosen: Flags) -> Floats:
    """[C, K] what choices are ordered by."""
    jobs = np.unique(atoms.job)
    of_job = (atoms.job[:, None] == jobs).astype(np.int64)
    return np.column_stack(
        (
            chosen[:, atoms.whole].any(axis=1),
            np.where(chosen, atoms.rank, 0).max(axis=1),
            np.where(chosen, atoms.priority, np.iinfo(np.int64).min).max(axis=1),
            (chosen.astype(np.int64) @ of_job > 0).sum(axis=1),
            chosen[:, atoms.complete].sum(axis=1),
            chosen[:, ~atoms.whole].sum(axis=1),
            np.round(chosen @ atoms.size, PLACES),
            np.where(chosen, atoms.turn, 0).max(axis=1),
        )
    ).astype(np.float64)
