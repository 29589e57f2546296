"""Queues as rows, in the order of their tree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from msgspec.structs import replace

from volcano_py.standing import Standing
from volcano_py.state.snapshot import Snapshot
from volcano_py.ui.board.judgement import Judgement
from volcano_py.ui.board.model import JobRow, QueueRow


class QueueRows:
    """Keeps the rows of a judgement; only numbers of jobs change between two of them."""

    def __init__(self) -> None:
        self._judgement: Judgement | None = None
        self._rows: dict[str, QueueRow] = {}
        self._parents: dict[str, str] = {}

    def of(self, snapshot: Snapshot, judgement: Judgement, jobs: Iterable[JobRow]) -> dict[str, QueueRow]:
        """Name → row, the queues above others first."""
        if self._judgement is not judgement:
            self._judgement = judgement
            self._parents = {each.name: each.parent for each in judgement.standings}
            above = {*self._parents.values()}
            self._rows = {
                each.name: _row(order, each, snapshot, is_leaf=each.name not in above)
                for order, each in enumerate(judgement.standings)
            }
        running, waiting = self._counts(jobs)
        for name, row in self._rows.items():
            if (row.running, row.waiting) != (running[name], waiting[name]):
                self._rows[name] = replace(row, running=running[name], waiting=waiting[name])
        return dict(self._rows)

    def _counts(self, jobs: Iterable[JobRow]) -> tuple[Counter[str], Counter[str]]:
        """How many jobs in a queue and below it do not wait, and how many do."""
        running, waiting = Counter[str](), Counter[str]()
        for (name, waits), count in Counter((job.queue, bool(job.reason)) for job in jobs).items():
            for above in _with_ancestors(name, self._parents):
                (waiting if waits else running)[above] += count
        return running, waiting


def _row(order: int, standing: Standing, snapshot: Snapshot, *, is_leaf: bool) -> QueueRow:
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
        problem=standing.problem,
        ignored=report.ignored,
    )


def _with_ancestors(name: str, parents: Mapping[str, str]) -> Iterator[str]:
    """The queue and those above it; `parents` come from a tree, so that they end."""
    while name in parents:
        yield name
        name = parents[name]
