"""A turn of a job with sub-groups (`spec.subGroupPolicy`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import msgspec
import numpy as np

from volcano_py.actions.turns.gathered import GatheredTurn
from volcano_py.actions.turns.turn import Work
from volcano_py.api.reasons import Reason
from volcano_py.api.wording.explain_gangs import room_is_kept, sub_group_incomplete, sub_group_too_small
from volcano_py.framework.job import FitError
from volcano_py.framework.placement.placer import Choice
from volcano_py.framework.session import Session
from volcano_py.framework.topology.candidates import Demand, Rooms, candidates, misfit, roomiest
from volcano_py.framework.topology.coming_back import Missing, deprived, missing
from volcano_py.framework.topology.topology import WHOLE
from volcano_py.framework.topology.whole_groups import Shape, WholeGroups
from volcano_py.state.status import PLACED_STATUSES
from volcano_py.state.table.table import Rows
from volcano_py.state.task_class import Refusal, TaskClass
from volcano_py.state.topology.tree import ROOT


class GroupedTurn(GatheredTurn):
    """A turn of a job with sub-groups: the domains that have room for enough whole sub-groups are tried one after the
    other, and in each of them, for one sub-group after the other, the domains that have room for it.

    A sub-group without places is placed with all its waiting tasks or not at all, one with some places with what it
    lacks to its size; further tasks come one by one. One that fits nowhere does not keep the others from being placed.
    """

    def __init__(self, ssn: Session, work: Work, limit: int | None, *, alone: bool, leaves: int | None = None) -> None:
        """`limit`: of the job as a whole, None for none."""
        top = int(ssn.topology.tree.tiers[ROOT])
        super().__init__(ssn, work, top if limit is None else limit, alone=alone, leaves=leaves)
        self._is_limited = limit is not None and ssn.topology.is_structured()
        topology = work.job.info.topology
        self._limits_groups = topology is not None and topology.limits_sub_groups and ssn.topology.is_structured()
        groups = ssn.sub_groups(work.job)
        assert groups is not None, "a job without sub-groups"
        self._groups = groups
        self._group = WHOLE
        self._failed: dict[Shape, Rows] = {}
        """The sub-groups that fit nowhere in the domain that is tried, one for each shape."""
        self._placed_of_unit = 0
        """How many tasks of a sub-group that failed had found a place."""
        self._deprived: list[Missing] = []
        """The sub-groups whose pods would not find a place any more when they come back."""

    def take(self) -> bool:
        ssn, work, job = self._ssn, self._work, self._job
        tasks, roles, placed = work.tasks, set(work.failed_roles), job.ready + job.waiting
        for order, later, domain, in_order in self._ways(tasks):
            with ssn.topology.inside(job, domain):
                work.tasks, work.failed_roles, self._failed, self._in_order = order, set(roles), {}, in_order
                is_done = self._try(allow_later=later)
                if job.ready + job.waiting > placed:
                    self._explain_groups()
                    return is_done
        work.tasks = tasks[:0]
        self._explain_groups()
        if self._is_limited and not self._failed and not ssn.ask.job_ready(job):
            self._explain_job(tasks)
        return False

    def _ways(self, tasks: Rows) -> Iterator[tuple[Rows, bool, int, bool]]:
        """The order of the tasks, and what to try with it; as in `_attempts`."""
        for order in self._orders(tasks):
            for attempt in self._in_domains(order, self._domains):
                yield order, *attempt

    # -- domains of the job ----------------------------------------------------------------------------------------

    def _domains(self, tasks: Rows, *, later: bool) -> Iterator[int]:
        """The domains to try for the job as a whole."""
        ssn, job = self._ssn, self._job
        is_ready, chain = ssn.ask.job_ready(job), ssn.topology.chain(job, self._limit)
        if not self._is_limited:
            yield ROOT
            if is_ready or not self._may_draw_together(tasks):
                return
        elif is_ready and chain is not None:
            yield from chain[-1:]
            return
        rooms = WholeGroups(ssn, job, tasks, later=later)
        enough = rooms.pods() > 0 if is_ready else rooms.enough()
        demand = Demand.of(ssn, tasks[: ssn.ask.tasks_to_ready(job)])
        if len(lost := ssn.topology.lost(job)):
            enough &= Rooms(ssn, Demand.of(ssn, np.concatenate((tasks[:1], lost))), later=later).enough()
        if not self._is_limited:
            enough[ROOT] = False
        yield from candidates(ssn, job, self._limit, demand, later=later, enough=enough)
        if ssn.ask.job_pipelined(job) and (best := roomiest(ssn, job, self._limit, rooms.pods())) is not None:
            yield best  # it keeps whatever it finds

    def _may_draw_together(self, tasks: Rows) -> bool:
        """Whether the place of one sub-group may decide where the others may go (affinity between pods): the domain
        that suits the first by itself may be too small for all."""
        classes = Demand.of(self._ssn, tasks).classes(self._ssn)
        return self._limits_groups and any(map(self._ssn.placer.may_open, classes))

    def _manners(self, tasks: Rows, domain: int) -> tuple[bool, ...]:
        return super()._manners(tasks, domain) if self._is_limited or self._limits_groups else (True,)

    def _orders(self, tasks: Rows) -> Iterator[Rows]:
        """The tasks as they are; then, for a job that is not complete, with larger sub-groups first, with smaller ones,
        and with tasks in no sub-group: each may fit where the other does not."""
        yield tasks
        if self._ssn.ask.job_ready(self._job):
            return
        groups = self._groups
        group = groups.group[np.searchsorted(groups.rows, tasks)]
        at, is_loose = np.arange(len(tasks)), group < 0
        sizes = np.bincount(group[~is_loose], minlength=len(groups) + 1)
        if len(np.unique(sizes[sizes > 0])) > 1:
            sizes[-1] = 0  # (tasks in no sub-group are the last in both)
            begun = np.append(self._ssn.in_sub_groups(self._job, PLACED_STATUSES) > 0, False)
            for size in (-sizes, sizes):
                yield tasks[np.lexsort((at, group, size[group], is_loose, ~begun[group]))]
        if is_loose.any() and not is_loose.all():
            yield tasks[np.lexsort((at, ~is_loose))]

    # -- one sub-group ---------------------------------------------------------------------------------------------

    def _place_front(self, was_ready: bool) -> bool:
        ssn, work = self._ssn, self._work
        number = ssn.topology.group_of(self._job, int(work.tasks[0]))
        if number == WHOLE:
            return super()._place_front(was_ready)
        unit, rest = self._front(number)
        if not len(unit):
            self._note_small(number, work.tasks[: len(work.tasks) - len(rest)])
        work.tasks = rest
        shape = self._shape(number, unit)
        if shape in self._failed:
            return True
        if not len(unit) or not self._place_unit(number, unit):
            self._failed[shape] = unit
            if self._deprived:
                self._failed[shape] = unit[:0]  # (it is explained here)
                self._note_kept(number, unit)
            else:
                self._note_short(number, unit)
        return True

    def _front(self, number: int) -> tuple[Rows, Rows]:
        """Of the tasks at the front, which are all those of a sub-group, the ones that are placed together, and what is
        left for later; none where the sub-group has too few tasks to be complete."""
        tasks, job = self._work.tasks, self._job
        of_group = self._ssn.ledger.tasks.sub_group[tasks] == number
        waiting, rest = tasks[of_group], tasks[~of_group]
        at = self._groups.index(number)
        found = int(self._ssn.in_sub_groups(job, PLACED_STATUSES)[at])
        lacking = int(self._groups.size[at]) - found
        if lacking > len(waiting):
            return tasks[:0], rest
        if found == 0:
            return waiting, rest
        count = max(lacking, 1)
        return waiting[:count], np.concatenate((waiting[count:], rest))

    def _shape(self, number: int, unit: Rows) -> Shape:
        """What sub-groups have in common that fit into the same places; one with places is like no other."""
        at = self._groups.index(number)
        is_begun = bool(self._ssn.in_sub_groups(self._job, PLACED_STATUSES)[at])
        counts = Counter(self._ssn.ledger.tasks.task_class[unit].tolist())
        return -number if is_begun else int(self._groups.policy[at]), tuple(sorted(counts.items()))

    def _place_unit(self, number: int, unit: Rows) -> bool:
        """Place all tasks of the unit in one domain of the sub-group, now or, where that is allowed, once pods that are
        leaving are gone; or none of them."""
        ssn, work, allow_later = self._ssn, self._work, self._allow_later
        rest, roles, mark = work.tasks, set(work.failed_roles), self._statement.checkpoint()
        is_begun = bool(ssn.in_sub_groups(self._job, PLACED_STATUSES)[self._groups.index(number)])
        lacked = [] if is_begun else missing(ssn, self._job)
        self._deprived = []
        try:
            for later in (False, True) if allow_later else (False,):
                for domain in self._domains_of_unit(number, unit, later=later):
                    self._group, self._allow_later, work.tasks = number, later, unit
                    with ssn.topology.inside(self._job, domain, number):
                        if self._place_all() and not self._deprives(lacked):
                            self._promise_together(mark)
                            return True
                    self._statement.rollback(mark)
                    work.failed_roles = set(roles)
            return False
        finally:
            self._group, self._allow_later, work.tasks = WHOLE, allow_later, rest

    def _domains_of_unit(self, number: int, unit: Rows, *, later: bool) -> list[int]:
        ssn, job = self._ssn, self._job
        limit = ssn.topology.limit(job, number)
        if limit is None or not ssn.topology.is_structured():
            return [ssn.topology.inside_of(job)]
        demand = Demand.of(ssn, np.concatenate((unit, ssn.topology.lost(job, number))))
        return self._worth_trying(candidates(ssn, job, limit, demand, later=later, group=number), demand)

    def _place_all(self) -> bool:
        placed = 0
        while len(self._work.tasks):
            before = len(self._statement)
            super()._place_front(False)
            if len(self._statement) == before:
                self._placed_of_unit = placed
                return False
            placed += self._statement.placements[-1].count
        return True

    def _deprives(self, lacked: list[Missing]) -> bool:
        """Whether what was placed last takes the places of pods that are to come back."""
        self._deprived = deprived(self._ssn, lacked)
        return bool(self._deprived)

    def _promise_together(self, mark: int) -> None:
        """If some of the unit's places are not free yet, all are only promised: it is not bound in part."""
        placements = self._statement.placements[mark:]
        if len({each.status for each in placements}) > 1:
            self._statement.rollback(mark)
            for each in placements:
                self._statement.pipeline(each.job, each.task_class, each.rows, each.nodes)

    def _wanted(self, length: int, was_ready: bool) -> int:
        return super()._wanted(length, was_ready) if self._group == WHOLE else length

    def _choose(self, task_class: TaskClass, rows: Rows) -> Choice:
        group = self._ssn.topology.group_of(self._job, int(rows[0]))
        is_limited = group != WHOLE and self._ssn.topology.limit(self._job, group) is not None
        if is_limited or self._is_limited:
            return super()._choose(task_class, rows)
        return self._choose_anywhere(task_class, rows)  # (nothing is to be kept together)

    def _steps(self) -> list[int]:
        """The domains to look in, the narrowest first."""
        topology, limit = self._ssn.topology, self._limit_of_unit()
        if limit is None or not topology.is_structured():
            return super()._steps()
        chain = topology.chain(self._job, limit, self._group)
        return [topology.inside_of(self._job, self._group)] if chain is None else chain

    def _settle(self) -> None:
        limits = (self._ssn.topology.limit(self._job, group) for group in (WHOLE, *self._groups.numbers))
        if any(limit is not None for limit in limits):
            super()._settle()

    def _center(self) -> int:
        return WHOLE if self._limit_of_unit() is None else self._group

    def _limit_of_unit(self) -> int | None:
        """The limit of the sub-group that is being placed; None outside of one."""
        return None if self._group == WHOLE else self._ssn.topology.limit(self._job, self._group)

    # -- why not ---------------------------------------------------------------------------------------------------

    def _explain_groups(self) -> None:
        """Why sub-groups fit nowhere in the domain that was tried last."""
        ssn, job = self._ssn, self._job
        for unit in self._failed.values():
            if not len(unit):
                continue
            number = ssn.topology.group_of(job, int(unit[0]))
            limit, demand = ssn.topology.limit(job, number), Demand.of(ssn, unit)
            if limit is not None and ssn.topology.is_structured():
                for task_class in demand.classes(ssn):
                    ssn.findings.misfit(job, task_class, misfit(ssn, job, limit, demand, group=number))

    def _note_small(self, number: int, rows: Rows) -> None:
        """The sub-group has too few pods to be complete: its tasks `rows` wait for more."""
        ssn, at = self._ssn, self._groups.index(number)
        found = int(np.count_nonzero(self._groups.group == at))
        text = sub_group_too_small(self._groups.names[at], found, int(self._groups.size[at]))
        total = int(ssn.ledger.nodes.present.sum())
        for task_class in Demand.of(ssn, rows).classes(ssn):
            ssn.findings.misfit(self._job, task_class, FitError.of_all(total, Refusal(Reason.NOT_ENOUGH_TASKS, text)))

    def _note_kept(self, number: int, unit: Rows) -> None:
        """The sub-group would take the places of pods that are to come back."""
        ssn, name = self._ssn, self._groups.names[self._groups.index(number)]
        total = int(ssn.ledger.nodes.present.sum())
        text = room_is_kept(name, [(each.name, each.count) for each in self._deprived])
        for task_class in Demand.of(ssn, unit).classes(ssn):
            ssn.findings.misfit(self._job, task_class, FitError.of_all(total, Refusal(Reason.NODES_REFUSE, text)))

    def _note_short(self, number: int, unit: Rows) -> None:
        """A sub-group that is limited to no domain had places for some of its tasks: those that were noted lack one
        with these in place."""
        ssn, job = self._ssn, self._job
        if not len(unit) or ssn.topology.limit(job, number) is not None:
            return
        name = self._groups.names[self._groups.index(number)]
        errors = ssn.findings.fit_errors.get(job.row, {})
        for task_class in Demand.of(ssn, unit).classes(ssn):
            error = errors.get(task_class.row)
            if error is not None and not error.refusal.message.startswith("sub-group "):
                text = sub_group_incomplete(name, self._placed_of_unit, len(unit), error.refusal.message)
                refusal = Refusal(error.refusal.reason, text)
                ssn.findings.misfit(job, task_class, msgspec.structs.replace(error, refusal=refusal))

    def _explain_job(self, tasks: Rows) -> None:
        """Why no domain has room for enough whole sub-groups."""
        ssn, job = self._ssn, self._job
        demand = Demand.of(ssn, tasks[: ssn.ask.tasks_to_ready(job)])
        pods = np.minimum(WholeGroups(ssn, job, tasks, later=False).pods(), demand.tasks)
        for task_class in demand.classes(ssn):
            ssn.findings.misfit(job, task_class, misfit(ssn, job, self._limit, demand, pods=pods))
