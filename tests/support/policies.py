"""Plugins with one simple opinion, to stand next to the one under test."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from volcano_py.framework.job import Task
from volcano_py.framework.plugin import Plugin
from volcano_py.state.table.table import Rows


class Ruthless(Plugin):
    """Gives up every pod."""

    name = "ruthless"

    def preemptable(self, preemptor: Task, candidates: Rows) -> NDArray[np.bool_]:
        return np.ones(len(candidates), dtype=np.bool_)

    def reclaimable(self, reclaimer: Task, candidates: Rows) -> NDArray[np.bool_]:
        return self.preemptable(reclaimer, candidates)
