"""pdb: evictions respect PodDisruptionBudgets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from volcano_py.api.wording.summarize import counted, summarize
from volcano_py.framework.job import Task
from volcano_py.framework.plugin import Plugin
from volcano_py.framework.session import Session
from volcano_py.state.budgets import Budget
from volcano_py.state.status import TaskStatus
from volcano_py.state.table.table import Rows
from volcano_py.state.terms.selectors import selects

_UNKNOWN: Final = -1


class Pdb(Plugin):
    """Every budget that selects a pod must allow one more disruption, those of this cycle counted.

    A pod without labels is never given up, as in Volcano.
    """

    name = "pdb"
    sees_jobs_alike = True
    guards = frozenset({"preemptable", "reclaimable"})
    only_protects = True
    protects_temporarily = True

    def on_session_open(self, ssn: Session) -> None:
        self._ssn = ssn
        self._before = ssn.snapshot.ledger.tasks.status[: ssn.ledger.tasks.size]
        self._matching: dict[int, tuple[Budget, ...]] = {}
        self._goes_alone = np.full(ssn.ledger.tasks.size, _UNKNOWN, dtype=np.int8)
        """[T] whether the pod could be evicted if no other was."""

    def evictions_follow_from(self) -> Hashable:
        return tuple(self._ssn.snapshot.budgets.values())

    def preemptable(self, preemptor: Task, candidates: Rows) -> NDArray[np.bool_]:  # noqa: ARG002
        return self._within_budgets(candidates)

    def reclaimable(self, reclaimer: Task, candidates: Rows) -> NDArray[np.bool_]:
        return self.preemptable(reclaimer, candidates)

    def spared_tasks(self, victims: Rows) -> NDArray[np.bool_]:
        return ~self._within_budgets(victims)

    def _within_budgets(self, candidates: Rows) -> NDArray[np.bool_]:
        """[K] which candidates may be evicted, one after the other."""
        taken: Counter[Budget] = Counter()
        for row in self._evicted_in_this_cycle().tolist():
            taken.update(self._budgets_of(row))
        allowed = np.zeros(len(candidates), dtype=np.bool_)
        for place, row in enumerate(candidates.tolist()):
            budgets = self._budgets_of(row)
            if self._ssn.task_info(row).labels and all(taken[budget] < budget.allowed for budget in budgets):
                allowed[place] = True
                taken.update(budgets)
        return allowed

    def possible_victims(self, point: str, task: Task, candidates: Rows) -> NDArray[np.bool_]:  # noqa: ARG002
        """Those that would go alone, whatever waits; found once for each pod."""
        for row in candidates[self._goes_alone[candidates] == _UNKNOWN].tolist():
            self._goes_alone[row] = bool(self._ssn.task_info(row).labels) and all(
                budget.allowed > 0 for budget in self._budgets_of(row)
            )
        possible: NDArray[np.bool_] = self._goes_alone[candidates] == 1
        return possible

    def protected_by(self, rows: Rows) -> str:
        unlabelled = "by plugin pdb (they have no labels)"
        budgets = {budget.name: budget.allowed for row in rows.tolist() for budget in self._budgets_of(row)}
        if not budgets:
            return unlabelled
        names = sorted(name for name, allowed in budgets.items() if not allowed) or sorted(budgets)
        allowed = budgets[names[0]] if len(names) == 1 else 0
        most = f" ({counted(allowed, 'disruption')} allowed)" if allowed else ""
        all_have_labels = all(self._ssn.task_info(row).labels for row in rows.tolist())
        return f"by PodDisruptionBudget {summarize(names)}{most}{'' if all_have_labels else f', or {unlabelled}'}"

    def _evicted_in_this_cycle(self) -> Rows:
        return np.flatnonzero(
            (self._ssn.ledger.tasks.status == TaskStatus.RELEASING) & (self._before != TaskStatus.RELEASING)
        )

    def _budgets_of(self, row: int) -> tuple[Budget, ...]:
        """The budgets that count the pod's disruption."""
        known = self._matching.get(row)
        if known is None:
            info = self._ssn.task_info(row)
            known = self._matching[row] = tuple(
                budget
                for budget in self._ssn.snapshot.budgets.get(info.ref.namespace, ())
                if info.ref.name not in budget.disrupted and selects(budget.selector, info.labels)
            )
        return known
