"""The board as one user may see it.

A row is shown to who may list the object. It then says what the object itself says, or what the scheduler writes into
it: the message of a PodGroup, the sums of a queue. Sums over objects of others are left out for who may not list those:
how full nodes are, how many jobs wait in the whole cluster.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec.structs import replace

from volcano_py.ui.board.changes import Change, differ
from volcano_py.ui.board.model import (
    ClusterRow,
    ConfigurationRow,
    EvictionRow,
    JobRow,
    NodeRow,
    QueueRow,
    Row,
    Sample,
    Tables,
)
from volcano_py.ui.rights.sight import CONFIGURATION, EVENTS, HYPER_NODES, JOBS, NODES, QUEUES, Sight

_CLUSTER: Final = "cluster"
_WHOLE_TABLE: Final[Mapping[str, str]] = {"queues": QUEUES, "nodes": NODES, "configuration": CONFIGURATION}


def shown(board: Tables, sight: Sight, namespaces: frozenset[str]) -> Tables:
    """All that the user may see. `namespaces`: those in which there is work."""
    if sight.is_whole:
        return board
    found = {table: _rows(table, rows, sight) for table, rows in board.items() if table != _CLUSTER}
    return {_CLUSTER: {_CLUSTER: _cluster(board, sight, namespaces)}, **found}


class Follower:
    """What has changed for one user since the last time."""

    def __init__(self, sight: Sight) -> None:
        self._sight = sight
        self._known: ClusterRow | None = None

    def shown(self, found: Mapping[str, Change], board: Tables, namespaces: frozenset[str]) -> dict[str, Change]:
        """Those of the changes that the user may see; `board` is the one that they have led to."""
        kept: dict[str, Change] = {}
        for table, change in found.items():
            if table != _CLUSTER:
                rows = _rows(table, change.set, self._sight)
                gone = tuple(key for key in change.gone if _may_know(table, key, self._sight))
                if rows or gone:
                    kept[table] = Change(rows, gone)
        row = _cluster(board, self._sight, namespaces)
        if self._known is None or kept or differ(self._known, row):
            kept[_CLUSTER] = Change({_CLUSTER: row})
            self._known = row
        return kept


def _rows(table: str, rows: Mapping[str, Row], sight: Sight) -> dict[str, Row]:
    return {
        key: shown_row
        for key, row in rows.items()
        if _may_know(table, key, sight) and (shown_row := _reduced(row, sight)) is not None
    }


def _may_know(table: str, key: str, sight: Sight) -> bool:
    """Keys of jobs and evictions are namespace/name."""
    namespace = key.partition("/")[0]
    if table == "jobs":
        return sight.sees_work(namespace)
    if table == "evictions":
        return sight.may(EVENTS, namespace)
    return table == "timeline" or sight.may(_WHOLE_TABLE[table])


def _reduced(row: Row, sight: Sight) -> Row | None:
    """None: nothing of it may be seen."""
    match row:
        case JobRow(has_group=False):
            return row if sight.may(JOBS, row.key.partition("/")[0]) else None
        case JobRow() | QueueRow() | EvictionRow():
            return row
        case NodeRow():
            domains = row.domains if sight.may(HYPER_NODES) else ()
            return replace(row, domains=domains) if sight.sees_use else replace(row, domains=domains, used={}, pods=0)
        case ConfigurationRow():
            return row if sight.may(QUEUES) else replace(row, ignored=())
        case Sample():
            kept = (
                row.shares if sight.may(QUEUES) else {},
                row.waiting if sight.sees_work() else {},
                row.used if sight.sees_use else {},
            )
            return Sample(row.at, *kept, row.cycle) if any(kept) else None
    raise TypeError(f"no rule says who may see a {type(row).__name__}")


def _cluster(board: Tables, sight: Sight, namespaces: frozenset[str]) -> ClusterRow:
    row = board[_CLUSTER][_CLUSTER]
    assert isinstance(row, ClusterRow)
    if sight.is_whole:
        return row
    jobs = [job for key, job in board["jobs"].items() if isinstance(job, JobRow) and _may_know("jobs", key, sight)]
    nodes = sight.may(NODES)
    return replace(
        row,
        nodes=row.nodes if nodes else 0,
        allocatable=row.allocatable if nodes else {},
        used=row.used if sight.sees_use else {},
        idle=row.idle if sight.sees_use else {},
        promised=row.promised if sight.may(QUEUES) else {},
        running=sum(job.placed for job in jobs),
        waiting=sum(job.waiting for job in jobs),
        reclaims=row.reclaims or not sight.may(CONFIGURATION),
        use_shown=sight.sees_use,
        unread=(),
        hidden=sight.hidden(namespaces),
    )
