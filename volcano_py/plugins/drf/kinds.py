"""Numbers for kinds of jobs: those of one kind are equal to the tree of queues."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from volcano_py.plugins.drf.job_shares import JobShares
from volcano_py.plugins.drf.layout import Path
from volcano_py.plugins.drf.tree import Leaves

NO_PLACE: Final = 0
"""The kind of jobs that have no place in the tree."""


class Kinds:
    """The kind of each job: one number for all that are below the same node, hold the same and ask for the same."""

    def __init__(self, leaves: Leaves, jobs: JobShares) -> None:
        self._leaves = leaves
        self._held = jobs.held
        self._of_job = np.full(len(jobs.held), NO_PLACE, dtype=np.intp)
        self._numbers: dict[tuple[Path, bytes, bytes], int] = {}
        self._stale: dict[int, None] = dict.fromkeys(leaves.leaf_of)

    def note(self, job_row: int) -> None:
        """The job holds something else than before."""
        if job_row in self._leaves.leaf_of:
            self._stale[job_row] = None

    def of_jobs(self) -> NDArray[np.intp]:
        """[J] the kinds of all jobs at this moment, by job row."""
        leaves = self._leaves
        for row in self._stale:
            leaf = leaves.leaf_of[row]
            looks = leaves.parents[leaf], self._held[row].tobytes(), leaves.requests[leaf].tobytes()
            self._of_job[row] = self._numbers.setdefault(looks, len(self._numbers) + 1)
        self._stale.clear()
        return self._of_job
