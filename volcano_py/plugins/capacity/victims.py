"""Which pods queues give up to a reclaimer: computed for all candidates together, with the outcome of one by one.

Candidates come in the order in which they would go. Each is judged by what its queue, and some queues above it, hold
without those taken before. So a test that a pod has failed is failed for good by its like. All candidates are supposed
taken; the first to fail is found in running sums; what fails at that point is out, and the rest is looked at again: as
many rounds as kinds of pods drop out one after the other, whatever the number of pods.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

import msgspec
import numpy as np
from numpy.typing import NDArray

from volcano_py.plugins.amounts.shares import sums_by_group, sums_up_to
from volcano_py.plugins.capacity.account import QueueAccount
from volcano_py.plugins.capacity.reclaim import ReclaimRight
from volcano_py.state.table.axis import PODS

Flags = NDArray[np.bool_]
Amounts = NDArray[np.int64]


Choose: TypeAlias = Callable[[ReclaimRight, Sequence[QueueAccount], NDArray[np.intp], Amounts], Flags]


def given_up(right: ReclaimRight, accounts: Sequence[QueueAccount], rows: NDArray[np.intp], requests: Amounts) -> Flags:
    """[K] candidates that are given up.

    `rows` [K] are the rows in `accounts` of their queues, -1 for queues that do not exist; `requests` is [K, R].
    """
    return _choose(_Sweep.taken, right, accounts, rows, requests)


def given_up_first(
    right: ReclaimRight, accounts: Sequence[QueueAccount], rows: NDArray[np.intp], requests: Amounts
) -> Flags:
    """[K] candidates each of which is given up when it is the first to be looked at: what has gone before only makes
    it less likely."""
    return _choose(_Sweep.first, right, accounts, rows, requests)


def _choose(
    choose: Callable[[_Sweep], Flags],
    right: ReclaimRight,
    accounts: Sequence[QueueAccount],
    rows: NDArray[np.intp],
    requests: Amounts,
) -> Flags:
    """Only candidates of queues that may give, and that hold some of what is asked for, come into question."""
    wanted = [dim for dim, _ in right.asked if dim != PODS]
    found, at = np.unique(rows, return_inverse=True)
    giving = np.array([row >= 0 and not right.spares(accounts[row]) for row in found.tolist()], dtype=np.bool_)
    chosen: Flags = giving[at] & requests[:, wanted].any(axis=1)
    if chosen.any():
        queues = [accounts[row] for row in np.unique(rows[chosen]).tolist()]
        chosen[chosen] = choose(_Sweep(right, queues, rows[chosen], requests[chosen]))
    return chosen


class _Book(msgspec.Struct, frozen=True, eq=False):
    """What a queue, or each of several, holds and is entitled to, in the columns of a sweep: [D], or [K, D]."""

    held: Amounts
    deserved: Amounts
    has_deserved: Flags
    guarantee: Amounts

    @classmethod
    def of(cls, accounts: Sequence[QueueAccount], dims: list[int]) -> _Book:
        """[Q, D]"""
        return cls(
            held=np.array([[account.held[dim] for dim in dims] for account in accounts], dtype=np.int64),
            deserved=np.array([[account.deserved[dim] for dim in dims] for account in accounts], dtype=np.int64),
            has_deserved=np.array(
                [[account.has_deserved[dim] for dim in dims] for account in accounts], dtype=np.bool_
            ),
            guarantee=np.array([[account.guarantee[dim] for dim in dims] for account in accounts], dtype=np.int64),
        )

    def __getitem__(self, at: int | NDArray[np.intp]) -> _Book:
        return _Book(self.held[at], self.deserved[at], self.has_deserved[at], self.guarantee[at])


class _Above(msgspec.Struct, frozen=True, eq=False):
    """A queue above some candidates: `members` [K] are below it, in `judged` and `kept` [K] it has a say."""

    book: _Book
    members: Flags
    judged: Flags
    kept: Flags


class _Sweep:
    """K candidates of queues that may give; columns are the D resources that any of them asks for."""

    def __init__(
        self, right: ReclaimRight, queues: Sequence[QueueAccount], rows: NDArray[np.intp], requests: Amounts
    ) -> None:
        dims = np.flatnonzero(requests.any(axis=0))
        self._right, self._dims, self._queues = right, dims.tolist(), queues
        self._requests = requests[:, dims]
        self._asks = self._requests > 0
        self._asks_but_pods = self._asks & (dims != PODS)
        self._queue = np.searchsorted([queue.row for queue in queues], rows)
        self._own = _Book.of(queues, self._dims)[self._queue]
        self._above = self._queues_above()
        self._group = self._groups()

    def taken(self) -> Flags:
        """[K] the candidates that go."""
        positions = np.arange(len(self._requests))
        alive = self._may_ever_go()
        while True:
            failing = np.flatnonzero(alive & ~self._pass(*self._taken_before(alive)))
            if not len(failing):
                return alive
            groups, firsts = np.unique(self._group[failing], return_index=True)
            end = np.full(len(self._queues), len(positions))
            end[groups] = failing[firsts]
            before = positions < end[self._group]
            alive &= before | self._pass(*self._taken_by(alive & before))

    def first(self) -> Flags:
        """[K] the candidates that could go before all others."""
        return self._may_ever_go() & self._pass(*self._taken_by(np.zeros(len(self._requests), dtype=np.bool_)))

    # -- running sums ----------------------------------------------------------------------------------------------

    def _taken_before(self, alive: Flags) -> tuple[Amounts, list[Amounts]]:
        """[K, D] what of each candidate's queue, and of each queue above, goes before the candidate."""
        amounts = np.where(alive[:, None], self._requests, 0)
        above = [np.where(each.members[:, None], amounts, 0) for each in self._above]
        return sums_up_to(self._queue, amounts) - amounts, [np.cumsum(each, axis=0) - each for each in above]

    def _taken_by(self, gone: Flags) -> tuple[Amounts, list[Amounts]]:
        """[K, D] what of each candidate's queue, and [D] of each queue above, has gone."""
        amounts = np.where(gone[:, None], self._requests, 0)
        own = sums_by_group(self._queue, amounts, len(self._queues))[self._queue]
        return own, [amounts[each.members].sum(axis=0) for each in self._above]

    # -- tests -----------------------------------------------------------------------------------------------------

    def _pass(self, taken: Amounts, taken_above: list[Amounts]) -> Flags:
        """[K] whether each candidate may go when this much of its queue, and of those above, has gone."""
        left = self._own.held - taken
        permitted = self._exceeds(left, self._own) & self._keeps(left, self._own)
        for above, gone in zip(self._above, taken_above, strict=True):
            left = above.book.held - gone
            permitted &= ~above.judged | self._exceeds(left, above.book)
            permitted &= ~above.kept | self._keeps(left, above.book)
        return permitted

    def _exceeds(self, left: Amounts, book: _Book) -> Flags:
        """[K] the queue holds more than it deserves of something that the candidate holds, or deserves none of it.

        Of everything that the candidate holds, if the right goes beyond what its own queue deserves.
        """
        common = self._asks & book.has_deserved
        exceeding: Flags = np.any(common & (left > book.deserved), axis=1) | ~np.any(common, axis=1)
        if self._right.goes_beyond:
            exceeding &= np.all(~self._asks_but_pods | (left > book.deserved), axis=1)
        return exceeding

    def _keeps(self, left: Amounts, book: _Book) -> Flags:
        """[K] without the candidate the queue still holds all that it is guaranteed of what the candidate holds."""
        concerned = self._asks & (book.guarantee > 0)
        keeping: Flags = np.all(~concerned | (left - self._requests >= book.guarantee), axis=1)
        return keeping

    def _may_ever_go(self) -> Flags:
        """[K] not of related queues that deserve as little of it as the claimant does."""
        if not self._right.deserves_none:
            return np.ones(len(self._requests), dtype=np.bool_)
        is_kin = np.array([self._right.are_kin(queue) for queue in self._queues], dtype=np.bool_)[self._queue]
        deserves_none = ~(self._asks & self._own.has_deserved).any(axis=1)
        going: Flags = ~(is_kin & deserves_none)
        return going

    # -- queues above ------------------------------------------------------------------------------------------------

    def _queues_above(self) -> list[_Above]:
        """Those that have a say in at least one candidate."""
        judged = [self._right.judged(queue) for queue in self._queues]
        kept = [self._right.kept(queue) for queue in self._queues]
        concerned = {each.row: each for of_queue in (*judged, *kept) for each in of_queue}
        return [
            _Above(
                _Book.of([above], self._dims)[0],
                members=self._where(above in queue.chain for queue in self._queues),
                judged=self._where(above in of_queue for of_queue in judged),
                kept=self._where(above in of_queue for of_queue in kept),
            )
            for _, above in sorted(concerned.items())
        ]

    def _where(self, of_queues: Iterable[bool]) -> Flags:
        """[K] a flag of each queue, by candidate."""
        return np.array(list(of_queues), dtype=np.bool_)[self._queue]

    def _groups(self) -> NDArray[np.intp]:
        """[K] candidates whose tests depend on each other: those of a queue, or of all below one that has a say."""
        tops = [queue.chain[-2].row for queue in self._queues]
        coupled = {
            top
            for top, queue in zip(tops, self._queues, strict=True)
            if self._right.judged(queue) or self._right.kept(queue)
        }
        keys = [
            (top, -1) if top in coupled else (top, queue.row) for top, queue in zip(tops, self._queues, strict=True)
        ]
        numbers = {key: number for number, key in enumerate(dict.fromkeys(keys))}
        return np.array([numbers[key] for key in keys], dtype=np.intp)[self._queue]
