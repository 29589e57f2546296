"""The end of a cycle: phases, conditions and sums of queues. Only changes become effects."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import numpy as np

from volcano_py.api import names
from volcano_py.api.effects import Effect, Event, PodCondition, PodGroupStatusUpdate, QueueAllocated
from volcano_py.api.objects import Condition
from volcano_py.api.quantity import QuantityError, parse_nano
from volcano_py.api.reasons import Reason
from volcano_py.api.report import PendingJob
from volcano_py.api.wording import explain
from volcano_py.framework.devices.sums import add_devices
from volcano_py.framework.job import Job
from volcano_py.framework.resting.reports import Report
from volcano_py.framework.status.group_states import GroupState, GroupStates
from volcano_py.framework.status.ignored_values import ignored_values
from volcano_py.framework.status.queue_conditions import queue_conditions
from volcano_py.framework.status.queue_source import queue_source
from volcano_py.framework.status.verdicts import PodVerdict, gang_message, job_verdict, pod_verdicts
from volcano_py.framework.status.wakeups import earlier
from volcano_py.state.infos import QueueInfo, TaskInfo
from volcano_py.state.queues.queue_tree import lay
from volcano_py.state.snapshot import Phase
from volcano_py.state.status import TaskStatus
from volcano_py.state.table.table import Rows
from volcano_py.state.table.units import canonical
from volcano_py.state.task_class import Refusal

if TYPE_CHECKING:
    from volcano_py.framework.session import Session

_OPPOSITES = frozenset({names.SCHEDULED, names.UNSCHEDULABLE})
# Objects of one manifest arrive a moment apart. A missing PodGroup or queue is not reported before the object that
# refers to it has this age (seconds); nor are missing pods and claims, which may just be being created.
_GRACE = 2.0
_EMPTY = "empty since"
_WITHOUT_QUEUE = "without a queue"
_MAY_COME = frozenset({Reason.NOT_ENOUGH_TASKS, Reason.VOLUME_NOT_READY, Reason.DEVICES_NOT_READY})


class Closing:
    """Computes the statuses of one finished cycle."""

    def __init__(self, ssn: Session, cycle: str, *, decided: bool = True, ignores_text: bool = False) -> None:
        """`decided`: whether the actions have run; only then it is known why jobs wait. `ignores_text`: another message
        alone is not worth writing a condition."""
        self._ssn = ssn
        self._cycle = cycle
        self._decided = decided
        self._ignores_text = ignores_text
        self._moment = datetime.fromtimestamp(ssn.now, tz=UTC)
        self._states = GroupStates(ssn)
        self._ready_to_schedule = self._condition(names.SCHEDULED, names.READY_TO_SCHEDULE, "")
        self.pending: list[PendingJob] = []
        self.reports: dict[int, Report] = {}
        """Job row → what was reported, for waiting jobs of which there is nothing more to say."""
        self._too_early: set[int] = set()
        """Rows of jobs for which it is too early to say why they wait."""
        self.has_moved = False
        """Whether a PodGroup gets another phase."""
        self.look_again_at = 0.0
        # Key of each admitted PodGroup without pods → since when: controllers create pods only after admission.
        self._memory = ssn.memory(__name__)
        self._empty_before: dict[str, float] = self._memory.get(_EMPTY, {})
        self._empty: dict[str, float] = {}
        # Job row → UID of the PodGroup, of those that were reported to have no queue.
        self._had_no_queue: dict[int, str] = self._memory.get(_WITHOUT_QUEUE, {})
        self._without_queue: dict[int, str] = {}

    def effects(self) -> list[Effect]:
        """All statuses that differ from what the API server has."""
        effects: list[Effect] = []
        waiting = {row: job.reported for row, job in self._ssn.resting.items()}
        for state in self._states.settle(self._with_new_findings()):
            known, own = len(self.pending), [*self._judge(state)]
            effects.extend(own)
            for reported in self.pending[known:]:
                row = state.job.row
                waiting[row] = reported
                report = Report(reported, own)
                if report.is_final and row not in self._too_early:
                    self.reports[row] = report
        self.pending = [waiting[row] for row in sorted(waiting)]
        if self._decided:
            effects.extend(self._jobs_without_queue())
            effects.extend(self._pods_without_group())
            self._look_again_at_deadlines()
            self._memory[_EMPTY] = self._empty
            self._memory[_WITHOUT_QUEUE] = self._without_queue
        effects.extend(self._queues())
        effects.extend(self._invalid_queues())
        effects.extend(queue_conditions(self._ssn))
        effects.extend(ignored_values(self._ssn))
        return effects

    # -- PodGroups -------------------------------------------------------------------------------------------------

    def _with_new_findings(self) -> Rows:
        """Rows of jobs of which a plugin has found something new, or whose queue exists again."""
        found = [row for row in self._ssn.findings.conditions if _new_findings(self._ssn, row)]
        return np.array([*found, *self._with_queue_again()], dtype=np.intp)

    def _with_queue_again(self) -> Iterator[int]:
        for row, uid in self._had_no_queue.items():
            info = self._ssn.snapshot.jobs[row]
            if info is not None and info.ref.uid == uid and info.queue in self._ssn.queues:
                yield row

    def _judge(self, state: GroupState) -> Iterator[Effect]:
        job = state.job
        is_scheduled = state.has_ready_tasks and (state.is_ready or self._ssn.ask.job_ready(job))
        conditions = _with_findings(self._ssn, job)
        if is_scheduled:
            conditions = self._with(conditions, self._ready_to_schedule)
        if job.row in self._ssn.resting:
            return self._status(job.row, state.phase, state.counts, conditions)  # then it is looked at again
        if self._decided:
            return self._conclude(state, conditions, is_scheduled=is_scheduled)
        # No job was tried in this cycle, so there is no new reason why one waits.
        phase = state.phase if is_scheduled else _while_incomplete(job, state.phase)
        if not _is_marked_unschedulable(conditions):
            phase = state.phase
        return self._status(job.row, phase, state.counts, conditions)

    def _conclude(
        self, state: GroupState, conditions: tuple[Condition, ...], *, is_scheduled: bool
    ) -> Iterator[Effect]:
        """What is written of a job that the actions of this cycle could try."""
        job, phase = state.job, state.phase
        provisional = phase is not Phase.RUNNING and state.is_about_to_run
        is_due = state.waits or not state.has_tasks or not (is_scheduled or self._ssn.ask.job_ready(job))
        verdict = self._verdict(job, phase) if is_due else None
        if not is_scheduled and verdict is not None and (state.waits or not _is_filled_by_leavers(job)):
            phase = _while_incomplete(job, phase)
            job.enter(phase)
            unschedulable = self._condition(names.UNSCHEDULABLE, _condition_reason(verdict), gang_message(job, verdict))
            conditions = self._with(conditions, unschedulable)
        yield from self._status(job.row, phase, state.counts, conditions, provisional=provisional)
        if verdict is not None:
            for row, found in pod_verdicts(self._ssn, job, verdict):
                yield from self._pod(self._ssn.task_info(row), found, self._nominated(row))

    def _nominated(self, row: int) -> str:
        """The node that is kept for the task, because pods were evicted for it or its gang in this cycle."""
        node = self._ssn.findings.nominations.get(row)
        return "" if node is None else self._ssn.snapshot.nodes[node].name

    def _verdict(self, job: Job, phase: Phase) -> Refusal | None:
        """Why the job waits, added to the report; None when it is too early to write it to the objects."""
        verdict, since = job_verdict(self._ssn, job), job.created
        if not job.tasks and phase is Phase.INQUEUE:
            if verdict.reason is Reason.NOT_YET_EVALUATED:
                return None  # admitted, and no pods are expected
            since = self._empty[job.key] = self._empty_before.get(job.key, self._ssn.now)
        message = explain.message(verdict.reason, verdict.message)
        self.pending.append(
            PendingJob(
                job.key, job.queue.name, phase.text, verdict.reason, message, job.pending_tasks, created=job.created
            )
        )
        if verdict.reason is Reason.NOT_YET_EVALUATED or (verdict.reason in _MAY_COME and self._is_young(since)):
            self._too_early.add(job.row)
            return None
        return verdict

    def _condition(self, kind: str, reason: str, message: str) -> Condition:
        """The condition `kind`, True as of this cycle."""
        return Condition(
            type=kind,
            status="True",
            reason=reason,
            message=message,
            last_transition_time=self._moment,
            transition_id=self._cycle,
        )

    def _with(self, conditions: Sequence[Condition], made: Condition) -> tuple[Condition, ...]:
        """The conditions with `made`; unchanged when it is there with the same text and is the latest. Of two opposite
        ones the later is behind: their times are whole seconds."""
        known = next((condition for condition in conditions if condition.type == made.type), None)
        is_same = known is not None and self._is_said(
            (known.status, known.reason, known.message), made.status, made.reason, made.message
        )
        if is_same and not _is_outdated(known, conditions):
            return tuple(conditions)
        others = [condition for condition in conditions if condition is not known]
        is_opposite = made.type in _OPPOSITES and any(other.type in _OPPOSITES for other in others)
        if known is None or is_same or is_opposite:
            return (*others, made)
        return tuple(made if condition is known else condition for condition in conditions)

    def _is_said(self, known: tuple[str, ...], *new: str) -> bool:
        """Whether a condition says that already; the last of its strings is its message."""
        return known[:-1] == new[:-1] if self._ignores_text else known == new

    def _status(
        self,
        row: int,
        phase: Phase,
        counts: tuple[int, int, int],
        conditions: tuple[Condition, ...],
        *,
        provisional: bool = False,
    ) -> Iterator[Effect]:
        info = self._ssn.snapshot.jobs[row]
        if info is None or not info.ref.uid:
            return  # expected only: the API server has no such PodGroup yet
        text, is_overdue = phase.text, info.is_provisional and not self._states.will_run(row)
        if (text, conditions, counts) == (info.phase, info.conditions, info.counts) and not is_overdue:
            return
        self.has_moved |= text != info.phase
        yield PodGroupStatusUpdate(info.ref, text, conditions, *counts, provisional=provisional)
        changed = [condition for condition in conditions if condition not in info.conditions]
        for condition in changed:
            if condition.type == names.UNSCHEDULABLE:
                yield Event(info.ref, "Warning", names.UNSCHEDULABLE, condition.message)
            elif condition.type == names.SCHEDULED:
                yield Event(info.ref, "Normal", names.SCHEDULED, names.POD_GROUP_READY)

    # -- without a queue or a PodGroup -------------------------------------------------------------------------------

    def _jobs_without_queue(self) -> Iterator[Effect]:
        ssn = self._ssn
        without = ssn.ledger.jobs.known.copy()
        without[ssn.job_rows()] = False
        for row in np.flatnonzero(without).tolist():
            info = ssn.snapshot.jobs[row]
            if info is None or self._is_young(created := float(ssn.ledger.jobs.created[row])):
                continue
            phase = Phase(int(ssn.ledger.jobs.phase[row])) or Phase.PENDING
            pending = int(ssn.ledger.jobs.counts[row, TaskStatus.PENDING])
            if phase is Phase.COMPLETED and not pending:
                continue  # a queue may be deleted once its work is done
            refusal = Refusal(Reason.QUEUE_NOT_FOUND, explain.queue_not_found(info.queue, queue_source(ssn, row, info)))
            message = explain.message(refusal.reason, refusal.message)
            self.pending.append(
                PendingJob(info.key, info.queue, phase.text, refusal.reason, message, pending, created=created)
            )
            self._without_queue[row] = info.ref.uid
            unschedulable = self._condition(names.UNSCHEDULABLE, names.NOT_ENOUGH_RESOURCES, message)
            conditions = self._with(info.conditions, unschedulable)
            yield from self._status(row, phase, self._states.counts(row), conditions)
            yield from self._pods_of(row, refusal)

    def _pods_without_group(self) -> Iterator[Effect]:
        """Pods that name a PodGroup that does not exist."""
        ssn = self._ssn
        tasks, jobs = ssn.ledger.tasks, ssn.ledger.jobs
        orphans = np.flatnonzero((tasks.status == TaskStatus.PENDING) & (tasks.job >= 0))
        orphans = orphans[~jobs.known[tasks.job[orphans]]]
        known = [not self._is_young(created) for created in tasks.created[orphans].tolist()]
        orphans = orphans[np.array(known, dtype=np.bool_)]
        for row in np.unique(tasks.job[orphans]).tolist():
            namespace, _, name = ssn.snapshot.job_keys[row].partition("/")
            refusal = Refusal(Reason.POD_GROUP_NOT_FOUND, explain.pod_group_not_found(namespace, name))
            message = explain.message(refusal.reason, refusal.message)
            pending = int(jobs.counts[row][TaskStatus.PENDING])
            key = ssn.snapshot.job_keys[row]
            created = float(tasks.created[orphans[tasks.job[orphans] == row]].min())
            self.pending.append(
                PendingJob(key, "", Phase.PENDING.text, refusal.reason, message, pending, created=created)
            )
            yield from self._pods_of(row, refusal)

    def _look_again_at_deadlines(self) -> None:
        """At its deadline an unused reservation ends; plugins ask for times of their own."""
        for moment in (self._ssn.reservations.next_deadline(), self._ssn.wakeups.next_progress):
            if moment:
                self.look_again_at = earlier(self.look_again_at, moment)

    def _is_young(self, created: float) -> bool:
        """Whether it is too early to report it; then another cycle is requested."""
        if created <= self._ssn.now - _GRACE:
            return False
        self.look_again_at = max(self.look_again_at, created + _GRACE)
        return True

    def _pods_of(self, job_row: int, refusal: Refusal) -> Iterator[Effect]:
        tasks, rows = self._ssn.ledger.tasks, self._ssn.tasks_of_row(job_row)
        rows = rows[(tasks.status[rows] == TaskStatus.PENDING) & ~tasks.gated[rows]]
        verdict = PodVerdict.of(names.POD_REASON_UNDETERMINED, refusal)
        for row in rows.tolist():
            yield from self._pod(self._ssn.task_info(row), verdict)

    def _pod(self, info: TaskInfo, verdict: PodVerdict, nominated: str = "") -> Iterator[Effect]:
        reason, message = verdict.reported
        is_said = self._is_said(info.reported, reason, message)
        # A nomination is written again with new evictions, even if the pod names the node already.
        if not is_said or nominated:
            yield PodCondition(info.ref, reason, message, verdict.refusal.reason, nominated)
        if not is_said:
            yield Event(info.ref, "Warning", "FailedScheduling", message)

    # -- queues ----------------------------------------------------------------------------------------------------

    def _queues(self) -> Iterator[Effect]:
        ssn = self._ssn
        sums = ssn.used_by_queue()
        tree = lay({name: queue.parent for name, queue in ssn.queues.items()})
        for name in reversed(tree.order[1:]):
            # Usage of the queues below counts, too, whichever plugin divides the cluster.
            if (parent := tree.parents[name]) in sums:
                sums[parent] += sums[name]
        add_devices(ssn, sums, tree.above)
        left = {each for name in ssn.snapshot.left_queues for each in (name, *tree.above(name))}
        for name, queue in ssn.queues.items():
            if name in left:
                continue
            amounts = ssn.axis.amounts(sums[name])
            allocated = {resource: canonical(resource, units) for resource, units in amounts.items()}
            for resource in ("cpu", "memory"):
                allocated.setdefault(resource, "0")
            if not _same_amounts(allocated, queue):
                yield QueueAllocated(name, allocated)

    def _invalid_queues(self) -> Iterator[Effect]:
        """Warnings for amounts and weights that are not used as written, whichever plugins read them."""
        for name, queue in self._ssn.queues.items():
            for problem in queue.problems:
                if problem.startswith("spec."):
                    yield Event(queue.ref, "Warning", Reason.INVALID_QUEUE.value, explain.invalid_queue(name, problem))


def _with_findings(ssn: Session, job: Job) -> tuple[Condition, ...]:
    """The PodGroup's conditions, with those that plugins give it."""
    conditions = job.info.conditions
    for wanted in _new_findings(ssn, job.row):
        conditions = (*(each for each in conditions if each.type != wanted.type), wanted)
    return conditions


