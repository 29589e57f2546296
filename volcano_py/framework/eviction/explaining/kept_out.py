"""Why preempt or reclaim could free nothing for jobs that a full cluster keeps from being admitted."""

from __future__ import annotations

from typing import Final

import numpy as np

from volcano_py.api.reasons import Reason
from volcano_py.api.wording import explain_evictions as wording
from volcano_py.framework.eviction.explaining.standings import Standings, asked_dims, first_beyond, holders
from volcano_py.framework.job import Job
from volcano_py.framework.session import Session
from volcano_py.state.table.axis import IntVector

_MOST_EXPLAINED: Final = 64
"""Kinds of jobs that are explained in one action."""


def explain_kept_out(ssn: Session, action: str, point: str) -> None:
    """Record for each job that is not admitted, as the cluster is promised already, why the action frees nothing for
    it, where what it asks for says so. (It may hold no pod that plugins could be asked about.)"""
    refused = [row for row, note in ssn.findings.notes.items() if note.reason is Reason.CLUSTER_OVERCOMMITTED]
    known: dict[tuple[int, int, bytes], str] = {}
    for row in refused:
        job = ssn.job(row)
        if job is None or not job.is_pending or job.min_resources is None:
            continue
        key = (job.queue.slot, job.priority, job.min_resources.tobytes())
        if key not in known:
            if len(known) == _MOST_EXPLAINED:
                ssn.findings.leave_unexplained(job)
                continue
            dim = _scarcest(ssn, job.min_resources)
            if point == "reclaimable":
                dim = first_beyond(ssn, job.queue.name, job.min_resources, dim)
                known[key] = _no_reclaim(ssn, action, job, dim, int(job.min_resources[dim]))
            else:
                known[key] = _no_preempt(ssn, action, job, dim)
        if known[key]:
            ssn.findings.explain_no_evictions(job, known[key], has_victims=False)


def _scarcest(ssn: Session, asked: IntVector) -> int:
    """The resource of which the free part of the cluster covers the least of what is asked for."""
    nodes = ssn.ledger.nodes
    free = np.maximum(nodes.future_idle()[nodes.present], 0).sum(axis=0)
    return min(asked_dims(asked), key=lambda dim: float(free[dim]) / max(int(asked[dim]), 1))


def _no_reclaim(ssn: Session, action: str, job: Job, dim: int, asked: int) -> str:
    standings = Standings(ssn, dim)
    own = standings.of(job.queue.name)
    if own.deserved is None:
        return ""
    if own.held + asked > own.deserved:
        return wording.claims_too_much(action, own, asked)
    if not standings.donors(job.queue):
        return wording.no_donor(action, own, standings.promised_twice(own.queue))
    promised = standings.promised(own.queue)
    if own.held + promised + asked > own.deserved:
        return wording.promised_to_others(action, own, promised, asked)
    return ""


def _no_preempt(ssn: Session, action: str, job: Job, dim: int) -> str:
    tasks, jobs, rows = ssn.ledger.tasks, ssn.ledger.jobs, holders(ssn, dim)
    is_lesser = (tasks.queue[rows] == job.queue.slot) & (jobs.priority[tasks.job[rows]] < job.priority)
    return "" if is_lesser.any() else wording.no_lesser_job(action, job.queue.name)
