"""All tables of one moment together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
import numpy as np

from volcano_py.api.names import ROOT_QUEUE
from volcano_py.config import SchedulerConfiguration
from volcano_py.config.parse import ParseResult
from volcano_py.framework.devices.stand_ins import Offered, offered_in
from volcano_py.jobs.model import VolcanoJob
from volcano_py.state.snapshot import Snapshot
from volcano_py.ui.board.configuration import configuration_row
from volcano_py.ui.board.evictions import EvictionEvent, eviction_row
from volcano_py.ui.board.jobs import JobRows, Totals
from volcano_py.ui.board.judgement import Judgement
from volcano_py.ui.board.model import ClusterRow, QueueRow, Sample, Tables
from volcano_py.ui.board.nodes import NodeRows
from volcano_py.ui.board.queues import QueueRows
from volcano_py.ui.board.timeline import Timeline

_RECLAIMING = frozenset({"reclaim", "gangreclaim"})


class Seen(msgspec.Struct, frozen=True):
    """What a board is made of. `parsed` is what the configuration's text says, `configuration` the last valid one.
    `refused`: PodGroup (namespace/name) → the Volcano Job whose pods or PodGroup cannot be created."""

    snapshot: Snapshot
    configuration: SchedulerConfiguration
    text: str
    parsed: ParseResult
    source: str
    live: bool = True
    evictions: Sequence[EvictionEvent] = ()
    unread: tuple[str, ...] = ()
    behind: tuple[str, ...] = ()
    refused: Mapping[str, VolcanoJob] = {}


class BoardMaker:
    """Makes boards. What has not changed since the last one is the same row."""

    def __init__(self, recorded: Mapping[str, Sample] | None = None) -> None:
        """`recorded`: the timeline of a record, in place of one that begins now."""
        self._jobs, self._queues, self._nodes = JobRows(), QueueRows(), NodeRows()
        self._timeline, self._is_recorded = Timeline(recorded), recorded is not None

    def make(self, seen: Seen, judgement: Judgement) -> Tables:
        """The tables. `judgement` may be of an earlier snapshot: jobs that it does not know are new."""
        jobs = self._jobs.of(seen.snapshot, judgement, seen.refused)
        totals = self._jobs.totals
        queues = self._queues.of(seen.snapshot, judgement, totals.by_queue)
        has = offered_in(seen.snapshot.ledger, judgement.stand_ins)
        cluster = _cluster_row(seen, has, queues, totals, recorded=self._is_recorded)
        self._timeline.add(cluster, queues, jobs.values())
        return {
            "cluster": {"cluster": cluster},
            "queues": queues,
            "jobs": jobs,
            "nodes": self._nodes.of(seen.snapshot, has),
            "evictions": {row.key: row for row in map(eviction_row, seen.evictions)},
            "configuration": {"configuration": configuration_row(seen.text, seen.parsed, seen.configuration, queues)},
            "timeline": self._timeline.rows,
        }


def _cluster_row(
    seen: Seen, has: Offered, queues: Mapping[str, QueueRow], totals: Totals, *, recorded: bool
) -> ClusterRow:
    snapshot, axis = seen.snapshot, seen.snapshot.ledger.axis
    nodes = snapshot.ledger.nodes
    there = np.flatnonzero(nodes.present)
    open_ = [row for row in there.tolist() if not snapshot.nodes[row].unschedulable]
    root = queues.get(ROOT_QUEUE)
    return ClusterRow(
        moment=snapshot.now,
        source=seen.source,
        nodes=len(there),
        allocatable=axis.amounts(has.total(there)),
        used=axis.amounts(nodes.used[there].sum(axis=0)),
        idle=axis.amounts(has.idle(open_, nodes.used)),
        promised=root.promised if root is not None else {},
        running=totals.placed,
        waiting=totals.waiting,
        reclaims=bool(_RECLAIMING & {*seen.configuration.actions}),
        live=seen.live,
        recorded=recorded,
        unread=seen.unread,
        behind=seen.behind,
    )
