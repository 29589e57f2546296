"""A plan for one starving job: places for its tasks, made by evictions where need be, as a whole or not at all.

Nothing is evicted unless the job's gang is then complete, under all predicates and ceilings, and unless no victim
could, by the same rules, evict its evictor in turn. What is placed is only promised: it is bound in a later cycle, once
the victims are gone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from volcano_py.api.reasons import Reason
from volcano_py.api.wording import explain
from volcano_py.framework.eviction.candidates import Candidates
from volcano_py.framework.eviction.eviction_order import eviction_order
from volcano_py.framework.eviction.reprieve import Place, reprieve
from volcano_py.framework.eviction.starving import allocate_follows
from volcano_py.framework.job import Job, Task
from volcano_py.framework.placement.rows_by_node import RowsByNode
from volcano_py.framework.statement import Statement
from volcano_py.framework.views import FITS
from volcano_py.state.infos import QueueInfo
from volcano_py.state.status import TaskStatus
from volcano_py.state.table.axis import IntVector
from volcano_py.state.table.ledger import Rows
from volcano_py.state.task_class import Refusal, TaskClass

if TYPE_CHECKING:
    from volcano_py.framework.session import Session

_NEVER: Final = "Never"


class Scheme(msgspec.Struct, frozen=True):
    """What an action's evictions go by.

    Attributes:
        action: what the action is called on the victims (`preempt`, `reclaim`).
        point: the extension point that names victims.
        candidates: the pods that may be looked at for a task, those of one node side by side.
        may_take: whether a queue may have pods evicted for these task rows at all.
        may_lose: whether pods of a queue can be evicted at all.
    """

    action: str
    point: str
    candidates: Callable[[Task], Rows]
    may_take: Callable[[QueueInfo, Rows], bool] = lambda _queue, _rows: True
    may_lose: Callable[[QueueInfo], bool] = lambda _queue: True


class EvictionPlan:
    """See the module. Made for one attempt of one job."""

    def __init__(self, ssn: Session, pool: Candidates, scheme: Scheme, job: Job) -> None:
        self._ssn = ssn
        self._pool = pool
        self._scheme = scheme
        self._job = job
        self._statement: Statement = ssn.statement()
        self._for_backfill: Statement = ssn.statement()
        """Places of tasks that ask for nothing, had at once. They count while the plan is made. If nobody goes for the
        gang they are given back then: only backfill can turn them into bindings, and it takes what has no place."""
        self._best_effort: list[Place] = []
        """Those places."""
        self._places: list[Place] = []
        self._hopeless: set[tuple[int, str]] = set()
        """Class rows, with their preemption policy, that found no place in this plan."""

    def carry_out(self, tasks: Rows, *, keep_without_victims: bool = True) -> bool:
        """Place the tasks, in the order given, while the job starves. True when it was worth committing.

        `keep_without_victims`: promise places even when nobody has to go for any of them; otherwise that is left to
        allocate, and where that is yet to come, the places are held for it.
        """
        ssn = self._ssn
        tentative = ssn.findings.tentative
        given_back = {row: tentative[row] for row in tasks.tolist() if row in tentative}
        for row in tasks.tolist():
            if not ssn.ask.job_starving(self._job):
                break
            self._place(row)
        is_complete = ssn.ask.gang_will_be_ready(self._job)
        if is_complete:
            self._spare()
        victims = [victim for place in self._places for victim in place.victims]
        worth_it = bool(victims) or (bool(self._places) and keep_without_victims)
        if not worth_it or not is_complete or self._would_come_back(victims):
            self._for_backfill.discard()
            self._give_up(victims)
            ssn.findings.reset_tentative(tasks, given_back)
            return False
        if victims:  # those of the gang that nobody went for keep their places, too, until these are gone
            self._places.extend(self._best_effort)
            self._for_backfill.commit()
            ssn.findings.nominate({place.row: place.node for place in self._places})
        else:
            self._for_backfill.discard()
        best_effort = tasks[ssn.best_effort_classes[ssn.ledger.tasks.task_class[tasks]]]
        ssn.findings.reset_tentative(best_effort, given_back)
        ssn.have_places(self._job, np.array([place.row for place in self._places], dtype=np.intp))
        self._statement.commit()
        return True

    def _spare(self) -> None:
        """Who went for one task stays if what others free for other tasks is enough for both."""
        places = self._places
        if spared := reprieve(self._ssn, self._job, {self._statement: places, self._for_backfill: self._best_effort}):
            self._places = [
                Place(place.row, place.node, tuple(row for row in place.victims if row not in spared))
                for place in places
            ]

    def _give_up(self, victims: list[int]) -> None:
        """Take everything back; not yet where nobody has to go and allocate is to give the places, else lesser jobs
        would take what is free, and have others evicted for the rest."""
        ssn, job = self._ssn, self._job
        left_to_allocate = (
            not victims and allocate_follows(ssn, self._scheme.action) and not ssn.ask.overused(job.queue)
        )
        if left_to_allocate and ssn.ask.job_pipelined(job):
            ssn.reservations.hold_for_allocate(self._statement)
        else:
            self._statement.discard()

    # -- one task --------------------------------------------------------------------------------------------------

    def _place(self, row: int) -> None:
        ssn = self._ssn
        task_class, policy = ssn.task_class(row), ssn.task_info(row).preemption_policy
        if (task_class.row, policy) in self._hopeless:
            return
        task = Task(row, self._job, task_class, int(ssn.ledger.tasks.priority[row]))
        if ssn.ask.pre_predicate(task_class) is None and (
            self._place_beside_others(task) or (policy != _NEVER and self._place_by_evictions(task))
        ):
            return
        self._hopeless.add((task_class.row, policy))

    def _place_beside_others(self, task: Task) -> bool:
        """Where nobody has to go for it."""
        if self._ssn.ask.allocatable(task.job.queue, task.task_class).count <= 0:
            return False
        choice = self._ssn.placer.choose(task.task_class, 1)
        if not len(choice.nodes):
            return False
        if task.task_class.best_effort and not choice.pipelined:
            self._for_backfill.pipeline(task.job, task.task_class, np.array([task.row], dtype=np.intp), choice.nodes)
            self._best_effort.append(Place(task.row, int(choice.nodes[0]), ()))
        else:
            self._promise(task, int(choice.nodes[0]), ())
        return True

    def _place_by_evictions(self, task: Task) -> bool:
        ssn = self._ssn
        if not self._scheme.may_take(task.job.queue, np.array([task.row], dtype=np.intp)):
            return False
        hopeful = self._hopeful(task)
        ranked = ssn.placer.ranked(task.task_class, hopeful.nodes)
        return any(
            self._place_on(task, node, hopeful.on(node)) for node in ranked.tolist()
        ) or self._place_below_ceiling(task)

    def _place_below_ceiling(self, task: Task) -> bool:
        """Where there is room, if only a ceiling is in the way: others below it go, wherever they are."""
        ssn, ledger, queue = self._ssn, self._ssn.ledger, task.job.queue
        room = ssn.ask.allocatable(queue, task.task_class)
        if room.short is None or not len(nodes := ssn.placer.choose(task.task_class, 1).nodes):
            return False
        candidates = self._scheme.candidates(task)
        counts = np.isin(ledger.tasks.queue[candidates], ssn.ask.below_ceiling(room, queue))
        below = candidates[counts]
        victims = ssn.ask.possible_victims(self._scheme.point, task, below) if len(below) else below
        return len(victims) > 0 and self._place_on(task, int(nodes[0]), victims)

    def _hopeful(self, task: Task) -> RowsByNode:
        """Candidates on the nodes that have room for the task if all candidates there were to go.

        The cheap look at all nodes together drops most of them before any plugin elects victims node by node.
        """
        ssn, where = self._ssn, self._ssn.ledger.tasks.node
        hopeful = self._roomy(task.task_class, RowsByNode.of(self._scheme.candidates(task), where))
        possible = (
            ssn.ask.possible_victims(self._scheme.point, task, hopeful.rows) if len(hopeful.rows) else hopeful.rows
        )
        if len(possible) == len(hopeful.rows):
            return hopeful
        return self._roomy(task.task_class, RowsByNode.of(possible, where))

    def _roomy(self, task_class: TaskClass, candidates: RowsByNode) -> RowsByNode:
        """Those on nodes that may take the class and would have room for one of it without them."""
        ssn, ledger = self._ssn, self._ssn.ledger
        free = ledger.nodes.future_idle()[candidates.nodes]
        classes = ledger.tasks.task_class[candidates.rows]
        fits = ssn.resolvable(ssn.placer.codes(task_class)[candidates.nodes])
        for dim in task_class.requested.tolist():
            fits &= free[:, dim] + candidates.sums(ledger.classes.request[classes, dim]) >= task_class.request[dim]
        return candidates if fits.all() else candidates.where(fits)

    def _place_on(self, task: Task, node: int, candidates: Rows) -> bool:
        """By evicting some of the candidates."""
        missing, blockers = self._missing(task, node), self._in_the_way(task, node, candidates)
        for offer in self._offers(task, node, candidates, missing, blockers):
            victims = self._ssn.ask.victims(self._scheme.point, task, offer)
            is_enough = len(victims) and not (self._requests_of(victims).sum(axis=0) < missing).any()
            if is_enough and self._place_without(task, node, victims, missing, blockers):
                return True
        return False

    def _offers(
        self, task: Task, node: int, candidates: Rows, missing: IntVector, blockers: list[int]
    ) -> Iterator[Rows]:
        """The selections of candidates that plugins are asked about until one will do.

        What a gang, a queue or a budget can spare goes to the first that are offered. So who is in the way comes before
        others, and with who holds some of what is missing; those that are of no use are left out; then those that hold
        too little alone.
        """
        holds = self._requests_of(candidates)
        if blockers:
            in_the_way = np.isin(candidates, blockers)
            yield candidates[in_the_way]
            yield candidates[in_the_way | (holds[:, missing > 0] > 0).any(axis=1)]
        some = self._of_use(task, node, holds, missing)
        yield candidates[some]
        enough = (holds >= missing).all(axis=1)
        if 0 < enough.sum() < some.sum():
            yield candidates[enough]

    def _of_use(self, task: Task, node: int, holds: NDArray[np.int64], missing: IntVector) -> NDArray[np.bool_]:
        """[K] who of those that hold so much [K, R] has some of what is missing, or of what a ceiling leaves short."""
        ssn, useful = self._ssn, missing > 0
        some: NDArray[np.bool_] = np.any(holds[:, useful] > 0, axis=1)
        if some.all():
            return some  # mostly: what the ceilings say need not be worked out anew
        if (short := ssn.ask.allocatable(task.job.queue, task.task_class).short) is not None:
            useful[short[0]] = True
            some |= holds[:, short[0]] > 0
        # Where a predicate refuses the task, nobody knows who is of use.
        if not useful.any() or ssn.placer.codes(task.task_class)[node] != FITS:
            some[:] = True
        return some

    def _place_without(self, task: Task, node: int, victims: Rows, missing: IntVector, blockers: list[int]) -> bool:
        """Evict one after the other until the task fits, under every rule; take it back when it never does."""
        ssn, point = self._ssn, self._scheme.point
        mark = self._statement.checkpoint()
        evicted: list[int] = []
        waiting = sorted(eviction_order(ssn, ssn.ask, task, victims), key=lambda row: row not in blockers)
        while (victim := self._next_victim(waiting, missing)) is not None:
            waiting.remove(victim)
            # Plugins may have judged each alone: without those that went before, its side may have no more to give.
            if evicted and not len(ssn.ask.victims(point, task, np.array([victim], dtype=np.intp))):
                continue
            self._evict(victim, task, node)
            evicted.append(victim)
            lacked, missing = missing, self._missing(task, node)
            if not missing.any() and self._may_take(task, node):
                self._promise(task, node, self._needed(evicted, lacked, task, node))
                return True
        self._statement.rollback(mark)
        return False

    def _needed(self, evicted: list[int], lacked: IntVector, task: Task, node: int) -> tuple[int, ...]:
        """Those of the evicted who have to go; the others stay, who held too little and went before somebody larger.

        `lacked` is what was missing when the last one went: who is to stay holds no more than that one freed beyond.
        """
        *before, last = evicted
        dims = lacked > 0
        beyond = self._requests_of([last])[0] - lacked
        spared = (self._requests_of(before)[:, dims] <= beyond[dims]).all(axis=1)
        needed = list(evicted)
        for victim in [row for row, may_stay in zip(before, spared.tolist(), strict=True) if may_stay][::-1]:
            operation = self._statement.take_back(victim)
            if self._missing(task, node).any() or not self._may_take(task, node):
                self._statement.do(operation)
            else:
                needed.remove(victim)
        return tuple(needed)

    def _missing(self, task: Task, node: int) -> IntVector:
        """[R] what there is too little of for the task: on the node, once terminating pods are gone; where that has
        enough, below the ceilings of the queue."""
        ssn, request = self._ssn, task.task_class.request
        missing: IntVector = np.where(request > 0, np.maximum(request - ssn.ledger.nodes.future_idle(node), 0), 0)
        if not missing.any() and (short := ssn.ask.allocatable(task.job.queue, task.task_class).short) is not None:
            dim, units = short
            missing[dim] = units
        return missing

    def _next_victim(self, waiting: list[int], missing: IntVector) -> int | None:
        """The first that holds some of what is missing; when nothing is, just the first.

        Of several missing resources the one that the fewest hold is sought first: who holds it has to go in any case,
        and often holds the others, too.
        """
        if not missing.any() or not waiting:
            return waiting[0] if waiting else None
        holds = self._requests_of(waiting)[:, missing > 0] > 0
        rarest = holds[:, int(holds.sum(axis=0).argmin())]
        return waiting[int(rarest.argmax())] if rarest.any() else None

    def _in_the_way(self, task: Task, node: int, candidates: Rows) -> list[int]:
        """Where a predicate refuses the task (a port is taken, say), plugins do not tell because of whom. So each is
        tried alone: those without whom the task may come."""
        placer, mark = self._ssn.placer, self._statement.checkpoint()
        blockers: list[int] = []
        if placer.codes(task.task_class)[node] == FITS or placer.may_take(task.task_class, node):
            return blockers
        for candidate in candidates.tolist():
            self._evict(candidate, task, node)
            if placer.may_take(task.task_class, node):
                blockers.append(candidate)
            self._statement.rollback(mark)
        return blockers

    def _requests_of(self, rows: Rows | list[int]) -> NDArray[np.int64]:
        """[K, R]"""
        ledger = self._ssn.ledger
        requests: NDArray[np.int64] = ledger.classes.request[ledger.tasks.task_class[rows]]
        return requests

    def _may_take(self, task: Task, node: int) -> bool:
        """Whether ceilings and all predicates let the task go there."""
        ssn = self._ssn
        return ssn.ask.allocatable(task.job.queue, task.task_class).count > 0 and ssn.placer.may_take(
            task.task_class, node
        )

    def _promise(self, task: Task, node: int, victims: tuple[int, ...]) -> None:
        rows, nodes = np.array([task.row], dtype=np.intp), np.array([node], dtype=np.intp)
        self._statement.pipeline(task.job, task.task_class, rows, nodes)
        self._places.append(Place(task.row, node, victims))

    def _evict(self, victim: int, task: Task, node: int) -> None:
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
        self._statement.evict(owner, ssn.task_class(victim), rows, self._scheme.action, message)

    # -- would it go on for ever -----------------------------------------------------------------------------------

    def _would_come_back(self, victims: list[int]) -> bool:
        """Whether a victim, were it to come again, could evict what it was evicted for.

        Asked of the plugins as things stand after the plan, with what was promised taken for running. Such a policy
        would have both evict each other for ever.
        """
        ssn, tasks = self._ssn, self._ssn.ledger.tasks
        placed = self._pool.spares(np.array([place.row for place in self._places], dtype=np.intp))
        if not victims or not len(placed) or not self._scheme.may_lose(self._job.queue):
            return False
        statuses, nodes = tasks.status[placed].copy(), tasks.node[placed].copy()
        ssn.ledger.move(placed, TaskStatus.RUNNING, nodes.astype(np.intp))
        try:
            striker = next((row for row in self._representatives(victims) if self._could_evict(row, placed)), None)
        finally:
            ssn.ledger.restore(placed, statuses, nodes)
        if striker is None:
            return False
        text = explain.would_come_back(self._scheme.action, ssn.task_info(striker).key)
        ssn.findings.note(self._job, Refusal(Reason.REFUSED_BY_PLUGIN, text))
        return True

    def _representatives(self, victims: list[int]) -> list[int]:
        """One victim of each job and class."""
        tasks = self._ssn.ledger.tasks
        return list({(int(tasks.job[row]), int(tasks.task_class[row])): row for row in victims}.values())

    def _could_evict(self, row: int, placed: Rows) -> bool:
        ssn, ledger = self._ssn, self._ssn.ledger
        owner = ssn.job(int(ledger.tasks.job[row]))
        if owner is None or ssn.task_info(row).preemption_policy == _NEVER:
            return False
        if not self._scheme.may_take(owner.queue, np.array([row], dtype=np.intp)):
            return False
        task = Task(row, owner, ssn.task_class(row), int(ledger.tasks.priority[row]))
        if task.task_class.best_effort:
            placed = placed[ssn.best_effort_classes[ledger.tasks.task_class[placed]]]
        return len(ssn.ask.victims(self._scheme.point, task, placed, in_time=True)) > 0
