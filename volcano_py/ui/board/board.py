"""All tables of one moment together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec
import numpy as np

from volcano_py.api.effects import Effect
from volcano_py.api.names import ROOT_QUEUE
from volcano_py.config import SchedulerConfiguration
from volcano_py.config.parse import ParseResult
from volcano_py.framework.registry import Registry
from volcano_py.scheduler import Scheduler
from volcano_py.state.snapshot import Snapshot
from volcano_py.ui.board.configuration import configuration_row
from volcano_py.ui.board.evictions import EvictionEvent, eviction_row
from volcano_py.ui.board.jobs import job_rows
from volcano_py.ui.board.model import ClusterRow, JobRow, QueueRow, Tables
from volcano_py.ui.board.nodes import node_rows
from volcano_py.ui.board.queues import queue_rows
from volcano_py.ui.board.timeline import Timeline

_RECLAIMING = frozenset({"reclaim", "gangreclaim"})


class Seen(msgspec.Struct, frozen=True):
    """What a board is made of. `parsed` is what the configuration's text says, `configuration` the last valid one."""

    snapshot: Snapshot
    configuration: SchedulerConfiguration
    text: str
    parsed: ParseResult
    source: str
    live: bool = True
    evictions: Sequence[EvictionEvent] = ()
    unread: tuple[str, ...] = ()
    behind: tuple[str, ...] = ()


class BoardMaker:
    """Makes boards with the scheduler, whose decisions are not carried out: they say why jobs wait."""

    def __init__(self, registry: Registry) -> None:
        self._looking, self._deciding = (Scheduler(registry, _carry_out_nothing) for _ in range(2))
        self._timeline = Timeline()

    def make(self, seen: Seen) -> Tables:
        """The tables. May take as long as a cycle of the scheduler."""
        report = self._deciding.run_cycle(seen.snapshot, seen.configuration)
        jobs = job_rows(report, seen.snapshot)
        # Another cycle, in which nothing is placed: what it says of queues is what they hold now.
        standing = self._looking.run_cycle(seen.snapshot, seen.configuration, decide=False)
        queues = queue_rows(standing, seen.snapshot, seen.configuration, jobs.values())
        cluster = _cluster_row(seen, queues, jobs.values())
        self._timeline.add(cluster, queues, jobs.values())
        return {
            "cluster": {"cluster": cluster},
            "queues": queues,
            "jobs": jobs,
            "nodes": node_rows(seen.snapshot),
            "evictions": {row.key: row for row in map(eviction_row, seen.evictions)},
            "configuration": {"configuration": configuration_row(seen.text, seen.parsed, seen.configuration, queues)},
            "timeline": self._timeline.rows,
        }


def _cluster_row(seen: Seen, queues: Mapping[str, QueueRow], jobs: Iterable[JobRow]) -> ClusterRow:
    snapshot, axis = seen.snapshot, seen.snapshot.ledger.axis
    nodes, jobs = snapshot.ledger.nodes, list(jobs)
    there = np.flatnonzero(nodes.present)
    open_ = [row for row in there.tolist() if not snapshot.nodes[row].unschedulable]
    idle = (nodes.allocatable[open_] - nodes.used[open_]).clip(min=0).sum(axis=0)
    root = queues.get(ROOT_QUEUE)
    return ClusterRow(
        moment=snapshot.now,
        source=seen.source,
        nodes=len(there),
        allocatable=axis.amounts(nodes.allocatable[there].sum(axis=0)),
        used=axis.amounts(nodes.used[there].sum(axis=0)),
        idle=axis.amounts(idle),
        promised=root.promised if root is not None else {},
        running=sum(job.placed for job in jobs),
        waiting=sum(job.waiting for job in jobs),
        reclaims=bool(_RECLAIMING & {*seen.configuration.actions}),
        live=seen.live,
        unread=seen.unread,
        behind=seen.behind,
    )


def _carry_out_nothing(effects: Sequence[Effect]) -> None:
    """Looking changes nothing."""
