"""Places that pods were evicted for: kept from cycle to cycle, until they are taken or a deadline passes.

A promise is the pod's status.nominatedNodeName, so it outlives a restart of the scheduler. From the beginning of the
cycle promised places are taken, for every action. Allocate gives them back and first places the pods they were promised
to, each in its own place before any other is sought. A pod whose binding failed has its turn after a pause, and keeps
its place throughout. Where preempt or reclaim stand before allocate, what a job finds free is held for it as well:
lesser jobs must not build on that.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from volcano_py.framework.calls.combined import CombinedAnswers
from volcano_py.framework.cluster_copy import ClusterCopy
from volcano_py.framework.findings import Findings
from volcano_py.framework.job import Job
from volcano_py.framework.placement.placer import Choice, Placer
from volcano_py.framework.statement import Statement, Statements
from volcano_py.framework.topology.topology import Topology
from volcano_py.state.status import TaskStatus
from volcano_py.state.table.table import Rows

# Seconds that a promise holds after it was made, or after the last of its victims should have been gone (the
# deletionTimestamp has the grace period in it). Kubelets are late by seconds, and a node that is lost never frees
# anything.
HELD_FOR: Final = 60.0
# Seconds after a promise within which its victims are evicted: evictions are repeated when the API server is busy. A
# pod that leaves the node later is none of them, and on a node of short jobs some pod always leaves.
_EVICTED_WITHIN: Final = 60.0


class Reservations:
    """What is promised as of the beginning of the cycle.

    Attributes:
        jobs: rows of jobs with pending tasks whose promise holds.
    """

    def __init__(
        self,
        cluster: ClusterCopy,
        ask: CombinedAnswers,
        placer: Placer,
        statements: Statements,
        findings: Findings,
        topology: Topology,
        actions: Sequence[str],
    ) -> None:
        """`actions` are those of the configuration, in order."""
        self._cluster = cluster
        self._ask = ask
        self._placer = placer
        self._statements = statements
        self._findings = findings
        self._topology = topology
        self._actions = actions
        tasks = cluster.ledger.tasks
        self._deadlines: dict[int, float] = {}
        self._node: dict[int, int] = {}
        self._for_allocate: list[Statement] = []
        self._awaited: set[int] = set()
        rows = np.flatnonzero(tasks.nominated & (tasks.status == TaskStatus.PENDING) & (tasks.job >= 0))
        leavers = self._leavers() if len(rows) else {}
        for row in rows.tolist():
            node = cluster.nodes.rows.get(cluster.task_info(row).nominated_node)
            if node is None:
                continue
            since = float(tasks.nominated_since[row])
            victims = [gone for gone, began in leavers.get(node, ()) if began <= since + _EVICTED_WITHIN]
            deadline = max(since, *victims, 0.0) + HELD_FOR
            if deadline > cluster.now:
                self._deadlines[row], self._node[row] = deadline, node
                if victims:
                    self._awaited.add(int(tasks.job[row]))
        self.jobs = frozenset(tasks.job[list(self._deadlines)].tolist())

    def holds(self, row: int) -> bool:
        """Whether a task has a promise that holds."""
        return row in self._deadlines

    @property
    def has_promises(self) -> bool:
        """Whether any task has a promise that holds."""
        return bool(self._deadlines)

    def promised(self, rows: Rows) -> NDArray[np.bool_]:
        """[K] which of the tasks have a promise that holds."""
        if not self._deadlines:
            return np.zeros(len(rows), dtype=np.bool_)
        return np.isin(rows, list(self._deadlines))

    def awaits_victims(self, job: Job) -> bool:
        """Whether pods are still terminating on a node that is promised to the job: no more are evicted for it."""
        return job.row in self._awaited

    # -- held through the cycle ------------------------------------------------------------------------------------

    def hold(self) -> None:
        """Take all promised places for the pods they were promised to, best job first: where there is room, or will be
        once terminating pods are gone, and as far as its queue may go.

        Those that allocate would give back before any pod was placed are left out: a thousand take 0.3 s.
        """
        cluster, in_danger = self._cluster, _gives_places_before_allocate(self._actions)
        claims: defaultdict[int, list[int]] = defaultdict(list)
        for row in self._deadlines:
            if in_danger or self.backs_off(row):
                claims[int(cluster.ledger.tasks.job[row])].append(row)
        jobs = (cluster.job(row) for row in claims)
        claimants = [job for job in jobs if job is not None and not job.is_pending and self._ask.job_valid(job) is None]
        for job in sorted(claimants, key=self._ask.job_key):
            for row in self._ask.ordered_tasks(np.array(claims[job.row], dtype=np.intp)).tolist():
                self._hold(job, row)

    def _hold(self, job: Job, row: int) -> None:
        choice = self._choice(job, row)
        if choice is None:
            return
        statement = self._statements.new()
        statement.pipeline(job, self._cluster.task_class(row), np.array([row], dtype=np.intp), choice.nodes)
        if not self.backs_off(row):
            self.hold_for_allocate(statement)

    def place(self, job: Job, rows: Rows, statement: Statement, *, elsewhere: bool = False) -> bool:
        """Put these tasks where they were promised a place, as far as they can be there. Whether nothing is left to be
        sought: all can, and none has to wait for it while another node has room.

        `elsewhere`: a pod that would have to wait goes to such a node.
        """
        placer, is_settled = self._placer, True
        for row in rows.tolist():
            within = self._topology.confinement(job, row)
            choice, task_class = self._choice(job, row), self._cluster.task_class(row)
            if choice is not None and self._ask.bindable(job.queue, task_class).count <= 0:
                choice = msgspec.structs.replace(choice, pipelined=True)  # another node would not help
            elif choice is not None and choice.pipelined and len(placer.feasible(task_class, within)):
                other = placer.choose(task_class, 1, within) if elsewhere else choice
                choice = other if len(other.nodes) else choice  # (a node may be refused late)
                is_settled &= elsewhere
            if choice is None:
                is_settled = False
                continue
            put = statement.pipeline if choice.pipelined else statement.allocate
            put(job, task_class, np.array([row], dtype=np.intp), choice.nodes)
        return is_settled

    def _choice(self, job: Job, row: int) -> Choice | None:
        """The node that was promised to the task, if that can be had, now or once terminating pods are gone."""
        cluster, task_class = self._cluster, self._cluster.task_class(row)
        if (
            cluster.ledger.tasks.gated[row]
            or task_class.problem is not None
            or self._ask.pre_predicate(task_class) is not None
        ):
            return None
        if self._ask.allocatable(job.queue, task_class).count <= 0:
            return None
        choice = self._placer.choose_on(task_class, self._node[row], self._topology.confinement(job, row))
        return choice if len(choice.nodes) else None

    def backs_off(self, row: int) -> bool:
        """Whether the task is not to be placed in this cycle, because its binding failed a moment ago."""
        return float(self._cluster.ledger.tasks.retry_at[row]) > self._cluster.now

    def hold_for_allocate(self, statement: Statement) -> None:
        """The statement's places, which were free, are kept from other tasks until they are given back."""
        self._for_allocate.append(statement)

    @property
    def held(self) -> int:
        """How many statements `give_back` would discard now."""
        return len(self._for_allocate)

    def give_back(self, since: int = 0) -> None:
        """What was held for allocate, beyond the first `since` statements, is free again. Pods that are not placed in
        this cycle keep what they were promised."""
        self.release(*self._for_allocate[since:])
        del self._for_allocate[since:]

    def release(self, *held: Statement) -> None:
        """The places of these statements are free again; they were not lost to an incomplete gang."""
        with self._findings.forgetting_places():
            for statement in reversed(held):
                statement.discard()

    # -- when to look again ----------------------------------------------------------------------------------------

    def next_deadline(self) -> float:
        """When the first promise ends, of those made or not kept in this cycle; 0 when there is none."""
        status = self._cluster.ledger.tasks.status
        open_status = (TaskStatus.PENDING, TaskStatus.PIPELINED)
        deadlines = [until for row, until in self._deadlines.items() if status[row] in open_status]
        if self._findings.nominations:
            deadlines.append(self._cluster.now + HELD_FOR)
        return min(deadlines, default=0.0)

    def _leavers(self) -> dict[int, list[tuple[float, float]]]:
        """Node row → of each of its terminating pods, when it should be gone and when its deletion was asked for."""
        tasks = self._cluster.ledger.tasks
        rows = np.flatnonzero((tasks.status == TaskStatus.RELEASING) & (tasks.node >= 0))
        leavers: defaultdict[int, list[tuple[float, float]]] = defaultdict(list)
        columns = tasks.node[rows], tasks.leaves_at[rows], tasks.leaving_since[rows]
        for node, gone, began in zip(*(column.tolist() for column in columns), strict=True):
            leavers[node].append((gone, began))
        return leavers


def _gives_places_before_allocate(actions: Sequence[str]) -> bool:
    """Whether any action but enqueue, which gives none, stands before allocate, or there is no allocate."""
    others = [action for action in actions if action != "enqueue"]
    return others[:1] != ["allocate"]
