"""Whom the tree of queues lets a queue reclaim from: what the shares would be if."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from volcano_py.framework.job import Task
from volcano_py.framework.session import Session
from volcano_py.plugins.drf.job_shares import JobShares
from volcano_py.plugins.drf.layout import Path
from volcano_py.plugins.drf.tree import FollowedTree
from volcano_py.state.axis import IntVector
from volcano_py.state.ledger import Rows

# Each supposed tree is as large as the real one, and a cycle seldom needs more.
_MOST_TREES: Final = 4

Mask = NDArray[np.bool_]


class Suppositions:
    """Answers for reclaim.

    A victim is a pod without which its side of the tree still has more, over its weight, than the reclaimer's side with
    what it asks for. Each candidate is judged alone. The sides are compared where the paths of the two queues part,
    over the resources that are not exhausted and those that the reclaimer asks for. Saturation has no say in the
    comparison: a queue whose work is one big job, saturated as a whole, would otherwise lose it all to a queue with a
    job that holds nothing.
    """

    def __init__(self, ssn: Session, jobs: JobShares, tree: FollowedTree) -> None:
        self._tasks = ssn.ledger.tasks
        self._requests = ssn.ledger.classes.request
        self._jobs = jobs
        self._real = tree
        self._trees: dict[bytes, FollowedTree] = {}

    def note(self, job_row: int) -> None:
        """The job holds something else than before."""
        for tree in self._trees.values():
            tree.note(job_row)

    def reclaimable(self, reclaimer: Task, candidates: Rows, taken: IntVector) -> Mask:
        """[K] who of the candidates is a victim; `taken` [R] is what is in use in the cluster."""
        own = self._real.leaves.path_of.get(reclaimer.job.row)
        if own is None:
            return np.zeros(len(candidates), dtype=np.bool_)
        pairs = np.stack((self._tasks.task_class[candidates], self._tasks.job[candidates]), axis=1)
        # Pods of one class and job are alike, and come to the same when each is judged alone.
        alike, places = np.unique(pairs, axis=0, return_inverse=True)
        answers = np.zeros(len(alike), dtype=np.bool_)
        for task_class in np.unique(alike[:, 0]).tolist():
            of_class = np.flatnonzero(alike[:, 0] == task_class)
            answers[of_class] = self._judge(
                reclaimer, own, self._requests[task_class], alike[of_class, 1].tolist(), taken
            )
        victims: Mask = answers[places.reshape(-1)]
        return victims

    def _judge(self, reclaimer: Task, own: Path, given: IntVector, jobs: list[int], taken: IntVector) -> list[bool]:
        """For each of the jobs whether it may lose `given` [R]."""
        row, asked = reclaimer.job.row, reclaimer.task_class.request
        tree = self._tree_for(taken + asked - given, asked > 0)
        holding = self._jobs.held[row] + asked
        tree.put(row, holding, self._jobs.share_of(holding))
        answers = [self._would_keep_more(tree, own, job_row, given) for job_row in jobs]
        tree.update(row)
        return answers

    def _would_keep_more(self, tree: FollowedTree, own: Path, job_row: int, given: IntVector) -> bool:
        parting = _parting(own, tree.leaves.path_of.get(job_row, own))
        if parting is None:
            return False
        mine, theirs = tree.nodes[parting[0]], tree.nodes[parting[1]]
        # Nobody has more without a pod than with it, so most need no closer look.
        if theirs.ratio <= mine.ratio:
            return False
        left = self._jobs.held[job_row] - given
        tree.put(job_row, left, self._jobs.share_of(left))
        keeps_more = theirs.ratio > mine.ratio
        tree.update(job_row)
        return keeps_more

    def _tree_for(self, taken: IntVector, asked: Mask) -> FollowedTree:
        """A tree for that much taken, in which what is asked for counts although it is exhausted."""
        exhausted: Mask = taken >= self._jobs.total
        counted: Mask = ~exhausted | asked
        key = exhausted.tobytes() + counted.tobytes()
        tree = self._trees.pop(key, None)
        if tree is not None:
            tree.follow()
        else:
            while len(self._trees) >= _MOST_TREES:
                del self._trees[next(iter(self._trees))]
            tree = self._real.another()
            tree.recount(exhausted, counted, every_if_saturated=False)
        self._trees[key] = tree
        return tree


def _parting(mine: Path, theirs: Path) -> tuple[Path, Path] | None:
    """The two siblings at which the paths part; None when they do not."""
    for depth in range(min(len(mine), len(theirs))):
        if mine[depth] != theirs[depth]:
            return mine[: depth + 1], theirs[: depth + 1]
    return None
