"""Split classes of tasks where a plugin's answers about nodes depend on more than the pods themselves.

A class is made from the pods' own fields. Which nodes they may use can depend on their job, too: on its queue, or on
which of its pods should be together. A plugin names such a difference by `task_variants`; tasks of one class with
different variants are of different classes in this session.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from msgspec.structs import replace

from volcano_py.framework.calls.dispatch import Call, Dispatch
from volcano_py.framework.cluster_copy import ClusterCopy
from volcano_py.state.status import TaskStatus
from volcano_py.state.table.ledger import Ledger
from volcano_py.state.table.table import Rows
from volcano_py.state.task_class import TaskClass

Variant = tuple[tuple[str, str], ...]
"""(plugin name, its text) for each plugin that gives one."""


def tell_apart(cluster: ClusterCopy, dispatch: Dispatch) -> None:
    """Give each variant of a class among pending tasks a class of its own."""
    calls = _calls(cluster, dispatch)
    if not calls:
        return
    tasks = cluster.ledger.tasks
    rows = np.flatnonzero((tasks.status == TaskStatus.PENDING) & (tasks.job >= 0))
    rows = rows[np.argsort(tasks.job[rows], kind="stable")]
    jobs, starts = np.unique(tasks.job[rows], return_index=True)
    split = _Splitting(cluster.ledger, cluster.snapshot.classes)
    for job, of_job in zip(jobs.tolist(), np.split(rows, starts[1:]) if len(jobs) else (), strict=True):
        if cluster.snapshot.jobs[job] is not None:
            split.take(of_job, _variants(cluster, calls, job, of_job))
    cluster.split_classes(split.classes)


def variant_of(cluster: ClusterCopy, dispatch: Dispatch, job: int, row: int) -> Variant:
    """The variant that a task of the job would have if it were pending."""
    return _variants(cluster, _calls(cluster, dispatch), job, np.array([row], dtype=np.intp))[0]


def _calls(cluster: ClusterCopy, dispatch: Dispatch) -> list[Call]:
    return [call for call in dispatch.calls("task_variants") if call.ask("has_variants", cluster, otherwise=True)]


def _variants(cluster: ClusterCopy, calls: list[Call], job: int, rows: Rows) -> list[Variant]:
    """[K] the variant of each task."""
    said: list[list[tuple[str, str]]] = [[] for _ in rows]
    for call in calls:
        answer = call(cluster, job, rows)
        if answer is None:
            continue
        for of_task, text in zip(said, answer, strict=True):
            if text:
                of_task.append((call.plugin.name, text))
    return [tuple(of_task) for of_task in said]


class _Splitting:
    """The classes while they are split, in the session's ledger and in `classes`."""

    def __init__(self, ledger: Ledger, classes: list[TaskClass | None]) -> None:
        self._ledger = ledger
        self.classes = classes.copy()
        self._made: dict[tuple[int, Variant], int] = {}

    def take(self, rows: Rows, variants: list[Variant]) -> None:
        """Put each task into the class of its variant."""
        column = self._ledger.tasks.change(rows).task_class
        for row, variant in zip(rows.tolist(), variants, strict=True):
            if variant:
                column[row] = self._row(int(column[row]), variant)

    def _row(self, base: int, variant: Variant) -> int:
        made = self._made.get((base, variant))
        if made is None:
            made = self._made[base, variant] = self._add(base, dict(variant))
        return made

    def _add(self, base: int, variant: Mapping[str, str]) -> int:
        origin = self.classes[base]
        assert origin is not None, "a task without a class"
        row = self._ledger.classes.another(base)
        self.classes.extend([None] * (row + 1 - len(self.classes)))
        self.classes[row] = replace(origin, row=row, variant=variant)
        return row
