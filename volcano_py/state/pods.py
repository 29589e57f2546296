"""Pods: a task row for each that counts, and the scheduler's decisions about it until the API server shows them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Final

import msgspec
import numpy as np
from msgspec.structs import replace

from volcano_py.api.effects import PodCondition
from volcano_py.api.objects import ObjectMeta, Pod
from volcano_py.state.infos import (
    TaskInfo,
    deadline_of,
    leaves_at,
    leaving_since,
    name_suffix,
    scheduled_at,
    started_at,
    task_info,
    tiebreak_of,
)
from volcano_py.state.status import FINISHED_STATUSES, TaskStatus, status_of
from volcano_py.state.table.change import Change
from volcano_py.state.table.columns import ANY_PRIORITY
from volcano_py.state.table.interner import Interner
from volcano_py.state.table.table import NOWHERE, Rows
from volcano_py.state.unreadable_values import UnreadableValues

if TYPE_CHECKING:
    from volcano_py.api.objects import ApiObject, Condition
    from volcano_py.state.classes.class_book import ClassBook
    from volcano_py.state.groups import Groups
    from volcano_py.state.nodes.nodes import Nodes
    from volcano_py.state.queues.charges import Charges
    from volcano_py.state.table.ledger import Ledger
    from volcano_py.state.terms.spread_defaults import SpreadDefaults
    from volcano_py.state.terms.term_book import TermBook
    from volcano_py.state.volumes.pod_claims import PodClaims

LONGEST_PAUSE: Final = 60.0
"""Seconds until a pod whose binding or eviction failed again and again is tried once more."""

# So many bindings are assumed faster with arrays than one by one: a single one takes four times as long with them.
_MANY: Final = 16

# Tuples: a set would ask Python code of the enumeration for a hash.
_FINISHED = (TaskStatus.SUCCEEDED, TaskStatus.FAILED)
# What may be bound or evicted.
_MOVABLE = (int(TaskStatus.PENDING), int(TaskStatus.BOUND), int(TaskStatus.RUNNING))
# From one of these to another a pod takes no more and frees nothing.
_SETTLING = (TaskStatus.BINDING, TaskStatus.BOUND, TaskStatus.RUNNING)


class _Held(msgspec.Struct, frozen=True, gc=False):
    """What a pod's row refers to."""

    task_class: int
    labels: int
    role: int
    sub_group: int
    node: int
    job: int


