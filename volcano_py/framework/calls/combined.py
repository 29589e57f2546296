"""What the plugins answer together: orders, votes, ceilings and victims, each by the rule in `plugin.py`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from volcano_py.api.names import ROOT_QUEUE
from volcano_py.api.reasons import Reason
from volcano_py.api.wording.explain_ceilings import queue_overused
from volcano_py.api.wording.explain_topology import needs_the_plugin
from volcano_py.framework.calls.dispatch import Call, Dispatch
from volcano_py.framework.eviction.judging import Judgement, judge
from volcano_py.framework.eviction.units import Need, Unit
from volcano_py.framework.eviction.victims import elect, expendable_first, possible
from volcano_py.framework.job import Job, Task
from volcano_py.framework.plugin import Plugin
from volcano_py.framework.votes import PERMIT, PLENTY, Ballot, Room, Vote
from volcano_py.state.infos import QueueInfo
from volcano_py.state.table.ledger import Ledger
from volcano_py.state.table.table import NOWHERE, Rows
from volcano_py.state.task_class import Refusal, TaskClass


def _precedence(ballot: Ballot) -> tuple[bool, int, bool]:
    """Place of a refusal among those of a tier. A full cluster comes last of its rank: it asks for nodes, which would
    not admit a job that something else keeps out."""
    if ballot.refusal is None:
        return True, 0, False
    reason = ballot.refusal.reason
    return False, reason.rank, reason is Reason.CLUSTER_OVERCOMMITTED


def _certain(calls: Iterable[Call], question: str, rows: Rows) -> NDArray[np.bool_]:
    """[K] the rows of which all plugins say yes to the question."""
    certain = np.ones(len(rows), dtype=np.bool_)
    for call in calls:
        answer: NDArray[np.bool_] | None = call.ask(question, rows, otherwise=None)
        if answer is None:
            return np.zeros(len(rows), dtype=np.bool_)
        certain &= answer
    return certain


class CombinedAnswers:
    """What the plugins of a session answer together: `ssn.ask`."""

    def __init__(self, dispatch: Dispatch, ledger: Ledger, queues: Mapping[str, QueueInfo]) -> None:
        """`ledger` is the session's own copy, `queues` those that exist, by name."""
        self._dispatch = dispatch
        self._ledger = ledger
        self._queues = queues
        self._paths: dict[str, tuple[str, ...]] | None = None
        # Looked up once: they are asked in every turn of every job.
        self._job_order, self._job_ready = dispatch.calls("job_order"), dispatch.calls("job_ready")
        self._overused, self._allocatable = dispatch.calls("overused"), dispatch.calls("allocatable")
        self._branch_order, self._pre_predicate = dispatch.calls("branch_order"), dispatch.calls("pre_predicate")
        self._job_valid = dispatch.calls("job_valid")
        self._queue_order = dispatch.calls("queue_order")
        self._with_epochs = [
            call for call in self._branch_order if type(call.plugin).branch_epoch is not Plugin.branch_epoch
        ]

    # -- orders ----------------------------------------------------------------------------------------------------

    def job_key(self, job: Job) -> tuple[Any, ...]:
        keys = [call(job) for call in self._job_order]
        return (*keys, job.created, job.key)

    def queue_key(self, queue: QueueInfo) -> tuple[Any, ...]:
        keys = [call(queue) for call in self._queue_order]
        return (*keys, queue.created, queue.name)

    def queue_rank(self, queue: QueueInfo) -> tuple[Any, ...]:
        """What is compared before the tree of queues is descended."""
        return tuple([call(queue) for call in self._queue_order])

    def queue_paths(self) -> dict[str, tuple[str, ...]]:
        """The tree of queues, as the plugin that owns it gives it."""
        return {name: path for call in self._dispatch.calls("queue_paths") for name, path in call().items()}

    def branch_key(self, path: tuple[str, ...]) -> tuple[Any, ...]:
        return tuple([call(path) for call in self._branch_order])

    def branch_epoch(self) -> int:
        return sum([call.ask("branch_epoch", otherwise=0) for call in self._with_epochs])

    def namespace_key(self, queue: QueueInfo, namespace: str) -> tuple[Any, ...]:
        keys = [call(queue, namespace) for call in self._dispatch.calls("namespace_order")]
        return (*keys, namespace)

    def ordered_tasks(self, rows: Rows) -> Rows:
        """The tasks in task order."""
        if len(rows) <= 1:
            return rows
        tasks = self._ledger.tasks
        keys = [tasks.tiebreak[rows], tasks.created[rows], tasks.suffix[rows]]
        keys.extend(call(rows) for call in reversed(self._dispatch.calls("task_order")))
        return rows[np.lexsort(keys)]

    @property
    def has_namespace_order(self) -> bool:
        """Whether any plugin orders the namespaces of a queue."""
        return bool(self._dispatch.calls("namespace_order"))

    # -- combined answers ------------------------------------------------------------------------------------------

    def job_valid(self, job: Job, *, is_certain: bool = False) -> Refusal | None:
        """Why the job cannot be scheduled as it is. `is_certain`: no plugin refuses it (`certainly_valid`)."""
        if job.info.problem is not None:
            return job.info.problem
        if job.info.topology is not None and job.info.topology.is_hard and not self._dispatch.gathers:
            return Refusal(Reason.UNSUPPORTED, needs_the_plugin())
        for call in () if is_certain else self._job_valid:
            refusal: Refusal | None = call(job)
            if refusal is not None:
                return refusal
        return None

    def certainly_valid(self, rows: Rows) -> NDArray[np.bool_]:
        """[K] the jobs in these rows that no plugin refuses; of the others that is not known."""
        return _certain(self._job_valid, "certainly_valid", rows)

    def certainly_ready(self, rows: Rows) -> NDArray[np.bool_]:
        """[K] the jobs in these rows that are ready; of the others that is not known."""
        return _certain(self._job_ready, "certainly_ready", rows)

    def job_ready(self, job: Job) -> bool:
        return all(call(job) for call in self._job_ready)

    def gang_ready(self, job: Job) -> bool:
        """Whether the tasks that have a place make the job ready, without pending ones that request nothing."""
        if not job.best_effort_pending:
            return self.job_ready(job)
        with job.without_best_effort():
            return self.job_ready(job)

    def tasks_to_ready(self, job: Job) -> int:
        return max((call(job) for call in self._dispatch.calls("tasks_to_ready")), default=1)

    def job_pipelined(self, job: Job) -> bool:
        for calls in self._dispatch.by_tier("job_pipelined"):
            permitted = False
            for call in calls:
                vote: Vote = call(job).vote
                if vote is Vote.REJECT:
                    return False
                permitted = permitted or vote is Vote.PERMIT
            if permitted:
                break
        return True

    def gang_will_be_ready(self, job: Job) -> bool:
        """`gang_ready` once what is being released is free: no plugin of any tier rejects.

        A tier may permit half a gang to keep the places it found, but not to have others evicted for it.
        """
        with job.without_best_effort():
            return all(call(job).vote is not Vote.REJECT for call in self._dispatch.calls("job_pipelined"))

    def job_enqueueable(self, job: Job) -> Ballot:
        """Ask all plugins of a tier; of several refusals, the one to fix first is reported."""
        for calls in self._dispatch.by_tier("job_enqueueable"):
            ballots: list[Ballot] = [call(job) for call in calls]
            refused = [ballot for ballot in ballots if ballot.vote is Vote.REJECT]
            if refused:
                return min(refused, key=_precedence)
            if any(ballot.vote is Vote.PERMIT for ballot in ballots):
                break
        return PERMIT

    def job_enqueued(self, job: Job) -> None:
        for call in self._dispatch.calls("job_enqueued"):
            call(job)

    def job_starving(self, job: Job) -> bool:
        tiers = self._dispatch.by_tier("job_starving")
        return bool(tiers) and all(call(job) for call in tiers[0])

    def overused(self, queue: QueueInfo) -> bool:
        return any(call(queue) for call in self._overused)

    def why_overused(self, queue: QueueInfo) -> Refusal:
        """What jobs of the queue wait for, as the first plugin says that finds it overused."""
        plugin = next((call for call in self._overused if call(queue)), None)
        refusal: Refusal | None = None if plugin is None else plugin.ask("why_overused", queue, otherwise=None)
        return refusal or Refusal(Reason.OVER_DESERVED, queue_overused(queue.name))

    def allocatable(self, queue: QueueInfo, task_class: TaskClass) -> Room:
        tightest = PLENTY
        for call in self._allocatable:
            room: Room = call(queue, task_class)
            if room.count < tightest.count:
                tightest = room
        return tightest

    def bindable(self, queue: QueueInfo, task_class: TaskClass) -> Room:
        """`allocatable` for tasks that are bound at once: pods that are leaving still count."""
        tightest = PLENTY
        for call in self._allocatable:
            room: Room = call(queue, task_class).at_once
            if room.count < tightest.count:
                tightest = room
        return tightest

    def refuses_together(self, queue: QueueInfo, tasks: Rows) -> Refusal | None:
        """Why the queue cannot take the tasks together, as the first plugin says that knows."""
        for call in self._allocatable:
            refusal: Refusal | None = call.ask("refuses_together", queue, tasks, otherwise=None)
            if refusal is not None:
                return refusal
        return None

    def below_ceiling(self, room: Room, queue: QueueInfo) -> list[int]:
        """Slots of the queues whose pods count for the ceiling that leaves `queue` no room."""
        if not room.ceiling:
            return [queue.slot]
        is_top = room.ceiling == ROOT_QUEUE
        return [each.slot for each in self._queues.values() if is_top or room.ceiling in self._path(each)]

    def preemptive(self, queue: QueueInfo, tasks: Rows) -> bool:
        return all(call(queue, tasks) for call in self._dispatch.calls("preemptive"))

    def pre_predicate(self, task_class: TaskClass) -> Refusal | None:
        for call in self._pre_predicate:
            refusal: Refusal | None = call(task_class)
            if refusal is not None:
                return refusal
        return None

    def victims(self, point: str, task: Task, candidates: Rows, *, in_time: bool = False) -> Rows:
        """The candidates that the plugins together give up for `task`; `point` is preemptable or reclaimable.

        They come lowest task priority first, then youngest first. Pods that belong to no job are never victims.
        `in_time`: that they would give up once budgets and cool-downs allow it.
        """
        candidates = candidates[self._ledger.tasks.job[candidates] != NOWHERE]
        return elect(self._dispatch, point, task, expendable_first(self._ledger.tasks, candidates), in_time=in_time)

    def possible_victims(self, point: str, task: Task, candidates: Rows) -> Rows:
        """The candidates without those that no selection could make a victim; costs one look at all of them."""
        return possible(self._dispatch, point, task, candidates)

    @property
    def preempts_equals(self) -> bool:
        """Whether jobs may be preempted whole although their priority is not below the preemptor's."""
        return any(call.plugin.preempts_equals for call in self._dispatch.calls("preemptable"))

    def gives(self, point: str, need: Need, unit: Unit, *, in_time: bool = False) -> Judgement:
        """Whether the plugins together give up a unit as things stand; `in_time`: once budgets and cool-downs allow
        it."""
        return judge(self._dispatch, point, need, unit, in_time=in_time)

    def protected(self, point: str, task: Task, candidates: Rows) -> Iterator[tuple[Plugin, Rows]]:
        """Each plugin that only protects pods, with the candidates that it would keep if all were evicted one after the
        other, and each that says what it has refused; those that plugins before it keep are left out."""
        for call in self._dispatch.calls(point):
            if call.plugin.only_protects:
                may_go = call(task, candidates)
            else:
                refused: Any = call.ask("refused_victims", point, task, candidates, otherwise=None)
                may_go = None if refused is None else ~refused
            if may_go is not None and not may_go.all():
                yield call.plugin, candidates[~may_go]
                candidates = candidates[may_go]

    def victim_queues(self, queues: Iterable[QueueInfo], task: Task) -> list[QueueInfo]:
        """The queues in the order in which they lose pods to `task`: the last in queue order first, unless plugins
        have an order of their own."""
        last_first = sorted(queues, key=self.full_queue_key, reverse=True)
        calls = self._dispatch.calls("victim_queue_order")
        return sorted(last_first, key=lambda queue: tuple(call(queue, task.job.queue) for call in calls))

    def full_queue_key(self, queue: QueueInfo) -> tuple[Any, ...]:
        """`queue_key` with the keys of the nodes on the queue's path in the tree, where there is one."""
        path = self._path(queue)
        keys = [self.branch_key(path[: depth + 1]) for depth in range(len(path))]
        return (self.queue_rank(queue), tuple(keys), queue.created, queue.name)

    def _path(self, queue: QueueInfo) -> tuple[str, ...]:
        """The queue's way through the tree; empty where there is none."""
        if self._paths is None:
            self._paths = self.queue_paths()
        return self._paths.get(queue.name, (queue.name,)) if self._paths else ()

    def victim_tasks(self, running: Rows) -> dict[int, str]:
        """Which running tasks should be evicted, no matter which tasks wait, and why. Tasks that any plugin protects
        are left out.
        """
        for calls in self._dispatch.by_tier("victim_tasks"):
            named = {row: why for call in calls for row, why in call(running).items()}
            rows = np.array(sorted(named), dtype=np.intp)
            rows = rows[~self.spared_tasks(rows)]
            if len(rows):
                return {row: named[row] for row in rows.tolist()}
        return {}

    def spared_tasks(self, victims: Rows) -> NDArray[np.bool_]:
        """[K] which victims of shuffle any plugin protects, if all of them are to go, one after the other."""
        left = np.arange(len(victims))
        for guard in self._dispatch.calls("spared_tasks"):
            left = left[~guard(victims[left])]
        spared = np.ones(len(victims), dtype=np.bool_)
        spared[left] = False
        return spared

    def protector_of_last(self, victims: Rows) -> Plugin | None:
        """The plugin that protects the last victim of shuffle, if those before it go."""
        guards = self._dispatch.calls("spared_tasks")
        return next((guard.plugin for guard in guards if guard(victims)[-1]), None)
