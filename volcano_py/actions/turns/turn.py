"""One turn of one job: its gang is placed, afterwards one task a turn."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Final

import msgspec
import numpy as np

from volcano_py.framework.job import FitError, Job
from volcano_py.framework.placement.placer import Choice
from volcano_py.framework.session import Session
from volcano_py.framework.statement import Statement
from volcano_py.state.status import TaskStatus
from volcano_py.state.table.table import Rows
from volcano_py.state.task_class import TaskClass

# From so many tasks on that are all different, it is worth planning for them together; of jobs of one task, so many
# are looked at ahead.
_FEWEST_UNLIKE: Final = 8
_MOST_JOBS: Final = 128


class Work(msgspec.Struct, eq=False):
    """A job with the tasks it still wants placed in this cycle, in task order, what minimums of roles need first."""

    job: Job
    tasks: Rows
    best_effort: Rows
    """Its pending tasks that ask for nothing; only used to complete the gang, the rest is backfill's. Those that are
    promised a place are tasks like any other."""
    failed_roles: set[int] = msgspec.field(default_factory=set)

    def run_length(self, ssn: Session) -> int:
        """How many tasks at the front are alike: same class, role and sub-group."""
        if len(self.tasks) == 1:
            return 1
        tasks = ssn.ledger.tasks
        first, second = tasks.task_class[self.tasks[:2]].tolist()
        if first != second:
            return 1
        alike = np.logical_and.reduce(
            [of[self.tasks] == of[self.tasks[0]] for of in (tasks.task_class, tasks.role, tasks.sub_group)]
        )
        return len(alike) if alike.all() else int(np.argmin(alike))

    def unlike(self, ssn: Session, most: int) -> Rows:
        """[K] up to `most` tasks at the front of which none is of the same class as the one before it."""
        front = self.tasks[: most + 1]
        classes = ssn.ledger.tasks.task_class[front]
        alike = np.flatnonzero(classes[1:] == classes[:-1])
        return front[: alike[0] if len(alike) else most]


def expect_single_tasks(ssn: Session, works: Iterable[Work]) -> None:
    """Let the placer look ahead if the next jobs have one task each, all different; `works` come in their order."""
    if not ssn.placer.expects_nothing:
        return
    classes: list[TaskClass] = []
    for work in islice(works, _MOST_JOBS):
        if len(work.tasks) != 1:
            break
        task_class = ssn.task_class(int(work.tasks[0]))
        if classes and classes[-1].row == task_class.row:
            classes.pop()
            break
        classes.append(task_class)
    if len(classes) >= _FEWEST_UNLIKE:
        ssn.placer.expect(classes)


class Turn:
    """One turn of one job."""

    def __init__(self, ssn: Session, work: Work, *, alone: bool, leaves: int | None = None) -> None:
        """`alone`: no other job competes, so a ready job may place all its tasks in one turn. `leaves`: how many tasks
        later turns are for, even if the job is ready before all others have been tried; None for any number."""
        self._ssn = ssn
        self._work = work
        self._job = work.job
        self._alone = alone
        self._leaves = len(work.tasks) if leaves is None else leaves
        self._statement: Statement = ssn.statement()

    def take(self) -> bool:
        """True when the job is ready and what was placed is committed."""
        # Of a single task, as most jobs of a long backlog have, it does not matter whether the job was ready before.
        ready = len(self._work.tasks) != 1 and self._ssn.ask.job_ready(self._job)
        self._expect(ready)
        while len(self._work.tasks):
            go_on = self._place_front(ready)
            ready = self._ssn.ask.job_ready(self._job)
            if not go_on or (ready and len(self._statement) and len(self._work.tasks) <= self._leaves):
                break
        if ready:
            if self._complete_with_best_effort():
                self._settle()
                self._statement.commit()
                return True
            with self._job.without_best_effort():
                keep = self._ssn.ask.job_pipelined(self._job)
        else:
            keep = self._ssn.ask.job_pipelined(self._job)
        if not keep:
            self._statement.discard()
        elif len(self._statement):
            self._ssn.findings.keep_places(self._job)
        return False

    def _expect(self, was_ready: bool) -> None:
        """Let the placer look ahead if the next tasks are all different."""
        ssn, length = self._ssn, len(self._work.tasks)
        if length < _FEWEST_UNLIKE or (was_ready and not self._alone):
            return
        most = length if was_ready else min(length, ssn.ask.tasks_to_ready(self._job))
        unlike = self._work.unlike(ssn, most)
        if len(unlike) >= _FEWEST_UNLIKE:
            ssn.placer.expect([ssn.task_class(row) for row in unlike.tolist()])

    def _settle(self) -> None:
        """What is left to do with what was placed, before it is committed."""

    def _place_front(self, was_ready: bool) -> bool:
        """Place, or give up on, tasks at the front. False when the rest of the job need not be tried."""
        ssn, work = self._ssn, self._work
        length = work.run_length(ssn)
        first = int(work.tasks[0])
        task_class, role = ssn.task_class(first), int(ssn.ledger.tasks.role[first])
        if role and role in work.failed_roles:
            work.tasks = work.tasks[length:]
            return True
        room = ssn.ask.bindable(self._job.queue, task_class)
        if room.count <= 0:
            if ssn.reservations.holds(first):
                # It may come once pods below the ceiling are gone: lesser jobs must not take its room meanwhile.
                ssn.reservations.place(self._job, work.tasks[:1], self._statement)
                length = 1
            if room.refusal is not None:
                ssn.findings.note(self._job, room.refusal)
            work.tasks = work.tasks[length:]
            return True
        if (refusal := ssn.ask.pre_predicate(task_class)) is not None:
            total = int(ssn.ledger.nodes.present.sum())
            return self._misfit(task_class, role, length, FitError.of_all(total, refusal))
        wanted = min(self._wanted(length, was_ready), room.count)
        placed = self._place(task_class, work.tasks[: max(1, wanted)])
        if not placed:
            return self._misfit(task_class, role, length, ssn.placer.misfit(task_class))
        work.tasks = work.tasks[placed:]
        return True

    def _wanted(self, length: int, was_ready: bool) -> int:
        """How many of the tasks at the front this turn is for."""
        if length == 1 or (was_ready and self._alone):
            return length
        return 1 if was_ready else min(length, self._ssn.ask.tasks_to_ready(self._job))

    def _place(self, task_class: TaskClass, rows: Rows) -> int:
        """Place as many of the rows as the next choice covers; how many that were."""
        ssn = self._ssn
        choice = self._nominated(task_class, rows) if ssn.has_nominated_tasks else None
        if choice is None:
            choice = self._choose(task_class, rows)
        placed = rows[: len(choice.nodes)]
        if len(placed):
            put = self._statement.pipeline if choice.pipelined else self._statement.allocate
            put(self._job, task_class, placed, choice.nodes)
        return len(placed)

    def _choose(self, task_class: TaskClass, rows: Rows) -> Choice:
        """Nodes for as many of the tasks as the placer looks ahead."""
        within = self._ssn.topology.confinement(self._job, int(rows[0]))
        return self._ssn.placer.choose(task_class, len(rows), within)

    def _nominated(self, task_class: TaskClass, rows: Rows) -> Choice | None:
        """A task that was promised a node goes there if it can; those before it are placed by themselves."""
        ssn = self._ssn
        promised = np.flatnonzero(ssn.ledger.tasks.nominated[rows])
        if not len(promised):
            return None
        if promised[0] > 0:
            return self._choose(task_class, rows[: int(promised[0])])
        node = ssn.nodes.rows.get(ssn.task_info(int(rows[0])).nominated_node)
        within = ssn.topology.confinement(self._job, int(rows[0]))
        choice = None if node is None else ssn.placer.choose_on(task_class, node, within)
        return choice if choice is not None and len(choice.nodes) else self._choose(task_class, rows[:1])

    def _misfit(self, task_class: TaskClass, role: int, length: int, error: FitError) -> bool:
        """No node for the class: its other tasks here need not be tried; whether the rest of the job is worth it."""
        self._ssn.findings.misfit(self._job, task_class, error)
        self._work.tasks = self._work.tasks[length:]
        self._work.failed_roles.add(role)
        return self._worth_going_on()

    def _worth_going_on(self) -> bool:
        job, ssn = self._job, self._ssn
        minimums = job.info.min_task_member
        if job.min_member == job.tasks:
            return False
        if job.min_member < sum(minimums.values()):
            roles = ssn.ledger.tasks.role[self._work.tasks]
            hopeful = int((~np.isin(roles, list(self._work.failed_roles))).sum())
            return job.ready + hopeful >= job.min_member
        return all(
            ssn.role_count(job, role, (TaskStatus.ALLOCATED, TaskStatus.BINDING, TaskStatus.BOUND, TaskStatus.RUNNING))
            >= minimums.get(ssn.snapshot.roles[role], 0)
            for role in self._work.failed_roles
        )

    def _complete_with_best_effort(self) -> bool:
        """Tasks that ask for nothing count as ready before they are placed; make it true before anything is bound."""
        ssn, work = self._ssn, self._work
        if not self._job.best_effort_pending:
            return True  # it was found ready without any
        while not ssn.ask.gang_ready(self._job):
            if not len(work.best_effort):
                return False
            first, work.best_effort = work.best_effort[:1], work.best_effort[1:]
            task_class = ssn.task_class(int(first[0]))
            if ssn.ask.pre_predicate(task_class) is None and self._place(task_class, first):
                continue
            ssn.findings.misfit(self._job, task_class, ssn.placer.misfit(task_class))
        return True
