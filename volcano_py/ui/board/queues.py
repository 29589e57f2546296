"""Queues as rows, in the order of their tree."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

from msgspec.structs import replace

from volcano_py.standing import Standing
from volcano_py.state.infos import QueueInfo
from volcano_py.state.snapshot import Snapshot
from volcano_py.ui.board.judgement import Judgement
from volcano_py.ui.board.model import QueueRow


class QueueRows:
    """Makes again only the rows whose standing differs, or which count other jobs."""

    def __init__(self) -> None:
        self._judgement: Judgement | None = None
        self._sources: dict[str, tuple[int, Standing, QueueInfo | None]] = {}
        """What the rows are made of, but for the jobs that they count."""
        self._rows: dict[str, QueueRow] = {}
        self._parents: dict[str, str] = {}
        self._counted: dict[tuple[str, bool], int] = {}

    def of(self, snapshot: Snapshot, judgement: Judgement, jobs: Mapping[tuple[str, bool], int]) -> dict[str, QueueRow]:
        """Name → row, the queues above others first. `jobs`: queue and whether they wait → how many."""
        if self._judgement is not judgement:
            self._judgement = judgement
            self._follow(snapshot, judgement)
        for name, (running, waiting) in self._more(jobs).items():
            row = self._rows[name]
            self._rows[name] = replace(row, running=row.running + running, waiting=row.waiting + waiting)
        return dict(self._rows)

    def _follow(self, snapshot: Snapshot, judgement: Judgement) -> None:
        """Make the rows again of which the judgement says something else; with the jobs that they count so far, unless
        the tree is another one."""
        parents = {each.name: each.parent for each in judgement.standings}
        if parents != self._parents:
            self._parents, self._sources, self._rows, self._counted = parents, {}, {}, {}
        above = {*parents.values()}
        rows: dict[str, QueueRow] = {}
        for order, each in enumerate(judgement.standings):
            source, known = (order, each, snapshot.queues.get(each.name)), self._rows.get(each.name)
            if known is None or self._sources[each.name] != source:
                counts = (known.running, known.waiting) if known is not None else (0, 0)
                known = _row(*source, counts, is_leaf=each.name not in above)
                self._sources[each.name] = source
            rows[each.name] = known
        self._rows = rows

    def _more(self, jobs: Mapping[tuple[str, bool], int]) -> Mapping[str, list[int]]:
        """Queue → how many more jobs than before, in it and below it, do not wait, and how many more do."""
        more: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0])
        for name, waits in {key for key, _ in jobs.items() ^ self._counted.items()}:
            count = jobs.get((name, waits), 0) - self._counted.get((name, waits), 0)
            for above in _with_ancestors(name, self._parents):
                more[above][waits] += count
        self._counted = dict(jobs)
        return more


def _row(order: int, standing: Standing, info: QueueInfo | None, counts: tuple[int, int], *, is_leaf: bool) -> QueueRow:
    report, (running, waiting) = standing.report, counts
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
        running=running,
        waiting=waiting,
        problem=standing.problem,
        ignored=report.ignored,
    )


def _with_ancestors(name: str, parents: Mapping[str, str]) -> Iterator[str]:
    """The queue and those above it; `parents` come from a tree, so that they end."""
    while name in parents:
        yield name
        name = parents[name]
