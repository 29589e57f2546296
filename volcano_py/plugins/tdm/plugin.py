"""tdm: time division multiplexing. Some nodes belong to batch work during certain hours of the day only.

A node's label `volcano.sh/revocable-zone` names its zone, the plugin's arguments the hours of each zone. Within them
such a node takes pods that allow it (`volcano.sh/revocable-zone: "*"`, or `volcano.sh/preemptable: "true"`), which
prefer it; after them it takes none, and shuffle evicts preemptable pods from it, job by job within the job's disruption
budget.
What the hour is follows from the session's time alone.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from volcano_py.api.names import PREEMPTABLE, REVOCABLE_ZONE
from volcano_py.api.reasons import Reason
from volcano_py.api.wording import explain_gangs
from volcano_py.framework.cluster_copy import ClusterCopy
from volcano_py.framework.eviction.victims import expendable_first
from volcano_py.framework.job import Job, Task
from volcano_py.framework.placement.refused import Refused
from volcano_py.framework.plugin import Key, Plugin
from volcano_py.framework.session import Session
from volcano_py.framework.views import FITS, Codes, NodeView, Scores
from volcano_py.framework.votes import PERMIT, Ballot, reject
from volcano_py.plugins.refusals import refusal_for_good
from volcano_py.plugins.tdm.arguments import TdmArguments
from volcano_py.plugins.tdm.budget import budget_of
from volcano_py.plugins.tdm.hours import local_time
from volcano_py.state.infos import JobInfo
from volcano_py.state.status import TaskStatus
from volcano_py.state.table.table import Rows
from volcano_py.state.task_class import TaskClass

_EVICTED_AT = "evicted at"
_HIGHEST = 100.0
_NOT_ALLOWED = "node(s) were revocable, which the pod does not allow"


class Tdm(Plugin):
    """See the module. A job is preemptable if its PodGroup says so; the others go first, and may preempt such pods."""

    name = "tdm"
    sees_jobs_alike = True
    evictions_last = True
    arguments_type = TdmArguments
    preempts_equals = True

    def task_variants(self, cluster: ClusterCopy, job_row: int, rows: Rows) -> Sequence[str]:  # noqa: ARG002
        return ["*" if cluster.task_info(row).uses_revocable else "" for row in rows.tolist()]

    def on_session_open(self, ssn: Session) -> None:
        self._ssn = ssn
        self._zones = zones = ssn.nodes.label(REVOCABLE_ZONE)
        hours, timezone = self.arguments.zones, self.arguments.timezone
        now = local_time(ssn.now, timezone).time()
        used = {zone: hours[zone] for zone in zones.values if zone in hours}
        self._open = frozenset(zone for zone, when in used.items() if when.include(now))
        for change in (when.next_change(ssn.now, timezone) for when in used.values()):
            if change is not None:
                ssn.wakeups.recheck_at(change)
        self._codes = {allowed: self._answers(allowed) for allowed in (False, True)}
        per_zone = [_HIGHEST if zone in self._open else 0.0 for zone in zones.values]
        self._scores: Scores = zones.per_node(np.array([*per_zone, 0.0]))
        """[N] for pods that may use revocable nodes."""

    def predicate_follows_from(self) -> Hashable:
        """The zones that are open."""
        return self._open

    # -- nodes -----------------------------------------------------------------------------------------------------

    def predicate(self, task_class: TaskClass, view: NodeView) -> Codes:
        return self._codes[self.name in task_class.variant].take(view.rows)

    def predicate_for_good(self, task_class: TaskClass, view: NodeView) -> Codes:  # noqa: ARG002
        """Nothing: refusals pass with the hour."""
        return np.zeros(len(view), dtype=np.int32)

    def predicate_advice(self, task_class: TaskClass, refused: Refused) -> list[str]:  # noqa: ARG002
        if _NOT_ALLOWED not in refused:
            return []
        allowed = "These nodes take only pods that may be evicted when the hours of the zone end"
        return [f'{allowed}: annotate the pod {REVOCABLE_ZONE}: "*"']

    def node_order(self, task_class: TaskClass, view: NodeView) -> Scores:
        return self._scores.take(view.rows) if self.name in task_class.variant else np.zeros(len(view))

    def _answers(self, allowed: bool) -> Codes:
        """[N] what nodes say to pods that may use revocable nodes, or may not."""
        per_zone = [self._answer(zone, allowed) for zone in self._zones.values]
        return self._zones.per_node(np.array([*per_zone, FITS], dtype=np.int32))

    def _answer(self, zone: str, allowed: bool) -> int:
        hours = self.arguments.zones.get(zone)
        if hours is None:
            return refusal_for_good(
                self._ssn, f"node(s) were in revocable zone {zone}, which has no hours in the configuration"
            )
        if zone not in self._open:
            return refusal_for_good(self._ssn, f"node(s) were in revocable zone {zone} outside its hours, {hours}")
        return FITS if allowed else refusal_for_good(self._ssn, _NOT_ALLOWED)

    # -- jobs ------------------------------------------------------------------------------------------------------

    def job_order(self, job: Job) -> Key:
        return int(_is_preemptable(job.info))

    def job_starving(self, job: Job) -> bool:
        return not _is_preemptable(job.info) and job.pending_tasks > 0

    def job_pipelined(self, job: Job) -> Ballot:
        placed = job.ready + job.waiting + job.best_effort_pending
        if placed >= job.min_member:
            return PERMIT
        return reject(Reason.GANG_INCOMPLETE, explain_gangs.gang_incomplete(placed, job.tasks, job.min_member))

    # -- victims ---------------------------------------------------------------------------------------------------

    def preemptable(self, preemptor: Task, candidates: Rows) -> NDArray[np.bool_]:
        allowed = self._expendable(preemptor, candidates)
        chosen = set(self._within_budgets(candidates[allowed].tolist()))
        return np.array([row in chosen for row in candidates.tolist()], dtype=np.bool_)

    def possible_victims(self, point: str, task: Task, candidates: Rows) -> NDArray[np.bool_]:  # noqa: ARG002
        return self._expendable(task, candidates)

    def _expendable(self, preemptor: Task, candidates: Rows) -> NDArray[np.bool_]:
        """[K] running pods on ordinary nodes that say they are preemptable; none for a preemptor that is so itself."""
        info = self._ssn.task_info(preemptor.row)
        if info.says_preemptable or info.uses_revocable:
            return np.zeros(len(candidates), dtype=np.bool_)
        tasks = self._ssn.ledger.tasks
        allowed: NDArray[np.bool_] = tasks.status[candidates] == TaskStatus.RUNNING
        allowed &= ~self._zones.present[tasks.node[candidates]]
        for place in np.flatnonzero(allowed).tolist():
            allowed[place] = self._ssn.task_info(int(candidates[place])).says_preemptable
        return allowed

    def victim_tasks(self, running: Rows) -> Mapping[int, str]:
        """Preemptable pods on nodes whose hours are over, once a period."""
        due = self._overdue(running)
        if not len(due):
            return {}
        memory, period = self._ssn.memory(self.name), self.arguments.period.total_seconds()
        next_time = memory.get(_EVICTED_AT, float("-inf")) + period
        if self._ssn.now < next_time:
            self._ssn.wakeups.progress_at(next_time)
            return {}
        victims = self._within_budgets(expendable_first(self._ssn.ledger.tasks, due).tolist())
        if victims:
            memory[_EVICTED_AT] = self._ssn.now
            if len(victims) < len(due):
                self._ssn.wakeups.progress_at(self._ssn.now + period)
        return {row: self._why(row) for row in victims}

    def _overdue(self, running: Rows) -> Rows:
        tasks, zones = self._ssn.ledger.tasks, self._zones
        closed = [zone in self.arguments.zones and zone not in self._open for zone in zones.values]
        over = zones.where(np.array(closed, dtype=np.bool_))
        return running[over[tasks.node[running]] & tasks.preemptable[running]]

    def _within_budgets(self, rows: Iterable[int]) -> list[int]:
        """The rows, in their order, without what their jobs cannot spare."""
        left: dict[int, int] = {}
        chosen: list[int] = []
        for row in rows:
            of_job = int(self._ssn.ledger.tasks.job[row])
            if of_job not in left:
                job = self._ssn.job(of_job)
                left[of_job] = 0 if job is None else budget_of(job)
            if left[of_job] > 0:
                left[of_job] -= 1
                chosen.append(row)
        return chosen

    def _why(self, row: int) -> str:
        node = int(self._ssn.ledger.tasks.node[row])
        zone = self._zones.values[self._zones.codes[node]]
        name, key = self._ssn.snapshot.nodes[node].name, self._ssn.task_info(row).key
        return f"{key} leaves node {name}: the hours of revocable zone {zone}, {self.arguments.zones[zone]}, are over"


def _is_preemptable(info: JobInfo) -> bool:
    """The PodGroup says so; without a word it is not."""
    text = info.annotations.get(PREEMPTABLE, info.labels.get(PREEMPTABLE))
    return info.preemptable and text is not None
