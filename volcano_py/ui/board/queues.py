"""Queues as rows, in the order of their tree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from volcano_py.api.report import CycleReport
from volcano_py.config import SchedulerConfiguration
from volcano_py.standing import Standing, standings
from volcano_py.state.snapshot import Snapshot
from volcano_py.ui.board.model import JobRow, QueueRow


def queue_rows(
    report: CycleReport, snapshot: Snapshot, configuration: SchedulerConfiguration, jobs: Iterable[JobRow]
) -> dict[str, QueueRow]:
    """Name → row, the queues above others first. `report` is that of a cycle over the snapshot."""
    placed = standings(report.queues, configuration)
    parents = {each.name: each.parent for each in placed}
    running, waiting = Counter[str](), Counter[str]()
    for job in jobs:
        counts = waiting if job.reason else running
        for name in _with_ancestors(job.queue, parents):
            counts[name] += 1
    with_children = {each.parent for each in placed}
    return {
        each.name: _row(order, each, snapshot, running, waiting, is_leaf=each.name not in with_children)
        for order, each in enumerate(placed)
    }


def _row(
    order: int,
    standing: Standing,
    snapshot: Snapshot,
    running: Mapping[str, int],
    waiting: Mapping[str, int],
    *,
    is_leaf: bool,
) -> QueueRow:
    report, info = standing.report, snapshot.queues.get(standing.name)
    return QueueRow(
        name=standing.name,
        order=order,
        parent=standing.parent,
        depth=standing.depth,
        state=report.state,
        weight=report.weight,
        share=round(report.share, 4),
        allocated=dict(report.allocated),
        request=dict(report.request),
        promised=dict(report.inqueue),
        guarantee=dict(report.guarantee),
        deserved=dict(report.deserved),
        capability=dict(report.capability),
        borrowed=standing.borrowed if is_leaf and report.deserved else {},
        lent=standing.lent,
        reclaimable=info is None or info.reclaimable,
        leaf=is_leaf,
        running=running[standing.name],
        waiting=waiting[standing.name],
        problem=standing.problem,
        ignored=report.ignored,
    )


def _with_ancestors(name: str, parents: Mapping[str, str]) -> Iterable[str]:
    """The queue and those above it; `parents` come from a tree, so that they end."""
    while name in parents:
        yield name
        name = parents[name]
