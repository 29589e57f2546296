"""enqueue: admit pending PodGroups (Pending → Inqueue), so that their pods are created and placed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, partial
from operator import attrgetter
from typing import Any

from volcano_py.api.reasons import Reason
from volcano_py.api.wording.explain_ceilings import nothing_freed, promise_lapsed, waits_for_earlier
from volcano_py.framework.action import Action
from volcano_py.framework.job import Job
from volcano_py.framework.ordering.heaps import Heap
from volcano_py.framework.ordering.queue_order import queue_order
from volcano_py.framework.session import Session
from volcano_py.framework.status.promise_times import EnqueueArguments
from volcano_py.framework.status.wakeups import SOON
from volcano_py.framework.votes import Ballot, Vote
from volcano_py.state.snapshot import Phase
from volcano_py.state.status import PLACED_STATUSES
from volcano_py.state.task_class import Refusal


class Enqueue(Action):
    """Queues in queue order take turns, each with its best pending job.

    A job without minResources is always admitted. So is one that holds places: it was admitted before and has lost a
    pod since, and its minimum added to what it holds would never fit. Others need the plugins' votes. A refused job is
    not tried again in this cycle and does not hold up those behind it. Nothing is placed; plugins keep account of the
    jobs that are admitted.

    A job that was admitted and had no pods for `promiseTimeout` is pending again. So is one that was admitted because
    of what evictions could free, if they have given it no place by then. It then goes behind all others, and
    so do the jobs without pods of its namespace. They are admitted only if no job that was already waiting
    at that time would be admitted if nothing were promised. A PodGroup that is deleted before its pods have held what
    it was promised leaves the time for which that was not used to the next one of its namespace.
    """

    name = "enqueue"
    arguments_type = EnqueueArguments

    def __init__(self, arguments: Any) -> None:
        super().__init__(arguments)
        self._refused: list[Job] = []

    def execute(self, ssn: Session) -> None:
        self._take_back(ssn)
        first: list[Job] = []
        last: list[tuple[float, Job]] = []
        needs_votes = False
        for job in ssn.unenqueued_jobs():
            is_voted_on = _is_voted_on(job)
            behind = ssn.promise_times.behind(job) if is_voted_on else None
            if behind is None:
                first.append(job)
                needs_votes |= is_voted_on
            else:
                last.append((behind, job))
        if needs_votes:
            self._take_turns(ssn, first)
        else:
            # All are admitted, and turns would cost more than the rest.
            for job in first:
                self._enqueue(ssn, job)
        if last:
            self._go_behind(ssn, last)
        times = ssn.promise_times
        times.asked_about_all()
        does_any_wait = bool(self._refused) or any(_resting(ssn))
        due = min(times.next_relying_due, times.next_due if does_any_wait else float("inf"))
        if due < float("inf"):
            ssn.wakeups.recheck_at(due)

    @staticmethod
    def _take_back(ssn: Session) -> None:
        """Jobs lose what they were promised when there are no pods for it in time, or nothing was freed that it relied
        on."""
        jobs, rows, times = ssn.ledger.jobs, ssn.job_rows(), ssn.promise_times
        rows = rows[(jobs.phase[rows] == Phase.INQUEUE) & jobs.min_resources[rows].any(axis=1)]
        has_pods = jobs.counts[rows].any(axis=1)
        over = [row for row in rows[~has_pods].tolist() if times.is_over(row)]
        over += [row for row in times.in_vain(rows[has_pods].tolist()) if not _has_places(ssn, row)]
        for row in over:
            if (job := ssn.job(row)) is not None:
                job.enter(Phase.PENDING)
                times.lapse(job)

    def _take_turns(self, ssn: Session, pending: list[Job]) -> None:
        waiting = self._by_queue(ssn, pending)
        queues = queue_order(ssn, (ssn.queues[name] for name in waiting))
        while queues:
            queue = queues.pop()
            jobs = waiting[queue.name]
            if not jobs:
                continue
            job = jobs.pop()
            if self._may_enter(ssn, job):
                self._enqueue(ssn, job)
            queues.push(queue)

    @staticmethod
    def _by_queue(ssn: Session, jobs: list[Job]) -> dict[str, Heap[Job]]:
        by_queue: dict[str, list[Job]] = {}
        for job in jobs:
            by_queue.setdefault(job.queue.name, []).append(job)
        return {name: Heap(ssn.ask.job_key, jobs) for name, jobs in by_queue.items()}

    def _may_enter(self, ssn: Session, job: Job) -> bool:
        ballot = _vote(ssn, job)
        if ballot is None or ballot.vote is not Vote.REJECT:
            return True
        self._refuse(ssn, job)
        if ballot.refusal is not None:
            ssn.findings.note(job, ballot.refusal)
        return False

    def _refuse(self, ssn: Session, job: Job) -> None:
        self._refused.append(job)
        known = ssn.promise_times.is_held_back(job)
        if known is not None and known > _ask_whether_held_back(ssn, job):
            # Others that wait behind it may rest, or have had their turns.
            ssn.wakeups.recheck_at(ssn.now + SOON)

    def _go_behind(self, ssn: Session, jobs: list[tuple[float, Job]]) -> None:
        """The turns of these jobs: (those that waited by then go first, job). Those that lost a promise come last."""
        times = ssn.promise_times
        jobs = sorted(jobs, key=lambda each: (each[0], ssn.ask.job_key(each[1])))
        for has_lapsed in (False, True):
            first = cache(partial(_first_held_back, ssn, tuple(self._refused), also_behind=has_lapsed))
            for behind, job in jobs:
                if times.has_lapsed(job) is has_lapsed:
                    self._consider_behind(ssn, job, behind, first)

    def _consider_behind(self, ssn: Session, job: Job, behind: float, first: Callable[[], Job | None]) -> None:
        """Admit the job, unless `first`, the oldest job that promises alone keep out, was waiting before `behind`."""
        if ssn.promise_times.has_lapsed(job):
            ssn.findings.note(job, Refusal(Reason.PROMISE_LAPSED, _lapsed(ssn, job)))
        if not self._may_enter(ssn, job):
            return
        waiting = first()
        if waiting is None or waiting.created > behind:
            ssn.findings.drop_note(job)
            self._enqueue(ssn, job)
        else:
            self._refuse(ssn, job)
            ssn.findings.note(job, Refusal(Reason.PROMISE_LAPSED, waits_for_earlier(waiting.key)))

    @staticmethod
    def _enqueue(ssn: Session, job: Job) -> None:
        ssn.promise_times.begin(job)
        ssn.ask.job_enqueued(job)
        ssn.enqueue(job)


def _lapsed(ssn: Session, job: Job) -> str:
    """Why the job has lost its promise."""
    times = ssn.promise_times
    if job.tasks:
        return nothing_freed(times.timeout)
    return promise_lapsed(times.timeout, has_inherited=times.had_inherited(job))


def _has_places(ssn: Session, row: int) -> bool:
    """Whether pods of the job have a place, or a promise of one."""
    return row in ssn.reservations.jobs or bool(ssn.ledger.jobs.counts[row][PLACED_STATUSES].any())


def _is_voted_on(job: Job) -> bool:
    return job.min_resources is not None and not job.allocated_tasks


def _vote(ssn: Session, job: Job) -> Ballot | None:
    return ssn.ask.job_enqueueable(job) if _is_voted_on(job) else None


def _resting(ssn: Session) -> Iterator[Job]:
    """Jobs that were not admitted, and at which this cycle does not look."""
    jobs = (ssn.job(row) for row, known in ssn.resting.items() if not known.is_admitted)
    return (job for job in jobs if job is not None and _is_voted_on(job))


def _first_held_back(ssn: Session, refused: tuple[Job, ...], *, also_behind: bool) -> Job | None:
    """The oldest of the jobs that promises alone keep out: of those `refused`, and those that rest. `also_behind`: also
    of those that go behind others, but have lost no promise themselves."""
    times = ssn.promise_times
    resting = [job for job in _resting(ssn) if not times.has_lapsed(job) and (also_behind or times.behind(job) is None)]
    oldest = sorted((*refused, *resting), key=attrgetter("created"))
    return next((job for job in oldest if _is_held_back(ssn, job)), None)


def _is_held_back(ssn: Session, job: Job) -> bool:
    """Whether promises alone keep the job out; as of when it was last looked at, if that was asked then."""
    known = ssn.promise_times.is_held_back(job)
    return _ask_whether_held_back(ssn, job) if known is None else known


def _ask_whether_held_back(ssn: Session, job: Job) -> bool:
    times = ssn.promise_times
    with times.ignored():
        would_enter = ssn.ask.job_enqueueable(job).vote is not Vote.REJECT
    times.hold_back(job, alone=would_enter)
    return would_enter
