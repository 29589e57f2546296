"""drf: which share decides at which extension point."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from volcano_py.api.queues.fields import QueueField
from volcano_py.api.reasons import Reason
from volcano_py.api.report import NamespaceShare
from volcano_py.api.wording.explain import invalid_queue
from volcano_py.framework.eviction.kinds import CandidateKinds
from volcano_py.framework.eviction.units import Need, Unit, Verdict
from volcano_py.framework.job import Job, Placement, Task
from volcano_py.framework.plugin import Key, Plugin
from volcano_py.framework.session import Session
from volcano_py.framework.votes import ABSTAIN, PLENTY, Ballot, Room, Vote
from volcano_py.plugins.amounts.shares import sums_up_to
from volcano_py.plugins.drf.entitlements import Entitlements
from volcano_py.plugins.drf.events import queue_events
from volcano_py.plugins.drf.job_shares import JobShares
from volcano_py.plugins.drf.layout import Path
from volcano_py.plugins.drf.namespaces import NamespaceShares, shares_of_namespaces
from volcano_py.plugins.drf.outlook import HierarchyOutlook
from volcano_py.plugins.drf.preemption import (
    TakenBy,
    alone,
    by_jobs,
    by_namespaces_and_jobs,
    gives_surplus,
    namespace_gives_whole,
)
from volcano_py.plugins.drf.queue_shares import QueueShares
from volcano_py.plugins.queues.inqueue_requests import InqueueRequests
from volcano_py.plugins.queues.takings import Takings
from volcano_py.plugins.queues.tree_messages import closed
from volcano_py.state.infos import QueueInfo
from volcano_py.state.status import TaskStatus
from volcano_py.state.table.axis import IntVector
from volcano_py.state.table.table import Rows
from volcano_py.state.task_class import Refusal, TaskClass


class Drf(Plugin):
    """Dominant resource fairness: whose largest part of any resource of the cluster is smallest goes first.

    (Ghodsi et al., Dominant Resource Fairness, NSDI 2011.)

    Between jobs always. Between the namespaces of a queue with `enableNamespaceOrder`: what a namespace's jobs hold in
    the queue, over the weight that its ResourceQuotas give it in `spec.hard["volcano.sh/namespace.weight"]`.
    Between queues with `enableHierarchy`, in the tree that their annotations `volcano.sh/hierarchy` and
    `volcano.sh/hierarchy-weights` describe.
    """

    name = "drf"
    allows_series = True
    sees_jobs_alike = True
    judges_units = True
    guards = frozenset({"reclaimable"})
    hierarchy_queue_fields = frozenset({QueueField.HIERARCHY})
    hierarchy_points = frozenset(
        {
            "queue_paths",
            "branch_order",
            "job_valid",
            "job_enqueueable",
            "allocatable",
            "preemptive",
            "reclaimable",
        }
    )

    def on_session_open(self, ssn: Session) -> None:
        self._ssn = ssn
        self._tasks = ssn.ledger.tasks
        self._requests = ssn.ledger.classes.request
        # A queue that deletes pods gains no turn by it until they are gone, but they are not evicted again.
        self._jobs = JobShares(ssn)
        self._turns = self._jobs.with_leaving(ssn)
        self._namespaces = self._namespace_turns = None
        if self.flags.namespace_order:
            self._namespaces = self._namespace_turns = NamespaceShares(ssn, self._jobs)
            if self._turns is not self._jobs:
                self._namespace_turns = NamespaceShares(ssn, self._turns)
        self._queues = QueueShares(ssn, self._jobs, self._turns) if self.flags.hierarchy else None
        self._entitlements: Entitlements | None = None
        if self.flags.hierarchy:
            ssn.shared(Takings).let_owner_estimate(self._could_reclaim)

    def on_session_close(self, ssn: Session) -> None:
        if self._queues is not None:
            ssn.emit(list(queue_events(ssn.queues, self._queues.layout)))

    def describe_queues(self) -> Mapping[str, Mapping[str, Any]]:
        if self._queues is None:
            return {}
        return {name: {"share": self._queues.share(name)} for name in self._queues.layout.paths}

    def describe_namespaces(self) -> Mapping[str, NamespaceShare]:
        return shares_of_namespaces(self._ssn, self._turns)

    def describe_jobs(self) -> Mapping[str, float]:
        rows = self._ssn.job_rows()
        infos = (self._ssn.snapshot.jobs[row] for row in rows.tolist())
        shares = self._turns.shares[rows].tolist()
        return {info.key: share for info, share in zip(infos, shares, strict=True) if info is not None}

    # -- order -----------------------------------------------------------------------------------------------------

    def job_order(self, job: Job) -> Key:
        return float(self._turns.shares[job.row])

    def namespace_order(self, queue: QueueInfo, namespace: str) -> Key:
        return self._namespace_turns.share(queue, namespace) if self._namespace_turns is not None else 0.0

    # -- queues in a tree ------------------------------------------------------------------------------------------

    @property
    def _tree(self) -> QueueShares:
        assert self._queues is not None, "asked with enableHierarchy only"
        return self._queues

    def queue_paths(self) -> Mapping[str, Path]:
        return self._tree.layout.paths

    def branch_order(self, path: Path) -> Key:
        assert self._queues is not None, "asked with enableHierarchy only"
        return self._queues.key(path)

    def branch_epoch(self) -> int:
        if self._queues is None:
            return 0
        self._queues.settle()
        return self._queues.epoch

    def look_ahead(self, task_class: TaskClass) -> HierarchyOutlook:
        closed = {name for name, queue in self._ssn.queues.items() if not queue.is_open}
        return self._tree.look_ahead(task_class.request, closed)

    def job_valid(self, job: Job) -> Refusal | None:
        """Queues that cannot stand where their annotation puts them are left alone; others go on."""
        problem = self._tree.layout.refused.get(job.queue.name)
        return None if problem is None else Refusal(Reason.INVALID_QUEUE, invalid_queue(job.queue.name, problem))

    def certainly_valid(self, rows: Rows) -> NDArray[np.bool_]:
        refused = self._tree.layout.refused
        return self._ssn.are_in_queues(rows, [name for name in self._ssn.queues if name not in refused])

    def job_enqueueable(self, job: Job) -> Ballot:
        refusal = self._closed(job.queue)
        return ABSTAIN if refusal is None else Ballot(Vote.REJECT, refusal)

    def _could_reclaim(self, job: Job, asked: list[int]) -> list[int]:
        """[R] see `Takings`; after what others of the queue were promised."""
        if self._entitlements is None:
            ssn, held = self._ssn, self._ssn.ledger.queues.allocated
            by_name = {name: held[queue.slot] for name, queue in ssn.queues.items()}
            self._entitlements = Entitlements(self._tree.layout, ssn.queues, by_name, ssn.available)
        promised = self._ssn.shared(InqueueRequests).of_queue(job.queue.slot)
        return self._entitlements.could_reclaim(job.queue.name, promised + np.array(asked, dtype=np.int64))

    def allocatable(self, queue: QueueInfo, task_class: TaskClass) -> Room:  # noqa: ARG002
        """Fairness is a matter of order: an open queue may take what no other has taken before it."""
        refusal = self._closed(queue)
        return PLENTY if refusal is None else Room(0, refusal)

    def preemptive(self, queue: QueueInfo, tasks: Rows) -> bool:  # noqa: ARG002
        return queue.is_open

    def reclaimable(self, reclaimer: Task, candidates: Rows) -> NDArray[np.bool_]:
        return self._tree.reclaimable(reclaimer, candidates)

    def evictions_follow_from(self) -> Hashable:
        """In the tree, shares follow from what waits, too."""
        weights = tuple(sorted(self._ssn.snapshot.namespace_weights.items()))
        return weights if self._queues is None else (weights, self._queues.follow_from())

    # -- victims ---------------------------------------------------------------------------------------------------

    def preemptable(self, preemptor: Task, candidates: Rows) -> NDArray[np.bool_]:
        """Pods of namespaces, or else jobs, that keep as much as the preemptor's gets."""
        return self._preemptable(preemptor, candidates, sums_up_to)

    def judge_unit(self, point: str, need: Need, unit: Unit) -> Verdict | None:
        """Fairness between the jobs of a namespace takes no job whole; fairness between queues, and between namespaces,
        compares what both sides would have with all that is needed, and without all that goes."""
        return Verdict.YES if self._gives(point, need, unit) else Verdict.NO

    def _gives(self, point: str, need: Need, unit: Unit) -> bool:
        if point == "reclaimable":
            if unit.is_whole:
                return self._tree.gives_whole(need, unit)
            return bool(self.reclaimable(need.task, unit.rows).all()) and self._tree.gives_surplus(need, unit)
        if unit.is_whole:
            return self._namespaces is not None and namespace_gives_whole(self._namespaces, need, unit)
        is_free = bool(self.preemptable(need.task, unit.rows).all())
        return is_free and gives_surplus(self._jobs, self._namespaces, need, unit)

    @property
    def preempts_equals(self) -> bool:  # type: ignore[override]  # of the cycle: it follows from a switch
        """Between namespaces it is their shares that count."""
        return self._namespaces is not None

    def possible_victims(self, point: str, task: Task, candidates: Rows) -> NDArray[np.bool_] | None:
        """Those that would go alone; pods of one class and job come to the same."""
        if point == "reclaimable":
            return self._tree.possibly_reclaimable(task, candidates)
        if point != "preemptable":
            return None
        places, firsts = self._ssn.shared(CandidateKinds).of(candidates, "job", "task_class")
        return self._preemptable(task, candidates[firsts], alone)[places]

    def _preemptable(self, preemptor: Task, candidates: Rows, taken_by: TakenBy) -> NDArray[np.bool_]:
        jobs = self._tasks.job[candidates]
        requests = self._requests[self._tasks.task_class[candidates]]
        if self._namespaces is None:
            return by_jobs(self._jobs, preemptor, jobs, requests, taken_by)
        return by_namespaces_and_jobs(self._jobs, self._namespaces, preemptor, jobs, requests, taken_by)

    # -- events ----------------------------------------------------------------------------------------------------

    def on_allocate(self, placement: Placement) -> None:
        self._book(placement, placement.request)

    def on_deallocate(self, placement: Placement) -> None:
        self._book(placement, -placement.request)

    def _book(self, placement: Placement, amount: IntVector) -> None:
        job, is_leaving = placement.job, placement.status is TaskStatus.RELEASING
        self._jobs.book(job.row, amount)
        if self._turns is not self._jobs and not is_leaving:
            self._turns.book(job.row, amount)
        if self._namespaces is not None:
            self._namespaces.book(job, amount)
        if self._namespace_turns is not None and self._namespace_turns is not self._namespaces and not is_leaving:
            self._namespace_turns.book(job, amount)
        if self._queues is not None:
            self._queues.book(job, amount)

    def _closed(self, queue: QueueInfo) -> Refusal | None:
        return None if queue.is_open else closed(queue, self._ssn.queues)
