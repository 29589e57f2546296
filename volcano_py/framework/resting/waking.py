"""Which of the jobs that rest for room a cycle has to look at."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from fractions import Fraction
from heapq import nsmallest

import numpy as np

from volcano_py.framework.calls.combined import CombinedAnswers
from volcano_py.framework.cluster_copy import ClusterCopy
from volcano_py.framework.job import Job
from volcano_py.framework.resting.holdings import USE, Thing
from volcano_py.framework.resting.memory import RestingJob
from volcano_py.framework.resting.pods_in_sight import terms_selecting
from volcano_py.state.status import TaskStatus
from volcano_py.state.terms.pod_terms import PodTerm


def first_of_equals(
    cluster: ClusterCopy, ask: CombinedAnswers, jobs: Iterable[RestingJob], concerned: Mapping[int, int]
) -> Iterator[int]:
    """Rows of those jobs among the concerned that may get room; of jobs that are equal but for their order, the first:
    so many as there can be room for, and one more. If there is not even room for one, all: their reasons change."""
    equals: dict[tuple[object, ...], list[Job]] = {}
    for each in jobs:
        job = cluster.job(each.row) if each.row in concerned else None
        if job is None:
            continue
        if concerned[each.row] < max(job.min_member - job.ready, 1):
            yield each.row
            continue
        info, roles = each.info, frozenset(each.info.min_task_member.items())
        shape = (info.queue, info.ref.namespace, job.priority, info.min_member, job.ready, roles, len(each.tasks))
        equals.setdefault((*shape, *map(id, each.lacks)), []).append(job)
    for group in equals.values():
        most = concerned[group[0].row] + 1
        first = group if len(group) <= most else nsmallest(most, group, key=ask.job_key)
        yield from (job.row for job in first)


def those_that_may_join(cluster: ClusterCopy, jobs: Sequence[RestingJob], awake: Set[int]) -> Set[int]:
    """Rows of those jobs to which a pod may open nodes that is placed in this cycle: it waits itself, and its job does
    not rest. `awake`: rows of jobs that do not, in spite of `jobs`."""
    joining = {job.row: job.joins for job in jobs if job.joins and job.row not in awake}
    if not joining:
        return set()
    tasks, rests = cluster.ledger.tasks, np.zeros(cluster.ledger.jobs.size, dtype=np.bool_)
    rests[[job.row for job in jobs if job.row not in awake]] = True
    waiting = np.flatnonzero((tasks.status == TaskStatus.PENDING) & (tasks.job >= 0))
    found: set[int] = set()
    while True:
        coming = waiting[~rests[tasks.job[waiting]]]
        opening: set[PodTerm | Thing] = {*terms_selecting(cluster.snapshot.terms, tasks.labels[coming])}
        if cluster.ledger.classes.use_devices(np.unique(tasks.task_class[coming])):
            opening.add(USE)
        more = {row for row, joins in joining.items() if row not in found and not joins.isdisjoint(opening)}
        if not more:
            return found
        found |= more
        rests[list(more)] = False


def at_ceilings(cluster: ClusterCopy, ask: CombinedAnswers, jobs: Iterable[RestingJob]) -> Iterator[int]:
    """Rows of jobs that rest for room, though their queue may hold no more than the pods that find room."""
    class_of, statuses = cluster.ledger.tasks.task_class, cluster.ledger.tasks.status
    most = dict[tuple[str, int], int]()
    for job in jobs:
        if not job.lacks or (queue := cluster.queues.get(job.info.queue)) is None:
            continue
        waiting = (task.row for task in job.tasks if statuses[task.row] == TaskStatus.PENDING)
        keys = [(queue.name, int(class_of[row])) for row in waiting]
        for key in keys:
            if key not in most:
                task_class = cluster.snapshot.classes[key[1]]
                assert task_class is not None, "a task without a class"
                most[key] = 0 if ask.overused(queue) else ask.bindable(queue, task_class).count
        if _may_be_stopped(job, [most[key] for key in keys]):
            yield job.row


def _may_be_stopped(job: RestingJob, bindable: Sequence[int]) -> bool:
    """Whether a ceiling may stop the job before nodes do. `bindable`: for each task, how many of its class alone the
    queue may still bind."""
    least = min(bindable)
    places = [each for lack in job.lacks if (each := lack.places) is not None]
    if len(places) == len(job.lacks):
        return least <= max(places)
    # All tasks together are below each ceiling if the parts that each of them takes of what is left are one at most.
    return least <= 0 or sum(Fraction(1, count) for count in bindable) > 1
