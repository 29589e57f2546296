"""The one reason that is reported for each job that does not run, and for each of its pods."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

import msgspec
import numpy as np

from volcano_py.api import names
from volcano_py.api.reasons import Reason
from volcano_py.api.wording import explain, explain_gangs
from volcano_py.api.wording.explain_gangs import held_up, waiting_for_another_try, waiting_for_release
from volcano_py.framework.eviction.reservations import HELD_FOR
from volcano_py.framework.job import Job
from volcano_py.framework.roles import needed_rows, short_roles
from volcano_py.framework.status.held_places import held_for_others
from volcano_py.state.status import STATUS_COUNT, TaskStatus
from volcano_py.state.table.table import Rows
from volcano_py.state.task_class import Refusal

if TYPE_CHECKING:
    from volcano_py.framework.session import Session


_WAITING = np.zeros(STATUS_COUNT, dtype=np.bool_)
_WAITING[[TaskStatus.PENDING, TaskStatus.ALLOCATED, TaskStatus.PIPELINED]] = True
# Looked up once: a cycle goes through thousands of pods.
_ALLOCATED, _PIPELINED = int(TaskStatus.ALLOCATED), int(TaskStatus.PIPELINED)


_EVICTIONS_HELP: Final = frozenset(
    {
        Reason.NODES_REFUSE,
        Reason.GANG_INCOMPLETE,
        Reason.OVER_DESERVED,
        Reason.OVER_CAPABILITY,
        Reason.CLUSTER_OVERCOMMITTED,
    }
)


_OF_QUEUES: Final = frozenset({Reason.OVER_DESERVED, Reason.OVER_CAPABILITY})
"""Reasons for which a queue has no room."""


class PodVerdict(msgspec.Struct, frozen=True):
    """What is written to a pod: `reason` of the condition, and the refusal with our code and message."""

    reason: str
    refusal: Refusal
    reported: tuple[str, str]
    """Reason and message of the condition."""

    @classmethod
    def of(cls, reason: str, refusal: Refusal) -> PodVerdict:
        return cls(reason, refusal, (reason, explain.message(refusal.reason, refusal.message)))


def job_verdict(ssn: Session, job: Job) -> Refusal:
    """Why the whole job does not run: of several reasons the one to fix first, by rank."""
    refusal = min(_reasons(ssn, job), key=lambda refusal: refusal.reason.rank)
    if held := held_for_others(ssn, job, refusal):
        refusal = _with_sentence(refusal, held)
    return _and_no_evictions(ssn, job, refusal)


def _and_no_evictions(ssn: Session, job: Job, refusal: Refusal) -> Refusal:
    """The refusal, and at its end why nothing was evicted for the job, where that would have helped."""
    why = ssn.findings.no_evictions.get(job.row)
    if why is None or refusal.reason not in _EVICTIONS_HELP:
        return refusal
    return _with_sentence(refusal, f"{why[0].upper()}{why[1:]}.")


def _with_sentence(refusal: Refusal, sentence: str) -> Refusal:
    """The refusal with one more sentence."""
    message = refusal.message if refusal.message.endswith(".") else f"{refusal.message}."
    return Refusal(refusal.reason, f"{message} {sentence}")


def _reasons(ssn: Session, job: Job) -> Iterator[Refusal]:
    note = _note(ssn, job)
    if note is not None:
        yield note
    # Controllers create pods after the PodGroup is admitted: until then, having none is not an error.
    is_kept_out = note is not None and job.is_pending and not job.tasks
    if not is_kept_out and (invalid := ssn.ask.job_valid(job)) is not None:
        yield invalid
    rows = ssn.tasks_of(job)
    tasks = ssn.ledger.tasks
    waiting = rows[tasks.status[rows] == TaskStatus.PENDING]
    yield from _faults_of_pods(ssn, waiting)
    has_places = any(row in ssn.findings.tentative for row in waiting.tolist())
    for error in ssn.findings.fit_errors.get(job.row, {}).values():
        # Free amounts were counted with the gang's own pods in place, which the message has to say.
        yield Refusal(error.refusal.reason, _gang(ssn, job, waiting, note)) if has_places else error.refusal
    if job.waiting:
        yield _waits_for_release(ssn, rows[tasks.status[rows] == TaskStatus.PIPELINED].tolist())
    if has_places:
        yield Refusal(Reason.GANG_INCOMPLETE, _gang(ssn, job, waiting, note))
    yield Refusal(Reason.NOT_YET_EVALUATED, explain.not_yet_evaluated())


def _note(ssn: Session, job: Job) -> Refusal | None:
    """Why the job was skipped as a whole. If its queue had no room for a pod of a gang, the gang's own places may have
    taken that room, so it is reported what the whole gang is missing."""
    note = ssn.findings.notes.get(job.row)
    if note is None or note.reason not in _OF_QUEUES or job.is_pending or job.min_member <= 1:
        return note
    rows = needed_rows(ssn, job)
    return (ssn.ask.refuses_together(job.queue, rows) if len(rows) > 1 else None) or note


def _faults_of_pods(ssn: Session, waiting: Rows) -> Iterator[Refusal]:
    """What keeps some of these pods from being placed on any node: they are invalid, or gated."""
    tasks = ssn.ledger.tasks
    classes = [ssn.snapshot.classes[row] for row in sorted({*tasks.task_class[waiting].tolist()})]
    yield from (each.problem for each in classes if each is not None and each.problem is not None)
    found = {gate for row in waiting[tasks.gated[waiting]].tolist() for gate in ssn.task_info(row).gates}
    # (that one the scheduler itself takes off, and says why not)
    if gates := sorted(found - {names.QUEUE_ALLOCATION_GATE}):
        yield Refusal(Reason.SCHEDULING_GATED, explain.scheduling_gated(gates, "a pod"))


def gang_message(job: Job, verdict: Refusal) -> str:
    """Volcano's `n/m tasks in gang unschedulable` between our code and the reason."""
    missing = max(job.min_member - job.ready, 0) or job.pending_tasks
    return explain.message(
        verdict.reason, explain_gangs.gang_unschedulable(missing, max(job.tasks, job.min_member), verdict.message)
    )


