"""Arithmetic that plugins share: dominant shares, sums by group and running sums over candidates.

Sums are exact integers; only a share is a float, worked out afresh from the sums each time.
"""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from volcano_py.plugins.amounts.sparse_requests import SparseRequest
from volcano_py.state.table.axis import UNLIMITED

N = TypeVar("N", np.int64, np.float64)


def dominant_share(held: NDArray[np.int64], base: NDArray[Any]) -> NDArray[np.float64]:
    """[K] the largest part that `held` [K, R] is of `base` [R] or [K, R], over the resources the base has any of."""
    bases = np.where(base > 0, base, np.inf)
    shares = np.zeros(len(held))
    for dim in range(held.shape[1]):  # column by column: the largest part of each row at once takes three times as long
        np.maximum(shares, held[:, dim] / bases[..., dim], out=shares)
    return shares


def shares_ahead(
    held: NDArray[np.int64],
    base: NDArray[Any],
    asked: SparseRequest,
    of: NDArray[np.intp],
    placed: NDArray[np.int64],
) -> NDArray[np.float64]:
    """[K] the dominant shares of `held` [N, R] in `base` [N, R] with more tasks: of each node `of` [K], with `placed`
    [K] tasks of which each asks for `asked`."""
    rest = held.copy()
    rest[:, [dim for dim, _ in asked]] = 0
    shares = dominant_share(rest, base)[of]
    for dim, units in asked:
        amounts, bases = held[of, dim] + placed * units, base[of, dim]
        shares = np.maximum(shares, np.divide(amounts, bases, out=np.zeros(len(of)), where=bases > 0))
    return shares


def sums_by_group(groups: NDArray[np.integer[Any]], amounts: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """[size, R] sums of `amounts` [K, R] by group, saturated at UNLIMITED.

    What pods and PodGroups ask for is bounded one by one but not together: a tenant may create ten thousand of a
    pebibyte each, and a sum that wraps around would turn the greediest into the most modest.
    """
    sums = _sums(groups, amounts, size)
    if len(amounts) and float(amounts.max()) * len(amounts) >= float(UNLIMITED):
        sums[_sums(groups, amounts.astype(np.float64), size) >= float(UNLIMITED)] = UNLIMITED
    return sums


def saturated(amounts: NDArray[np.int64], more: NDArray[np.int64]) -> NDArray[np.int64]:
    """The sum, at most UNLIMITED, which is also the most that sums of requests amount to."""
    sums: NDArray[np.int64] = np.minimum(amounts, UNLIMITED - more) + more
    return sums


def _sums(groups: NDArray[np.integer[Any]], amounts: NDArray[N], size: int) -> NDArray[N]:
    sums = np.zeros((size, amounts.shape[1]), dtype=amounts.dtype)
    for column in range(amounts.shape[1]):  # column by column `add.at` is ten times as fast as on rows
        np.add.at(sums[:, column], groups, amounts[:, column])
    return sums


def place_in_group(groups: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
    """[K] how many earlier elements are of the same group."""
    order, starts, sizes = _grouped(groups)
    places = np.empty(len(groups), dtype=np.int64)
    places[order] = np.arange(len(groups)) - np.repeat(starts, sizes)
    return places


def sums_up_to(groups: NDArray[np.integer[Any]], amounts: NDArray[np.int64]) -> NDArray[np.int64]:
    """[K, R] for each element the sum of `amounts` [K, R] over its group up to and with itself."""
    order, starts, sizes = _grouped(groups)
    running = np.cumsum(amounts[order], axis=0)
    before = running[starts] - amounts[order[starts]]
    sums = np.empty_like(running)
    sums[order] = running - np.repeat(before, sizes, axis=0)
    return sums


def _grouped(
    groups: NDArray[np.integer[Any]],
) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
    """Positions with equal groups side by side, in their order; where each group starts there; how long each is."""
    order = np.argsort(groups, kind="stable")
    in_order = groups[order]
    is_start = np.ones(len(groups), dtype=np.bool_)
    is_start[1:] = in_order[1:] != in_order[:-1]
    starts = np.flatnonzero(is_start)
    return order, starts, np.diff(starts, append=len(groups))
