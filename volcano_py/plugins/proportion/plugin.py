"""proportion: queues go in order of their shares and are held to what they deserve."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from volcano_py.api.reasons import Reason
from volcano_py.api.wording.amounts import amount
from volcano_py.api.wording.explain import Ceiling, over_ceiling, queue_closed
from volcano_py.api.wording.holders import Holders
from volcano_py.framework.eviction.units import Need, Unit, Verdict
from volcano_py.framework.job import Job, Placement, Task
from volcano_py.framework.placement.row_groups import group_rows
from volcano_py.framework.plugin import Key, Plugin
from volcano_py.framework.session import Session
from volcano_py.framework.votes import PERMIT, PLENTY, Ballot, Room, Vote
from volcano_py.plugins.amounts.sparse_requests import RequestsByClass, SparseRequest
from volcano_py.plugins.proportion.account import QueueAccount
from volcano_py.plugins.proportion.accounts import open_accounts
from volcano_py.plugins.proportion.entitlements import Entitlements
from volcano_py.plugins.queues.guarantees import not_kept
from volcano_py.plugins.queues.inqueue_requests import InqueueRequests
from volcano_py.plugins.queues.queue_amounts import charged, promised, units_by_queue
from volcano_py.plugins.queues.takings import Takings
from volcano_py.state.infos import QueueInfo
from volcano_py.state.table.axis import PODS
from volcano_py.state.table.ledger import Rows
from volcano_py.state.task_class import Refusal, TaskClass


class Proportion(Plugin):
    """What a queue deserves is its weight's part of the cluster without what pods of other schedulers hold, no more
    than it asks for or may have, and no less than it is guaranteed; what others leave is shared on (see water_filling).

    Places for pods (`pods`) count in shares but are not held against a queue: they are the nodes' business, as in
    Volcano.
    """

    name = "proportion"
    judges_units = True
    guards = frozenset({"reclaimable"})

    def on_session_open(self, ssn: Session) -> None:
        self._ssn = ssn
        self._total: list[int] = ssn.total.tolist()
        self._available: list[int] = ssn.available.tolist()
        nodes = ssn.ledger.nodes
        self._largest: list[int] = nodes.allocatable[nodes.present].max(axis=0, initial=0).tolist()
        self._promises = ssn.shared(InqueueRequests)
        ssn.shared(Takings).let_owner_estimate(self._could_reclaim)
        self._opened = open_accounts(ssn, self._promises)
        self._entitlements: Entitlements | None = None
        """Worked out when a job asks for them that would be kept out."""
        self._accounts = self._opened.by_name
        self._by_slot = {account.info.slot: account for account in self._accounts.values()}
        self._asked = RequestsByClass()
        self._guaranteed: dict[int, Holders] = {}

    @property
    def _takings(self) -> Takings:
        """Not kept here, as it knows this plugin: each would keep the other."""
        return self._ssn.shared(Takings)

    def on_session_close(self, ssn: Session) -> None:
        ssn.emit(list(not_kept(self._opened.infos, self._opened.kept, ssn.axis.names, ssn.total)))

    def describe_queues(self) -> Mapping[str, Mapping[str, Any]]:
        amounts = self._ssn.axis.amounts
        inqueue = promised(self._ssn, InqueueRequests(self._ssn)).sums(len(self._ssn.snapshot.queue_names))
        names = [None if info is None else info.name for info in self._opened.infos]
        missing = {names[row]: amounts(units) for row, units in self._opened.kept.missing().items()}
        return {
            name: {
                "request": amounts(np.array(account.request)),
                "deserved": amounts(np.array(account.ceiling)),
                "real_capability": amounts(np.array(account.real_capability), keep_zero=True),
                "guarantee": amounts(np.array(account.guarantee)),
                "guarantee_not_kept": missing.get(name, {}),
                "inqueue": amounts(inqueue[account.info.slot]),
                "share": account.share,
                "overused": account.is_overused,
            }
            for name, account in self._accounts.items()
        }

    # -- order and ceilings ----------------------------------------------------------------------------------------

    def queue_order(self, queue: QueueInfo) -> Key:
        return -queue.priority, self._accounts[queue.name].share

    def overused(self, queue: QueueInfo) -> bool:
        """It holds all it deserves. Where only the size of the cluster keeps it from more, the nodes report that."""
        account = self._accounts[queue.name]
        return account.is_overused and not any(
            wanted > account.most(dim) and ceiling >= available
            for dim, (wanted, ceiling, available) in enumerate(
                zip(account.request, account.ceiling, self._available, strict=True)
            )
        )

    def allocatable(self, queue: QueueInfo, task_class: TaskClass) -> Room:
        """Up to what the queue deserves.

        Where that is all that queues can share, and for pods that are larger than any node, it is left to the nodes to
        refuse: they report what is missing, and autoscalers act on that only.
        """
        if not queue.is_open:
            return Room(0, Refusal(Reason.QUEUE_CLOSED, queue_closed(queue.name, queue.state)))
        account, asked = self._accounts[queue.name], self._asked[task_class]
        if any(wanted > self._largest[dim] for dim, wanted in asked):
            return PLENTY
        room = self._room(account, account.held, asked)
        if not any(account.leaving):
            return room
        return msgspec.structs.replace(room, meanwhile=self._room(account, account.used, asked))

    def _room(self, account: QueueAccount, held: list[int], asked: SparseRequest) -> Room:
        """How many more tasks may come while so much is held, and what stops the next one."""
        room, tightest = PLENTY.count, 0
        for dim, wanted in asked:
            ceiling = account.ceiling[dim]
            if dim != PODS and ceiling < self._available[dim]:
                left = (ceiling - held[dim]) // wanted
                if left < room:
                    room, tightest = left, dim
        if room > 0:
            return Room(room)
        wanted = dict(asked)[tightest]
        short = wanted - (account.ceiling[tightest] - held[tightest])
        return Room(0, self._over_deserved(account, held, tightest, wanted), (tightest, short))

    def preemptive(self, queue: QueueInfo, tasks: Rows) -> bool:
        """Only a queue that stays within what it deserves may take from others."""
        if not queue.is_open:
            return False
        account = self._accounts[queue.name]
        ledger = self._ssn.ledger
        total: list[int] = ledger.classes.request[ledger.tasks.task_class[tasks]].sum(axis=0).tolist()
        asked = [(dim, wanted) for dim, wanted in enumerate(total) if wanted and dim != PODS]
        return all(account.most(dim) + wanted <= account.ceiling[dim] for dim, wanted in asked)

    def reclaimable(self, reclaimer: Task, candidates: Rows) -> NDArray[np.bool_]:  # noqa: ARG002
        """What a queue holds beyond what it deserves, and is not guaranteed, one pod after the other."""
        taken: defaultdict[int, list[int]] = defaultdict(lambda: [0] * len(self._total))
        victims = np.zeros(len(candidates), dtype=np.bool_)
        for place, (row, slot) in enumerate(zip(candidates.tolist(), self._slots(candidates).tolist(), strict=True)):
            account, asked = self._by_slot.get(slot), self._asked[self._ssn.task_class(row)]
            if account is not None and account.gives(asked, taken[slot]):
                victims[place] = True
                for dim, units in asked:
                    taken[slot][dim] += units
        return victims

    def judge_unit(self, point: str, need: Need, unit: Unit) -> Verdict:  # noqa: ARG002
        """What the queue holds beyond what it deserves of something that is lacking, and is not guaranteed."""
        return min(
            self._by_slot[slot].judge(request, core, need.lacking.tolist())
            for slot, request, core in units_by_queue(self._ssn.ledger, unit)
        )

    def possible_victims(self, point: str, task: Task, candidates: Rows) -> NDArray[np.bool_] | None:  # noqa: ARG002
        """Those that would go if they were the first to go; pods of one class and queue come to the same."""
        if point != "reclaimable":
            return None
        beyond = np.zeros(len(self._ssn.snapshot.queue_names), dtype=np.bool_)
        beyond[[slot for slot, account in self._by_slot.items() if account.is_beyond]] = True
        victims: NDArray[np.bool_] = beyond[self._slots(candidates)]
        if victims.any():
            victims[victims] = self._first_to_go(candidates[victims])
        return victims

    def _first_to_go(self, candidates: Rows) -> NDArray[np.bool_]:
        """[K] each as if no other pod had been evicted before it."""
        nothing = [0] * len(self._total)
        slots = self._slots(candidates)
        places, firsts = group_rows([slots, self._ssn.ledger.tasks.task_class[candidates]])
        giving = [
            self._by_slot[slot].gives(self._asked[self._ssn.task_class(row)], nothing)
            for row, slot in zip(candidates[firsts].tolist(), slots[firsts].tolist(), strict=True)
        ]
        return np.array(giving, dtype=np.bool_)[places]

    def _slots(self, candidates: Rows) -> NDArray[np.int32]:
        """[K] the queues of the candidates."""
        return self._ssn.ledger.tasks.queue[candidates]

    # -- enqueue ---------------------------------------------------------------------------------------------------

    def job_enqueueable(self, job: Job) -> Ballot:
        """Up to the queue's capability, together with what its jobs hold or were promised.

        What jobs hold beyond their minResources does not count: it can be had back.
        """
        queue = job.queue
        if not queue.is_open:
            return Ballot(Vote.REJECT, Refusal(Reason.QUEUE_CLOSED, queue_closed(queue.name, queue.state)))
        if job.min_resources is None:
            return PERMIT
        account, wanted = self._accounts[queue.name], job.min_resources.tolist()
        if _exceeded(account, wanted, account.inqueue) is None:
            return PERMIT
        bounds = self._promises.bounds()
        wanted, less = bounds.asked(job).tolist(), bounds.without_effect(job, np.array([queue.slot]))
        inqueue = [promised - without_effect for promised, without_effect in zip(account.inqueue, less, strict=True)]
        dim = _exceeded(account, wanted, inqueue)
        if dim is None:
            return PERMIT
        if _exceeded(account, wanted, inqueue, self._takings.in_queue(job)) is None:
            self._takings.rely(job)
            return PERMIT
        return Ballot(Vote.REJECT, self._over_capability(account, dim, wanted[dim], inqueue[dim]))

    def job_enqueued(self, job: Job) -> None:
        if job.min_resources is not None:
            inqueue = self._accounts[job.queue.name].inqueue
            for dim, wanted in enumerate(self._promises.add(job).tolist()):
                inqueue[dim] += wanted
            self._takings.admitted(job)

    def _could_reclaim(self, job: Job, asked: list[int]) -> list[int]:
        """[R] see `Takings`."""
        if self._entitlements is None:
            self._entitlements = Entitlements(self._ssn, self._accounts)
        return self._entitlements.could_reclaim(self._accounts[job.queue.name], asked)

    # -- events ----------------------------------------------------------------------------------------------------

    def on_allocate(self, placement: Placement) -> None:
        self._book(placement, 1)

    def on_deallocate(self, placement: Placement) -> None:
        self._book(placement, -1)

    # -- helpers ---------------------------------------------------------------------------------------------------

    def _book(self, placement: Placement, sign: int) -> None:
        for slot, count in charged(self._ssn, placement):
            self._by_slot[slot].book(self._asked[placement.task_class], sign * count, placement.status)

    def _over_deserved(self, account: QueueAccount, held: list[int], dim: int, wanted: int) -> Refusal:
        units = account.leaving[dim] if held is account.used else 0
        going = f"{amount(self._ssn.axis.names[dim], units)} by terminating pods" if units else ""
        return self._refusal(account, dim, wanted, account.ceiling[dim], allocated=held[dim], holder=going)

    def _over_capability(self, account: QueueAccount, dim: int, wanted: int, inqueue: int) -> Refusal:
        surplus, held = account.surplus[dim], account.firm[dim]
        beyond = f"and {amount(self._ssn.axis.names[dim], surplus)} beyond minResources, not counted" if surplus else ""
        limit = account.real_capability[dim]
        return self._refusal(account, dim, wanted, limit, allocated=held, inqueue=inqueue, holder=beyond)

    def _refusal(self, account: QueueAccount, dim: int, wanted: int, limit: int, **numbers: Any) -> Refusal:
        """The sentence, by what the limit comes from: the first of the queue's bounds that it equals."""
        if limit == account.capability[dim]:
            reason, kind = Reason.OVER_CAPABILITY, Ceiling.CAPABILITY
        elif limit == self._total[dim]:
            reason, kind = Reason.CLUSTER_OVERCOMMITTED, Ceiling.CLUSTER
        elif limit == account.real_capability[dim]:
            reason, kind = Reason.OVER_CAPABILITY, Ceiling.REAL_CAPABILITY
        else:
            reason, kind = Reason.OVER_DESERVED, Ceiling.DESERVED
        name, resource = account.info.name, self._ssn.axis.names[dim]
        kept = self._guaranteed_beside(account, dim) if kind is Ceiling.REAL_CAPABILITY else ""
        text = over_ceiling(name, resource, asked=wanted, ceiling=limit, kind=kind, kept=kept, **numbers)
        return Refusal(reason, text)

    def _guaranteed_beside(self, account: QueueAccount, dim: int) -> str:
        """Other queues for which something is kept of a resource, and how much."""
        if dim not in self._guaranteed:
            parts = ((name, each.guarantee[dim]) for name, each in self._accounts.items())
            self._guaranteed[dim] = Holders(self._ssn.axis.names[dim], parts)
        return self._guaranteed[dim].summary([account.info.name])


def _exceeded(
    account: QueueAccount, wanted: Sequence[int], inqueue: Sequence[int], freed: Sequence[int] = ()
) -> int | None:
    """The first resource of which the queue, with `inqueue` [R] promised and `freed` [R] back, cannot promise `wanted`
    [R] as well."""
    freed = freed or [0] * len(wanted)
    return next(
        (
            dim
            for dim, asked in enumerate(wanted)
            if asked
            and dim != PODS
            and account.firm[dim] + inqueue[dim] + asked - freed[dim] > account.real_capability[dim]
        ),
        None,
    )
