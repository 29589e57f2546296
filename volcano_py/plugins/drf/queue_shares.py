"""The tree of queues through a cycle, kept up to date with what is placed and evicted."""

from __future__ import annotations

from collections.abc import Collection, Hashable

import numpy as np
from numpy.typing import NDArray

from volcano_py.framework.eviction.units import Need, Unit
from volcano_py.framework.job import Job, Task
from volcano_py.framework.session import Session
from volcano_py.framework.votes import PLENTY
from volcano_py.plugins.amounts.shares import sums_by_group
from volcano_py.plugins.drf.job_shares import JobShares
from volcano_py.plugins.drf.layout import Layout, Path, lay_out
from volcano_py.plugins.drf.outlook import HierarchyOutlook
from volcano_py.plugins.drf.suppositions import MOST_JUDGED, Suppositions
from volcano_py.plugins.drf.tree import FollowedTree, Leaves
from volcano_py.state.status import TaskStatus
from volcano_py.state.table.axis import IntVector
from volcano_py.state.table.table import Rows


class QueueShares:
    """Shares of queues and of the nodes above them.

    Placements only note which jobs have moved. The tree is brought up to date when it is asked, so that a gang that is
    tried and given back costs nothing but its sums.

    Attributes:
        epoch: grows when everything was computed again, because a resource became exhausted or is no longer.
    """

    def __init__(self, ssn: Session, jobs: JobShares, turns: JobShares) -> None:
        """Victims are named by `jobs`, and turns are given by `turns`, in which pods that are leaving count."""
        self._jobs = jobs
        self.layout: Layout = lay_out(ssn.queues.values())
        self._total, nodes = ssn.total, ssn.ledger.nodes
        # By all pods, not only those of jobs: what others use up is exhausted, too.
        self._taken: IntVector = (nodes.used - nodes.releasing)[nodes.present].sum(axis=0) + ssn.elsewhere
        self._tree = FollowedTree(self.layout, _leaves(ssn, self.layout, turns), turns)
        real = self._tree if turns is jobs else FollowedTree(self.layout, _leaves(ssn, self.layout, jobs), jobs)
        self._exhausted: bytes | None = None
        self._is_settled = False
        self._suppositions = Suppositions(ssn, jobs, real, self._scarce())
        self.epoch = 0

    def _scarce(self) -> NDArray[np.bool_]:
        """[R] the resources of which there is no more than pods hold and ask for together, with those that leave: their
        controllers create them again. Evictions do not change it."""
        requests = self._tree.leaves.requests
        wanted = sums_by_group(np.zeros(len(requests), dtype=np.intp), requests, 1)[0]
        scarce: NDArray[np.bool_] = wanted >= self._jobs.total
        return scarce

    def follow_from(self) -> Hashable:
        """What shares follow from beyond what pods with nodes hold: which jobs there are, and all that they ask for."""
        leaves = self._tree.leaves
        return leaves.rows.tobytes(), leaves.requests.tobytes(), tuple(leaves.parents)

    def book(self, job: Job, amount: IntVector) -> None:
        """The job holds `amount` [R] more, or less where it is negative; its own share is up to date already."""
        self._taken += amount
        self._is_settled = False
        self._tree.note(job.row)
        self._suppositions.note(job.row)

    def settle(self) -> None:
        """Bring the tree up to date."""
        if self._is_settled:
            return
        self._is_settled = True
        exhausted = self._taken >= self._total
        state = exhausted.tobytes()
        if state == self._exhausted and not self._tree.has_moved_much:
            self._tree.follow()
            return
        self._tree.recount(exhausted, ~exhausted, every_if_saturated=True)
        if state != self._exhausted:
            self._exhausted = state
            self.epoch += 1

    def key(self, path: Path) -> tuple[bool, float]:
        """The rank of a node among its siblings."""
        if not self._is_settled:
            self.settle()
        return self._tree.nodes[path].key

    def look_ahead(self, request: IntVector, closed: Collection[str]) -> HierarchyOutlook:
        """What the keys will be as tasks that ask for `request` [R] are placed, but for those in closed queues."""
        self.settle()
        paths = self.layout.paths
        shut = {path for name, path in paths.items() if name in closed or self._tree.nodes[path].children.any_may_grow}
        is_left = (request > 0) & (self._taken < self._total)
        left, asked = (self._total - self._taken)[is_left], request[is_left]
        most = int(((left - 1) // asked + 1).min(initial=PLENTY.count))
        return HierarchyOutlook(self._tree, request, most, shut)

    def share(self, queue: str) -> float:
        """The share of the queue's node."""
        self.settle()
        return self._tree.nodes[self.layout.paths[queue]].share

    def reclaimable(self, reclaimer: Task, candidates: Rows) -> NDArray[np.bool_]:
        """[K] see `Suppositions`."""
        return self._suppositions.reclaimable(reclaimer, candidates)

    def gives_whole(self, need: Need, unit: Unit) -> bool:
        """See `Suppositions`."""
        return self._suppositions.gives_whole(need, unit)

    def gives_surplus(self, need: Need, unit: Unit) -> bool:
        """See `Suppositions`."""
        return self._suppositions.gives_surplus(need, unit)

    def possibly_reclaimable(self, reclaimer: Task, candidates: Rows) -> NDArray[np.bool_]:
        """[K] all of those, and some that would take long to judge."""
        return self._suppositions.reclaimable(reclaimer, candidates, most_judged=MOST_JUDGED)


def _leaves(ssn: Session, layout: Layout, jobs: JobShares) -> Leaves:
    """Jobs that hold something or have pods that wait for a place.

    A job with neither, one that is done or whose pods do not exist, says nothing about what its queue may get. Neither
    do pods that cannot be placed as they stand.
    """
    table, tasks = ssn.ledger.jobs, ssn.ledger.tasks
    waiting = np.flatnonzero((tasks.status == TaskStatus.PENDING) & (tasks.job >= 0) & ~tasks.gated)
    waiting = waiting[~ssn.hopeless_classes[tasks.task_class[waiting]]]
    wanted = sums_by_group(tasks.job[waiting], ssn.ledger.classes.request[tasks.task_class[waiting]], table.size)
    rows = ssn.job_rows()
    rows = rows[((jobs.held[rows] > 0) | (wanted[rows] > 0)).any(axis=1)]
    by_slot = {queue.slot: layout.paths[name] for name, queue in ssn.queues.items() if name not in layout.refused}
    placed = [row for row in rows.tolist() if int(table.queue[row]) in by_slot]
    placed.sort(key=lambda row: (by_slot[int(table.queue[row])], row))
    order = np.array(placed, dtype=np.intp)
    return Leaves(order, jobs.held[order] + wanted[order], [by_slot[int(table.queue[row])] for row in placed])
