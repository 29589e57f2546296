"""The draft of an eviction plan: what was placed and evicted so far, in effect but not yet committed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

import msgspec
import numpy as np

from volcano_py.api.wording import evicted
from volcano_py.api.wording.explain_evictions import Standing
from volcano_py.framework.eviction.scheme import Scheme
from volcano_py.framework.eviction.units import Consent, Unit
from volcano_py.framework.job import Job, Task
from volcano_py.framework.session import Session
from volcano_py.framework.statement import Motive, Operation
from volcano_py.framework.status.queue_reports import standing
from volcano_py.state.table.axis import PODS
from volcano_py.state.table.runtimes import runtimes
from volcano_py.state.table.table import Rows

NO_CONSENT: Final = Consent()
"""Of units that go for a trial."""


class Place(NamedTuple):
    """A task of the job with its place."""

    task: Task
    node: int
    operation: Operation
    is_for_backfill: bool = False
    """The task requests nothing and the node takes it at once: without victims it is left to backfill."""


class Eviction(msgspec.Struct, frozen=True, eq=False):
    """A unit that goes, the task it goes for, and that it may; and what was done: an operation for each class of its
    pods."""

    unit: Unit
    task: Task
    consent: Consent
    operations: tuple[Operation, ...]


class Mark(NamedTuple):
    """A moment of a draft, to go back to.

    Attributes:
        operations: how many there were.
        evictions: what had gone.
        places: what had been promised.
        taken_back: how often something had been taken back.
    """

    operations: int
    evictions: tuple[Eviction, ...]
    places: tuple[Place, ...]
    taken_back: int


class Draft:
    """See the module.

    Attributes:
        evictions: the units that go.
        places: the places that are promised.
    """

    def __init__(self, ssn: Session, job: Job, scheme: Scheme) -> None:
        self._ssn = ssn
        self._job = job
        self._scheme = scheme
        self._statement = ssn.statement()
        self.evictions: list[Eviction] = []
        self.places: list[Place] = []
        self._taken_back = 0

    @property
    def victims(self) -> list[int]:
        """Rows of all tasks that are evicted."""
        return [row for each in self.evictions for row in each.unit.rows.tolist()]

    @property
    def placed(self) -> Rows:
        """Rows of the tasks that have a place."""
        return np.array([place.task.row for place in self.places], dtype=np.intp)

    # -- steps -----------------------------------------------------------------------------------------------------

    def promise(self, task: Task, node: int, *, is_for_backfill: bool = False) -> None:
        """The task has its place on the node once the victims are gone."""
        rows, nodes = np.array([task.row], dtype=np.intp), np.array([node], dtype=np.intp)
        operation = self._statement.pipeline(task.job, task.task_class, rows, nodes)
        self.places.append(Place(task, node, operation, is_for_backfill))

    def evict(self, unit: Unit, task: Task, consent: Consent = NO_CONSENT) -> None:
        """The unit leaves, for the task."""
        ssn = self._ssn
        classes = ssn.ledger.tasks.task_class[unit.rows]
        operations = [
            self._statement.evict(unit.job, ssn.task_class(int(rows[0])), rows)
            for rows in (unit.rows[classes == row] for row in dict.fromkeys(classes.tolist()))
        ]
        self.evictions.append(Eviction(unit, task, consent, tuple(operations)))

    def take_back(self, unit: Unit) -> None:
        """The unit stays after all."""
        eviction = next(each for each in self.evictions if each.unit is unit)
        self.evictions.remove(eviction)
        self._undo(eviction.operations)

    def withdraw_places(self) -> list[Place]:
        """Give back all places; returns what they were."""
        places, self.places = self.places, []
        self._undo(place.operation for place in places)
        return places

    def restore_places(self, places: Iterable[Place]) -> None:
        """Promise these places again."""
        for each in places:
            self.promise(each.task, each.node, is_for_backfill=each.is_for_backfill)

    def repeat(self, evictions: Iterable[Eviction], places: Iterable[Place] = ()) -> None:
        """Evict these units again, and promise these places."""
        for each in evictions:
            self.evict(each.unit, each.task, each.consent)
        self.restore_places(places)

    def checkpoint(self) -> Mark:
        """A mark for `rollback`."""
        return Mark(len(self._statement), tuple(self.evictions), tuple(self.places), self._taken_back)

    def rollback(self, mark: Mark) -> None:
        """Make the draft what it was at the mark."""
        if self._taken_back == mark.taken_back:  # only something was added, so that is undone
            self._statement.rollback(mark.operations)
            self.evictions, self.places = list(mark.evictions), list(mark.places)
            return
        self.reset()
        self.repeat(mark.evictions, mark.places)

    def reset(self) -> None:
        """Undo everything, and begin again."""
        self._statement.rollback(0)
        self.evictions, self.places = [], []

    # -- the end ---------------------------------------------------------------------------------------------------

    def commit(self) -> None:
        """Carry it out. With victims, the places of the gang are kept until these are gone, whether or not pods had to
        go for each of them."""
        if self.evictions:
            self._ssn.findings.nominate({place.task.row: place.node for place in self.places})
        else:
            self.drop_places_for_backfill()
        for each in self.evictions:
            motive = self._motive(each)
            for operation in each.operations:
                operation.motive = motive
        self._statement.commit()

    def drop_places_for_backfill(self) -> None:
        """Give back the places that only backfill can bind."""
        self.drop_places(np.array([place.task.row for place in self.places if place.is_for_backfill], dtype=np.intp))

    def drop_places(self, rows: Rows) -> None:
        """Give back the places of these tasks."""
        given_back = set(rows.tolist())
        dropped = [place for place in self.places if place.task.row in given_back]
        if dropped:
            self.places = [place for place in self.places if place.task.row not in given_back]
            self._undo(place.operation for place in dropped)

    def hold_for_allocate(self) -> None:
        """Keep the promised places, which no pod has to leave, until allocate gives them to the job."""
        self._ssn.reservations.hold_for_allocate(self._statement)

    # -- helpers ---------------------------------------------------------------------------------------------------

    def _undo(self, operations: Iterable[Operation]) -> None:
        self._taken_back += 1
        for operation in operations:
            self._statement.take_back(operation)

    def _motive(self, eviction: Eviction) -> Motive:
        unit, task, given_by = eviction.unit, eviction.task, eviction.consent.given_by
        return Motive(self._scheme.action, self._message(unit, task, given_by), self._ssn.task_info(task.row).ref)

    def _message(self, unit: Unit, task: Task, given_by: tuple[str, ...]) -> str:
        """What the victims' events say."""
        ssn, job, tasks = self._ssn, task.job, self._ssn.ledger.tasks
        first = int(unit.rows[0])
        in_own_job = unit.job is job
        claimant = evicted.Party(
            ssn.task_info(task.row).key, job.queue.name, task.priority if in_own_job else job.priority
        )
        queue = ssn.snapshot.queue_names[tasks.queue[first]]
        allowed = evicted.allowed_by(given_by, self._standing(queue, unit, task)) + self._return(task, claimant.key)
        if unit.sub_group:
            gang = evicted.Party(unit.job.key, queue, unit.job.priority)
            return evicted.sub_group_makes_room(gang, claimant, name=unit.sub_group, pods=len(unit.rows)) + allowed
        if unit.is_whole and (len(unit.rows) > 1 or self._scheme.among_deadlocked):
            gang = evicted.Party(unit.job.key, queue, unit.job.priority)
            why = evicted.gang_makes_room
            if self._scheme.among_deadlocked:
                why = evicted.deadlocked_gang_makes_room
            return why(gang, claimant, pods=len(unit.rows), minimum=unit.job.min_member) + allowed
        priority = int(tasks.priority[first]) if in_own_job else unit.job.priority
        victim = evicted.Party(ssn.task_info(first).key, queue, priority)
        return evicted.makes_room(victim, claimant, node=ssn.snapshot.nodes[tasks.node[first]].name) + allowed

    def _return(self, task: Task, claimant: str) -> str:
        """When the place comes back, where the pod that gets it declares how long it runs."""
        seconds = float(runtimes(self._ssn.ledger, np.array([task.row]))[0])
        return evicted.comes_back(claimant, seconds) if np.isfinite(seconds) else ""

    def _standing(self, queue: str, unit: Unit, task: Task) -> Standing | None:
        """What the victim's queue holds beyond what it deserves, of a resource that is needed; as the cycle began."""
        ssn = self._ssn
        if self._scheme.point != "reclaimable" or queue not in ssn.queues:
            return None
        dims = (dim for dim in task.task_class.requested.tolist() if unit.request[dim] and dim != PODS)
        found = (standing(ssn, queue, dim) for dim in dims)
        return next((each for each in found if each.deserved is not None and each.held > each.deserved), None)
