"""A plan for one starving job: places for its tasks, made by evictions where need be, as a whole or not at all.

Nothing is evicted unless the job's gang is then complete, under all predicates and ceilings, and unless no victim
could, by the same rules, evict its evictor in turn. What is placed is only promised: it is bound in a later cycle, once
the victims are gone.

The parts, in the order in which they work: the scheme says who may go (scheme.py), each task gets a place
(task_placement.py), on a node where evictions free enough (node_attempt.py, offers.py, shortage.py); the draft keeps
what was done (draft.py); victims that the whole plan does not need stay (reprieve.py); the plan is dropped if a victim
would come back (recurrence.py).
"""

from __future__ import annotations

import numpy as np

from volcano_py.api.reasons import Reason
from volcano_py.api.wording import explain
from volcano_py.framework.eviction.candidates import Candidates
from volcano_py.framework.eviction.draft import Draft
from volcano_py.framework.eviction.recurrence import find_avenger
from volcano_py.framework.eviction.scheme import NEVER, Scheme
from volcano_py.framework.eviction.starving import allocate_follows
from volcano_py.framework.eviction.task_placement import place_by_evictions, place_without_evictions
from volcano_py.framework.job import Job, Task
from volcano_py.framework.session import Session
from volcano_py.state.table.ledger import Rows
from volcano_py.state.task_class import Refusal


class EvictionPlan:
    """See the module. Made for one attempt of one job."""

    def __init__(self, ssn: Session, pool: Candidates, scheme: Scheme, job: Job) -> None:
        self._ssn = ssn
        self._pool = pool
        self._scheme = scheme
        self._job = job
        self._draft = Draft(ssn, job, scheme.action)
        self._hopeless: set[tuple[int, str]] = set()
        """Class rows, with their preemption policy, that found no place in this plan."""

    def carry_out(self, tasks: Rows, *, keep_without_victims: bool = True) -> bool:
        """Place the tasks, in the order given, while the job starves. True when it was worth committing.

        `keep_without_victims`: promise places even when no pod has to go for any of them; otherwise that is left to
        allocate, and where that is yet to come, the places are held for it.
        """
        ssn, draft = self._ssn, self._draft
        tentative = ssn.findings.tentative
        given_back = {row: tentative[row] for row in tasks.tolist() if row in tentative}
        for row in tasks.tolist():
            if not ssn.ask.job_starving(self._job):
                break
            self._place(row)
        is_complete = ssn.ask.gang_will_be_ready(self._job)
        if is_complete:
            draft.reprieve()
        worth_it = bool(draft.victims) or (bool(draft.places) and keep_without_victims)
        if not worth_it or not is_complete or self._would_come_back():
            self._give_up()
            ssn.findings.reset_tentative(tasks, given_back)
            return False
        draft.commit()
        best_effort = tasks[ssn.best_effort_classes[ssn.ledger.tasks.task_class[tasks]]]
        ssn.findings.reset_tentative(best_effort, given_back)
        ssn.have_places(self._job, np.array([place.row for place in draft.places], dtype=np.intp))
        return True

    def _place(self, row: int) -> None:
        ssn, draft = self._ssn, self._draft
        task_class, policy = ssn.task_class(row), ssn.task_info(row).preemption_policy
        if (task_class.row, policy) in self._hopeless:
            return
        task = Task(row, self._job, task_class, int(ssn.ledger.tasks.priority[row]))
        if ssn.ask.pre_predicate(task_class) is None and (
            place_without_evictions(ssn, draft, task)
            or (policy != NEVER and place_by_evictions(ssn, self._scheme, draft, task))
        ):
            return
        self._hopeless.add((task_class.row, policy))

    def _would_come_back(self) -> bool:
        """Whether a victim could evict in turn what it was evicted for. The job notes which."""
        victims = self._draft.victims
        placed = self._pool.spares(np.array([place.row for place in self._draft.places], dtype=np.intp))
        if not victims or not len(placed) or not self._scheme.may_lose(self._job.queue):
            return False
        avenger = find_avenger(self._ssn, self._scheme, victims, placed)
        if avenger is None:
            return False
        text = explain.would_come_back(self._scheme.action, self._ssn.task_info(avenger).key)
        self._ssn.findings.note(self._job, Refusal(Reason.REFUSED_BY_PLUGIN, text))
        return True

    def _give_up(self) -> None:
        """Take everything back. Only places that no pod has to leave are held if allocate is to give them: otherwise
        lesser jobs would take what is free, and have others evicted for the rest."""
        ssn, job, draft = self._ssn, self._job, self._draft
        draft.drop_best_effort()
        left_to_allocate = not draft.victims and allocate_follows(ssn, self._scheme.action)
        if left_to_allocate and not ssn.ask.overused(job.queue) and ssn.ask.job_pipelined(job):
            draft.hold_for_allocate()
        else:
            draft.discard()