def pod_verdicts(ssn: Session, job: Job, verdict: Refusal) -> Iterator[tuple[int, PodVerdict]]:
    """Task row → its verdict, for every waiting task of the job that is not gated."""
    tasks, tentative = ssn.ledger.tasks, ssn.findings.tentative
    rows = ssn.tasks_of(job)
    rows = rows[_WAITING[tasks.status[rows]] & ~tasks.gated[rows]]
    by_class: dict[int, PodVerdict] = {}
    found: PodVerdict | None = None
    for_others: PodVerdict | None = None
    columns = (rows.tolist(), tasks.status[rows].tolist(), tasks.task_class[rows].tolist())
    for row, status, class_row in zip(*columns, strict=True):
        if status == _PIPELINED:
            yield row, PodVerdict.of(names.POD_REASON_UNSCHEDULABLE, _waits_for_release(ssn, [row]))
        elif status == _ALLOCATED or row in tentative:
            found = found or PodVerdict.of(names.POD_REASON_SCHEDULABLE, _of_placed(ssn, job, rows, verdict))
            yield row, found
        else:
            known = by_class.get(class_row) or _found_of(ssn, job, class_row)
            if known is None:
                known = for_others = for_others or _for_others(ssn, job, rows, verdict)
            by_class[class_row] = known
            yield row, known


def _of_placed(ssn: Session, job: Job, rows: Rows, verdict: Refusal) -> Refusal:
    """Why those that have a place are not bound: the gang lacks others, unless a plugin refuses the job as it is."""
    if verdict.reason is Reason.REFUSED_BY_PLUGIN:
        return verdict
    return Refusal(Reason.GANG_INCOMPLETE, _gang(ssn, job, rows, _note(ssn, job)))


def _found_of(ssn: Session, job: Job, class_row: int) -> PodVerdict | None:
    """The verdict on the class itself. Refusals by nodes are `Unschedulable`, the word that autoscalers act on."""
    task_class = ssn.snapshot.classes[class_row]
    if task_class is not None and task_class.problem is not None:
        return PodVerdict.of(names.POD_REASON_ERROR, task_class.problem)
    error = ssn.findings.fit_errors.get(job.row, {}).get(class_row)
    if error is None:
        return None
    return PodVerdict.of(names.POD_REASON_UNSCHEDULABLE, _and_no_evictions(ssn, job, error.refusal))


def _for_others(ssn: Session, job: Job, rows: Rows, verdict: Refusal) -> PodVerdict:
    """The job's verdict for those of its pods that have none of their own. If it is the verdict of other pods, the
    message names the first of these, as its advice may be about fields that the pod does not have.

    One more node would help jobs that are not admitted because the cluster is full: that is `Unschedulable`, too. A job
    that waits for its queue is `Undetermined`.
    """
    if verdict.reason is Reason.CLUSTER_OVERCOMMITTED:
        return PodVerdict.of(names.POD_REASON_UNSCHEDULABLE, verdict)
    classes = ssn.ledger.tasks.task_class[rows]
    refused = [
        class_row
        for class_row in np.unique(classes).tolist()
        if (found := _found_of(ssn, job, class_row)) is not None and found.refusal == verdict
    ]
    if refused:
        first = ssn.ask.ordered_tasks(rows[np.isin(classes, refused)])[0]
        verdict = Refusal(verdict.reason, held_up(ssn.task_info(int(first)).key, verdict.message))
    return PodVerdict.of(names.POD_REASON_UNDETERMINED, verdict)


def _gang(ssn: Session, job: Job, waiting: Iterable[int] | Rows, note: Refusal | None) -> str:
    """What the gang lacks, and why: what refuses its other pods with its places taken, or else its `_note`."""
    found = [int(row) for row in waiting if int(row) in ssn.findings.tentative]
    placed = job.ready + len(found)
    causes = sorted({error.refusal.message for error in ssn.findings.fit_errors.get(job.row, {}).values()})
    if causes:
        cause = f"with {'it' if placed == 1 else 'them'} in place, {causes[0]}"
    else:
        cause = "" if note is None else note.message
    short = list(short_roles(ssn, job, np.array(found, dtype=np.intp))) if job.info.min_task_member else ()
    return explain_gangs.gang_incomplete(placed, job.tasks, job.min_member, short=short, cause=cause)


def _waits_for_release(ssn: Session, rows: list[int]) -> Refusal:
    """What these tasks wait for; all of them have a place that is not free yet."""
    nodes = sorted({int(ssn.ledger.tasks.node[row]) for row in rows})
    named = sorted(ssn.snapshot.nodes[node].name for node in nodes)
    if all(ssn.reservations.backs_off(row) for row in rows):
        return Refusal(Reason.WAITING_FOR_RELEASE, waiting_for_another_try(named))
    is_promised = any(row in ssn.findings.nominations or ssn.reservations.holds(row) for row in rows)
    text = waiting_for_release(named, ssn.leaving.on(nodes), held_for=HELD_FOR if is_promised else 0.0)
    return Refusal(Reason.WAITING_FOR_RELEASE, text)
