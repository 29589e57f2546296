"""The scheduler's live picture of the cluster: objects come in as they are listed and watched, snapshots go out.

Touched by one thread only. What a node has in use is always a function of the pods known here: pods of a node that is
unknown are kept, a finished pod leaves at once, and a pod that was handed to the binder counts as placed until the
API server says otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from volcano_py.api import names
from volcano_py.api.objects import (
    ApiObject,
    Condition,
    Node,
    ObjectMeta,
    Pod,
    PodGroup,
    PriorityClass,
    Queue,
    ResourceQuota,
)
from volcano_py.state.axis import ResourceAxis
from volcano_py.state.class_book import ClassBook, request_on
from volcano_py.state.infos import (
    JobInfo,
    NodeInfo,
    QueueInfo,
    TaskInfo,
    name_suffix,
    task_info,
    task_priority,
    tiebreak_of,
)
from volcano_py.state.interner import Interner
from volcano_py.state.ledger import NOWHERE, Ledger
from volcano_py.state.readers import NodeReading, read_job, read_node, read_queue
from volcano_py.state.snapshot import Phase, Snapshot
from volcano_py.state.status import TaskStatus, status_of
from volcano_py.state.weights import namespace_weights

ChangeListener = Callable[[bool], None]
"""Called after a change; True when it can alter a decision, False when only statuses have to be written."""

_ASSUMED = (TaskStatus.BINDING, TaskStatus.RELEASING)


class ClusterState:
    """See the module. `scheduler_names` are ours; `default_queue` takes PodGroups that name no queue."""

    def __init__(
        self,
        *,
        scheduler_names: Iterable[str] = (names.DEFAULT_SCHEDULER_NAME,),
        default_queue: str = names.DEFAULT_QUEUE,
        on_change: ChangeListener = lambda _decisive: None,
    ) -> None:
        self.scheduler_names = frozenset(scheduler_names)
        self.default_queue = default_queue
        self.on_change = on_change
        self.ledger = Ledger(ResourceAxis())
        self.classes = ClassBook(self.ledger)
        self._tasks: list[TaskInfo | None] = []
        self._task_rows: dict[str, int] = {}
        self._pod_uids: dict[str, str] = {}
        self._nodes: list[NodeInfo] = []
        self._node_readings: dict[str, NodeReading] = {}
        self._node_rows: dict[str, int] = {}
        self._jobs: list[JobInfo | None] = []
        self._job_keys: list[str] = []
        self._job_rows: dict[str, int] = {}
        self._groups: dict[str, PodGroup] = {}
        self._queues: dict[str, Queue] = {}
        self._queue_infos: dict[str, QueueInfo] = {}
        self._queue_slots = Interner()
        self._namespace_slots = Interner()
        self._role_slots = Interner()
        self._role_slots.slot("")
        self._priority_classes: dict[str, PriorityClass] = {}
        self._quotas: dict[str, ResourceQuota] = {}
        self._nodes_version = 0
        self._snapshots = 0
        self._upserts: dict[str, Callable[[Any], None]] = {
            "Pod": self._upsert_pod,
            "Node": self._upsert_node,
            "PodGroup": self._upsert_group,
            "Queue": self._upsert_queue,
            "PriorityClass": self._upsert_priority_class,
            "ResourceQuota": self._upsert_quota,
        }
        self._deletes: dict[str, Callable[[Any], None]] = {
            "Pod": self._delete_pod,
            "Node": self._delete_node,
            "PodGroup": self._delete_group,
            "Queue": self._delete_queue,
            "PriorityClass": self._delete_priority_class,
            "ResourceQuota": self._delete_quota,
        }

    # -- objects as they come ------------------------------------------------------------------------------------

    def upsert(self, kind: str, obj: ApiObject) -> None:
        """An object was listed, added or changed. Kinds that scheduling does not read are ignored."""
        if (handler := self._upserts.get(kind)) is not None:
            handler(obj)

    def delete(self, kind: str, obj: ApiObject) -> None:
        """An object is gone. A namesake with another UID stays."""
        if (handler := self._deletes.get(kind)) is not None:
            handler(obj)

    def replace(self, kind: str, objects: Sequence[ApiObject]) -> None:
        """These are all the objects of that kind: what is not among them is gone."""
        seen = {_identity(kind, _meta(obj)) for obj in objects}
        for obj in self._known(kind):
            if _identity(kind, _meta(obj)) not in seen:
                self.delete(kind, obj)
        for obj in objects:
            self.upsert(kind, obj)

    def _known(self, kind: str) -> list[ApiObject]:
        if kind == "Pod":
            return [
                Pod(metadata=ObjectMeta(namespace=info.ref.namespace, name=info.ref.name, uid=info.ref.uid))
                for info in self._tasks
                if info is not None
            ]
        if kind == "Node":
            return [Node(metadata=ObjectMeta(name=name)) for name in self._node_readings]
        stores: dict[str, Iterable[ApiObject]] = {
            "PodGroup": self._groups.values(),
            "Queue": self._queues.values(),
            "PriorityClass": self._priority_classes.values(),
            "ResourceQuota": self._quotas.values(),
        }
        return list(stores.get(kind, ()))

    # -- pods ----------------------------------------------------------------------------------------------------

    def _upsert_pod(self, pod: Pod) -> None:
        uid, status = pod.metadata.uid, status_of(pod)
        ours = pod.spec.scheduler_name in self.scheduler_names
        info = task_info(pod, ours=ours)
        grouped = ours and bool(info.group)
        finished = status in (TaskStatus.SUCCEEDED, TaskStatus.FAILED)
        if not (ours or pod.spec.node_name) or (finished and not grouped):
            self._remove_pod(uid)
            return
        ledger, tasks = self.ledger, self.ledger.tasks
        row = self._task_rows.get(uid)
        task_class = self.classes.join(pod)
        before: tuple[object, ...] = ()
        if row is None:
            row = tasks.new_row()
            self._task_rows[uid] = row
            predecessor = self._pod_uids.get(info.key)
            if predecessor is not None:
                self._remove_pod(predecessor)
            self._pod_uids[info.key] = uid
            while len(self._tasks) <= row:
                self._tasks.append(None)
            tasks.created[row] = pod.metadata.created
            tasks.suffix[row] = name_suffix(pod.metadata.name)
            tasks.tiebreak[row] = tiebreak_of(uid)
        else:
            before = self._essence(row)
            ledger.book_one(row, -1)
            self.classes.leave(int(tasks.task_class[row]))
        node = self._node_row(pod.spec.node_name) if pod.spec.node_name else NOWHERE
        current = TaskStatus(int(tasks.status[row]))
        if status is TaskStatus.PENDING and current is TaskStatus.BINDING:
            # An older picture than the binding that was sent: the assumption stands until its outcome is known.
            status, node = current, int(tasks.node[row])
        elif current is TaskStatus.RELEASING and status in (TaskStatus.BOUND, TaskStatus.RUNNING):
            status = current
        old_node, old_job = int(tasks.node[row]), int(tasks.job[row])
        job = self._job_row(f"{info.ref.namespace}/{info.group}") if grouped else NOWHERE
        self._tasks[row] = info
        tasks.task_class[row] = task_class.row
        tasks.priority[row] = task_priority(pod)
        tasks.job[row] = job
        tasks.gated[row] = bool(info.gates)
        tasks.role[row] = self._role_slots.slot(info.role)
        tasks.status[row] = status
        tasks.node[row] = node
        ledger.book_one(row, 1)
        if old_node not in (NOWHERE, node):
            self._forget_empty_node(old_node)
        if old_job not in (NOWHERE, job):
            self._forget_empty_job(old_job)
        after = self._essence(row)
        if after != before:
            self.on_change(not before or _decisive(before, after))

    def _essence(self, row: int) -> tuple[object, ...]:
        """What of a task can alter a decision or a status; equal essences need no cycle."""
        tasks, info = self.ledger.tasks, self._tasks[row]
        assert info is not None
        return (
            int(tasks.status[row]),
            int(tasks.node[row]),
            int(tasks.task_class[row]),
            int(tasks.job[row]),
            int(tasks.priority[row]),
            info.gates,
            info.preemptable,
        )

    def _delete_pod(self, pod: Pod) -> None:
        self._remove_pod(pod.metadata.uid)

    def _remove_pod(self, uid: str) -> None:
        row = self._task_rows.pop(uid, None)
        if row is None:
            return
        tasks, info = self.ledger.tasks, self._tasks[row]
        if info is not None and self._pod_uids.get(info.key) == uid:
            del self._pod_uids[info.key]
        self.ledger.book_one(row, -1)
        node, job = int(tasks.node[row]), int(tasks.job[row])
        self.classes.leave(int(tasks.task_class[row]))
        tasks.free_row(row)
        self._tasks[row] = None
        if node != NOWHERE:
            self._forget_empty_node(node)
        if job != NOWHERE:
            self._forget_empty_job(job)
        self.on_change(True)

    # -- what the scheduler itself has done ------------------------------------------------------------------------

    def assume_bound(self, uid: str, node: str) -> bool:
        """The pod was handed to the binder. False when it is no longer there to be bound."""
        row = self._task_rows.get(uid)
        if row is None or self.ledger.tasks.status[row] != TaskStatus.PENDING:
            return False
        self.ledger.move_one(row, TaskStatus.BINDING, self._node_row(node))
        return True

    def bind_failed(self, uid: str, *, retry_at: float) -> None:
        """The pod is not bound after all; it may be tried again from `retry_at` (seconds since the epoch)."""
        row = self._task_rows.get(uid)
        if row is None or self.ledger.tasks.status[row] != TaskStatus.BINDING:
            return
        node = int(self.ledger.tasks.node[row])
        self.ledger.move_one(row, TaskStatus.PENDING, NOWHERE)
        self.ledger.tasks.retry_at[row] = retry_at
        self._forget_empty_node(node)
        self.on_change(True)

    def assume_evicted(self, uid: str) -> bool:
        """The pod is being evicted. False when it is no longer there."""
        row = self._task_rows.get(uid)
        if row is None or self.ledger.tasks.status[row] not in (TaskStatus.BOUND, TaskStatus.RUNNING):
            return False
        self.ledger.move_one(row, TaskStatus.RELEASING, int(self.ledger.tasks.node[row]))
        return True

    def evict_failed(self, uid: str) -> None:
        """The pod stays where it is."""
        row = self._task_rows.get(uid)
        if row is not None and self.ledger.tasks.status[row] == TaskStatus.RELEASING:
            self.ledger.move_one(row, TaskStatus.RUNNING, int(self.ledger.tasks.node[row]))
            self.on_change(True)

    def assume_phase(self, key: str, phase: Phase) -> None:
        """The PodGroup's phase was handed to the status writer."""
        row = self._job_rows.get(key)
        if row is not None:
            self.ledger.jobs.phase[row] = phase

    # -- nodes ---------------------------------------------------------------------------------------------------

    def _upsert_node(self, node: Node) -> None:
        reading = read_node(node)
        name = node.metadata.name
        if self._node_readings.get(name) == reading:
            return
        self._node_readings[name] = reading
        axis = self.ledger.axis.with_names(reading.allocatable)
        if axis is not self.ledger.axis:
            self.ledger.widen(axis)
        row = self._node_row(name)
        self.ledger.nodes.present[row] = True
        self.ledger.nodes.allocatable[row] = axis.vector(reading.allocatable)
        self._nodes[row] = reading.info
        self._nodes_version += 1
        self.on_change(True)

    def _delete_node(self, node: Node) -> None:
        name = node.metadata.name
        if self._node_readings.pop(name, None) is None:
            return
        row = self._node_rows[name]
        self.ledger.nodes.present[row] = False
        self.ledger.nodes.allocatable[row] = 0
        self._nodes[row] = NodeInfo(name)
        self._nodes_version += 1
        self._forget_empty_node(row)
        self.on_change(True)

    def _node_row(self, name: str) -> int:
        row = self._node_rows.get(name)
        if row is None:
            row = self._node_rows[name] = self.ledger.nodes.new_row()
            while len(self._nodes) <= row:
                self._nodes.append(NodeInfo(""))
            self._nodes[row] = NodeInfo(name)
            self._nodes_version += 1
        return row

    def _forget_empty_node(self, row: int) -> None:
        nodes = self.ledger.nodes
        if not nodes.present[row] and nodes.tasks[row] == 0:
            del self._node_rows[self._nodes[row].name]
            nodes.free_row(row)
            self._nodes[row] = NodeInfo("")
            self._nodes_version += 1

    # -- PodGroups and queues --------------------------------------------------------------------------------------

    def _upsert_group(self, group: PodGroup) -> None:
        key = group.metadata.key
        old = self._groups.get(key)
        self._groups[key] = group
        row = self._job_row(key)
        jobs = self.ledger.jobs
        unchanged = (
            old is not None and old.spec == group.spec and old.metadata.annotations == group.metadata.annotations
        )
        if not unchanged or self._jobs[row] is None:
            reading = read_job(group, self.default_queue)
            axis = self.ledger.axis.with_names(reading.min_resources or {})
            if axis is not self.ledger.axis:
                self.ledger.widen(axis)
            jobs.known[row] = True
            jobs.queue[row] = self._queue_slots.slot(reading.info.queue)
            jobs.min_member[row] = reading.info.min_member
            jobs.created[row] = group.metadata.created
            jobs.has_min_resources[row] = reading.min_resources is not None
            jobs.min_resources[row] = axis.vector(reading.min_resources or {})
            jobs.priority[row] = self._priority(reading.info.priority_class)
            self._jobs[row] = reading.info
        else:
            # Only the status moved: mostly the echo of our own write.
            self._jobs[row] = read_job(group, self.default_queue).info
        phase = Phase.of(group.status.phase)
        moved = jobs.phase[row] != phase
        jobs.phase[row] = jobs.stored_phase[row] = phase
        status = group.status
        jobs.stored_counts[row] = (status.running, status.succeeded, status.failed)
        if moved or not unchanged:
            self.on_change(True)

    def _delete_group(self, group: PodGroup) -> None:
        key = group.metadata.key
        known = self._groups.get(key)
        if known is None or known.metadata.uid != group.metadata.uid:
            return
        del self._groups[key]
        row = self._job_rows[key]
        self.ledger.jobs.known[row] = False
        self.ledger.jobs.phase[row] = Phase.NONE
        self._jobs[row] = None
        self._forget_empty_job(row)
        self.on_change(True)

    def _job_row(self, key: str) -> int:
        row = self._job_rows.get(key)
        if row is None:
            row = self._job_rows[key] = self.ledger.jobs.new_row()
            while len(self._jobs) <= row:
                self._jobs.append(None)
                self._job_keys.append("")
            self._job_keys[row] = key
            self.ledger.jobs.namespace[row] = self._namespace_slots.slot(key.partition("/")[0])
        return row

    def _forget_empty_job(self, row: int) -> None:
        jobs = self.ledger.jobs
        if not jobs.known[row] and not jobs.counts[row].any():
            del self._job_rows[self._job_keys[row]]
            self._job_keys[row] = ""
            jobs.free_row(row)

    def _upsert_queue(self, queue: Queue) -> None:
        name = queue.metadata.name
        old = self._queues.get(name)
        self._queues[name] = queue
        reading = read_queue(queue, self._queue_slots.slot(name), self.ledger.axis)
        if reading.axis is not self.ledger.axis:
            self.ledger.widen(reading.axis)
        self._queue_infos[name] = reading.info
        if old is None or not _same_wishes(old, queue) or old.status.state != queue.status.state:
            self.on_change(True)

    def _delete_queue(self, queue: Queue) -> None:
        if self._queues.pop(queue.metadata.name, None) is not None:
            del self._queue_infos[queue.metadata.name]
            self.on_change(True)

    # -- what weighs: priority classes and quotas ------------------------------------------------------------------

    def _upsert_priority_class(self, priority_class: PriorityClass) -> None:
        name = priority_class.metadata.name
        old = self._priority_classes.get(name)
        self._priority_classes[name] = priority_class
        if old is None or (old.value, old.global_default) != (priority_class.value, priority_class.global_default):
            self._reprioritise()

    def _delete_priority_class(self, priority_class: PriorityClass) -> None:
        if self._priority_classes.pop(priority_class.metadata.name, None) is not None:
            self._reprioritise()

    def _upsert_quota(self, quota: ResourceQuota) -> None:
        key = quota.metadata.key
        old = self._quotas.get(key)
        self._quotas[key] = quota
        if old is None or old.spec != quota.spec:
            self.on_change(True)

    def _delete_quota(self, quota: ResourceQuota) -> None:
        if self._quotas.pop(quota.metadata.key, None) is not None:
            self.on_change(True)

    def _priority(self, class_name: str) -> int:
        """Value of the named PriorityClass, else of the global default, else 0."""
        named = self._priority_classes.get(class_name)
        if named is not None:
            return named.value
        return next((item.value for item in self._priority_classes.values() if item.global_default), 0)

    def _reprioritise(self) -> None:
        for row, info in enumerate(self._jobs):
            if info is not None:
                self.ledger.jobs.priority[row] = self._priority(info.priority_class)
        self.on_change(True)

    # -- snapshots -----------------------------------------------------------------------------------------------

    def snapshot(self, now: float) -> Snapshot:
        """An independent copy of everything a cycle needs."""
        axis = self.ledger.axis
        for name, info in self._queue_infos.items():
            if len(info.capability) != len(axis):
                self._queue_infos[name] = read_queue(self._queues[name], info.slot, axis).info
        for row, task_class in enumerate(self.classes.classes):
            if task_class is not None:
                self.classes.classes[row] = request_on(axis, task_class)
        self._snapshots += 1
        return Snapshot(
            number=self._snapshots,
            ledger=self.ledger.copy(),
            tasks=self._tasks.copy(),
            jobs=self._jobs.copy(),
            job_keys=self._job_keys.copy(),
            nodes=self._nodes.copy(),
            classes=self.classes.classes.copy(),
            queues=self._queue_infos.copy(),
            queue_names=list(self._queue_slots.names),
            namespaces=list(self._namespace_slots.names),
            roles=list(self._role_slots.names),
            namespace_weights=namespace_weights(self._quotas.values()),
            nodes_version=self._nodes_version,
            now=now,
        )

    def next_retry(self, now: float) -> float | None:
        """The next moment at which a pod whose binding failed may be tried again."""
        times = self.ledger.tasks.retry_at[: self.ledger.tasks.size]
        ahead = times[times > now]
        return float(ahead.min()) if len(ahead) else None

    def pod_condition(self, uid: str, condition_type: str) -> Condition | None:
        """A condition the pod is known to have; only PodScheduled=False is remembered."""
        row = self._task_rows.get(uid)
        info = self._tasks[row] if row is not None else None
        known = info.condition if info is not None else None
        return known if known is not None and known.type == condition_type else None

    def drift(self) -> int:
        """Self-audit: 0 when every sum follows from the pods."""
        return self.ledger.drift()


def _meta(obj: ApiObject) -> ObjectMeta:
    meta: ObjectMeta = obj.metadata  # type: ignore[attr-defined]
    return meta


def _identity(kind: str, meta: ObjectMeta) -> str:
    return meta.uid if kind == "Pod" else meta.key


def _same_wishes(old: PodGroup | Queue, new: PodGroup | Queue) -> bool:
    """Whether two pictures of an object differ in its status at most."""
    return (
        old.spec == new.spec
        and old.metadata.annotations == new.metadata.annotations
        and _meta(old).uid == _meta(new).uid
    )


def _decisive(before: tuple[object, ...], after: tuple[object, ...]) -> bool:
    """A bound pod that is confirmed or starts to run frees nothing and needs no new decision."""
    quiet = {TaskStatus.BINDING, TaskStatus.BOUND, TaskStatus.RUNNING}
    return not (before[1:] == after[1:] and before[0] in quiet and after[0] in quiet)
