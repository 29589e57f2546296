"""task-topology: roles of a job that should share a node, and roles that should not.

Annotations of the PodGroup name roles (`volcano.sh/task-spec` of the pods): `task-topology-affinity: "ps,worker"`,
`task-topology-anti-affinity: "ps"` and `task-topology-task-order: "ps,worker"`, each with the prefix `volcano.sh/`.
Pods that should share a node are put into a bucket (buckets.py); buckets are placed one after the other, and a node
scores by how much of the bucket it has and could take. These are preferences: a node is never refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import structlog
from numpy.typing import NDArray

from volcano_py.api.effects import Event
from volcano_py.api.names import IGNORED_ANNOTATION
from volcano_py.config.flags import Flags
from volcano_py.framework.cluster_copy import ClusterCopy
from volcano_py.framework.plugin import Plugin, Reach
from volcano_py.framework.session import Session
from volcano_py.framework.views import NodeView, Scores
from volcano_py.plugins.task_topology.arguments import TaskTopologyArguments
from volcano_py.plugins.task_topology.buckets import Buckets, Member, fill
from volcano_py.plugins.task_topology.role_preferences import AnnotationError, read_preferences
from volcano_py.state.infos import JobInfo
from volcano_py.state.status import ON_NODE_STATUSES, TaskStatus
from volcano_py.state.table.table import Rows
from volcano_py.state.task_class import TaskClass

log = structlog.get_logger(__name__)

_HIGHEST: Final = 100.0
_LAST: Final = 1e15  # rank of a task that no preference names


class TaskTopology(Plugin):
    """See the module."""

    name = "task-topology"
    sees_jobs_alike = True
    evictions_last = True
    arguments_type = TaskTopologyArguments

    def __init__(self, arguments: Any, flags: Flags) -> None:
        super().__init__(arguments, flags)
        self._jobs: dict[int, Buckets] = {}
        self._ranks: dict[int, float] = {}
        """Task row → place in task order."""
        self._faults: dict[int, str] = {}
        """Job row → why its preferences are ignored."""

    def task_variants(self, cluster: ClusterCopy, job_row: int, rows: Rows) -> Sequence[str] | None:
        info = cluster.snapshot.jobs[job_row]
        buckets = None if info is None else self._buckets(cluster, job_row, info)
        if buckets is None:
            return None
        self._jobs[job_row] = buckets
        self._ranks.update(zip(buckets.members.tolist(), buckets.ranks().tolist(), strict=True))
        of_row = dict(zip(buckets.members.tolist(), buckets.bucket.tolist(), strict=True))
        roles = cluster.snapshot.roles
        return [
            f"{job_row}/{of_row[row]}/{roles[cluster.ledger.tasks.role[row]]}" if row in of_row else ""
            for row in rows.tolist()
        ]

    def on_session_open(self, ssn: Session) -> None:
        self._ssn = ssn

    def on_session_close(self, ssn: Session) -> None:
        """Record an event on each PodGroup whose annotations are ignored, once for each fault."""
        memory = ssn.memory(self.name)
        faulty = {row: info for row in self._faults if (info := ssn.snapshot.jobs[row]) is not None}
        for row, info in faulty.items():
            message = f"task-topology annotations are ignored: {self._faults[row]}"
            if memory.get(info.ref.uid) != message:
                ssn.emit([Event(info.ref, "Warning", IGNORED_ANNOTATION, message)])
                log.warning("annotations of a PodGroup are ignored", pod_group=info.key, why=self._faults[row])
                memory[info.ref.uid] = message
        for uid in memory.keys() - {info.ref.uid for info in faulty.values()}:
            del memory[uid]

    # -- order and scores ------------------------------------------------------------------------------------------

    def task_order(self, rows: Rows) -> NDArray[np.float64]:
        return np.array([self._ranks.get(row, _LAST) for row in rows.tolist()])

    def batch_node_order(self, task_class: TaskClass, view: NodeView) -> Scores | None:
        variant = task_class.variant.get(self.name)
        if variant is None or not self.arguments.weight:
            return None
        job_row, bucket, role = variant.split("/", 2)
        buckets = self._jobs[int(job_row)]
        free = view.idle + self._ssn.ledger.nodes.releasing.take(view.rows, axis=0)
        points = self._together(buckets.rows[int(bucket)], task_class, view, free)
        points += self._apart(buckets, int(job_row), role, view)
        fits = (free[:, task_class.requested] >= task_class.request[task_class.requested]).all(axis=1)
        scores: Scores = np.where(fits, points, 0) * (self.arguments.weight * _HIGHEST / buckets.largest)
        return scores

    def batch_node_order_reach(self, task_class: TaskClass) -> Reach:
        """A pod that finds its place moves what every node has of the bucket before it."""
        return Reach.DOMAIN if self.name in task_class.variant else Reach.FEASIBLE_SET

    def _together(
        self, members: Rows, task_class: TaskClass, view: NodeView, free: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """[K] pods of the bucket on the node, and how many of those that wait it could take, one of the class first."""
        tasks, classes = self._ssn.ledger.tasks, self._ssn.ledger.classes
        points = self._count(members, view)
        of_class = tasks.task_class[members]
        waiting = tasks.status[members] == TaskStatus.PENDING
        ordered = np.concatenate(
            (members[waiting & (of_class == task_class.row)], members[waiting & (of_class != task_class.row)])
        )
        asked = np.cumsum(classes.request[tasks.task_class[ordered]], axis=0)
        if len(asked):
            room = [np.searchsorted(asked[:, dim], free[:, dim], side="right") for dim in np.flatnonzero(asked[-1])]
            points += np.minimum.reduce(room) if room else len(asked)
        return points

    def _apart(self, buckets: Buckets, job_row: int, role: str, view: NodeView) -> NDArray[np.int64]:
        """[K] minus the pods of the job on the node that the role should keep apart from."""
        tasks, roles = self._ssn.ledger.tasks, self._ssn.snapshot.roles
        repelling = [number for number, other in enumerate(roles) if (role, other) in buckets.preferences.apart]
        if not repelling:
            return np.zeros(len(view), dtype=np.int64)
        rows = self._ssn.tasks_of_row(job_row)
        return -self._count(rows[np.isin(tasks.role[rows], repelling)], view)

    def _count(self, rows: Rows, view: NodeView) -> NDArray[np.int64]:
        """[K] how many of the tasks have a place on the node."""
        tasks = self._ssn.ledger.tasks
        status = tasks.status[rows]
        placed = rows[(ON_NODE_STATUSES[status] & (status != TaskStatus.RELEASING)) | (status == TaskStatus.PIPELINED)]
        nodes = tasks.node[placed]
        counts = np.bincount(nodes[nodes >= 0], minlength=self._ssn.ledger.nodes.size)
        return counts.take(view.rows)

    # -- buckets ---------------------------------------------------------------------------------------------------

    def _buckets(self, cluster: ClusterCopy, job_row: int, info: JobInfo) -> Buckets | None:
        if not any(key.startswith("volcano.sh/task-topology-") for key in info.annotations):
            return None
        tasks, roles = cluster.ledger.tasks, cluster.snapshot.roles
        rows = cluster.tasks_of_row(job_row)
        rows = rows[np.lexsort((tasks.tiebreak[rows], tasks.created[rows], tasks.suffix[rows]))]
        of_row = {row: roles[tasks.role[row]] for row in rows.tolist()}
        try:
            preferences = read_preferences(info.annotations, set(of_row.values()) - {""})
        except AnnotationError as error:
            self._faults[job_row] = str(error)
            return None
        if preferences is None:
            return None
        has_node = ON_NODE_STATUSES[tasks.status] & (tasks.status != TaskStatus.RELEASING)
        members = [
            Member(
                row=row,
                role=role,
                node=int(tasks.node[row]) if has_node[row] else -1,
                request=cluster.ledger.classes.request[tasks.task_class[row]],
            )
            for row, role in of_row.items()
            if role in preferences.strength and (has_node[row] or tasks.status[row] == TaskStatus.PENDING)
        ]
        return fill(preferences, members) if members else None