def _new_findings(ssn: Session, row: int) -> list[Condition]:
    """Conditions that plugins give the PodGroup and that it does not have."""
    wanted, info = ssn.findings.conditions.get(row), ssn.snapshot.jobs[row]
    if wanted is None or info is None:
        return []
    known = {each.said for each in info.conditions}
    return [each for each in wanted.values() if each.said not in known]


def _while_incomplete(job: Job, phase: Phase) -> Phase:
    """The phase of a job that lacks tasks: Unknown when some of its tasks run."""
    if job.count(TaskStatus.RUNNING):
        return Phase.UNKNOWN
    return Phase.PENDING if phase is Phase.UNKNOWN else phase


def _is_filled_by_leavers(job: Job) -> bool:
    """Whether it would be complete if its leaving pods stayed."""
    return job.ready + job.count(TaskStatus.RELEASING) >= job.min_member


def _is_marked_unschedulable(conditions: Sequence[Condition]) -> bool:
    """Whether `Unschedulable` is the latest condition."""
    known = next((condition for condition in conditions if condition.type == names.UNSCHEDULABLE), None)
    return known is not None and not _is_outdated(known, conditions)


def _is_outdated(known: Condition | None, conditions: Sequence[Condition]) -> bool:
    """Whether the opposite condition is later: `Scheduled` after `Unschedulable`, or the other way round. In the same
    second it is if it is behind it."""
    if known is None or known.last_transition_time is None:
        return False
    since = known.last_transition_time, next(at for at, each in enumerate(conditions) if each is known)
    return any(
        other.last_transition_time is not None and (other.last_transition_time, at) > since
        for at, other in enumerate(conditions)
        if other.type in _OPPOSITES and other is not known
    )


def _condition_reason(verdict: Refusal) -> str:
    """Volcano's strings: an invalid job has its own reason, everything else is NotEnoughResources."""
    if verdict.reason is Reason.NOT_ENOUGH_TASKS:
        return names.NOT_ENOUGH_PODS_OF_TASK if "minTaskMember" in verdict.message else names.NOT_ENOUGH_TASKS
    return names.NOT_ENOUGH_RESOURCES


def _same_amounts(allocated: dict[str, str], queue: QueueInfo) -> bool:
    if allocated == queue.allocated:
        return True
    try:
        stored = {name: parse_nano(text) for name, text in queue.allocated.items()}
    except QuantityError:
        return False
    return stored == {name: parse_nano(text) for name, text in allocated.items()}
