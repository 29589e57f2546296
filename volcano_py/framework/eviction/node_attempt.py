"""An attempt to place one task on one node by evictions there."""

from __future__ import annotations

import numpy as np

from volcano_py.framework.eviction.draft import Draft
from volcano_py.framework.eviction.eviction_order import eviction_order
from volcano_py.framework.eviction.offers import blockers, offers
from volcano_py.framework.eviction.scheme import Scheme
from volcano_py.framework.eviction.shortage import NodeShortage
from volcano_py.framework.job import Task
from volcano_py.framework.session import Session
from volcano_py.state.table.axis import IntVector
from volcano_py.state.table.ledger import Rows


class NodeAttempt:
    """See the module. What does not lead to a place leaves no trace in the draft."""

    def __init__(self, ssn: Session, scheme: Scheme, draft: Draft, task: Task, node: int) -> None:
        self._ssn = ssn
        self._point = scheme.point
        self._draft = draft
        self._task = task
        self._node = node
        self._shortage = NodeShortage(ssn, task, node)

    def evict_some(self, candidates: Rows) -> bool:
        """Place the task by evicting some of the candidates."""
        missing = self._shortage.missing()
        in_the_way = blockers(self._draft, self._task, self._node, self._shortage, candidates)
        for offer in offers(self._shortage, candidates, missing, in_the_way):
            victims = self._ssn.ask.victims(self._point, self._task, offer)
            is_enough = len(victims) and not (self._shortage.requests_of(victims).sum(axis=0) < missing).any()
            if is_enough and self._evict_until_it_fits(victims, missing, in_the_way):
                return True
        return False

    def _evict_until_it_fits(self, victims: Rows, missing: IntVector, in_the_way: list[int]) -> bool:
        """Evict one after the other until the task fits, under every rule; take it back when it never does."""
        ssn, draft = self._ssn, self._draft
        mark = draft.checkpoint()
        evicted: list[int] = []
        waiting = sorted(eviction_order(ssn, ssn.ask, self._task, victims), key=lambda row: row not in in_the_way)
        while (victim := self._next_victim(waiting, missing)) is not None:
            waiting.remove(victim)
            # Plugins may have judged each alone: without those that went before, its side may have no more to give.
            if evicted and not len(ssn.ask.victims(self._point, self._task, np.array([victim], dtype=np.intp))):
                continue
            draft.evict(victim, self._task, self._node)
            evicted.append(victim)
            lacked, missing = missing, self._shortage.missing()
            if not missing.any() and self._shortage.may_take():
                draft.promise(self._task, self._node, self._needed(evicted, lacked))
                return True
        draft.rollback(mark)
        return False

    def _next_victim(self, waiting: list[int], missing: IntVector) -> int | None:
        """The first that holds some of what is missing; when nothing is, just the first.

        Of several missing resources, the one that the fewest hold is sought first: its holder has to go in any case,
        and often holds the others, too.
        """
        if not missing.any() or not waiting:
            return waiting[0] if waiting else None
        holds = self._shortage.requests_of(waiting)[:, missing > 0] > 0
        rarest = holds[:, int(holds.sum(axis=0).argmin())]
        return waiting[int(rarest.argmax())] if rarest.any() else None

    def _needed(self, evicted: list[int], lacked: IntVector) -> tuple[int, ...]:
        """The evicted tasks that have to go. The others, which held too little and went before a larger one, stay.

        `lacked` is what was missing when the last one went: a task that stays holds no more than that one freed beyond.
        """
        *before, last = evicted
        dims = lacked > 0
        beyond = self._shortage.requests_of([last])[0] - lacked
        small = (self._shortage.requests_of(before)[:, dims] <= beyond[dims]).all(axis=1)
        needed = list(evicted)
        for victim in [row for row, may_stay in zip(before, small.tolist(), strict=True) if may_stay][::-1]:
            operation = self._draft.take_back(victim)
            if self._shortage.missing().any() or not self._shortage.may_take():
                self._draft.evict_again(operation)
            else:
                needed.remove(victim)
        return tuple(needed)
