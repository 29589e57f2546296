"""The draft of an eviction plan: what was placed and evicted so far, in effect but not yet committed."""

from __future__ import annotations

import numpy as np

from volcano_py.api.wording import explain
from volcano_py.framework.eviction.reprieve import Place, reprieve
from volcano_py.framework.job import Job, Task
from volcano_py.framework.session import Session
from volcano_py.framework.statement import Operation


class Draft:
    """See the module.

    Attributes:
        places: the places that are promised, with the victims evicted for each.
    """

    def __init__(self, ssn: Session, job: Job, action: str) -> None:
        self._ssn = ssn
        self._job = job
        self._action = action
        self._statement = ssn.statement()
        self.places: list[Place] = []
        self._for_backfill = ssn.statement()
        """Places of tasks that request nothing, had at once. They count while the plan is made. If no pod is evicted
        for the gang, they are given back: only backfill can bind them, and it takes what has no place."""
        self._best_effort: list[Place] = []
        """Those places."""

    @property
    def victims(self) -> list[int]:
        """Rows of all tasks that are evicted."""
        return [victim for place in self.places for victim in place.victims]

    # -- steps -----------------------------------------------------------------------------------------------------

    def promise(self, task: Task, node: int, victims: tuple[int, ...] = ()) -> None:
        """The task has its place on the node once the victims are gone."""
        rows, nodes = np.array([task.row], dtype=np.intp), np.array([node], dtype=np.intp)
        self._statement.pipeline(task.job, task.task_class, rows, nodes)
        self.places.append(Place(task.row, node, victims))

    def leave_to_backfill(self, task: Task, node: int) -> None:
        """The task requests nothing, and the node takes it at once."""
        rows, nodes = np.array([task.row], dtype=np.intp), np.array([node], dtype=np.intp)
        self._for_backfill.pipeline(task.job, task.task_class, rows, nodes)
        self._best_effort.append(Place(task.row, node, ()))

    def evict(self, victim: int, task: Task, node: int) -> None:
        """The victim leaves the node for the task."""
        ssn = self._ssn
        owner = ssn.job(int(ssn.ledger.tasks.job[victim]))
        assert owner is not None, "candidates have a PodGroup and a queue"
        in_own_job = owner is task.job
        message = explain.makes_room(
            ssn.task_info(victim).key,
            ssn.task_info(task.row).key,
            node=ssn.snapshot.nodes[node].name,
            queues=(ssn.snapshot.queue_names[ssn.ledger.tasks.queue[victim]], task.job.queue.name),
            priorities=(
                int(ssn.ledger.tasks.priority[victim]) if in_own_job else owner.priority,
                task.priority if in_own_job else task.job.priority,
            ),
        )
        rows = np.array([victim], dtype=np.intp)
        self._statement.evict(owner, ssn.task_class(victim), rows, self._action, message)

    def checkpoint(self) -> int:
        """A mark for `rollback`."""
        return self._statement.checkpoint()

    def rollback(self, mark: int) -> None:
        """Undo the evictions since the mark."""
        self._statement.rollback(mark)

    def take_back(self, victim: int) -> Operation:
        """The victim stays; `evict_again` changes that."""
        return self._statement.take_back(victim)

    def evict_again(self, operation: Operation) -> None:
        self._statement.do(operation)

    def reprieve(self) -> None:
        """Victims for one task stay if what others free for other tasks is enough for both."""
        statements = {self._statement: self.places, self._for_backfill: self._best_effort}
        if stay := reprieve(self._ssn, self._job, statements):
            self.places = [
                Place(place.row, place.node, tuple(row for row in place.victims if row not in stay))
                for place in self.places
            ]

    # -- the end ---------------------------------------------------------------------------------------------------

    def commit(self) -> None:
        """Carry it out. With victims, the places of the gang are kept until these are gone, whoever had to go for them
        or not."""
        if self.victims:
            self.places.extend(self._best_effort)
            self._for_backfill.commit()
            self._ssn.findings.nominate({place.row: place.node for place in self.places})
        else:
            self.drop_best_effort()
        self._statement.commit()

    def drop_best_effort(self) -> None:
        """Give back the places that only backfill can bind."""
        self._for_backfill.discard()

    def discard(self) -> None:
        """Undo everything."""
        self.drop_best_effort()
        self._statement.discard()

    def hold_for_allocate(self) -> None:
        """Keep the promised places, which no pod has to leave, until allocate gives them to the job."""
        self._ssn.reservations.hold_for_allocate(self._statement)
