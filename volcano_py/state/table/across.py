"""Reductions of tall arrays with a few columns, column by column: numpy is many times slower row by row."""

from __future__ import annotations

from functools import reduce
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

ScalarT = TypeVar("ScalarT", bound=np.generic)


def all_of(flags: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """[K] whether all D `flags` [K, D] of a row are set."""
    return reduce(np.logical_and, flags.T, np.ones(len(flags), dtype=np.bool_))


def any_of(flags: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """[K] whether any of the D `flags` [K, D] of a row is set."""
    return reduce(np.logical_or, flags.T, np.zeros(len(flags), dtype=np.bool_))


def least_of(amounts: NDArray[ScalarT]) -> NDArray[ScalarT]:
    """[K] the least of the `amounts` [K, D] of a row; D is 1 or more."""
    first, *others = amounts.T
    return reduce(np.minimum, others, first)
