"""What queues hold, deserve and are guaranteed of a resource, for sentences on why nothing is evicted."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from volcano_py.api.wording import explain_evictions as wording
from volcano_py.api.wording.explain_evictions import Standing
from volcano_py.framework.eviction.gangs import Gangs
from volcano_py.framework.session import Session
from volcano_py.framework.status.queue_reports import queue_reports, standing
from volcano_py.state.infos import QueueInfo
from volcano_py.state.status import EVICTABLE_STATUSES
from volcano_py.state.table.axis import PODS, IntVector
from volcano_py.state.table.table import Rows


def holders(ssn: Session, dim: int) -> Rows:
    """Pods of jobs that hold some of the resource at `dim`."""
    tasks, classes = ssn.ledger.tasks, ssn.ledger.classes
    return np.flatnonzero(
        EVICTABLE_STATUSES[tasks.status]
        & (tasks.job >= 0)
        & (tasks.queue >= 0)
        & (classes.request[tasks.task_class, dim] > 0)
    )


def asked_dims(asked: IntVector) -> list[int]:
    """The resources of what is `asked` for [R]; pods only where it is nothing else."""
    return [dim for dim in np.flatnonzero(asked).tolist() if dim != PODS] or [PODS]


def first_beyond(ssn: Session, queue: str, asked: IntVector, scarcest: int) -> int:
    """The resource of which the queue would hold more than it deserves if it got what is `asked` for [R]: `scarcest` if
    that is one, or if there is none."""
    dims = [dim for dim in np.flatnonzero(asked).tolist() if dim not in {PODS, scarcest}]
    for dim in (scarcest, *dims):
        own = standing(ssn, queue, dim)
        if own.deserved is not None and own.held + int(asked[dim]) > own.deserved:
            return dim
    return scarcest


class Standings:
    """Of one resource, that at `dim`."""

    def __init__(self, ssn: Session, dim: int) -> None:
        self._ssn, self._dim = ssn, dim
        self._resource = ssn.axis.names[dim]
        self._reports = ssn.shared(queue_reports)
        self._paths = ssn.ask.queue_paths()

    def of(self, queue: str) -> Standing:
        return standing(self._ssn, queue, self._dim)

    def promised(self, queue: str) -> int:
        """What jobs of the queue were promised when they were admitted, and do not hold yet."""
        return self._reports[queue].inqueue.get(self._resource, 0)

    def donors(self, queue: QueueInfo) -> list[Standing]:
        """Other queues that hold more than they deserve, those with most beyond first; of queues below each other, the
        lowest."""
        others = [self.of(each.name) for each in self._ssn.queues.values() if each is not queue]
        donors = [each for each in others if each.deserved is not None and each.held > each.deserved]
        above = {name for each in donors for name in self._path(each.queue)[:-1]}
        return sorted((each for each in donors if each.queue not in above), key=lambda each: (-each.beyond, each.queue))

    def promised_twice(self, queue: str) -> str:
        """That queues together deserve more than there is for them, in the cluster or in a queue above `queue`; empty
        when they do not."""
        deserved_by_all, total = self._deserved_below(""), int(self._ssn.total[self._dim])
        if deserved_by_all > total:
            return wording.deserve_more_than_the_cluster(self._resource, deserved_by_all, total)
        for above in self._path(queue)[:-1]:
            own, below = self.of(above), self._deserved_below(above)
            if own.deserved is not None and below > own.deserved:
                return wording.deserve_more_than_the_queue_above(own, below)
        return ""

    def _deserved_below(self, above: str) -> int:
        """What the queues directly below a queue deserve together; below root, when it is empty."""
        names = [name for name in self._ssn.queues if not self._paths or name in self._paths]
        below = [name for name in names if ("", *self._path(name))[-2] == above]
        return sum(self.of(name).deserved or 0 for name in below)

    def _path(self, queue: str) -> tuple[str, ...]:
        """The queues from below root to the queue itself."""
        path = self._paths.get(queue, ()) if self._paths else ()
        return path if path and path[-1] == queue else (queue,)

    def guaranteed(self, gangs: Gangs, queues: Sequence[str], held: Rows) -> str:
        """The guarantee that one of the queues, or a queue above it, would not keep if the most went at once of what
        goes of the pods `held`; empty when all would be kept."""
        for queue in queues:
            most = self._most_at_once(gangs, held[self._ssn.ledger.tasks.queue[held] == self._ssn.queues[queue].slot])
            for name in reversed(self._path(queue)):
                amount = self._reports[name].guarantee.get(self._resource, 0) if name in self._reports else 0
                if amount and self.of(name).held - most < amount:
                    return wording.guaranteed(name, self._resource, amount)
        return ""

    def _most_at_once(self, gangs: Gangs, held: Rows) -> int:
        """The most that one unit frees: a pod of what jobs have beyond their minimums, or a job."""
        tasks, requests = self._ssn.ledger.tasks, self._ssn.ledger.classes.request
        amounts = requests[tasks.task_class[held], self._dim]
        if not len(held):
            return 0
        has_surplus = (gangs.surplus()[tasks.job[held]] > 0) | (not gangs.take_whole)
        jobs, places = np.unique(tasks.job[held], return_inverse=True)
        whole = np.bincount(places, weights=amounts, minlength=len(jobs))[places]
        return int(np.where(has_surplus, amounts, whole).max())
