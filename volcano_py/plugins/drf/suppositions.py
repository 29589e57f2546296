"""Which queues a queue may reclaim from: what the shares in the tree would be afterwards."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from volcano_py.framework.eviction.units import Need, Unit
from volcano_py.framework.job import Task
from volcano_py.framework.placement.row_groups import group_rows
from volcano_py.framework.session import Session
from volcano_py.plugins.drf.job_shares import JobShares
from volcano_py.plugins.drf.kinds import NO_PLACE, Kinds
from volcano_py.plugins.drf.layout import parting
from volcano_py.plugins.drf.tree import FollowedTree, Node
from volcano_py.state.table.axis import IntVector
from volcano_py.state.table.table import Rows

# Each supposed tree is as large as the real one, and a cycle seldom needs more.
_MOST_TREES: Final = 4

MOST_JUDGED: Final = 16
"""Kinds of jobs that are judged before all nodes are looked at; the outcome is the same with any number."""

Mask = NDArray[np.bool_]


class _Least(NamedTuple):
    """The ratios of the reclaimer's side, now and with what it asks for: what the other side has to keep."""

    now: float
    then: float

    def is_left(self, ratio: float) -> bool:
        return ratio >= self.then and ratio > self.now


class Suppositions:
    """Answers for reclaim.

    A victim is a pod without which its side of the tree still has as much, over its weight, as the reclaimer's side
    gets with the pod that it wants, and more than that side has now. Each candidate is judged alone, and again when
    others have gone before it. The sides are compared where the paths of the two queues part, over the resources that
    are not scarce and those that the reclaimer asks for. Saturation has no say in the comparison: a queue whose work
    is one big job, saturated as a whole, would otherwise lose it all to a queue with a job that holds nothing.

    So a tie gives, and still no queues take from each other in turn. The least of the shares never gets less, and no
    side comes down to it by giving. Without the second condition, sides that tie already would pass on to each other
    what does not count in their shares. Whether a resource is scarce does not depend on which job holds what. If it
    depended on whether all of it is in use, each of three queues could be owed something by the next.

    Jobs of a kind are judged once, and the verdict holds until anything is placed or evicted: hundreds of pods may ask
    without a result, each for every node of the cluster.
    """

    def __init__(self, ssn: Session, jobs: JobShares, tree: FollowedTree, scarce: Mask) -> None:
        """`scarce` [R]: the resources of which all pods together ask for as much as there is, or more."""
        self._tasks = ssn.ledger.tasks
        self._requests = ssn.ledger.classes.request
        self._jobs = jobs
        self._real = tree
        self._scarce = scarce
        self._trees: dict[bytes, FollowedTree] = {}
        self._kinds = Kinds(tree.leaves, jobs)
        self._verdicts: dict[tuple[int, int], dict[tuple[int, int], bool]] = {}
        """Kind of the reclaimer's job and its class → class of a pod and kind of its job → whether it is a victim."""

    def note(self, job_row: int) -> None:
        """The job holds something else than before."""
        self._kinds.note(job_row)
        self._verdicts.clear()
        for tree in self._trees.values():
            tree.note(job_row)

    def reclaimable(self, reclaimer: Task, candidates: Rows, *, most_judged: int | None = None) -> Mask:
        """[K] which of the candidates are victims.

        With `most_judged`, kinds of jobs beyond so many of each class count as victims if they might be.
        """
        of_jobs = self._kinds.of_jobs()
        own = int(of_jobs[reclaimer.job.row])
        if own == NO_PLACE:
            return np.zeros(len(candidates), dtype=np.bool_)
        classes, jobs = self._tasks.task_class[candidates], self._tasks.job[candidates]
        # Pods of one class, of jobs of one kind, come to the same when each is judged alone.
        places, firsts = group_rows([classes, of_jobs[jobs]])
        classes, jobs = classes[firsts], jobs[firsts]
        looks = list(zip(classes.tolist(), of_jobs[jobs].tolist(), strict=True))
        known = self._verdicts.setdefault((own, reclaimer.task_class.row), {})
        unknown: dict[int, dict[int, int]] = {}
        for (task_class, kind), job_row in zip(looks, jobs.tolist(), strict=True):
            if (task_class, kind) not in known:
                unknown.setdefault(task_class, {})[kind] = job_row
        for task_class, job_of in unknown.items():
            judged = self._judge(reclaimer, task_class, job_of, most_judged)
            known.update({(task_class, kind): verdict for kind, verdict in judged.items()})
        victims: Mask = np.array([known.get(look, True) for look in looks], dtype=np.bool_)[places]
        return victims

    def gives_whole(self, need: Need, unit: Unit) -> bool:
        """Whether a job may go whole: by the same rule, with all that the reclaimer's job needs, and only if the
        reclaimer's side then has less than the victim's has before."""
        return self._keeps(need, unit, less_than_now=True)

    def gives_surplus(self, need: Need, unit: Unit) -> bool:
        """Whether pods that are victims of the first task are so of all that the reclaimer's job needs: what a large
        pod leaves may have room for more of them than the first."""
        return need.is_of_one_task or self._keeps(need, unit)

    def _keeps(self, need: Need, unit: Unit, *, less_than_now: bool = False) -> bool:
        """Whether the unit's side has enough without it, if the reclaimer's job gets all that it needs. With
        `less_than_now`, the reclaimer's side must then also have less than the unit's side has now."""
        row, victim = need.task.job.row, unit.job.row
        of_jobs = self._kinds.of_jobs()
        if NO_PLACE in (int(of_jobs[row]), int(of_jobs[victim])):
            return False
        tree = self._tree_for(need.request > 0)
        sides = parting(tree.path(row), tree.path(victim))
        if sides is None:
            return False
        mine, theirs = tree.nodes[sides[0]], tree.nodes[sides[1]]
        now, holding = mine.ratio, self._jobs.held[row] + need.request
        tree.put(row, holding, self._jobs.share_of(holding))
        tree.note(row)
        least = _Least(now, mine.ratio)
        if less_than_now and theirs.ratio <= least.then:
            return False
        return least.is_left(self._left(tree, theirs, victim, unit.request))

    def _judge(
        self, reclaimer: Task, task_class: int, job_of: dict[int, int], most_judged: int | None
    ) -> dict[int, bool]:
        """Whether jobs may lose a pod of the class, by kind; `job_of` has one of each kind. Kinds beyond `most_judged`
        that may be victims get no verdict."""
        row, asked, given = reclaimer.job.row, reclaimer.task_class.request, self._requests[task_class]
        tree = self._tree_for(asked > 0)
        path = tree.path(row)
        now = [tree.nodes[path[: depth + 1]].ratio for depth in range(len(path))]
        holding = self._jobs.held[row] + asked
        tree.put(row, holding, self._jobs.share_of(holding))
        tree.note(row)  # it holds less in truth, which is put back when the tree is next asked for
        verdicts: dict[int, bool] = {}
        judged = 0
        for kind, job_row in job_of.items():
            sides = None if kind == NO_PLACE else parting(path, tree.path(job_row))
            if sides is None:
                verdicts[kind] = False
                continue
            mine, theirs = tree.nodes[sides[0]], tree.nodes[sides[1]]
            least = _Least(now[len(mine.path) - 1], mine.ratio)
            # A queue that has too little with the pod gives nothing, and most need no closer look. A side may count
            # for more without a pod that is the last of the least of its jobs: that is no reason to take it.
            if not least.is_left(theirs.ratio):
                verdicts[kind] = False
            elif most_judged is None or judged < most_judged:
                judged += 1
                verdicts[kind] = least.is_left(self._left(tree, theirs, job_row, given))
        return verdicts

    def _left(self, tree: FollowedTree, theirs: Node, job_row: int, given: IntVector) -> float:
        """The ratio of a side without what its job gives."""
        left = self._jobs.held[job_row] - given
        tree.put(job_row, left, self._jobs.share_of(left))
        ratio = theirs.ratio
        tree.update(job_row)
        return ratio

    def _tree_for(self, asked: Mask) -> FollowedTree:
        """A tree in which what is asked for counts although it is scarce."""
        counted: Mask = ~self._scarce | asked
        key = counted.tobytes()
        tree = self._trees.pop(key, None)
        if tree is not None:
            tree.follow()
        else:
            while len(self._trees) >= _MOST_TREES:
                del self._trees[next(iter(self._trees))]
            tree = self._real.another()
            tree.recount(self._scarce, counted, every_if_saturated=False)
        self._trees[key] = tree
        return tree
