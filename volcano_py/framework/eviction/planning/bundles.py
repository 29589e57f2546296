"""Bundles: the smallest sets of units that make room for a task, in the order in which they should go.

Victims are chosen before nodes, over all nodes at once, in arrays. A bundle is one unit that makes room by itself,
wherever that is, or the first units of one node that do so together. The order: victim queue order, the highest job
priority, jobs for each place that is made, whole gangs that are complete, surplus pods, what is freed beyond the need,
the newest. Which node the task then gets is the placer's choice.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from volcano_py.state.table.across import all_of, any_of, least_of
from volcano_py.state.table.table import Rows

Flags = NDArray[np.bool_]
Counts = NDArray[np.int64]
Floats = NDArray[np.float64]

_NO_ROWS: Final = np.zeros(0, dtype=np.intp)


class Stock(msgspec.Struct, frozen=True, eq=False):
    """The pods that may go for one need, by node, and there in the order of `Candidates`.

    Attributes:
        rows: [P] task rows.
        node: [P] their nodes.
        job: [P] the rows of their jobs.
        rank: [P] the places of their queues in victim queue order.
        request: [P, D] what they hold of the D resources that the task asks for.
        spare: [P] whether the pod may go alone.
        spares: [P] how many pods its job can give in this way.
        whole: [P] whether its job may go whole.
        turn: [P] the place of the pod among all candidates, without regard to nodes and queues.
    """

    rows: Rows
    node: Rows
    job: Rows
    rank: Rows
    request: Counts
    spare: Flags
    spares: Counts
    whole: Flags
    turn: Counts

    def __len__(self) -> int:
        return len(self.rows)

    def on_one_node(self) -> Stock:
        """The same as if all pods were on node 0: for what is lacking wherever they are."""
        at = np.argsort(self.turn, kind="stable")
        return msgspec.structs.replace(self.take(at), node=np.zeros(len(at), dtype=np.intp))

    def where(self, keep: Flags) -> Stock:
        """Those that are marked."""
        return self if keep.all() else self.take(np.flatnonzero(keep))

    def take(self, at: Rows) -> Stock:
        """Those at these positions, in this order."""
        return Stock(*(getattr(self, name).take(at, axis=0) for name in self.__struct_fields__))


class Wanted(msgspec.Struct, frozen=True, eq=False):
    """What places are made for.

    Attributes:
        request: [D] what one task asks for, without what it does not ask for.
        count: how many tasks like it have no place.
        idle: [N, D] what will be free on each node.
        worth: [D] what one unit of each resource weighs in comparisons of what is freed.
    """

    request: Counts
    count: int
    idle: Counts
    worth: Floats

    def places(self, idle: Counts) -> Counts:
        """[K] how many tasks fit into `idle` [K, D]."""
        places: Counts = np.maximum(least_of(idle // self.request), 0)
        return places


class JobFacts(msgspec.Struct, frozen=True, eq=False):
    """Columns [J] by job row.

    Attributes:
        priority: of the job.
        complete: it has its minimums.
        held: [J, D] what it holds.
    """

    priority: Counts
    complete: Flags
    held: Counts


class Bundle(msgspec.Struct, frozen=True, eq=False):
    """Rows of pods that go alone, and then of jobs that go whole."""

    alone: Rows
    whole: tuple[int, ...]


class _Offers(msgspec.Struct, frozen=True, eq=False):
    """Bundles of one shape as columns.

    Attributes:
        keys: [B, C] what they are ordered by.
        order: positions in the stock.
        start: [B] the pods of a bundle are `order[start:stop]`.
        stop: [B]
        job: [B] the job that goes whole with all its pods; -1 where the pods say it.
        is_alone: the pods are surplus, each of them.
    """

    keys: Floats
    order: Rows
    start: Rows
    stop: Rows
    job: Rows
    is_alone: bool = False


class Bundles:
    """The bundles of a stock for what is wanted."""

    def __init__(self, stock: Stock, wanted: Wanted, jobs: JobFacts) -> None:
        missing = np.maximum(wanted.request - wanted.idle, 0)
        dims = np.flatnonzero(missing.any(axis=0))  # (mostly one or two; what no node lacks need not be looked at)
        useful = any_of(np.minimum(missing[:, dims].take(stock.node, axis=0), stock.request[:, dims]) > 0)
        self._stock = stock.where(useful)
        self._short = missing.take(self._stock.node, axis=0)
        self._dims = dims
        self._wanted = wanted
        self._jobs = jobs
        self._goes_alone, self._goes_whole = self._ways()

    def __iter__(self) -> Iterator[Bundle]:
        """The first to go first."""
        offers = [offer for offer in (self._alone(), self._whole(), self._together()) if len(offer.keys)]
        if not offers:
            return
        keys = np.concatenate([offer.keys for offer in offers])
        shape = np.repeat(np.arange(len(offers)), [len(offer.keys) for offer in offers])
        place = np.concatenate([np.arange(len(offer.keys)) for offer in offers])
        first = _least(keys)  # seldom is another one needed
        yield self._bundle(offers[shape[first]], int(place[first]))
        for at in np.lexsort(keys.T[::-1]).tolist():
            if at != first:
                yield self._bundle(offers[shape[at]], int(place[at]))

    def _bundle(self, offer: _Offers, at: int) -> Bundle:
        positions = self._needed(offer.order[offer.start[at] : offer.stop[at]])
        is_alone = self._goes_alone[positions] | offer.is_alone
        alone, whole = positions[is_alone], self._stock.job[positions[~is_alone]].tolist()
        if offer.job[at] >= 0:
            whole.append(int(offer.job[at]))
        alone = alone[~np.isin(self._stock.job[alone], whole)]  # (they go with their job)
        return Bundle(self._stock.rows[alone], tuple(dict.fromkeys(whole)))

    def _needed(self, positions: Rows) -> Rows:
        """Without those of the pods on a node that free too much: the last frees enough with the others."""
        if len(positions) < 2:
            return positions
        request = self._stock.request[positions]
        beyond = request.sum(axis=0) - self._short[positions[0]]
        keep = np.ones(len(positions), dtype=np.bool_)
        for at in range(len(positions) - 2, -1, -1):
            if (request[at] <= beyond).all():
                keep[at], beyond = False, beyond - request[at]
        return positions[keep]

    def _ways(self) -> tuple[Flags, Flags]:
        """[P] pods that can go alone in a bundle of their node, and those that can only go with their whole job."""
        stock = self._stock
        is_start = _starts(stock.node, stock.job)
        before: Counts = np.cumsum(stock.spare, dtype=np.int64) - stock.spare
        place: Counts = before - before[is_start][np.cumsum(is_start) - 1] if len(stock) else before
        alone = stock.spare & (place < stock.spares)
        return alone, ~alone & stock.whole

    # -- the three shapes ------------------------------------------------------------------------------------------

    def _alone(self) -> _Offers:
        """One surplus pod that makes room by itself."""
        stock = self._stock
        at = np.flatnonzero(stock.spare & all_of(stock.request >= self._short))
        if not len(at):
            return _NO_OFFERS
        found, short = stock.take(at), self._short[at]
        gain = np.minimum(self._wanted.places(self._wanted.idle[found.node] + found.request), self._wanted.count)
        # (another rule, such as a domain filter, may keep a node closed that has room)
        gain = np.maximum(gain, 1)
        excess = (found.request - short) @ self._wanted.worth
        keys = self._keys(found.rank, found.job, 1 / gain, np.zeros(len(at)), 1 / gain, excess, found.turn)
        places = np.arange(len(at))
        return _Offers(keys, at, places, places + 1, np.full(len(at), -1), is_alone=True)

    def _whole(self) -> _Offers:
        """A job that makes room wherever its pods are."""
        stock, wanted = self._stock, self._wanted
        at = np.flatnonzero(stock.whole)
        if not len(at):
            return _NO_OFFERS
        size = len(wanted.idle)
        spots, first, spot = np.unique(stock.job[at] * size + stock.node[at], return_index=True, return_inverse=True)
        freed = np.zeros((len(spots), stock.request.shape[1]), dtype=np.int64)
        np.add.at(freed, spot, stock.request[at])
        idle, first = wanted.idle[spots % size], at[first]
        more = wanted.places(idle + freed) - wanted.places(idle)
        jobs, lead, of_job = np.unique(spots // size, return_index=True, return_inverse=True)
        gain = np.zeros(len(jobs), dtype=np.int64)
        np.add.at(gain, of_job, more)
        turn = np.full(len(jobs), np.iinfo(np.int64).max)
        np.minimum.at(turn, of_job[spot], stock.turn[at])  # (of its first pod, on whatever node)
        useful = gain > 0
        jobs, gain, turn = jobs[useful], np.minimum(gain[useful], wanted.count), turn[useful]
        lead = first[lead[useful]]
        excess = (self._jobs.held[jobs] - gain[:, None] * wanted.request) @ wanted.worth
        complete = self._jobs.complete[jobs].astype(np.float64)
        keys = self._keys(stock.rank[lead], jobs, 1 / gain, complete, np.zeros(len(jobs)), excess, turn)
        nowhere = np.zeros(len(jobs), dtype=np.intp)
        return _Offers(keys, _NO_ROWS, nowhere, nowhere, jobs)

    def _together(self) -> _Offers:
        """The first pods of a node that make room together; alone as far as their jobs can spare them."""
        stock = self._stock
        at = np.flatnonzero(self._goes_alone | self._goes_whole)
        if not len(at):
            return _NO_OFFERS
        order = self._by_node(at)
        node = stock.node[order]
        is_start = _starts(node)
        starts, run = np.flatnonzero(is_start), np.cumsum(is_start) - 1
        holds = stock.request[:, self._dims].take(order, axis=0)
        freed = np.cumsum(holds, axis=0)
        freed -= (freed[starts] - holds[starts]).take(run, axis=0)
        enough = np.flatnonzero(all_of(freed >= self._short[:, self._dims].take(order, axis=0)))
        runs, which = np.unique(run[enough], return_index=True)
        start, stop = starts[runs], enough[which] + 1
        several = stop - start > 1
        start, stop = start[several], stop[several]
        if not len(start):
            return _NO_OFFERS
        return _Offers(self._keys_of_slices(order, start, stop), order, start, stop, np.full(len(start), -1))

    def _keys_of_slices(self, order: Rows, start: Rows, stop: Rows) -> Floats:
        """[B, C] the keys of the bundles `order[start:stop]`."""
        stock, lengths = self._stock, stop - start
        ends = np.cumsum(lengths)
        begins = ends - lengths
        at = order[np.arange(ends[-1]) + np.repeat(start - begins, lengths)]
        whole, job = self._goes_whole[at], stock.job[at]
        new_job = _starts(job, whole)
        new_job[begins] = True
        held = stock.request.take(at, axis=0) @ self._wanted.worth
        if whole.any():
            held = np.where(whole, (self._jobs.held @ self._wanted.worth)[job] * new_job, held)
        return np.column_stack(
            (
                np.maximum.reduceat(stock.rank[at], begins),
                np.maximum.reduceat(self._jobs.priority[job], begins),
                np.add.reduceat(new_job.astype(np.int64), begins),
                np.logical_or.reduceat(whole & self._jobs.complete[job], begins),
                np.add.reduceat((~whole).astype(np.int64), begins),
                np.add.reduceat(held, begins) - self._short.take(order[start], axis=0) @ self._wanted.worth,
                np.maximum.reduceat(stock.turn[at], begins),
            )
        ).astype(np.float64)

    def _by_node(self, at: Rows) -> Rows:
        """The positions by node: first the pods that go alone, by the queues that lose first."""
        ranks, whole = self._stock.rank[at], self._goes_whole[at]
        if not whole.any() and not ranks.any():
            return at
        return at[np.lexsort((ranks, whole, self._stock.node[at]))]

    def _keys(
        self, rank: Rows, job: Rows, jobs: Floats, complete: Floats, pods: Floats, excess: Floats, turn: Counts
    ) -> Floats:
        return np.column_stack((rank, self._jobs.priority[job], jobs, complete, pods, excess, turn)).astype(np.float64)


_NO_OFFERS: Final = _Offers(np.zeros((0, 7)), _NO_ROWS, _NO_ROWS, _NO_ROWS, _NO_ROWS)


def _starts(*columns: NDArray[np.generic]) -> Flags:
    """[P] where a run of equal values begins."""
    starts = np.zeros(len(columns[0]), dtype=np.bool_)
    starts[:1] = True
    for column in columns:
        starts[1:] |= column[1:] != column[:-1]
    return starts


def _least(keys: Floats) -> int:
    """The row of `keys` [B, C] that is least, column by column; the first of several."""
    left = np.arange(len(keys))
    for column in keys.T:
        values = column[left]
        left = left[values == values.min()]
        if len(left) == 1:
            break
    return int(left[0])
