"""The live state as one JSON document, for bug reports."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec.structs import asdict

from volcano_py.api.effects import JsonObject
from volcano_py.api.report import CycleReport
from volcano_py.framework.devices.stand_ins import Offered, StandIns, offered_in
from volcano_py.state.infos import NodeInfo, TaskInfo
from volcano_py.state.job_priority import effective_priorities
from volcano_py.state.snapshot import Phase, Snapshot
from volcano_py.state.status import TaskStatus
from volcano_py.state.table.table import Rows

NO_STAND_INS: Final[Mapping[str, StandIns]] = {}


def dump_state(
    snapshot: Snapshot, last: CycleReport | None, drift: int, stand_ins: Mapping[str, StandIns] = NO_STAND_INS
) -> JsonObject:
    """Nodes, jobs, tasks and queues as the scheduler sees them, with the last cycle and the self-audit's drift.
    `stand_ins`: devices that count for resources of nodes."""
    has = offered_in(snapshot.ledger, stand_ins)
    priorities = effective_priorities(snapshot.ledger).tolist()
    return {
        "time": snapshot.now,
        "resources": list(snapshot.ledger.axis.names),
        "drift": drift,
        "queues": {
            name: {
                "state": queue.state or "Open",
                "parent": queue.parent,
                "allocated": snapshot.ledger.axis.amounts(snapshot.ledger.queues.allocated[queue.slot]),
                "leaving": snapshot.ledger.axis.amounts(snapshot.ledger.queues.leaving[queue.slot]),
            }
            for name, queue in snapshot.queues.items()
        },
        "nodes": {info.name: _node(snapshot, row, info, has) for row, info in enumerate(snapshot.nodes) if info.name},
        "jobs": {key: _job(snapshot, row, priorities[row]) for row, key in enumerate(snapshot.job_keys) if key},
        "tasks": {info.key: _task(snapshot, row, info) for row, info in enumerate(snapshot.tasks) if info is not None},
        "lastCycle": asdict(last) if last is not None else None,
    }


def _node(snapshot: Snapshot, row: int, info: NodeInfo, has: Offered) -> JsonObject:
    nodes, amounts = snapshot.ledger.nodes, snapshot.ledger.axis.amounts
    return {
        "exists": bool(nodes.present[row]),
        "allocatable": amounts(has.allocatable[row]),
        "used": amounts(nodes.used[row]),
        "releasing": amounts(nodes.releasing[row]),
        "tasks": int(nodes.tasks[row]),
        "unschedulable": info.unschedulable,
    }


def _job(snapshot: Snapshot, row: int, priority: int) -> JsonObject:
    jobs = snapshot.ledger.jobs
    return {
        "podGroup": snapshot.jobs[row] is not None,
        "queue": snapshot.queue_names[jobs.queue[row]] if jobs.queue[row] >= 0 else None,
        "phase": Phase(int(jobs.phase[row])).text,
        "minMember": int(jobs.min_member[row]),
        "priority": priority,
        "allocated": snapshot.ledger.axis.amounts(jobs.allocated[row]),
        "tasks": _by_status(jobs.counts[row]),
    }


def _task(snapshot: Snapshot, row: int, info: TaskInfo) -> JsonObject:
    ledger = snapshot.ledger
    tasks = ledger.tasks
    return {
        "uid": info.ref.uid,
        "status": TaskStatus(int(tasks.status[row])).name,
        "node": snapshot.nodes[tasks.node[row]].name if tasks.node[row] >= 0 else None,
        "podGroup": info.group,
        "queue": snapshot.queue_names[tasks.queue[row]] if tasks.queue[row] >= 0 else None,
        "ours": info.ours,
        "requests": ledger.axis.amounts(ledger.classes.request[tasks.task_class[row]]),
        "reported": info.reported[1],
    }


def _by_status(counts: Rows) -> dict[str, int]:
    return {status.name: int(counts[status]) for status in TaskStatus if counts[status]}
