"""A plan for one starving job: places for its tasks, made by evictions where need be, as a whole or not at all.

Nothing is evicted unless the job's gang is then complete, under all predicates and ceilings, and unless no victim
could, by the same rules, evict its evictor in turn. What is placed is only promised: it is bound in a later cycle, once
the victims are gone.

The parts, in the order in which they work: the scheme says which pods may go (scheme.py, candidates.py); what a job
gives are units (units.py, gangs.py); the search evicts the best bundles of units, over all nodes (planning/: search.py,
columns.py, bundles.py), if the plugins give them up (taking.py, judging.py), and where a rule other than room is in the
way, those of one node (blocked.py); the draft keeps what was done (draft.py, placing.py); units that the whole plan
does not need stay (fill_back.py), and one may be replaced by something better (replacement.py, cost.py); where there
are few choices, all are compared (few_choices.py, choices.py); where a victim would come back, the plan is dropped, and
another is sought in other domains, or without that victim's job (recurrence.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Final

import msgspec
import numpy as np

from volcano_py.api.wording import explain_evictions as wording
from volcano_py.framework.eviction.candidates import Candidates
from volcano_py.framework.eviction.domains import domains_of_sub_groups, eviction_domains
from volcano_py.framework.eviction.planning.attempt import LEVELS, Attempt, Level
from volcano_py.framework.eviction.planning.columns import Columns
from volcano_py.framework.eviction.planning.cost import Costs
from volcano_py.framework.eviction.planning.draft import Draft
from volcano_py.framework.eviction.planning.few_choices import improve_among_few, search_few_choices
from volcano_py.framework.eviction.planning.fill_back import fill_back
from volcano_py.framework.eviction.planning.recurrence import recurring_victim
from volcano_py.framework.eviction.planning.replacement import replace_one, retry_with_one_later
from volcano_py.framework.eviction.planning.search import Search
from volcano_py.framework.eviction.scheme import Scheme
from volcano_py.framework.eviction.starving import allocate_follows
from volcano_py.framework.job import Job, Task
from volcano_py.framework.session import Session
from volcano_py.state.table.table import Rows
from volcano_py.state.topology.tree import ROOT

_SURPLUS: Final = tuple(level for level in LEVELS if not level.whole)
_MOST_LEFT_OUT: Final = 3
"""Jobs of which a pod would come back, and without which a plan is sought; each costs a search."""


class EvictionPlan:
    """See the module. Made for one attempt of one job.

    Attributes:
        found_nothing: the gang has no places, whatever would be evicted.
    """

    def __init__(self, ssn: Session, pool: Candidates, scheme: Scheme, job: Job) -> None:
        self._ssn = ssn
        self._pool = pool
        self._scheme = scheme
        self._job = job
        self._draft = Draft(ssn, job, scheme)
        self._recurring: int | None = None
        """Row of the pod that could evict in turn what it would be evicted for, in a plan that was dropped."""
        self._found_candidates = False
        """Whether pods came into question in the last search."""
        self.found_nothing = False

    def carry_out(self, tasks: Rows, *, keep_without_victims: bool = True) -> bool:
        """Place the tasks, in the order given, while the job starves. True when it was worth committing.

        `keep_without_victims`: promise places even when no pod has to go for any of them; otherwise that is left to
        allocate, and where that is yet to come, the places are held for it.
        """
        ssn, draft = self._ssn, self._draft
        tentative = ssn.findings.tentative
        given_back = {row: tentative[row] for row in tasks.tolist() if row in tentative}
        is_complete = self._search(tasks)
        self.found_nothing = not is_complete and self._recurring is None
        worth_it = bool(draft.evictions) or (bool(draft.places) and keep_without_victims)
        if not worth_it or not is_complete:
            if not is_complete and self._recurring is not None:
                why = wording.would_come_back(self._scheme.action, ssn.task_info(self._recurring).key)
                ssn.findings.explain_no_evictions(self._job, why, has_victims=True)
            self._give_up()
            ssn.findings.reset_tentative(tasks, given_back)
            return False
        draft.commit()
        best_effort = tasks[ssn.best_effort_classes[ssn.ledger.tasks.task_class[tasks]]]
        ssn.findings.reset_tentative(best_effort, given_back)
        ssn.have_places(self._job, draft.placed)
        return True

    def _search(self, tasks: Rows) -> bool:
        """Draft a plan that no victim would undo; for a job that is kept together in the network, the best of those in
        single domains. No gang goes whole where surplus suffices in another domain."""
        ssn, job = self._ssn, self._job
        domains = eviction_domains(ssn, self._pool, job, tasks)
        if domains is None and ssn.sub_groups(job) is None:
            return self._search_without_recurrence(tasks)
        found = [ROOT] if domains is None else domains
        passes = (_SURPLUS, LEVELS) if len(found) > 1 and self._spares_gangs() else (LEVELS,)
        return any(self._search_in_each(found, tasks, levels) for levels in passes)

    def _search_without_recurrence(self, tasks: Rows) -> bool:
        """Draft the best plan that no victim would undo; jobs that would are left out, a few at most."""
        scheme, jobs = self._scheme, self._ssn.ledger.tasks.job
        left_out: list[int] = []
        while self._search_all_levels(tasks):
            if not self._would_come_back():
                return True
            if len(left_out) == _MOST_LEFT_OUT:
                break
            left_out.append(int(jobs[self._recurring]))

            def without(task: Task) -> Rows:
                rows = scheme.candidates(task)
                return rows[~np.isin(jobs[rows], left_out)]

            self._scheme = msgspec.structs.replace(scheme, candidates=without)
        return False

    def _search_in_each(self, domains: Sequence[int], tasks: Rows, levels: Sequence[Level]) -> bool:
        """Draft the plan that costs least, of one in each domain; of equal ones the first, however new their victims
        are. Whether there is any."""
        draft, plans = self._draft, []
        for domain in domains:
            draft.reset()
            if self._search_in(domain, tasks, levels) and not self._would_come_back():
                plans.append((draft.evictions.copy(), draft.places.copy()))
                if not draft.evictions:
                    return True
        draft.reset()
        if not plans:
            return False
        best = plans[0]
        if len(plans) > 1:
            costs = Costs(self._ssn, self._pool, best[1][0].task)
            best = min(plans, key=lambda plan: costs.of(plan[0])._replace(turn=0))
        draft.repeat(*best)
        return True

    def _search_in(self, domain: int, tasks: Rows, levels: Sequence[Level]) -> bool:
        """Draft the plan in a domain, where evictions may go so far. Whether the gang has its places."""
        ssn, job = self._ssn, self._job
        with ExitStack() as inside:
            inside.enter_context(ssn.topology.inside(job, domain))
            for group, narrower in domains_of_sub_groups(ssn, self._pool, job, tasks).items():
                inside.enter_context(ssn.topology.inside(job, narrower, group))
            if not self._search_all_levels(tasks, levels):
                return False
            return levels is LEVELS or not ssn.ask.job_starving(job) or self._search_all_levels(tasks)

    def _takes_whole(self) -> bool:
        return self._scheme.takes_whole and self._pool.gangs.take_whole

    def _spares_gangs(self) -> bool:
        """Whether jobs go whole only where surplus does not suffice, though they may."""
        return self._takes_whole() and self._pool.gangs.rules.surplus_first

    def _search_all_levels(self, tasks: Rows, levels: Sequence[Level] = LEVELS) -> bool:
        """Draft the plan, with evictions going no further than they have to. Whether the gang has its places."""
        is_complete = last_resorts = False
        takes_whole = self._takes_whole()
        only_surplus_at_first = self._spares_gangs() or not takes_whole
        for level in levels:
            if (level.whole and not takes_whole) or (not level.whole and not only_surplus_at_first):
                continue
            if level.last_resort and not last_resorts:
                continue
            if level.whole and only_surplus_at_first and not is_complete and not self._any_goes_whole(tasks, level):
                break  # the search for surplus would only be repeated
            if not is_complete:
                self._draft.reset()
            is_complete, last_resorts = self._search_at(level, tasks)
            if is_complete and not self._ssn.ask.job_starving(self._job):
                break
        return is_complete

    def _any_goes_whole(self, tasks: Rows, level: Level) -> bool:
        """Whether a job may go whole that has pods that come into question."""
        if not self._found_candidates:
            return False
        attempt = Attempt(self._ssn, self._pool, self._scheme, self._job, tasks, self._draft, level)
        first = attempt.task(int(tasks[0]))
        return bool(Columns(attempt).may_go_whole(first, self._scheme.candidates(first)).any())

    def _search_at(self, level: Level, tasks: Rows) -> tuple[bool, bool]:
        """Whether the gang has its places, and whether more may go as a last resort."""
        draft = self._draft
        is_first = not draft.evictions and not draft.places
        attempt = Attempt(self._ssn, self._pool, self._scheme, self._job, tasks, draft, level)
        first = Search(attempt)
        found: Search | None = first if first.run() else None
        last_resorts = first.found_last_resorts
        if found is None and first.bundles:
            found, last_resorts = retry_with_one_later(self._pool, draft, first)
        self._found_candidates = first.found_candidates
        if found is None and is_first and not self._pool.gangs.rules.all_surplus:
            draft.reset()
            if first.found_candidates:
                found, more = search_few_choices(attempt)
                last_resorts |= more
        elif found is not None and found.bundles and draft.evictions and not self._pool.gangs.rules.all_surplus:
            fill_back(self._ssn, draft)
            is_best = is_first and improve_among_few(attempt)
            if found.bundles > 1 and not is_best:
                replace_one(self._ssn, self._pool, draft, found)
        return found is not None, last_resorts

    def _would_come_back(self) -> bool:
        """Whether a victim could evict in turn what it was evicted for."""
        draft = self._draft
        placed = self._pool.spares(draft.placed)
        if not draft.evictions or not len(placed) or not self._scheme.may_lose(self._job.queue):
            return False
        victim = recurring_victim(self._ssn, self._pool.gangs, self._scheme, draft.evictions, self._job, placed)
        self._recurring = self._recurring if victim is None else victim
        return victim is not None

    def _give_up(self) -> None:
        """Take everything back. Only places that no pod has to leave are held if allocate is to give them: otherwise
        lesser jobs would take what is free, and have others evicted for the rest."""
        ssn, job, draft = self._ssn, self._job, self._draft
        draft.drop_places_for_backfill()
        left_to_allocate = not draft.evictions and allocate_follows(ssn, self._scheme.action)
        if left_to_allocate and not ssn.ask.overused(job.queue) and ssn.ask.job_pipelined(job):
            draft.hold_for_allocate()
        else:
            draft.reset()
