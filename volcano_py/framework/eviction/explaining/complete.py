"""Why preempt or reclaim evict nothing for pods that jobs have beyond their minimum."""

from __future__ import annotations

from collections.abc import Sequence

from volcano_py.api.wording import explain_evictions as wording
from volcano_py.framework.eviction.explaining.standings import asked_dims, first_beyond
from volcano_py.framework.eviction.starving import Starving, counts_beyond_minimum
from volcano_py.framework.job import Job
from volcano_py.framework.session import Session
from volcano_py.framework.status.queue_reports import standing


def explain_complete(ssn: Session, action: str, works: Sequence[Starving]) -> None:
    """Record it for each of these jobs: between queues theirs is due nothing, and in a queue only minimums count."""
    if counts_beyond_minimum(ssn):
        _explain_shares(ssn, action, works)
        return
    known: dict[tuple[int, int], bool] = {}
    for work in works:
        job = work.job
        key = job.queue.slot, job.priority
        if key not in known:
            known[key] = _has_lesser_jobs(ssn, job)
        why = wording.for_minimums_only(action, job.min_member)
        ssn.findings.explain_no_evictions(job, why, has_victims=known[key])


def _explain_shares(ssn: Session, action: str, works: Sequence[Starving]) -> None:
    known: dict[tuple[int, int], str] = {}
    for work in works:
        key = work.job.queue.slot, int(ssn.ledger.tasks.task_class[work.tasks[0]])
        if key not in known:
            known[key] = _has_its_share(ssn, action, work)
        if known[key]:
            ssn.findings.explain_no_evictions(work.job, known[key], has_victims=False)


def _has_lesser_jobs(ssn: Session, job: Job) -> bool:
    """Whether jobs of a lower priority hold anything in the job's queue."""
    jobs = ssn.ledger.jobs
    lesser = (jobs.queue == job.queue.slot) & (jobs.priority < job.priority)
    return bool(jobs.allocated[lesser].any())


def _has_its_share(ssn: Session, action: str, work: Starving) -> str:
    """Of the first resource of which one more pod is too much; empty if a ceiling says so already."""
    task_class, queue = ssn.task_class(int(work.tasks[0])), work.job.queue.name
    if ssn.ask.allocatable(work.job.queue, task_class).count <= 0:
        return ""
    request = task_class.request
    dim = first_beyond(ssn, queue, request, asked_dims(request)[0])
    return wording.claims_too_much(action, standing(ssn, queue, dim), int(request[dim]))
