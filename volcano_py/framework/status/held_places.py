"""For which jobs nodes, or places on them, are held while other jobs are not admitted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from volcano_py.api.names import ROOT_QUEUE
from volcano_py.api.reasons import Reason
from volcano_py.api.wording.explain_ceilings import nodes_held_for, places_held_for
from volcano_py.framework.job import Job
from volcano_py.state.task_class import Refusal

if TYPE_CHECKING:
    from volcano_py.framework.session import Session

_OF_QUEUES: Final = frozenset({Reason.OVER_CAPABILITY, Reason.OVER_DESERVED})


def held_for_others(ssn: Session, job: Job, refusal: Refusal) -> str:
    """A sentence that names these jobs; empty if `job` is admitted, or they are not what it waits for.

    Its pods may not exist yet, so no node refuses them, and the refusal alone is about sums. If a queue refuses the
    job, only jobs that count there, too, matter.
    """
    if not job.is_pending or refusal.reason not in {Reason.CLUSTER_OVERCOMMITTED, *_OF_QUEUES}:
        return ""
    held = ssn.findings.nodes_held
    if held is not None and _matters(ssn, held.row, job, refusal):
        is_first = held.priority is not None and job.priority > held.priority
        return "" if is_first else nodes_held_for(ssn.snapshot.job_keys[held.row], held.when)
    keepers = sorted(ssn.snapshot.job_keys[row] for row in ssn.findings.keepers if _matters(ssn, row, job, refusal))
    return places_held_for(keepers) if keepers else ""


def _matters(ssn: Session, row: int, job: Job, refusal: Refusal) -> bool:
    """Whether what is held for the job `row` may be what keeps `job` out."""
    other = ssn.job(row)
    if other is None or row == job.row:
        return False
    if refusal.reason not in _OF_QUEUES:
        return True
    return not _branch(ssn, other).isdisjoint(_branch(ssn, job))


def _branch(ssn: Session, job: Job) -> set[str]:
    """The queue of the job and those above it, without the root. Parents may lead in a circle where they count for
    nothing."""
    branch = set[str]()
    name = job.queue.name
    while name in ssn.queues and name not in branch:
        branch.add(name)
        name = ssn.queues[name].parent
    return branch - {ROOT_QUEUE}
