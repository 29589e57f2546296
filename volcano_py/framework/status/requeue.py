"""Request another cycle when a placement may unblock a pod that was refused earlier in the same cycle, or makes the
message of a job untrue.

Mostly a placement leaves less for others. But the placed pod may be one that a refused pod has affinity to, one that
evens out a topology spread, or one that uses devices for which CPUs were kept free. It may also bring its queue above
its share after victims were sought. No event of the cluster wakes the scheduler for these, nor for a place that was
only promised. Nor does one for messages: a gang whose message has room for all but one of its pods would say so until
anything changes, after others have taken that room in the same cycle, and a job that is not admitted would say that
others are promised what they hold by now.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from volcano_py.api.reasons import Reason
from volcano_py.framework.eviction.candidates import RIPE_AFTER
from volcano_py.framework.placement.class_state import reaches_of
from volcano_py.framework.plugin import Reach
from volcano_py.framework.status.wakeups import SOON
from volcano_py.state.status import TaskStatus
from volcano_py.state.task_class import TaskClass

if TYPE_CHECKING:
    from volcano_py.framework.session import Session


def requeue_if_unblocked(ssn: Session) -> None:
    """Request another cycle when some node now takes a refused pod, or may take it after evictions.

    Only after bindings, so that every further cycle has made progress. Room that gangs gave back unblocks nothing: it
    was free when the refused pods were tried.
    """
    if not ssn.bound():
        return
    refused = _refused_classes(ssn)
    is_unblocked = any(_moves(ssn, each) and len(ssn.placer.feasible(each)) for each in refused)
    if is_unblocked or _is_promised_what_is_free(ssn):
        ssn.wakeups.recheck_at(ssn.now + SOON)
    is_any_waiting = bool(refused or _is_any_skipped(ssn) or _is_any_resting(ssn))
    if is_any_waiting:  # where placements keep coming, another cycle comes before that
        ssn.wakeups.recheck_at(ssn.now + RIPE_AFTER)


def _is_any_skipped(ssn: Session) -> bool:
    """Whether a job had no turn, or was skipped in it; not for pods that it lacks, to which placements make no
    difference."""
    notes = ssn.findings.notes
    lacking = {row for row, note in notes.items() if note.reason is Reason.NOT_ENOUGH_TASKS}
    return not lacking.issuperset((*notes, *ssn.findings.set_aside))


def _is_any_resting(ssn: Session) -> bool:
    """Whether a job rests that would have been noted as waiting if it had been looked at: pods that are gated, or no
    pods as they should be, are not."""
    tasks = ssn.ledger.tasks
    waiting = (tasks.status == TaskStatus.PENDING) & ~tasks.gated & ~ssn.hopeless_classes[tasks.task_class]
    waits = np.zeros(len(ssn.ledger.jobs.known) + 1, dtype=np.bool_)  # the last is that of pods without a job
    waits[tasks.job[waiting]] = True
    return any(
        job.is_skipped or not job.is_admitted or waits[row]
        for row, job in ssn.resting.items()
        if job.reported.reason is not Reason.NOT_ENOUGH_TASKS
    )


def _refused_classes(ssn: Session) -> list[TaskClass]:
    """Classes that no node took, of jobs that had a turn."""
    findings = ssn.findings
    hopeful = [errors for job, errors in findings.fit_errors.items() if job not in findings.set_aside]
    rows = sorted({row for errors in hopeful for row in errors})
    return [each for row in rows if (each := ssn.snapshot.classes[row]) is not None]


def _is_promised_what_is_free(ssn: Session) -> bool:
    """Whether an action after allocate found a place that needs no eviction: it can only promise it, not bind."""
    tasks, nodes = ssn.ledger.tasks, ssn.ledger.nodes
    places = tasks.node[tasks.status == TaskStatus.PIPELINED]
    return bool((~nodes.releasing[places].any(axis=1)).any())


def _moves(ssn: Session, task_class: TaskClass) -> bool:
    """Whether placements may change which nodes take the class."""
    reaches = reaches_of(ssn.dispatch.calls("predicate"), "predicate_reach", task_class)
    return bool(task_class.spreads) or any(reach is not Reach.STATIC for reach in reaches)
