"""Taking bundles: their units are judged by the plugins one after the other, and evicted in the draft."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import numpy as np

from volcano_py.framework.eviction.planning.attempt import Attempt
from volcano_py.framework.eviction.planning.bundles import Bundle, Stock
from volcano_py.framework.eviction.planning.columns import Columns, Stays
from volcano_py.framework.eviction.planning.draft import Eviction, Mark
from volcano_py.framework.eviction.units import Consent, Need, Unit, Verdict
from volcano_py.framework.job import Job

Looks = tuple[tuple[int, int, bytes], ...]
"""Of each unit of a bundle its queue, the class of its pod (-1: a whole job, -2: a sub-group), and what its job or it
holds."""

MOST_REORDERED: Final = 16
"""Units that are tried in another order, and how often that is done in a search."""


class Taking:
    """See the module.

    Attributes:
        stays: what was refused.
        refusals: how often something was refused for good.
        found_last_resorts: a unit was refused that may go as a last resort.
    """

    def __init__(self, attempt: Attempt, columns: Columns) -> None:
        self._attempt = attempt
        self._columns = columns
        ledger = attempt.ssn.ledger
        self.stays = Stays(np.zeros(ledger.tasks.size, dtype=np.bool_), np.zeros(ledger.jobs.size, dtype=np.bool_))
        self.refusals = self._reordered = 0
        self.found_last_resorts = False
        self._for_later: tuple[Job, ...] = ()
        self._judges = {plugin.name for plugin in attempt.ssn.dispatch.plugins if plugin.judges_units}
        self._refused_looks: set[Looks] = set()
        """Bundles that were refused as things stand, by what they hold and of which queues."""
        self._is_refused_by_looks = False

    def begin(self) -> None:
        """Something has gone or come: bundles are judged afresh."""
        self._refused_looks.clear()

    def take(self, bundle: Bundle, need: Need) -> bool:
        """Evict the units of the bundle, as long as each is given up. One that is refused before any other of them has
        gone is left out from now on."""
        looks = self._looks_of(bundle)
        if looks in self._refused_looks:
            return False
        units = sorted(self._units(bundle), key=lambda unit: self._size(unit, need))
        mark = self._attempt.draft.checkpoint()
        for number, unit in enumerate(units):
            if self._is_left_out(unit):
                return False
            consent = self.consent_to(unit, need)
            if consent is None:
                if self._is_refused_by_looks:
                    self._refused_looks.add(looks)
                if self._take_in_another_order(units, mark, need):
                    return True
                if number == 0:
                    self.leave_out(Bundle(unit.rows[:0], (unit.job.row,)) if unit.is_whole else Bundle(unit.rows, ()))
                return False
            self._attempt.draft.evict(unit, need.task, consent)
        if self._attempt.pool.gangs.rules.all_surplus:
            self._take_all_surplus(bundle, need)
        return True

    def _take_all_surplus(self, bundle: Bundle, need: Need) -> None:
        """Jobs that gave a pod give all that they can spare."""
        candidates = self._attempt.scheme.candidates(need.task)
        jobs = self._attempt.ssn.ledger.tasks.job
        for row in candidates[np.isin(jobs[candidates], jobs[bundle.alone])].tolist():
            (unit,) = self._units(Bundle(np.array([row], dtype=np.intp), ()))
            consent = self.consent_to(unit, need)
            if consent is not None:
                self._attempt.draft.evict(unit, need.task, consent)

    def _take_in_another_order(self, units: Sequence[Unit], mark: Mark, need: Need) -> bool:
        """Evict what has gone so far and these units from the smallest to the largest: a queue that holds little more
        than it deserves gives the largest only as the last."""
        draft = self._attempt.draft
        gone = mark.evictions
        if not gone or len(gone) + len(units) > MOST_REORDERED or self._reordered == MOST_REORDERED:
            return False
        self._reordered += 1
        draft.rollback(mark)
        for eviction in gone:
            draft.take_back(eviction.unit)
        claims = [(each.unit, each.task) for each in gone] + [(unit, need.task) for unit in units]
        for unit, task in sorted(claims, key=lambda claim: self._size(claim[0], need)):
            consent = self.consent_to(unit, need)
            if consent is None:
                draft.rollback(mark)
                return False
            draft.evict(unit, task, consent)
        return True

    def _size(self, unit: Unit, need: Need) -> float:
        """What the unit holds of what is lacking, as a sum of parts of the cluster; of a job that goes whole, what goes
        last. By this order queues give the most: what lies before it counts as gone when a unit is judged."""
        parts = unit.core[need.lacking] / np.maximum(self._attempt.ssn.total[need.lacking], 1)
        return float(parts.sum())

    def _units(self, bundle: Bundle) -> Iterator[Unit]:
        ssn = self._attempt.ssn
        for row in bundle.alone.tolist():
            owner = ssn.job(int(ssn.ledger.tasks.job[row]))
            assert owner is not None, "candidates have a PodGroup and a queue"
            yield Unit.alone(owner, row, ssn.task_class(row).request)
        for job_row in bundle.whole:
            if (unit := self._sub_group(job_row)) is not None:
                if unit.job.row not in bundle.whole:
                    yield unit
                continue
            owner = ssn.job(job_row)
            assert owner is not None, "candidates have a PodGroup and a queue"
            yield self._attempt.pool.gangs.whole(owner)

    def _sub_group(self, number: int) -> Unit | None:
        """The sub-group that a bundle numbers after the jobs; None for a job."""
        place = number - self._attempt.ssn.ledger.jobs.size
        return self._columns.sub_groups[place] if place >= 0 else None

    def units_by_node(self, stock: Stock) -> Iterator[tuple[int, Unit]]:
        """Each unit that has pods on a node, with the node."""
        whole: set[tuple[int, int]] = set()
        for at in range(len(stock)):
            node, job_row = int(stock.node[at]), int(stock.job[at])
            if stock.spare[at]:
                yield node, next(self._units(Bundle(stock.rows[at : at + 1], ())))
            elif stock.whole[at] and (node, job_row) not in whole:
                whole.add((node, job_row))
                yield node, next(self._units(Bundle(stock.rows[:0], (job_row,))))

    def consent_to(self, unit: Unit, need: Need) -> Consent | None:
        """Whether the plugins give the unit up now; None when it may not go."""
        self._is_refused_by_looks = False
        if not self._is_spare(unit):
            return None
        verdict, refused_by, given_by = self._attempt.ssn.ask.gives(self._attempt.scheme.point, need, unit)
        self._is_refused_by_looks = verdict is Verdict.LAST_RESORT or refused_by in self._judges
        is_last_resort = verdict is Verdict.LAST_RESORT
        self.found_last_resorts |= is_last_resort
        may_go = verdict is Verdict.YES or (is_last_resort and self._attempt.level.last_resort)
        return Consent(given_by, is_last_resort) if may_go else None

    def _is_spare(self, unit: Unit) -> bool:
        """Whether what is left of the job keeps its minimums, if any is left."""
        gangs = self._attempt.pool.gangs
        if unit.sub_group:
            return gangs.can_spare_group(unit)
        return unit.is_whole or gangs.can_spare(int(unit.rows[0]))

    def _looks_of(self, bundle: Bundle) -> Looks:
        """What plugins that divide the cluster among queues go by: equal bundles get equal verdicts from them."""
        tasks, jobs = self._attempt.ssn.ledger.tasks, self._attempt.ssn.ledger.jobs
        columns = (tasks.queue[bundle.alone], tasks.task_class[bundle.alone], tasks.job[bundle.alone])
        alone = [
            (queue, task_class, jobs.allocated[job].tobytes())
            for queue, task_class, job in zip(*(column.tolist() for column in columns), strict=True)
        ]
        groups = [unit for each in bundle.whole if (unit := self._sub_group(each)) is not None]
        whole = [(int(jobs.queue[job]), -1, jobs.allocated[job].tobytes()) for job in bundle.whole if job < jobs.size]
        divided = [(unit.job.queue.slot, -2, unit.request.tobytes()) for unit in groups]
        return tuple(sorted(alone + whole + divided))

    def _is_left_out(self, unit: Unit) -> bool:
        return bool(self.stays.whole[unit.job.row] if unit.is_whole else self.stays.alone[unit.rows[0]])

    def leave_out(self, bundle: Bundle) -> None:
        """Its units are not tried again."""
        self.refusals += 1
        self.stays.alone[bundle.alone] = True
        for number in bundle.whole:
            if (unit := self._sub_group(number)) is not None:
                self.stays.alone[unit.rows] = True
            else:
                self.stays.whole[number] = True

    # -- for later -------------------------------------------------------------------------------------------------

    def put_off(self, evictions: Iterable[Eviction]) -> None:
        """The jobs of these units go only after all others."""
        self._for_later = tuple({each.unit.job.row: each.unit.job for each in evictions}.values())
        self._set_aside(stay=True)

    def bring_back(self) -> bool:
        """Jobs that were put off may go from now on. Whether there were any."""
        self._set_aside(stay=False)
        jobs, self._for_later = self._for_later, ()
        return len(jobs) > 0

    def _set_aside(self, *, stay: bool) -> None:
        for job in self._for_later:
            self.stays.alone[self._attempt.ssn.tasks_of(job)] = self.stays.whole[job.row] = stay