class Pods:
    """Store of pods: this scheduler's, and any that has a node.

    A finished pod leaves its node at once and stays in its job, where it counts. A pod that was handed to the binder
    counts as placed, and one that was handed to the evictor as leaving, until the API server says otherwise.

    Attributes:
        infos: by row; None for rows that are free.
        roles: slots of the task table's `role` column; slot 0 is no role.
        sub_groups: slots of its `sub_group` column; slot 0 is none.
        unreadable: annotations and labels that cannot be read, of our pods that have not ended.
    """

    def __init__(
        self,
        ledger: Ledger,
        classes: ClassBook,
        terms: TermBook,
        claims: PodClaims,
        spread_defaults: SpreadDefaults,
        nodes: Nodes,
        groups: Groups,
        charges: Charges,
        scheduler_names: Collection[str],
    ) -> None:
        self._ledger = ledger
        self._claims = claims
        self._spread_defaults = spread_defaults
        self._classes = classes
        self._terms = terms
        self._nodes = nodes
        self._groups = groups
        self._charges = charges
        self._scheduler_names = scheduler_names
        self._rows: dict[str, int] = {}
        self._uids: dict[str, str] = {}
        self._shown: dict[int, TaskStatus] = {}
        """Row → what the API server says, for the pods whose status here is ahead of it."""
        self._promised: dict[int, tuple[str, str]] = {}
        """Row → the node that the pod was promised, until the API server shows it, and what it showed before."""
        self._entering: list[int] | None = None
        """Rows of new pods that are to enter the sums together; None: each enters at once."""
        self.infos: list[TaskInfo | None] = []
        self.roles = Interner()
        self.roles.take("")
        self.sub_groups = Interner()
        self.sub_groups.take("")
        self.unreadable = UnreadableValues()

    # -- pods as they come -------------------------------------------------------------------------------------------

    def upsert(self, pod: Pod) -> Change:
        uid, status = pod.metadata.uid, status_of(pod)
        ours = pod.spec.scheduler_name in self._scheduler_names
        judged = self._groups.foreign.pod_gone(uid) if ours else self._groups.foreign.pod_seen(pod)
        ousted = max(judged, self._oust_namesake(pod))
        if not (ours or pod.spec.node_name):
            return max(ousted, self._remove(uid))
        info = task_info(pod, ours=ours)
        grouped = ours and bool(info.group)
        if status in _FINISHED and not grouped:
            return max(ousted, self._remove(uid))
        job = self._groups.row(f"{info.ref.namespace}/{info.group}") if grouped else NOWHERE
        row = self._rows.get(uid)
        if row is None:
            row = self._new_row(pod)
            self._write(row, pod, info, status, job)
            return max(ousted, self._arrival(row, ours=ours))
        self._enter()
        before = self._essence(row)
        self._ledger.book_one(row, -1)
        self._write(row, pod, info, status, job)
        after = self._essence(row)
        if after == before:
            return ousted
        if after[1:] == before[1:] and before[0] in _SETTLING and after[0] in _SETTLING:
            return max(ousted, Change.STATUS if grouped else Change.LATER)
        return Change.DECISION

    def _arrival(self, row: int, *, ours: bool) -> Change:
        """What it means that the pod in that row is new."""
        tasks = self._ledger.tasks
        job = int(tasks.job[row])
        if ours and int(tasks.status[row]) == TaskStatus.PENDING:
            # (of pods that enter together it is not known yet how many there are)
            is_counted = job != NOWHERE and self._entering is None
            return Change.INCOMPLETE if is_counted and self._groups.lacks_pods(job) else Change.DECISION
        # a pod that another scheduler has placed may be the one that a pod of ours has affinity to
        is_awaited = self._terms.profile(int(tasks.labels[row])) != 0
        if is_awaited or (not ours and self._uses_devices(row)):
            return Change.DECISION
        return Change.LATER if job == NOWHERE else Change.STATUS

    def upsert_all(self, pods: Iterable[Pod]) -> Change:
        """`upsert` for each, in their order. Those that are new enter the sums together."""
        self._entering = []
        try:
            return max(map(self.upsert, pods), default=Change.NONE)
        finally:
            self._enter()
            self._entering = None

    def _enter(self) -> None:
        """Make the sums true before anything else looks at them."""
        if self._entering:
            self._ledger.enter(np.array(self._entering))
            self._entering.clear()

    def delete(self, pod: Pod) -> Change:
        uid = pod.metadata.uid
        return max(self._groups.foreign.pod_gone(uid), self._remove(uid))

    def _uses_devices(self, row: int) -> bool:
        """Whether the pod asks for more than cpu, memory and a place: nodes may keep cores for devices that are idle
        (plugins.reserve)."""
        return self._ledger.classes.use_devices(int(self._ledger.tasks.task_class[row]))

    def known(self) -> list[ApiObject]:
        refs = [info.ref for info in self.infos if info is not None]
        seen = [Pod(metadata=ObjectMeta(namespace=ref.namespace, name=ref.name, uid=ref.uid)) for ref in refs]
        return [*seen, *self._groups.foreign.pods()]

    def has(self, uid: str) -> bool:
        return uid in self._rows

    def is_shown_waiting(self, uid: str) -> bool:
        """Whether the API server shows this pod without a node, whatever was decided about it."""
        row = self._rows.get(uid)
        return row is not None and self._shown.get(row, self._ledger.tasks.status[row]) == TaskStatus.PENDING

    def is_any_placed(self) -> bool:
        """Whether a pod of this scheduler has a node."""
        nodes = self._ledger.tasks.node
        return any(info is not None and info.ours and nodes[row] != NOWHERE for row, info in enumerate(self.infos))

    def condition(self, uid: str) -> Condition | None:
        """The pod's PodScheduled condition while it is False."""
        row = self._rows.get(uid)
        info = None if row is None else self.infos[row]
        return None if info is None else info.condition

    def assume_reported(self, condition: PodCondition) -> None:
        """The condition is on its way: it need not be written again while its echo is."""
        row = self._rows.get(condition.pod.uid)
        info = None if row is None else self.infos[row]
        if row is not None and info is not None:
            info = replace(info, on_its_way=(condition.reason, condition.message))
            if condition.nominated_node:
                shown = self._promised[row][1] if row in self._promised else info.nominated_node
                self._promised[row] = condition.nominated_node, shown
                info = replace(info, nominated_node=condition.nominated_node)
                self._ledger.tasks.nominated[row] = True
                self._ledger.tasks.nominated_since[row] = np.inf
            self.infos[row] = info

    def condition_write_failed(self, condition: PodCondition) -> None:
        """It was not written, so it has to be reported again, unless something newer is on its way."""
        row = self._rows.get(condition.pod.uid)
        info = None if row is None else self.infos[row]
        if row is not None and info is not None and info.on_its_way == (condition.reason, condition.message):
            self.infos[row] = replace(info, on_its_way=None)

    def _oust_namesake(self, pod: Pod) -> Change:
        """A pod of the same name with another UID is gone: there can only be one."""
        known = self._uids.get(pod.metadata.key)
        return Change.NONE if known is None or known == pod.metadata.uid else self._remove(known)

    def _new_row(self, pod: Pod) -> int:
        tasks, meta = self._ledger.tasks, pod.metadata
        row, key = tasks.new_row(), meta.key
        self._rows[meta.uid] = row
        self._uids[key] = meta.uid
        if row == len(self.infos):
            self.infos.append(None)
        tasks.created[row] = meta.created
        tasks.suffix[row] = name_suffix(meta.name)
        tasks.tiebreak[row] = tiebreak_of(key)
        return row

    def _write(self, row: int, pod: Pod, info: TaskInfo, status: TaskStatus, job: int) -> None:
        """Enter the pod into a row that is booked nowhere, and book it."""
        tasks = self._ledger.tasks
        is_new = self.infos[row] is None
        held = None if is_new else self._held(row)
        waits = info.ours and status is TaskStatus.PENDING
        status, node = self._standing(row, status, pod.spec.node_name)
        if not is_new:
            if status is not TaskStatus.PENDING and int(tasks.status[row]) == TaskStatus.PENDING:
                tasks.retry_at[row] = 0.0  # that of a binding, which is through
            info = self._with_promise(row, info, status)
        self._date_nomination(row, info.nominated_node)
        volumes = self._claims.put(row, pod, () if status in _FINISHED else info.claims)
        tasks.task_class[row] = self._classes.join(pod, volumes).row
        tasks.labels[row] = self._terms.take_labels(info.ref.namespace, info.labels)
        if waits:
            self._spread_defaults.put(row, pod)
        else:
            self._spread_defaults.take(row, info.ref.namespace)
        tasks.role[row] = self.roles.take(info.role)
        tasks.sub_group[row] = self.sub_groups.take(self._groups.sub_group(job, info.labels))
        self._fill(row, pod, info)
        tasks.job[row] = job
        tasks.status[row] = status
        tasks.node[row] = node
        if node == NOWHERE:
            self._charges.take(row)
        elif info.ours:
            self._charges.put_as_written(row, pod)
        if is_new and self._entering is not None:
            self._entering.append(row)
        else:
            self._ledger.book_one(row, 1)
        self.infos[row] = info
        self.unreadable.put(row, info.unreadable if info.ours and status not in _FINISHED else ())
        if held is not None:
            self._give_back(held)
            if held.node not in (NOWHERE, node):
                self._nodes.forget_if_empty(held.node)
            if held.job not in (NOWHERE, job):
                self._groups.forget_if_empty(held.job)

    def _held(self, row: int) -> _Held:
        tasks = self._ledger.tasks
        return _Held(
            tasks.task_class.item(row),
            tasks.labels.item(row),
            tasks.role.item(row),
            tasks.sub_group.item(row),
            tasks.node.item(row),
            tasks.job.item(row),
        )

    def _give_back(self, held: _Held) -> None:
        self._classes.leave(held.task_class)
        self._terms.leave_labels(held.labels)
        self.roles.give_back(held.role)
        self.sub_groups.give_back(held.sub_group)

    def _with_promise(self, row: int, info: TaskInfo, status: TaskStatus) -> TaskInfo:
        """With the node that was promised to the pod and that the API server does not show yet."""
        if row not in self._promised:
            return info
        promised, shown = self._promised[row]
        if info.nominated_node == shown != promised and status is TaskStatus.PENDING:
            return replace(info, nominated_node=promised)
        del self._promised[row]
        return info

    def _fill(self, row: int, pod: Pod, info: TaskInfo) -> None:
        """Enter the columns that follow from the pod alone."""
        tasks = self._ledger.tasks
        tasks.priority[row] = info.priority
        tasks.pod_priority[row] = ANY_PRIORITY if pod.spec.priority is None else pod.spec.priority
        tasks.gated[row] = bool(info.gates)
        tasks.nominated[row] = bool(info.nominated_node)
        tasks.preemptable[row] = info.preemptable
        tasks.leaves_at[row], tasks.leaving_since[row] = leaves_at(pod), leaving_since(pod)
        tasks.scheduled_at[row] = scheduled_at(pod)
        tasks.started_at[row] = started_at(pod)
        tasks.deadline[row] = deadline_of(pod)

    def regroup(self) -> None:
        """Follow PodGroups whose sub-group policies have changed: other pods may belong together now."""
        regrouped = self._groups.take_regrouped()
        if not regrouped:
            return
        tasks = self._ledger.tasks
        for row in np.flatnonzero(np.isin(tasks.job, regrouped)).tolist():
            info, old = self.infos[row], int(tasks.sub_group[row])
            if info is not None:
                tasks.sub_group[row] = self.sub_groups.take(self._groups.sub_group(int(tasks.job[row]), info.labels))
                self.sub_groups.give_back(old)

    def _date_nomination(self, row: int, node: str) -> None:
        """A promise keeps the date at which it was first seen; that of another node gets its date with the next
        snapshot."""
        known = self.infos[row]
        if not node:
            self._ledger.tasks.nominated_since[row] = 0.0
        elif known is None or known.nominated_node != node:
            self._ledger.tasks.nominated_since[row] = np.inf

    def follow_clock(self, now: float) -> None:
        """Give a date to promises that are new since the last snapshot. Where the clock was set back meanwhile, older
        ones count from now, and no pod waits longer for its next attempt than the longest pause."""
        tasks = self._ledger.tasks
        np.minimum(tasks.nominated_since, now, out=tasks.nominated_since)
        np.minimum(tasks.retry_at, now + LONGEST_PAUSE, out=tasks.retry_at)

    def _standing(self, row: int, shown: TaskStatus, node_name: str) -> tuple[TaskStatus, int]:
        """Status and node row of a pod: the API server's `shown` status, unless the scheduler's own change is newer."""
        if row in self._shown:
            assumed, node = TaskStatus(int(self._ledger.tasks.status[row])), int(self._ledger.tasks.node[row])
            if shown is TaskStatus.PENDING if assumed is TaskStatus.BINDING else shown in _SETTLING:
                self._shown[row] = shown
                return assumed, node
            del self._shown[row]
        return shown, self._nodes.row(node_name) if node_name and shown not in _FINISHED else NOWHERE

    def _essence(self, row: int) -> tuple[object, ...]:
        """What of a task can alter a decision or a status; status first. Plugins may look at anything in its info but
        what the scheduler itself has reported. Of the labels of a waiting pod, only what some term says of them counts:
        budgets select pods that run, and a spread by default alters no more than which node is better."""
        tasks, info = self._ledger.tasks, self.infos[row]
        assert info is not None, "a row without a pod"
        status = int(tasks.status[row])
        if status == TaskStatus.PENDING:
            info = replace(info, labels={})
        return (
            status,
            self._terms.profile(int(tasks.labels[row])),
            int(tasks.node[row]),
            int(tasks.task_class[row]),
            int(tasks.job[row]),
            int(tasks.sub_group[row]),
            int(tasks.priority[row]),
            int(tasks.pod_priority[row]),
            float(tasks.deadline[row]),
            replace(info, condition=None, on_its_way=None, nominated_node=""),
        )

    def _remove(self, uid: str) -> Change:
        row = self._rows.pop(uid, None)
        if row is None:
            return Change.NONE
        tasks, info = self._ledger.tasks, self.infos[row]
        assert info is not None, "a row without a pod"
        if self._uids.get(info.key) == uid:
            del self._uids[info.key]
        finished = int(tasks.status[row]) in _FINISHED
        held = self._held(row)
        self._enter()
        self._ledger.book_one(row, -1)
        self._give_back(held)
        self._claims.take(row)
        self._spread_defaults.take(row, info.ref.namespace)
        self._charges.take(row)
        self.unreadable.take(row)
        tasks.free_row(row)
        self._shown.pop(row, None)
        self._promised.pop(row, None)
        self.infos[row] = None
        # A finished pod held nothing, but counted among those that its gang needs to exist.
        is_missed = not finished or (
            held.job != NOWHERE and bool(self._ledger.jobs.counts[held.job, ~FINISHED_STATUSES].any())
        )
        if held.node != NOWHERE:
            self._nodes.forget_if_empty(held.node)
        if held.job != NOWHERE:
            self._groups.forget_if_empty(held.job)
        return Change.DECISION if is_missed else Change.STATUS

    # -- what the scheduler itself has done ----------------------------------------------------------------------------

    def assume_bound(self, uid: str, node_name: str, queue: str) -> bool:
        """See `ClusterState`."""
        row, node = self._rows.get(uid), self._nodes.usable_row(node_name)
        if row is None or node is None or not self._ledger.fits(row, node):
            return False
        return self._assume_bound(row, node, queue)

    def restore_bound(self, uid: str, node_name: str, queue: str) -> bool:
        """See `ClusterState`."""
        row, node = self._rows.get(uid), self._nodes.existing_row(node_name)
        return row is not None and node is not None and self._assume_bound(row, node, queue)

    def _assume_bound(self, row: int, node: int, queue: str) -> bool:
        # (numpy takes ten times as long to compare its own integers with those of an enumeration)
        if int(self._ledger.tasks.status[row]) != TaskStatus.PENDING:
            return False
        self._shown[row] = TaskStatus.PENDING
        if queue:
            self._charges.put(row, queue)
        self._ledger.move_one(row, TaskStatus.BINDING, node)
        return True

    def assume_all_bound(self, places: Sequence[tuple[str, str, str]]) -> list[bool]:
        """`assume_bound` for UIDs, their nodes and their queues."""
        if len(places) < _MANY or not all(queue for _, _, queue in places):
            return [self.assume_bound(*place) for place in places]
        found = [(self._rows.get(uid), self._nodes.usable_row(name)) for uid, name, _ in places]
        known = [(row, node) for row, node in found if row is not None and node is not None]
        rows, nodes = np.array(known, dtype=np.intp).reshape(-1, 2).T
        if len(known) < len(places) or not self._can_all_be_bound(rows, nodes):
            return [self.assume_bound(*place) for place in places]
        self._shown.update((row, TaskStatus.PENDING) for row, _ in known)
        self._charges.put_all(rows, [queue for _, _, queue in places])
        self._ledger.move(rows, TaskStatus.BINDING, nodes)
        return [True] * len(places)

    def _can_all_be_bound(self, rows: Rows, nodes: Rows) -> bool:
        """Whether these tasks [K], all of them, wait and have room together on these nodes [K]."""
        waits = bool((self._ledger.tasks.status[rows] == int(TaskStatus.PENDING)).all())
        return waits and len(np.unique(rows)) == len(rows) and self._ledger.fit_together(rows, nodes)

    def bind_failed(self, uid: str, retry_at: float) -> Change:
        row = self._assumed(uid, TaskStatus.BINDING)
        if row is None:
            return Change.NONE
        node = int(self._ledger.tasks.node[row])
        self._ledger.move_one(row, self._shown.pop(row), NOWHERE)
        self._charges.take(row)
        self._ledger.tasks.retry_at[row] = retry_at
        self._nodes.forget_if_empty(node)
        return Change.DECISION

    def assume_evicted(self, uid: str) -> bool:
        row = self._rows.get(uid)
        if row is None:
            return False
        status = TaskStatus(int(self._ledger.tasks.status[row]))
        if status not in (TaskStatus.BOUND, TaskStatus.RUNNING):
            return False
        self._shown[row] = status
        self._ledger.move_one(row, TaskStatus.RELEASING, int(self._ledger.tasks.node[row]))
        return True

    def evict_failed(self, uid: str, retry_at: float) -> Change:
        row = self._assumed(uid, TaskStatus.RELEASING)
        if row is None:
            return Change.NONE
        self._ledger.move_one(row, self._shown.pop(row), int(self._ledger.tasks.node[row]))
        self._ledger.tasks.retry_at[row] = retry_at
        return Change.DECISION

    def pause(self, uid: str, until: float) -> None:
        row = self._rows.get(uid)
        if row is not None:
            self._ledger.tasks.retry_at[row] = until

    def date_promise(self, uid: str, since: float) -> None:
        row = self._rows.get(uid)
        if row is not None and self._ledger.tasks.nominated[row]:
            self._ledger.tasks.nominated_since[row] = since

    def _assumed(self, uid: str, status: TaskStatus) -> int | None:
        """The row of a pod whose `status` the scheduler has set and the API server does not show yet."""
        row = self._rows.get(uid)
        is_ahead = row is not None and row in self._shown and self._ledger.tasks.status[row] == status
        return row if is_ahead else None

    def next_retry(self, after: float) -> float | None:
        """The first moment past `after` at which a pod whose binding or eviction failed may be tried again."""
        tasks = self._ledger.tasks
        rows = np.flatnonzero(tasks.retry_at[: tasks.size] > after)
        ahead = tasks.retry_at[rows[np.isin(tasks.status[rows], _MOVABLE)]]
        return float(ahead.min()) if len(ahead) else None
