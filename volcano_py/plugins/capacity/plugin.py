"""capacity: queues take turns by their shares, each within its ceiling and, in a tree, those of the queues above."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from operator import attrgetter
from typing import Any, Final, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from volcano_py.api.names import ROOT_QUEUE
from volcano_py.api.queues.fields import QueueField
from volcano_py.framework.devices.requests import DeviceRequests
from volcano_py.framework.devices.sums import added_up, holders
from volcano_py.framework.eviction.kinds import CandidateKinds
from volcano_py.framework.eviction.units import Need, Unit, Verdict
from volcano_py.framework.job import Job, Placement, Task
from volcano_py.framework.plugin import Key, Plugin
from volcano_py.framework.session import Session
from volcano_py.framework.status.wakeups import SOON
from volcano_py.framework.votes import PERMIT, PLENTY, Ballot, Room, Vote
from volcano_py.plugins.amounts.sparse_requests import RequestsByClass, SparseRequest, asked_together
from volcano_py.plugins.capacity.account import QueueAccount
from volcano_py.plugins.capacity.accounts import Accounts, accounts_at_once, open_accounts
from volcano_py.plugins.capacity.arguments import CapacityArguments
from volcano_py.plugins.capacity.beyond import Beyond
from volcano_py.plugins.capacity.events import queue_events
from volcano_py.plugins.capacity.headroom import tightest
from volcano_py.plugins.capacity.messages import Refusals
from volcano_py.plugins.capacity.outlook import QueueOutlook
from volcano_py.plugins.capacity.reclaim import ReclaimRight, rightful
from volcano_py.plugins.capacity.requests import Asked, Requests
from volcano_py.plugins.capacity.unit_rules import judge
from volcano_py.plugins.capacity.victims import Choose, given_up, given_up_first
from volcano_py.plugins.queues.base_account import in_common
from volcano_py.plugins.queues.enqueue_check import first_exceeded
from volcano_py.plugins.queues.inqueue_requests import InqueueRequests
from volcano_py.plugins.queues.queue_amounts import charged, promised, units_by_queue, used
from volcano_py.plugins.queues.takings import Takings
from volcano_py.plugins.queues.tree_messages import Bars, names_for_jobs, not_for_job
from volcano_py.state.infos import QueueInfo
from volcano_py.state.status import ALLOCATED_STATUSES, ON_NODE_STATUSES, STATUS_COUNT, TaskStatus
from volcano_py.state.table.axis import UNLIMITED, IntVector
from volcano_py.state.table.table import Rows
from volcano_py.state.task_class import Refusal, TaskClass

_ASKING: Final = ALLOCATED_STATUSES | (np.arange(STATUS_COUNT) == TaskStatus.PENDING)
"""[statuses] of tasks that count for what queues ask for."""


class _Accounting(NamedTuple):
    """The accounts of all queues, and the sentences that follow from them."""

    accounts: Accounts
    refusals: Refusals

    def book(self, row: int, asked: Asked, count: int) -> None:
        """`count` more tasks of the queue in that row (fewer, when negative) hold what they ask for."""
        account = self.accounts.by_row[row]
        if asked.shared:
            account.share_claims(asked.shared, count)
        if account.book(asked.units, count):
            self.refusals.guarantees_changed()


class Capacity(Plugin):
    """Decides by what the spec of a queue says: what it deserves, is guaranteed and may have at most.

    With `enableHierarchy` queues stand in a tree by `spec.parent`, and what a queue holds counts for all queues above
    it; otherwise they stand side by side. Queues may take more than they deserve while there is room; what is beyond
    can be reclaimed. Places for pods (`pods`) are the nodes' business, as in Volcano.
    """

    name = "capacity"
    allows_series = True
    sees_jobs_alike = True
    judges_units = True
    arguments_type = CapacityArguments
    guards = frozenset({"reclaimable"})
    queue_fields = frozenset({QueueField.DESERVED, QueueField.GUARANTEE, QueueField.DEVICES})
    hierarchy_queue_fields = frozenset({QueueField.PARENT})
    hierarchy_points = frozenset({"queue_paths", "branch_order", "job_valid", "victim_queue_order"})

    def on_session_open(self, ssn: Session) -> None:
        self._ssn = ssn
        self._promises = ssn.shared(InqueueRequests)
        ssn.shared(Takings).let_owner_estimate(self._could_reclaim)
        self._beyond: Beyond | None = None
        """Worked out when a job asks for it that would be kept out."""
        self._requests = Requests(ssn, with_devices=self.arguments.dynamic_resources)
        total = self._limiting_total()
        self._accounts = open_accounts(
            ssn, self._promises, total, hierarchy=self.flags.hierarchy, has_devices=bool(self._requests.dims)
        )
        self._total: list[int] = total.tolist()
        self._refusals = Refusals(ssn.axis.names, self._total, self._accounts, ssn.snapshot.hard_shard)
        self._accounting = [_Accounting(self._accounts, self._refusals)]
        """A second one, for bindings at once, is added as soon as anything is leaving."""
        nodes = ssn.ledger.nodes
        largest = nodes.allocatable[nodes.present].max(axis=0, initial=0)
        largest[list(self._requests.dims)] = UNLIMITED
        self._largest: list[int] = largest.tolist()
        self._asked = RequestsByClass()
        self._bars = Bars(ssn.queues)
        self._lacks_devices = self._holds_uncertain = False
        """A ceiling of devices refused something; a task was placed that may get fewer devices than are counted."""
        self._slots_below: dict[int, Rows] = {}
        """Row → slots of the queue and of those below it."""
        if ssn.ledger.queues.leaving.any():
            self._count_leaving()

    @property
    def _takings(self) -> Takings:
        """Not kept here, as it knows this plugin: each would keep the other."""
        return self._ssn.shared(Takings)

    def on_session_close(self, ssn: Session) -> None:
        ssn.emit(list(queue_events(ssn, self._accounts)))
        if self._lacks_devices and self._holds_uncertain:
            ssn.wakeups.recheck_at(ssn.now + SOON)  # what was chosen counts then

    def describe_queues(self) -> Mapping[str, Mapping[str, Any]]:
        """With sums over the queues below."""
        amounts, accounts = self._ssn.axis.amounts, self._accounts
        held = self._with_devices(accounts.sums(*used(self._ssn)), ON_NODE_STATUSES).tolist()
        inqueue = accounts.sums(*promised(self._ssn, InqueueRequests(self._ssn))).tolist()
        request = self._with_devices(accounts.request, _ASKING).tolist()
        missing = accounts.limits.kept.missing()
        return {
            name: {
                "allocated": amounts(held[account.row]),
                "request": amounts(request[account.row]),
                "deserved": amounts(account.deserved),
                "capability": amounts(account.capability),
                "real_capability": amounts(account.real_capability, keep_zero=True),
                "guarantee": amounts(account.guarantee),
                "guarantee_not_kept": amounts(missing[account.row]) if account.row in missing else {},
                "inqueue": amounts(inqueue[account.row]),
                "share": self._turn(account)[0],
                "overused": any(each.exceeds_deserved for each in self._both(account)),
            }
            for name, account in accounts.by_name.items()
        }

    # -- order -----------------------------------------------------------------------------------------------------

    def queue_order(self, queue: QueueInfo) -> Key:
        """Side by side, queues of equal priority go by their shares; in the tree it is the turn of their branches."""
        if self._accounts.tree is not None:
            return -queue.priority
        return -queue.priority, *self._turn(self._account(queue))

    def queue_paths(self) -> Mapping[str, tuple[str, ...]]:
        assert self._accounts.tree is not None, "asked with enableHierarchy only"
        return self._accounts.tree.paths()

    def branch_order(self, path: tuple[str, ...]) -> Key:
        """Every node of the tree is a queue."""
        return self._turn(self._accounts.by_name[path[-1]])

    # -- what a queue may take ---------------------------------------------------------------------------------------

    def job_valid(self, job: Job) -> Refusal | None:
        return not_for_job(self._ssn, self._account(job.queue), job)

    def certainly_valid(self, rows: Rows) -> NDArray[np.bool_]:
        return self._ssn.are_in_queues(rows, names_for_jobs(self._accounts.by_name.values()))

    def allocatable(self, queue: QueueInfo, task_class: TaskClass) -> Room:
        """The least that the queue and those above it have left.

        What only the whole cluster bounds, and pods larger than any node, are left to the nodes to refuse: they report
        what is missing, and autoscalers act on that only.
        """
        account, asked = self._account(queue), self._requests[task_class]
        refusal = self._bars.of(account)
        if refusal is not None:
            return Room(0, refusal)
        for dim, wanted in asked.units:
            if wanted > self._largest[dim]:
                return PLENTY
        room, *at_once = [self._room(each, account.row, asked) for each in self._accounting]
        return msgspec.structs.replace(room, meanwhile=at_once[0]) if at_once else room

    def refuses_together(self, queue: QueueInfo, tasks: Rows) -> Refusal | None:
        row, asked = self._account(queue).row, self._requests.together(tasks)
        rooms = (self._room(each, row, asked, by_gang=True) for each in self._accounting)
        return next((room.refusal for room in rooms if room.refusal is not None), None)

    def _room(self, accounting: _Accounting, row: int, asked: Asked, *, by_gang: bool = False) -> Room:
        """How many more tasks, or `by_gang` equal gangs, may come, and what stops the next one."""
        account = accounting.accounts.by_row[row]
        count, bound = tightest(account, asked, self._total)
        if bound is None or count > 0:
            return Room(min(count, PLENTY.count))
        ceiling = bound.account
        wanted = dict(asked.units).get(bound.dim, 0) + ceiling.once(asked.shared).get(bound.dim, 0)
        # (evictions are planned by what pods ask of nodes, and devices are chosen there one by one)
        is_of_devices = bound.dim in self._requests.dims
        self._lacks_devices |= is_of_devices
        short = None if is_of_devices else (bound.dim, wanted - bound.left)
        whose = "" if ceiling is account else ceiling.name or ROOT_QUEUE
        return Room(0, accounting.refusals.no_room(account, bound, wanted, by_gang=by_gang), short, whose)

    def look_ahead(self, task_class: TaskClass) -> QueueOutlook | None:
        asked = self._requests[task_class]
        if asked.shared:
            return None
        shut = self._bars.shut(self._accounts.by_name.values())
        accounts = [each.accounts for each in self._accounting]
        return QueueOutlook(accounts, asked.units, self._total, shut)

    def job_enqueueable(self, job: Job) -> Ballot:
        """Up to the real capability of the queue and those above it, with what jobs hold or were promised."""
        account = self._account(job.queue)
        refusal = self._bars.of_job(self._ssn, account, job)
        if refusal is not None:
            return Ballot(Vote.REJECT, refusal)
        devices = self._requests.least_devices(job)
        room = self._room(self._accounting[0], account.row, devices)
        if not room.count:
            return Ballot(Vote.REJECT, room.refusal)
        if job.min_resources is None:
            return PERMIT
        wanted: list[int] = job.min_resources.tolist()
        chain = account.chain if self._accounts.tree is not None else (account,)
        deserved = attrgetter("deserved")
        if first_exceeded(chain, wanted, inqueue=attrgetter("inqueue"), deserved=deserved) is None:
            return PERMIT
        wanted = self._promises.bounds().asked(job).tolist()
        counting = {each.row: self._counting(each, job) for each in account.chain}
        exceeded = first_exceeded(chain, wanted, inqueue=lambda each: counting[each.row], deserved=deserved)
        if exceeded is None:
            return PERMIT
        freed = self._takings.in_queue(job)
        relying = first_exceeded(chain, wanted, inqueue=lambda each: counting[each.row], deserved=deserved, freed=freed)
        if relying is None:
            self._takings.rely(job)
            return PERMIT
        above, dim = exceeded
        inqueue = counting[above.row][dim]
        return Ballot(Vote.REJECT, self._refusals.not_enqueued(account, above, dim, wanted[dim], inqueue))

    def _counting(self, account: QueueAccount, job: Job) -> list[int]:
        """[R] the promises of the queue and those below it that count against `job` when it asks to be admitted."""
        if account.row not in self._slots_below:
            below = np.array([each.row for each in self._accounts.by_row if account in each.chain])
            self._slots_below[account.row] = np.flatnonzero(np.isin(self._accounts.rows_of_slots, below))
        return self._promises.counting(job, account, self._slots_below[account.row])

    def job_enqueued(self, job: Job) -> None:
        if job.min_resources is not None:
            self._account(job.queue).promise(self._promises.add(job).tolist())
            self._takings.admitted(job)

    def _could_reclaim(self, job: Job, asked: list[int]) -> list[int]:
        """[R] see `Takings`."""
        if self._beyond is None:
            self._beyond = Beyond(self._accounts.by_row[1:])
        return self._beyond.could_reclaim(rightful(self._account(job.queue), self._level), asked)

    def evictions_follow_from(self) -> Hashable:
        """What queues deserve may follow from what they ask for."""
        return tuple(tuple(account.deserved) for account in self._accounts.by_row)

    # -- reclaim ---------------------------------------------------------------------------------------------------

    def preemptive(self, queue: QueueInfo, tasks: Rows) -> bool:
        """Only a queue that stays within what it deserves of something they ask for may take from others."""
        account = self._account(queue)
        if self._bars.of(account) is not None:
            return False
        asked = asked_together(self._ssn.ledger, tasks)
        rights = [self._right(each, asked) for each in self._both(account)]
        return all(right.entitled is not None and right.is_within_capability for right in rights)

    def reclaimable(self, reclaimer: Task, candidates: Rows) -> NDArray[np.bool_]:
        """What queues hold beyond what they deserve, and are not guaranteed."""
        return self._given_up(given_up, reclaimer, candidates)

    def judge_unit(self, point: str, need: Need, unit: Unit) -> Verdict:  # noqa: ARG002
        """See unit_rules.py."""
        account = self._account(need.task.job.queue)
        if self._bars.of(account) is not None:
            return Verdict.NO
        right, lacking = self._right(account, self._asked[need.task.task_class]), need.lacking.tolist()
        rows = self._accounts.rows_of_slots
        return min(
            judge(right, self._accounts.by_row[rows[slot]], request, core, lacking)
            for slot, request, core in units_by_queue(self._ssn.ledger, unit)
        )

    def is_guaranteed(self, need: Need, unit: Unit) -> bool:
        claimant, rows = self._account(need.task.job.queue), self._accounts.rows_of_slots
        return any(
            self._accounts.by_row[rows[slot]].loses_guarantee(request, claimant)
            for slot, request, _ in units_by_queue(self._ssn.ledger, unit)
        )

    def possible_victims(self, point: str, task: Task, candidates: Rows) -> NDArray[np.bool_] | None:
        """Those that would go if they were the first to go; pods of one class and queue come to the same."""
        if point != "reclaimable":
            return None
        places, firsts = self._ssn.shared(CandidateKinds).of(candidates, "queue", "task_class")
        of_kinds = self._given_up(given_up_first, task, candidates[firsts])
        return of_kinds[places] if of_kinds.any() else np.zeros(len(candidates), dtype=np.bool_)

    def victim_queue_order(self, queue: QueueInfo, preemptor: QueueInfo) -> Key:
        """Siblings before cousins, and those before what is further away."""
        return -in_common(self._account(queue), self._account(preemptor))

    # -- events ----------------------------------------------------------------------------------------------------

    def on_allocate(self, placement: Placement) -> None:
        self._book(placement, 1)

    def on_deallocate(self, placement: Placement) -> None:
        self._book(placement, -1)

    # -- helpers ---------------------------------------------------------------------------------------------------

    def _book(self, placement: Placement, sign: int) -> None:
        """For bindings at once, what is evicted stays until it is gone, and what is promised holds nothing yet."""
        asked, status = self._requests[placement.task_class], placement.status
        at_once = self._accounting[1:]
        self._holds_uncertain |= sign > 0 and not asked.is_certain
        if status is TaskStatus.RELEASING and not at_once:
            self._count_leaving()
        for slot, count in charged(self._ssn, placement):
            row = int(self._accounts.rows_of_slots[slot])
            self._accounting[0].book(row, asked, sign * count)
            for each in at_once:
                if status is TaskStatus.ALLOCATED:
                    each.book(row, asked, sign * count)
                elif status is TaskStatus.RELEASING:
                    each.accounts.by_row[row].leave(asked.units, -sign * count)

    def _limiting_total(self) -> IntVector:
        """[R] what the cluster limits all queues to together. Devices are left to the nodes."""
        total: IntVector = self._ssn.total.copy()
        total[list(self._ssn.shared(DeviceRequests).dims.values())] = UNLIMITED
        return total

    def _with_devices(self, amounts: NDArray[np.int64], statuses: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Amounts [Q, R] by row, and the devices of tasks in these statuses, of the queues below, too."""
        rows, found = self._accounts.rows_of_slots, amounts.copy()

        def counts_in(slot: int) -> list[int]:
            row = int(rows[slot])
            return [] if row < 0 else [each.row for each in self._accounts.by_row[row].chain]

        for row, devices in added_up(holders(self._ssn, statuses), counts_in).items():
            for dim, units in devices.items():
                found[row, dim] += units
        return found

    def _count_leaving(self) -> None:
        accounts = accounts_at_once(self._ssn, self._accounts, has_devices=bool(self._requests.dims))
        self._accounting.append(
            _Accounting(accounts, Refusals(self._ssn.axis.names, self._total, accounts, self._ssn.snapshot.hard_shard))
        )

    def _both(self, account: QueueAccount) -> list[QueueAccount]:
        """The account, and the one for bindings at once where there is a difference."""
        return [each.accounts.by_row[account.row] for each in self._accounting]

    def _turn(self, account: QueueAccount) -> tuple[float, bool, float]:
        """By the larger of what the queue will hold and what it holds now: deleted pods count until they are gone."""
        if len(self._accounting) == 1:
            return account.turn
        return max([each.turn for each in self._both(account)])

    def _account(self, queue: QueueInfo) -> QueueAccount:
        return self._accounts.by_name[queue.name]

    def _given_up(self, choose: Choose, reclaimer: Task, candidates: Rows) -> NDArray[np.bool_]:
        account = self._account(reclaimer.job.queue)
        if self._bars.of(account) is not None or not len(candidates):
            return np.zeros(len(candidates), dtype=np.bool_)
        ledger = self._ssn.ledger
        slots = ledger.tasks.queue[candidates]
        rows = np.where(slots >= 0, self._accounts.rows_of_slots[slots], -1)
        requests = ledger.classes.request[ledger.tasks.task_class[candidates]]
        right = self._right(account, self._asked[reclaimer.task_class])
        return choose(right, self._accounts.by_row, rows, requests)

    def _right(self, account: QueueAccount, asked: SparseRequest) -> ReclaimRight:
        return ReclaimRight.of(account, asked, self._level)

    @property
    def _level(self) -> int:
        level: int = self.arguments.ancestor_reclaim_level if self._accounts.tree is not None else 0
        return level
