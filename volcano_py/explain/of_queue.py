"""One queue: how it stands, and which queues hold what it deserves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from volcano_py.api.report import Amounts, QueueReport
from volcano_py.explain.model import Borrower, QueueExplanation, Standing
from volcano_py.explain.status.remarks import ignored_of_queues
from volcano_py.explain.target import ExplainError
from volcano_py.explain.world import World
from volcano_py.framework.eviction.starving import RECLAIMING
from volcano_py.state.status import EVICTABLE_STATUSES

_PODS: Final = "pods"


def explain_queue(world: World, name: str) -> QueueExplanation:
    """Raises:
    ExplainError: there is no such queue.
    """
    report = world.report.queues.get(name)
    if report is None:
        raise ExplainError(f"queue {name} does not exist, or you may not read it: `volcano-py queue list` lists them")
    lent = _beyond(report.deserved, report.allocated)
    if _PODS not in world.session.queues[name].written.get("deserved", {}):
        lent.pop(_PODS, None)  # places for pods are not divided between queues
    short = _beyond(_least(report.request, report.deserved), report.allocated)
    reclaims = any(action in RECLAIMING for action in world.configuration.actions)
    borrowers = tuple(_borrowers(world, report, lent, reclaims=reclaims))
    return QueueExplanation(
        standing=_standing(report),
        children=tuple(_standing(each) for each in world.report.queues.values() if each.parent == name),
        waiting=sum(job.queue == name for job in world.report.pending),
        lent=lent,
        short={name: value for name, value in short.items() if name in lent},
        borrowers=borrowers,
        note=_note(report, borrowers=len(borrowers), reclaims=reclaims),
        invalid=tuple(_invalid(world, name)),
        ignored=ignored_of_queues(world, name),
    )


def _note(report: QueueReport, *, borrowers: int, reclaims: bool) -> str:
    if borrowers and not reclaims:
        return "nothing is reclaimed: the configuration has no action reclaim"
    wanted = _beyond(report.request, report.allocated)
    ceilings = (report.capability, report.real_capability, report.deserved)
    full = [
        name
        for name in wanted
        if name != _PODS
        and any(name in ceiling and report.allocated.get(name, 0) >= ceiling[name] for ceiling in ceilings)
    ]
    if not full:
        return ""
    names = " and ".join(sorted(full))
    return f"it holds all the {names} that it may have: nothing is reclaimed for its jobs that ask for more of that"


def _invalid(world: World, name: str) -> Iterator[str]:
    """What is wrong with the queue, and with those above it where it has no place in the tree for that."""
    yield from world.invalid_queue(name)
    seen, reports, paths = {name}, world.report.queues, world.session.ask.queue_paths()
    while paths and name not in paths:
        name = reports[name].parent
        if name in seen or name not in reports:
            return
        seen.add(name)
        yield from world.invalid_queue(name)


def _borrowers(world: World, lender: QueueReport, lent: Amounts, *, reclaims: bool) -> Iterator[Borrower]:
    """Queues with work of their own; what a queue above one holds is theirs."""
    reports = world.report.queues
    parents = {report.parent for report in reports.values()}
    for report in reports.values():
        over = {key: value for key, value in _beyond(report.allocated, report.deserved).items() if key in lent}
        if report.name == lender.name or report.name in parents or not over:
            continue
        reclaimable = world.session.queues[report.name].reclaimable
        back = _least(over, _evictable(world, report.name)) if reclaims and reclaimable else {}
        yield Borrower(report.name, over, reclaimable, {key: value for key, value in back.items() if value})


def _evictable(world: World, queue: str) -> dict[str, int]:
    """What pods of the queue hold that say they may be evicted, and whose PodGroups say so."""
    ssn = world.session
    tasks, jobs = ssn.ledger.tasks, ssn.ledger.jobs
    rows = np.flatnonzero(EVICTABLE_STATUSES[tasks.status] & (tasks.job >= 0) & tasks.preemptable)
    rows = rows[(tasks.queue[rows] == ssn.queues[queue].slot) & jobs.preemptable[tasks.job[rows]]]
    return world.amounts(ssn.ledger.classes.request[tasks.task_class[rows]].sum(axis=0))


def _standing(report: QueueReport) -> Standing:
    return Standing(
        queue=report.name,
        state=report.state,
        allocated=dict(report.allocated),
        deserved=dict(report.deserved),
        capability=dict(report.capability),
        guarantee=dict(report.guarantee),
        share=round(report.share, 4),
    )


def _least(one: Amounts, other: Amounts) -> dict[str, int]:
    return {name: min(value, other.get(name, 0)) for name, value in one.items()}


def _beyond(one: Amounts, other: Amounts) -> dict[str, int]:
    return {name: value - other.get(name, 0) for name, value in one.items() if value > other.get(name, 0)}
