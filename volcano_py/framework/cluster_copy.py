"""The private copy of the cluster that one cycle works on, with the rows of its jobs and tasks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from hashlib import blake2b
from typing import Any

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from volcano_py.api.reasons import Reason
from volcano_py.framework.devices.stand_ins import StandIns, offered
from volcano_py.framework.job import Job
from volcano_py.framework.refusals import Refusals
from volcano_py.framework.topology.sub_groups import SubGroups, divide
from volcano_py.framework.views import Codes
from volcano_py.state.infos import TaskInfo
from volcano_py.state.job_priority import effective_priorities
from volcano_py.state.nodes.index import NodeIndex
from volcano_py.state.snapshot import Snapshot
from volcano_py.state.status import ON_NODE_STATUSES, TaskStatus
from volcano_py.state.table.axis import IntVector
from volcano_py.state.table.ledger import Ledger
from volcano_py.state.table.table import Rows
from volcano_py.state.task_class import Refusal, TaskClass


class ClusterCopy:
    """What there is, as the cycle changes it; it knows no plugin. `used` is the ledger of an earlier cycle that has
    ended.

    Attributes:
        snapshot: the frozen picture; only its classes may be split, before the plugins open.
        ledger: the cycle's own copy of the tables.
        nodes: labels, taints and images of all nodes as columns.
        axis: which column is which resource.
        queues: those that exist, by name.
        elsewhere: [R] what queues hold on nodes of other shards, since before those moved there.
        total: [R] allocatable of all nodes together, with `elsewhere`: so what queues hold is part of what they share.
        now: seconds since the epoch.
        absent_node: the code of the refusal of a node that does not exist.
    """

    def __init__(self, snapshot: Snapshot, node_index: NodeIndex, used: Ledger | None = None) -> None:
        self.snapshot = snapshot
        self.ledger = snapshot.ledger.for_cycle(used)
        self.ledger.jobs.priority = effective_priorities(self.ledger)
        self.axis = snapshot.ledger.axis
        self.nodes = node_index
        self.now = snapshot.now
        self.queues = dict(snapshot.queues)
        self._is_queue = np.zeros(len(snapshot.queue_names) + 1, dtype=bool)  # by slot; the last is for -1, no queue
        self._is_queue[[queue.slot for queue in self.queues.values()]] = True
        self.elsewhere: IntVector = self._held_elsewhere()
        self.offered = b""
        """Another text whenever nodes have something else of the resources for which devices stand in, or other devices
        are left out."""
        self.stand_ins: Mapping[int, StandIns] = {}
        """Those, by position of the resource on the axis."""
        self._counted_again: IntVector = np.zeros(len(self.axis), dtype=np.int64)
        """[R] what nodes have in common, and each of them counts."""
        self.total: IntVector = self._total()
        self._jobs: dict[int, Job] = {}
        self._by_job: tuple[Rows, list[int]] | None = None
        self._sub_groups: dict[int, SubGroups | None] = {}
        self._classes = _ClassColumns(snapshot)
        self._best_effort = self._best_effort_pending()
        self._refusals = Refusals()
        self.absent_node = self.refusal(Reason.NODES_REFUSE, "node(s) did not exist", resolvable=False)

    def _total(self) -> IntVector:
        own: IntVector = self.ledger.nodes.allocatable[self.ledger.nodes.present].sum(axis=0)
        return own + self.elsewhere - self._counted_again

    def let_stand_in(self, devices: Mapping[int, StandIns]) -> None:
        """Nodes that do not have a resource (by position on the axis) have these devices for it from now on."""
        if not devices:
            return
        nodes = self.ledger.nodes
        if any(len(each.own) != len(self.nodes.nodes) for each in devices.values()):
            raise ValueError("devices that stand in for resources are not said of each node")
        found = offered(nodes.allocatable, nodes.present, devices)
        allocatable = found.allocatable
        allocatable.setflags(write=False)
        nodes.allocatable, self.stand_ins = allocatable, devices
        self._counted_again = found.counted_again(nodes.present)
        dims = sorted(devices)
        names = str([(dim, devices[dim].left_out) for dim in dims]).encode()
        self.offered = blake2b(names + allocatable[:, dims].tobytes(), digest_size=16).digest()
        self.total = self._total()

    def split_classes(self, classes: list[TaskClass | None]) -> None:
        """Use these classes [C] from now on; the ledger has their rows."""
        self.snapshot = replace(self.snapshot, classes=classes)
        self._classes = _ClassColumns(self.snapshot)

    # -- jobs ------------------------------------------------------------------------------------------------------

    def _best_effort_pending(self) -> NDArray[np.int64]:
        """[J] pending tasks of each job that request nothing and are not gated."""
        tasks = self.ledger.tasks
        rows = np.flatnonzero((tasks.status == TaskStatus.PENDING) & (tasks.job >= 0) & ~tasks.gated)
        counts = np.zeros(self.ledger.jobs.size, dtype=np.int64)
        np.add.at(counts, tasks.job[rows[self._classes.best_effort[tasks.task_class[rows]]]], 1)
        return counts

    def job(self, row: int) -> Job | None:
        """The job of a row, None when its PodGroup or its queue does not exist."""
        job = self._jobs.get(row)
        if job is None:
            info = self.snapshot.jobs[row]
            queue = None if info is None else self.queues.get(info.queue)
            if info is None or queue is None:
                return None
            namespace = self.snapshot.namespaces[self.ledger.jobs.namespace.item(row)]
            job = Job(row, info, queue, namespace, self.ledger, self._best_effort.item(row))
            self._jobs[row] = job
        return job

    def all_jobs(self) -> Iterator[Job]:
        """Every job of the session. Prefer columns: this costs a Python object per job."""
        for row in self.job_rows().tolist():
            job = self.job(row)
            if job is not None:
                yield job

    def job_rows(self) -> Rows:
        """Rows of all jobs whose PodGroup and queue exist."""
        jobs = self.ledger.jobs
        return np.flatnonzero(jobs.known & self.is_queue(jobs.queue))

    def is_queue(self, slots: NDArray[np.int32]) -> NDArray[np.bool_]:
        """[K] whether the queues in these slots exist."""
        exists: NDArray[np.bool_] = self._is_queue[slots]
        return exists

    def are_in_queues(self, rows: Rows, names: Iterable[str]) -> NDArray[np.bool_]:
        """[K] whether the jobs in these rows are in one of the queues."""
        is_named = np.zeros(len(self.snapshot.queue_names) + 1, dtype=np.bool_)  # by slot; the last is for none
        is_named[[self.queues[name].slot for name in names]] = True
        found: NDArray[np.bool_] = is_named[self.ledger.jobs.queue[rows]]
        return found

    def sum_by_queue(self, per_job: NDArray[Any], rows: Rows) -> dict[str, NDArray[Any]]:
        """[R] sums of `per_job` [len(rows), R] by queue name, for all queues."""
        size = len(self.snapshot.queue_names)
        sums = np.zeros((size, per_job.shape[1]), dtype=per_job.dtype)
        slots = self.ledger.jobs.queue[rows]
        for column in range(per_job.shape[1]):  # column by column `add.at` is ten times as fast as on rows
            np.add.at(sums[:, column], slots, per_job[:, column])
        return {name: sums[queue.slot] for name, queue in self.queues.items()}

    def used_by_queue(self) -> dict[str, IntVector]:
        """[R] what is charged to each queue, of pods that are leaving, too, by queue name, for all queues."""
        used = self.ledger.queues.used()
        return {name: used[queue.slot] for name, queue in self.queues.items()}

    def used_without_queue(self) -> dict[str, IntVector]:
        """[R] the same by the names of queues that do not exist, where that is anything."""
        names = self.snapshot.queue_names
        used = self.ledger.queues.used()[: len(names)]
        slots = np.flatnonzero(used.any(axis=1) & ~self._is_queue[: len(used)])
        return {names[slot]: used[slot] for slot in slots.tolist()}

    def _held_elsewhere(self) -> IntVector:
        nothing: IntVector = np.zeros(len(self.axis), dtype=np.int64)
        if not self.snapshot.hard_shard:
            return nothing
        tasks, nodes = self.ledger.tasks, self.ledger.nodes
        rows = np.flatnonzero((tasks.node >= 0) & ON_NODE_STATUSES[tasks.status] & self.is_queue(tasks.queue))
        rows = rows[~nodes.present[tasks.node[rows]]]
        held: IntVector = self.ledger.classes.request[tasks.task_class[rows]].sum(axis=0)
        return nothing + held

    @cached_property
    def available(self) -> IntVector:
        """[R] what queues can share: the total, without what pods hold that are charged to none, such as those of other
        schedulers."""
        tasks, nodes = self.ledger.tasks, self.ledger.nodes
        rows = np.flatnonzero((tasks.node >= 0) & ON_NODE_STATUSES[tasks.status] & ~self.is_queue(tasks.queue))
        if not len(rows):
            return self.total
        requests, left = self.ledger.classes.request[tasks.task_class[rows]], nodes.allocatable.copy()
        for column in range(left.shape[1]):
            np.subtract.at(left[:, column], tasks.node[rows], requests[:, column])
        theirs: IntVector = np.maximum(left[nodes.present], 0).sum(axis=0) + self.elsewhere
        available: IntVector = np.maximum(theirs - self._counted_again, 0)
        return available

    # -- tasks -----------------------------------------------------------------------------------------------------

    def task_class(self, row: int) -> TaskClass:
        """The class of a task row."""
        found = self.snapshot.classes[int(self.ledger.tasks.task_class[row])]
        assert found is not None, "a task without a class"
        return found

    def task_info(self, row: int) -> TaskInfo:
        found = self.snapshot.tasks[row]
        assert found is not None, "a task row without a task"
        return found

    @property
    def best_effort_classes(self) -> NDArray[np.bool_]:
        """[C] classes without requests, which need only a place for a pod."""
        return self._classes.best_effort

    @property
    def hopeless_classes(self) -> NDArray[np.bool_]:
        """[C] classes with a `problem`: none of their pods can be placed as it is."""
        return self._classes.problem

    @property
    def has_best_effort_tasks(self) -> bool:
        """Whether any task that asks for nothing was pending when the session opened."""
        return bool(self._best_effort.any())

    def role_count(self, job: Job, role: int, statuses: Sequence[TaskStatus]) -> int:
        """Tasks of a role of the job in any of the statuses."""
        tasks, rows = self.ledger.tasks, self.tasks_of(job)
        return int(((tasks.role[rows] == role) & np.isin(tasks.status[rows], statuses)).sum())

    def tasks_of(self, job: Job) -> Rows:
        """Rows of all tasks of a job."""
        return self.tasks_of_row(job.row)

    def tasks_of_row(self, job_row: int) -> Rows:
        """Rows of all tasks of the job in that row, whether or not its PodGroup exists."""
        if self._by_job is None:
            jobs = self.ledger.tasks.job
            order = np.argsort(jobs, kind="stable")
            # (all at once: one search a job lets go of the interpreter so often that other threads hardly get it)
            firsts = np.searchsorted(jobs[order], np.arange(self.ledger.jobs.size + 1))
            self._by_job = (order, firsts.tolist())
        order, first_of = self._by_job
        return order[first_of[job_row] : first_of[job_row + 1]]

    def sub_groups(self, job: Job) -> SubGroups | None:
        """The sub-groups of the job; None when it has no policies, as most jobs."""
        if job.info.topology is None:
            return None
        if job.row not in self._sub_groups:
            self._sub_groups[job.row] = divide(job, self.tasks_of(job), self.snapshot.sub_groups)
        return self._sub_groups[job.row]

    def in_sub_groups(self, job: Job, statuses: NDArray[np.bool_]) -> NDArray[np.int64]:
        """[G] how many tasks of each sub-group are in the statuses, or are pending and request nothing where such tasks
        count for the job."""
        groups, tasks = self.sub_groups(job), self.ledger.tasks
        assert groups is not None, "a job without sub-groups"
        status = tasks.status[groups.rows]
        flags = statuses[status]
        if job.best_effort_pending:
            best_effort = self.best_effort_classes[tasks.task_class[groups.rows]] & ~tasks.gated[groups.rows]
            flags = flags | (best_effort & (status == TaskStatus.PENDING))
        return groups.count(flags)

    def bound(self) -> int:
        """How many tasks this cycle has handed to the binder so far."""
        is_bound = self.ledger.tasks.status == TaskStatus.BINDING
        return int((is_bound & (self.snapshot.ledger.tasks.status == TaskStatus.PENDING)).sum())

    # -- refusals --------------------------------------------------------------------------------------------------

    def refusal(self, reason: Reason, message: str, *, resolvable: bool = True, transient: bool = False) -> int:
        """The id of a refusal, for arrays of codes.

        Not `resolvable`: the node refuses whatever is evicted from it. `transient`: it may say yes once terminating
        pods are gone and promised places are taken; then it is asked again for that (`NodeView.released`), so that its
        room can be kept.
        """
        return self._refusals.code(Refusal(reason, message), resolvable=resolvable, transient=transient)

    def resolvable(self, codes: Codes) -> NDArray[np.bool_]:
        """[K] where the node says yes, or might once pods are evicted from it."""
        return self._refusals.resolvable(codes)

    def transient(self, codes: Codes) -> NDArray[np.bool_]:
        """[K] where the refusal may end by itself."""
        return self._refusals.transient(codes)

    def refusal_of(self, code: int) -> Refusal:
        """The refusal of a code; one that is not registered is a plugin's mistake."""
        return self._refusals.of(code)


class _ClassColumns:
    """[C] what is asked of classes in bulk."""

    def __init__(self, snapshot: Snapshot) -> None:
        size = max(len(snapshot.classes), 1)
        self.best_effort = np.zeros(size, dtype=np.bool_)
        self.problem = np.zeros(size, dtype=np.bool_)
        for row, task_class in enumerate(snapshot.classes):
            if task_class is not None:
                self.best_effort[row] = task_class.best_effort
                self.problem[row] = task_class.problem is not None
