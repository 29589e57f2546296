"""Runs of equal numbers in a sorted array: the members of each group, one after the other."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def starts_of_runs(groups: NDArray[np.integer[Any]]) -> NDArray[np.intp]:
    """Where each run of equal `groups` [K] begins."""
    starts: NDArray[np.intp] = np.flatnonzero(np.r_[True, groups[1:] != groups[:-1]][: len(groups)])
    return starts


def ranks_in_runs(groups: NDArray[np.integer[Any]]) -> NDArray[np.intp]:
    """[K] which one each is of its run: 0 for the first."""
    starts = starts_of_runs(groups)
    ranks: NDArray[np.intp] = np.arange(len(groups)) - np.repeat(starts, np.diff(starts, append=len(groups)))
    return ranks
