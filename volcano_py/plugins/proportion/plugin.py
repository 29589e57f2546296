"""proportion: queues go in order of their shares and are held to what they, and the queues above them, deserve."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Mapping
from operator import attrgetter
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from volcano_py.api.queues.fields import QueueField
from volcano_py.framework.eviction.units import Need, Unit, Verdict
from volcano_py.framework.job import Job, Placement, Task
from volcano_py.framework.placement.row_groups import group_rows
from volcano_py.framework.plugin import Key, Plugin
from volcano_py.framework.session import Session
from volcano_py.framework.votes import PERMIT, PLENTY, Ballot, Room, Vote
from volcano_py.plugins.amounts.sparse_requests import RequestsByClass, SparseRequest, asked_together
from volcano_py.plugins.proportion.account import QueueAccount
from volcano_py.plugins.proportion.accounts import open_accounts
from volcano_py.plugins.proportion.entitlements import Entitlements
from volcano_py.plugins.proportion.losing import Losing
from volcano_py.plugins.proportion.messages import Refusals
from volcano_py.plugins.proportion.outlook import QueueOutlook
from volcano_py.plugins.queues.base_account import in_common
from volcano_py.plugins.queues.enqueue_check import first_exceeded
from volcano_py.plugins.queues.guarantees import not_kept
from volcano_py.plugins.queues.inqueue_requests import InqueueRequests
from volcano_py.plugins.queues.queue_amounts import charged, promised, units_by_queue, used
from volcano_py.plugins.queues.takings import Takings
from volcano_py.plugins.queues.tree_events import tree_events
from volcano_py.plugins.queues.tree_messages import Bars, names_for_jobs, not_for_job
from volcano_py.state.infos import QueueInfo
from volcano_py.state.status import TaskStatus
from volcano_py.state.table.axis import PODS
from volcano_py.state.table.table import Rows
from volcano_py.state.task_class import Refusal, TaskClass


class Proportion(Plugin):
    """What a queue deserves is its weight's part of the cluster without what pods of other schedulers hold, no more
    than it asks for or may have, and no less than it is guaranteed; what others leave is shared on (see water_filling).
    With `enableHierarchy` queues stand in a tree by `spec.parent`: what a queue deserves is divided among the queues
    below it in the same way, and what those hold counts for it.

    Places for pods (`pods`) count in shares but are not held against a queue: they are the nodes' business, as in
    Volcano.
    """

    name = "proportion"
    allows_series = True
    sees_jobs_alike = True
    judges_units = True
    guards = frozenset({"reclaimable"})
    queue_fields = frozenset({QueueField.GUARANTEE})
    hierarchy_queue_fields = frozenset({QueueField.PARENT})
    hierarchy_points = frozenset({"queue_paths", "branch_order", "job_valid", "victim_queue_order"})

    def on_session_open(self, ssn: Session) -> None:
        self._ssn = ssn
        self._total: list[int] = ssn.total.tolist()
        self._available: list[int] = ssn.available.tolist()
        nodes = ssn.ledger.nodes
        self._largest: list[int] = nodes.allocatable[nodes.present].max(axis=0, initial=0).tolist()
        self._is_any_leaving = bool(ssn.ledger.queues.leaving.any())
        self._promises = ssn.shared(InqueueRequests)
        ssn.shared(Takings).let_owner_estimate(self._could_reclaim)
        self._opened = open_accounts(ssn, self._promises, hierarchy=self.flags.hierarchy)
        self._entitlements: Entitlements | None = None
        self._accounts = self._opened.by_name
        self._by_slot = {queue.slot: self._accounts[name] for name, queue in ssn.queues.items()}
        self._asked = RequestsByClass()
        self._refusals = Refusals(ssn.axis.names, self._total, self._opened.by_row, ssn.snapshot.hard_shard)
        self._bars = Bars(ssn.queues)
        self._slots_below: dict[int, Rows] = {}
        """Row → slots of the queue and of those below it."""

    @property
    def _takings(self) -> Takings:
        """Not kept here, as it knows this plugin: each would keep the other."""
        return self._ssn.shared(Takings)

    def on_session_close(self, ssn: Session) -> None:
        opened = self._opened
        ssn.emit(list(not_kept(opened.rows.infos, opened.reach.kept, ssn.axis.names, ssn.total)))
        if opened.rows.tree is not None:
            ssn.emit(list(tree_events(ssn, opened.rows, opened.by_row, ("guarantee",))))

    def describe_queues(self) -> Mapping[str, Mapping[str, Any]]:
        """In a tree with sums over the queues below."""
        amounts, opened = self._ssn.axis.amounts, self._opened
        inqueue = opened.rows.with_below(*promised(self._ssn, InqueueRequests(self._ssn))).tolist()
        missing = opened.reach.kept.missing()
        described = {
            name: {
                "request": amounts(account.request),
                "deserved": amounts(account.reported),
                "real_capability": amounts(account.real_capability, keep_zero=True),
                "guarantee": amounts(account.guarantee),
                "guarantee_not_kept": amounts(missing[account.row]) if account.row in missing else {},
                "inqueue": amounts(inqueue[account.row]),
                "share": account.share,
                "overused": account.is_overused,
            }
            for name, account in self._accounts.items()
        }
        if opened.rows.tree is not None:
            held = opened.rows.with_below(*used(self._ssn)).tolist()
            for name, account in self._accounts.items():
                described[name]["allocated"] = amounts(held[account.row])
                described[name]["capability"] = amounts(account.capability)
        return described

    def evictions_follow_from(self) -> Hashable:
        """What queues deserve follows from what they ask for."""
        return tuple(tuple(account.deserved) for account in self._opened.by_row)

    # -- order and ceilings ----------------------------------------------------------------------------------------

    def queue_order(self, queue: QueueInfo) -> Key:
        """Side by side, queues of equal priority go by their shares; in the tree it is the turn of their branches."""
        if self._opened.rows.tree is not None:
            return -queue.priority
        return -queue.priority, self._accounts[queue.name].share

    def queue_paths(self) -> Mapping[str, tuple[str, ...]]:
        assert self._opened.rows.tree is not None, "asked with enableHierarchy only"
        return self._opened.rows.tree.paths()

    def branch_order(self, path: tuple[str, ...]) -> Key:
        """Every node of the tree is a queue."""
        return self._accounts[path[-1]].share

    def job_valid(self, job: Job) -> Refusal | None:
        return not_for_job(self._ssn, self._accounts[job.queue.name], job)

    def certainly_valid(self, rows: Rows) -> NDArray[np.bool_]:
        return self._ssn.are_in_queues(rows, names_for_jobs(self._accounts.values()))

    def overused(self, queue: QueueInfo) -> bool:
        """It, or a queue above it, holds all it deserves. Where only the size of the cluster keeps it from more, the
        nodes report that; where it starts no job at all, that is reported."""
        account = self._accounts[queue.name]
        for each in account.limiting:
            if each.is_overused and not self._lacks_nodes(each):
                return self._bars.of(account) is None
        return False

    def _lacks_nodes(self, account: QueueAccount) -> bool:
        """It asks for more than it deserves of what all queues can share."""
        return any(
            wanted > account.most(dim) and ceiling >= available
            for dim, (wanted, ceiling, available) in enumerate(
                zip(account.request, account.ceiling, self._available, strict=True)
            )
        )

    def allocatable(self, queue: QueueInfo, task_class: TaskClass) -> Room:
        """Up to what the queue and those above it deserve.

        Where that is all that queues can share, and for pods that are larger than any node, it is left to the nodes to
        refuse: they report what is missing, and autoscalers act on that only.
        """
        account, asked = self._accounts[queue.name], self._asked[task_class]
        if (refusal := self._bars.of(account)) is not None:
            return Room(0, refusal)
        for dim, wanted in asked:
            if wanted > self._largest[dim]:
                return PLENTY
        room = self._room(account, asked)
        if not self._is_any_leaving or not any(any(each.leaving) for each in account.limiting):
            return room
        return msgspec.structs.replace(room, meanwhile=self._room(account, asked, at_once=True))

    def refuses_together(self, queue: QueueInfo, tasks: Rows) -> Refusal | None:
        account, asked = self._accounts[queue.name], asked_together(self._ssn.ledger, tasks)
        rooms = (self._room(account, asked, at_once=at_once, by_gang=True) for at_once in (False, True))
        return next((room.refusal for room in rooms if room.refusal is not None), None)

    def _room(
        self, account: QueueAccount, asked: SparseRequest, *, at_once: bool = False, by_gang: bool = False
    ) -> Room:
        """How many more tasks, or `by_gang` equal gangs, may come, and what stops the next one; `at_once`: while what
        is leaving still counts."""
        room, bound, tightest = PLENTY.count, account, 0
        for each in account.limiting:
            held = each.used if at_once else each.held
            for dim, wanted in asked:
                ceiling = each.ceiling[dim]
                if dim != PODS and ceiling < self._available[dim]:
                    left = (ceiling - held[dim]) // wanted
                    # Of equal bounds the highest is reported: the others follow from it.
                    if left < room or (left == room and each is not bound):
                        room, bound, tightest = left, each, dim
        if room > 0:
            return Room(room)
        wanted = dict(asked)[tightest]
        held = bound.used if at_once else bound.held
        short = wanted - (bound.ceiling[tightest] - held[tightest])
        whose = "" if bound is account else bound.name
        refusal = self._refusals.over_deserved(account, bound, tightest, wanted, at_once=at_once, by_gang=by_gang)
        return Room(0, refusal, (tightest, short), whose)

    def look_ahead(self, task_class: TaskClass) -> QueueOutlook:
        shut = self._bars.shut(self._accounts.values())
        return QueueOutlook(self._opened, self._asked[task_class], self._available, shut)

    def preemptive(self, queue: QueueInfo, tasks: Rows) -> bool:
        """Only a queue that stays within what it deserves may take from others."""
        account = self._accounts[queue.name]
        if self._bars.of(account) is not None:
            return False
        asked = asked_together(self._ssn.ledger, tasks)
        return all(account.most(dim) + wanted <= account.ceiling[dim] for dim, wanted in asked if dim != PODS)

    def reclaimable(self, reclaimer: Task, candidates: Rows) -> NDArray[np.bool_]:
        """What queues hold beyond what they deserve, and are not guaranteed, one pod after the other."""
        losing = self._losing(reclaimer)
        taken: defaultdict[int, list[int]] = defaultdict(lambda: [0] * len(self._total))
        victims = np.zeros(len(candidates), dtype=np.bool_)
        for place, (row, slot) in enumerate(zip(candidates.tolist(), self._slots(candidates).tolist(), strict=True)):
            accounts, asked = losing[slot], self._asked[self._ssn.task_class(row)]
            if accounts and all(account.gives(asked, taken[account.row]) for account in accounts):
                victims[place] = True
                for account in accounts:
                    for dim, units in asked:
                        taken[account.row][dim] += units
        return victims

    def judge_unit(self, point: str, need: Need, unit: Unit) -> Verdict:  # noqa: ARG002
        """What queues hold beyond what they deserve of something that is lacking, and are not guaranteed."""
        losing, lacking = self._losing(need.task), need.lacking.tolist()
        return min(
            min((account.judge(request, core, lacking) for account in losing[slot]), default=Verdict.NO)
            for slot, request, core in units_by_queue(self._ssn.ledger, unit)
        )

    def is_guaranteed(self, need: Need, unit: Unit) -> bool:
        claimant = self._accounts[need.task.job.queue.name]
        return any(
            self._by_slot[slot].loses_guarantee(request, claimant)
            for slot, request, _ in units_by_queue(self._ssn.ledger, unit)
            if slot in self._by_slot
        )

    def possible_victims(self, point: str, task: Task, candidates: Rows) -> NDArray[np.bool_] | None:
        """Those that would go if they were the first to go; pods of one class and queue come to the same."""
        if point != "reclaimable":
            return None
        beyond = np.zeros(len(self._ssn.snapshot.queue_names), dtype=np.bool_)
        beyond[[slot for slot, account in self._by_slot.items() if account.is_beyond]] = True
        victims: NDArray[np.bool_] = beyond[self._slots(candidates)]
        if victims.any():
            victims[victims] = self._first_to_go(task, candidates[victims])
        return victims

    def _first_to_go(self, reclaimer: Task, candidates: Rows) -> NDArray[np.bool_]:
        """[K] each as if no other pod had been evicted before it."""
        nothing, losing = [0] * len(self._total), self._losing(reclaimer)
        slots = self._slots(candidates)
        places, firsts = group_rows([slots, self._ssn.ledger.tasks.task_class[candidates]])
        giving = []
        for row, slot in zip(candidates[firsts].tolist(), slots[firsts].tolist(), strict=True):
            accounts, asked = losing[slot], self._asked[self._ssn.task_class(row)]
            giving.append(bool(accounts) and all(account.gives(asked, nothing) for account in accounts))
        return np.array(giving, dtype=np.bool_)[places]

    def _losing(self, reclaimer: Task) -> Losing:
        return Losing(self._by_slot, self._accounts[reclaimer.job.queue.name])

    def victim_queue_order(self, queue: QueueInfo, preemptor: QueueInfo) -> Key:
        """Siblings before cousins, and those before what is further away."""
        return -in_common(self._accounts[queue.name], self._accounts[preemptor.name])

    def _slots(self, candidates: Rows) -> NDArray[np.int32]:
        """[K] the queues of the candidates."""
        return self._ssn.ledger.tasks.queue[candidates]

    # -- enqueue ---------------------------------------------------------------------------------------------------

    def job_enqueueable(self, job: Job) -> Ballot:
        """Up to the real capability of the queue and those above it, with what jobs hold or were promised."""
        account = self._accounts[job.queue.name]
        if (refusal := self._bars.of_job(self._ssn, account, job)) is not None:
            return Ballot(Vote.REJECT, refusal)
        if job.min_resources is None:
            return PERMIT
        chain, wanted = account.limiting, job.min_resources.tolist()
        if first_exceeded(chain, wanted, inqueue=attrgetter("inqueue"), deserved=self._due) is None:
            return PERMIT
        wanted = self._promises.bounds().asked(job).tolist()
        counting = {each.row: self._counting(each, job) for each in chain}
        exceeded = first_exceeded(chain, wanted, inqueue=lambda each: counting[each.row], deserved=self._due)
        if exceeded is None:
            return PERMIT
        freed = self._takings.in_queue(job)
        relying = first_exceeded(
            chain, wanted, inqueue=lambda each: counting[each.row], deserved=self._due, freed=freed
        )
        if relying is None:
            self._takings.rely(job)
            return PERMIT
        bound, dim = exceeded
        for each in bound.above:
            # A ceiling that is another queue's is reported for that one.
            if each in chain and bound.written[dim] > bound.real_capability[dim] == each.real_capability[dim]:
                bound = each
        refusal = self._refusals.over_capability(account, bound, dim, wanted[dim], counting[bound.row][dim])
        return Ballot(Vote.REJECT, refusal)

    def _due(self, account: QueueAccount) -> list[int]:
        return self._entitled.due(account)

    @property
    def _entitled(self) -> Entitlements:
        """Worked out when a job asks for it that would be kept out."""
        if self._entitlements is None:
            self._entitlements = Entitlements(self._ssn, self._opened)
        return self._entitlements

    def _counting(self, account: QueueAccount, job: Job) -> list[int]:
        """[R] the promises of the queue and those below it that count against `job` when it is to be admitted."""
        if account.row not in self._slots_below:
            slots = [slot for slot, each in self._by_slot.items() if account in each.chain]
            self._slots_below[account.row] = np.array(slots)
        return self._promises.counting(job, account, self._slots_below[account.row])

    def job_enqueued(self, job: Job) -> None:
        if job.min_resources is not None:
            self._accounts[job.queue.name].promise(self._promises.add(job).tolist())
            self._takings.admitted(job)

    def _could_reclaim(self, job: Job, asked: list[int]) -> list[int]:
        """[R] see `Takings`."""
        return self._entitled.could_reclaim(self._accounts[job.queue.name], asked)

    # -- events ----------------------------------------------------------------------------------------------------

    def on_allocate(self, placement: Placement) -> None:
        self._book(placement, 1)

    def on_deallocate(self, placement: Placement) -> None:
        self._book(placement, -1)

    # -- helpers ---------------------------------------------------------------------------------------------------

    def _book(self, placement: Placement, sign: int) -> None:
        if placement.status is TaskStatus.RELEASING:
            self._is_any_leaving = True
        for slot, count in charged(self._ssn, placement):
            self._by_slot[slot].book(self._asked[placement.task_class], sign * count, placement.status)
