"""The live state as one JSON document, for bug reports."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from volcano_py.api.report import CycleReport
from volcano_py.state.ledger import Rows
from volcano_py.state.snapshot import Phase, Snapshot
from volcano_py.state.status import TaskStatus


def dump_state(snapshot: Snapshot, last: CycleReport | None, drift: int) -> dict[str, Any]:
    """Nodes, jobs, tasks and queues as the scheduler sees them, with the last cycle and the self-audit's drift."""
    ledger = snapshot.ledger
    axis = ledger.axis

    def amounts(row: Any) -> dict[str, int]:
        return axis.amounts(row)

    nodes = {
        info.name: {
            "exists": bool(ledger.nodes.present[row]),
            "allocatable": amounts(ledger.nodes.allocatable[row]),
            "used": amounts(ledger.nodes.used[row]),
            "releasing": amounts(ledger.nodes.releasing[row]),
            "tasks": int(ledger.nodes.tasks[row]),
            "unschedulable": info.unschedulable,
        }
        for row, info in enumerate(snapshot.nodes)
        if info.name
    }
    jobs = {
        key: {
            "podGroup": snapshot.jobs[row] is not None,
            "queue": snapshot.queue_names[ledger.jobs.queue[row]] if ledger.jobs.queue[row] >= 0 else None,
            "phase": Phase(int(ledger.jobs.phase[row])).text,
            "minMember": int(ledger.jobs.min_member[row]),
            "priority": int(ledger.jobs.priority[row]),
            "allocated": amounts(ledger.jobs.allocated[row]),
            "tasks": _by_status(ledger.jobs.counts[row]),
        }
        for row, key in enumerate(snapshot.job_keys)
        if key
    }
    tasks = {
        info.key: {
            "uid": info.ref.uid,
            "status": TaskStatus(int(ledger.tasks.status[row])).name,
            "node": snapshot.nodes[ledger.tasks.node[row]].name if ledger.tasks.node[row] >= 0 else None,
            "podGroup": info.group,
            "ours": info.ours,
            "requests": amounts(ledger.classes.request[ledger.tasks.task_class[row]]),
            "told": info.told[1],
        }
        for row, info in enumerate(snapshot.tasks)
        if info is not None
    }
    return {
        "time": snapshot.now,
        "resources": list(axis.names),
        "drift": drift,
        "queues": {
            name: {"state": queue.state or "Open", "parent": queue.parent} for name, queue in snapshot.queues.items()
        },
        "nodes": nodes,
        "jobs": jobs,
        "tasks": tasks,
        "lastCycle": asdict(last) if last is not None else None,
    }


def _by_status(counts: Rows) -> dict[str, int]:
    return {status.name: int(counts[status]) for status in TaskStatus if counts[status]}
