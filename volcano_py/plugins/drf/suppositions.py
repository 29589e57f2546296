"""Whom the tree of queues lets a queue reclaim from: what the shares would be if."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from volcano_py.framework.alike import alike
from volcano_py.framework.job import Task
from volcano_py.framework.session import Session
from volcano_py.plugins.drf.job_shares import JobShares
from volcano_py.plugins.drf.layout import Path
from volcano_py.plugins.drf.tree import FollowedTree
from volcano_py.state.axis import IntVector
from volcano_py.state.ledger import Rows

# Each supposed tree is as large as the real one, and a cycle seldom needs more.
_MOST_TREES: Final = 4

MOST_JUDGED: Final = 16
"""Kinds of jobs that are judged before all nodes are looked at; the outcome is the same with any number."""

Mask = NDArray[np.bool_]

_Kind = tuple[Path, bytes, bytes]
"""What a verdict about a job depends on: its node, what it holds, and what it asks for in all."""


class Suppositions:
    """Answers for reclaim.

    A victim is a pod without which its side of the tree still has more, over its weight, than the reclaimer's side with
    what it asks for. Each candidate is judged alone. The sides are compared where the paths of the two queues part,
    over the resources that are not exhausted and those that the reclaimer asks for. Saturation has no say in the
    comparison: a queue whose work is one big job, saturated as a whole, would otherwise lose it all to a queue with a
    job that holds nothing.

    Jobs of a kind are judged once, and the verdict holds until anything is placed or evicted: hundreds of pods may ask
    in vain, each for every node of the cluster.
    """

    def __init__(self, ssn: Session, jobs: JobShares, tree: FollowedTree) -> None:
        self._tasks = ssn.ledger.tasks
        self._requests = ssn.ledger.classes.request
        self._jobs = jobs
        self._real = tree
        self._leaf_of = tree.leaves.leaf_of
        self._trees: dict[bytes, FollowedTree] = {}
        self._kinds: dict[int, _Kind] = {}
        self._verdicts: dict[tuple[_Kind, int, int], dict[_Kind, bool]] = {}

    def note(self, job_row: int) -> None:
        """The job holds something else than before."""
        self._kinds.pop(job_row, None)
        self._verdicts.clear()
        for tree in self._trees.values():
            tree.note(job_row)

    def reclaimable(
        self, reclaimer: Task, candidates: Rows, taken: IntVector, *, most_judged: int | None = None
    ) -> Mask:
        """[K] who of the candidates is a victim; `taken` [R] is what is in use in the cluster.

        With `most_judged`, kinds of jobs beyond so many of each class count as victims if they might be.
        """
        if reclaimer.job.row not in self._leaf_of:
            return np.zeros(len(candidates), dtype=np.bool_)
        classes, jobs = self._tasks.task_class[candidates], self._tasks.job[candidates]
        # Pods of one class and job are alike, and come to the same when each is judged alone.
        places, firsts = alike([classes, jobs])
        classes, jobs = classes[firsts], jobs[firsts]
        answers = np.zeros(len(firsts), dtype=np.bool_)
        for task_class in np.unique(classes).tolist():
            of_class = np.flatnonzero(classes == task_class)
            answers[of_class] = self._judge(reclaimer, task_class, jobs[of_class].tolist(), taken, most_judged)
        victims: Mask = answers[places]
        return victims

    def _judge(
        self, reclaimer: Task, task_class: int, jobs: list[int], taken: IntVector, most_judged: int | None
    ) -> list[bool]:
        """For each of the jobs whether it may lose a pod of the class."""
        row = reclaimer.job.row
        known = self._verdicts.setdefault((self._kind(row), reclaimer.task_class.row, task_class), {})
        kinds = [self._kind(job_row) if job_row in self._leaf_of else None for job_row in jobs]
        unknown = {kind: job_row for kind, job_row in zip(kinds, jobs, strict=True) if kind and kind not in known}
        if unknown:
            asked, given = reclaimer.task_class.request, self._requests[task_class]
            tree = self._tree_for(taken + asked - given, asked > 0)
            holding = self._jobs.held[row] + asked
            tree.put(row, holding, self._jobs.share_of(holding))
            self._judge_kinds(tree, known, unknown, self._kind(row)[0], given, most_judged)
            tree.update(row)
        # Jobs without a place in the tree give nothing.
        return [kind is not None and known.get(kind, True) for kind in kinds]

    def _judge_kinds(
        self,
        tree: FollowedTree,
        known: dict[_Kind, bool],
        unknown: dict[_Kind, int],
        own: Path,
        given: IntVector,
        most_judged: int | None,
    ) -> None:
        """Add verdicts to `known`; kinds beyond `most_judged` that may be victims get none."""
        judged = 0
        for kind, job_row in unknown.items():
            parting = _parting(own, kind[0])
            # Who has no more than the reclaimer as it is gives nothing, and most need no closer look. A side may count
            # for more without a pod that is the last of the least of its jobs: that is no reason to take it.
            if parting is None or tree.nodes[parting[1]].ratio <= tree.nodes[parting[0]].ratio:
                known[kind] = False
            elif most_judged is None or judged < most_judged:
                judged += 1
                known[kind] = self._would_keep_more(tree, parting, job_row, given)

    def _would_keep_more(self, tree: FollowedTree, parting: tuple[Path, Path], job_row: int, given: IntVector) -> bool:
        mine, theirs = tree.nodes[parting[0]], tree.nodes[parting[1]]
        left = self._jobs.held[job_row] - given
        tree.put(job_row, left, self._jobs.share_of(left))
        keeps_more = theirs.ratio > mine.ratio
        tree.update(job_row)
        return keeps_more

    def _kind(self, job_row: int) -> _Kind:
        kind = self._kinds.get(job_row)
        if kind is None:
            leaves, leaf = self._real.leaves, self._leaf_of[job_row]
            kind = leaves.parents[leaf], self._jobs.held[job_row].tobytes(), leaves.requests[leaf].tobytes()
            self._kinds[job_row] = kind
        return kind

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
