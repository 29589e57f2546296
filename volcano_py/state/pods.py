"""Pods: a task row for each that counts, and the scheduler's decisions about it until the API server shows them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Final

import msgspec
import numpy as np
from msgspec.structs import astuple, replace

from volcano_py.api.effects import PodCondition
from volcano_py.api.objects import ObjectMeta, Pod
from volcano_py.state.infos import TaskInfo
from volcano_py.state.pod_readings import FIXED, MUTABLE, PodReading, fixed_values, mutable_values, read_pod
from volcano_py.state.status import FINISHED_STATUSES, TaskStatus
from volcano_py.state.table.change import Change
from volcano_py.state.table.interner import Interner
from volcano_py.state.table.row_list import RowList
from volcano_py.state.table.table import NOWHERE, Rows
from volcano_py.state.unreadable_values import UnreadableValues

if TYPE_CHECKING:
    from volcano_py.api.objects import ApiObject, Condition
    from volcano_py.state.cards.held import HeldCards
    from volcano_py.state.claims.pod_claims import PodClaims
    from volcano_py.state.classes.class_book import ClassBook
    from volcano_py.state.groups import Groups
    from volcano_py.state.nodes.nodes import Nodes
    from volcano_py.state.queues.charges import Charges
    from volcano_py.state.table.ledger import Ledger
    from volcano_py.state.terms.spread_defaults import SpreadDefaults
    from volcano_py.state.terms.term_book import TermBook

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


# The columns that are written for a new version of a pod, and for a new pod.
_MUTABLE = attrgetter("status", *_Held.__struct_fields__, *MUTABLE)
_ALL = attrgetter(*FIXED, "status", *_Held.__struct_fields__, *MUTABLE)


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
        cards: HeldCards,
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
        self._cards = cards
        self._scheduler_names = scheduler_names
        self._rows: dict[str, int] = {}
        self._uids: dict[str, str] = {}
        self._shown: dict[int, TaskStatus] = {}
        """Row → what the API server says, for the pods whose status here is ahead of it."""
        self._promised: dict[int, tuple[str, str]] = {}
        """Row → the node that the pod was promised, until the API server shows it, and what it showed before."""
        self._entering: dict[int, tuple[PodReading, _Held]] = {}
        """Rows of new pods whose columns and sums are written together (`_enter`)."""
        self.infos: RowList[TaskInfo | None] = RowList()
        self.roles = Interner()
        self.roles.take("")
        self.sub_groups = Interner()
        self.sub_groups.take("")
        self.unreadable = UnreadableValues[int]()

    # -- pods as they come -------------------------------------------------------------------------------------------

    def upsert(self, pod: Pod) -> Change:
        return self._take(self._read(pod), is_alone=True)

    def upsert_all(self, pods: Iterable[Pod]) -> Change:
        """`upsert` for each, in their order. Each step is done for all that are new, which takes a third less."""
        readings = [*map(self._read, pods)]
        try:
            return max(map(self._take, readings), default=Change.NONE)
        finally:
            self._enter()

    def _read(self, pod: Pod) -> PodReading:
        return read_pod(pod, ours=pod.spec.scheduler_name in self._scheduler_names)

    def _take(self, seen: PodReading, *, is_alone: bool = False) -> Change:
        pod, info, ours, status, uid = seen.pod, seen.info, seen.ours, seen.status, seen.pod.metadata.uid
        judged = self._groups.foreign.pod_gone(uid) if ours else self._groups.foreign.pod_seen(pod)
        ousted = max(judged, self._oust_namesake(seen.key, uid))
        grouped = ours and bool(info.group)
        if not (ours or pod.spec.node_name) or (status in _FINISHED and not grouped):
            return max(ousted, self._remove(uid))
        job = self._groups.row(f"{info.ref.namespace}/{info.group}") if grouped else NOWHERE
        row = self._rows.get(uid)
        if row is None:
            held = self._add(seen, job)
            if is_alone:
                self._enter()
            return max(ousted, self._arrival(seen, held, is_counted=is_alone))
        self._enter()
        before = self._essence(row)
        self._ledger.book_one(row, -1)
        self._rewrite(row, seen, job)
        after = self._essence(row)
        if after == before:
            return ousted
        if after[1:] == before[1:] and before[0] in _SETTLING and after[0] in _SETTLING:
            return max(ousted, Change.STATUS if grouped else Change.LATER)
        return Change.DECISION

    def _arrival(self, seen: PodReading, held: _Held, *, is_counted: bool) -> Change:
        """What it means that the pod is new; `is_counted`: it is in the sums, with all that came with it."""
        if seen.ours and seen.status is TaskStatus.PENDING:
            is_incomplete = is_counted and held.job != NOWHERE and self._groups.lacks_pods(held.job)
            return Change.INCOMPLETE if is_incomplete else Change.DECISION
        # a pod that another scheduler has placed may be the one that a pod of ours has affinity to
        is_awaited = self._terms.profile(held.labels) != 0
        if is_awaited or (not seen.ours and self._uses_devices(held.task_class)):
            return Change.DECISION
        return Change.LATER if held.job == NOWHERE else Change.STATUS

    def _enter(self) -> None:
        """Write what is still to be written of new pods, before anything else looks at columns or sums."""
        if not self._entering:
            return
        rows = [*self._entering]
        values = [
            (*fixed_values(seen.pod, seen.key), seen.status, *astuple(held), *mutable_values(seen.pod, seen.info))
            for seen, held in self._entering.values()
        ]
        self._entering.clear()
        self._ledger.tasks.put(rows, _ALL, values)
        self._ledger.enter(rows)

    def delete(self, pod: Pod) -> Change:
        uid = pod.metadata.uid
        return max(self._groups.foreign.pod_gone(uid), self._remove(uid))

    def _uses_devices(self, task_class: int) -> bool:
        """Whether the pod asks for more than cpu, memory and a place: nodes may keep cores for devices that are idle
        (plugins.reserve)."""
        return self._ledger.classes.use_devices(task_class)

    def known(self) -> list[ApiObject]:
        refs = [info.ref for info in self.infos if info is not None]
        seen = [Pod(metadata=ObjectMeta(namespace=ref.namespace, name=ref.name, uid=ref.uid)) for ref in refs]
        return [*seen, *self._groups.foreign.pods()]

    def has(self, uid: str) -> bool:
        return uid in self._rows

    def row_on(self, node: str, uid: str, key: str) -> int:
        """The row of the pod of this UID, or this namespace/name if that is "", if it is on the node; else NOWHERE."""
        row = self._rows.get(uid or self._uids.get(key, ""))
        is_there = row is not None and self._ledger.tasks.node[row] == self._nodes.existing_row(node)
        return row if row is not None and is_there else NOWHERE

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
                tasks = self._ledger.tasks.change(row)
                tasks.nominated[row], tasks.nominated_since[row] = True, np.inf
            self.infos[row] = info

    def condition_write_failed(self, condition: PodCondition) -> None:
        """It was not written, so it has to be reported again, unless something newer is on its way."""
        row = self._rows.get(condition.pod.uid)
        info = None if row is None else self.infos[row]
        if row is not None and info is not None and info.on_its_way == (condition.reason, condition.message):
            self.infos[row] = replace(info, on_its_way=None)

    def _oust_namesake(self, key: str, uid: str) -> Change:
        """A pod of the same name with another UID is gone: there can only be one."""
        known = self._uids.get(key)
        return Change.NONE if known is None or known == uid else self._remove(known)

    def _add(self, seen: PodReading, job: int) -> _Held:
        """Give a new pod a row, whose columns are written by `_enter`; returns what the row refers to."""
        pod, info = seen.pod, seen.info
        row = self._rows[pod.metadata.uid] = self._ledger.tasks.new_row()
        self._uids[seen.key] = pod.metadata.uid
        if row == len(self.infos):
            self.infos.append(None)
        held = self._hold(row, pod, info, seen.status, self._node(seen.status, pod), job)
        if held.node != NOWHERE:
            self._cards.put_as_written(row, pod, self._classes.cards(held.task_class))
        if seen.ours:
            if seen.status is TaskStatus.PENDING:
                self._spread_defaults.put(row, pod)
            if held.node != NOWHERE:
                self._charges.put_as_written(row, pod)
            if info.unreadable and seen.status not in _FINISHED:
                self.unreadable.put(row, info.unreadable)
        self._date_nomination(row, info.nominated_node)
        self.infos[row] = info
        self._entering[row] = seen, held
        return held

    def _rewrite(self, row: int, seen: PodReading, job: int) -> None:
        """Write a new version of a pod into its row, which is booked nowhere, and book it."""
        tasks, before, pod = self._ledger.tasks, self._held(row), seen.pod
        status, node = self._standing(row, seen.status, pod)
        if status is not TaskStatus.PENDING and int(tasks.status[row]) == TaskStatus.PENDING:
            tasks.change(row).retry_at[row] = 0.0  # that of a binding, which is through
        info = self._with_promise(row, seen.info, status)
        self._date_nomination(row, info.nominated_node)
        held = self._hold(row, pod, info, status, node, job)
        if seen.ours and seen.status is TaskStatus.PENDING:
            self._spread_defaults.put(row, pod)
        else:
            self._spread_defaults.take(row, info.ref.namespace)
        if node == NOWHERE:
            self._charges.take(row)
            self._cards.take(row)
        else:
            self._cards.put_as_written(row, pod, self._classes.cards(held.task_class))
            if seen.ours:
                self._charges.put_as_written(row, pod)
        tasks.put((row,), _MUTABLE, [(status, *astuple(held), *mutable_values(pod, info))])
        self._ledger.book_one(row, 1)
        self.infos[row] = info
        self.unreadable.put(row, info.unreadable if seen.ours and status not in _FINISHED else ())
        self._give_back(before)
        if before.node not in (NOWHERE, node):
            self._nodes.forget_if_empty(before.node)
        if before.job not in (NOWHERE, job):
            self._groups.forget_if_empty(before.job)

    def _hold(self, row: int, pod: Pod, info: TaskInfo, status: TaskStatus, node: int, job: int) -> _Held:
        """Take hold of what the pod's row is to refer to."""
        if status in _FINISHED:
            volumes, devices = self._claims.end(row, pod)
        else:
            volumes, devices = self._claims.put(row, pod, info.claims, info.device_claims)
        return _Held(
            self._classes.join(pod, volumes, devices).row,
            self._terms.take_labels(info.ref.namespace, info.labels),
            self.roles.take(info.role),
            self.sub_groups.take(self._groups.sub_group(job, info.labels)),
            node,
            job,
        )

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

    def regroup(self) -> None:
        """Follow PodGroups whose sub-group policies have changed: other pods may belong together now."""
        regrouped = self._groups.take_regrouped()
        if not regrouped:
            return
        tasks = self._ledger.tasks
        for row in np.flatnonzero(np.isin(tasks.job, regrouped)).tolist():
            info, old = self.infos[row], int(tasks.sub_group[row])
            if info is not None:
                new = self.sub_groups.take(self._groups.sub_group(int(tasks.job[row]), info.labels))
                tasks.change(row).sub_group[row] = new
                self.sub_groups.give_back(old)

    def _date_nomination(self, row: int, node: str) -> None:
        """A promise keeps the date at which it was first seen; that of another node gets its date with the next
        snapshot."""
        known = self.infos[row]
        if node != ("" if known is None else known.nominated_node):
            self._ledger.tasks.change(row).nominated_since[row] = np.inf if node else 0.0

    def follow_clock(self, now: float) -> None:
        """Give a date to promises that are new since the last snapshot. Where the clock was set back meanwhile, older
        ones count from now, and no pod waits longer for its next attempt than the longest pause."""
        tasks = self._ledger.tasks
        undated = np.flatnonzero(tasks.nominated_since > now)
        tasks.change(undated).nominated_since[undated] = now
        ahead = np.flatnonzero(tasks.retry_at > now + LONGEST_PAUSE)
        tasks.change(ahead).retry_at[ahead] = now + LONGEST_PAUSE

    def _standing(self, row: int, shown: TaskStatus, pod: Pod) -> tuple[TaskStatus, int]:
        """Status and node row of a pod: the API server's `shown` status, unless the scheduler's own change is newer."""
        if row in self._shown:
            assumed, node = TaskStatus(int(self._ledger.tasks.status[row])), int(self._ledger.tasks.node[row])
            if shown is TaskStatus.PENDING if assumed is TaskStatus.BINDING else shown in _SETTLING:
                self._shown[row] = shown
                return assumed, node
            del self._shown[row]
        return shown, self._node(shown, pod)

    def _node(self, status: TaskStatus, pod: Pod) -> int:
        """The row of the node that the pod occupies."""
        name = pod.spec.node_name
        return self._nodes.row(name) if name and status not in _FINISHED else NOWHERE

    def _essence(self, row: int) -> tuple[object, ...]:
        """What of a task can alter a decision or a status; status first. Plugins may look at anything in its info but
        what the scheduler itself has reported. Of the labels of a waiting pod, only what some term says of them counts:
        budgets select pods that run, and a spread by default alters no more than which node is better. If the pod asks
        for parts of cards, a rule may keep it apart from others by any label."""
        tasks, info = self._ledger.tasks, self.infos[row]
        assert info is not None, "a row without a pod"
        status = tasks.status.item(row)
        task_class = tasks.task_class.item(row)
        are_labels_read = status != TaskStatus.PENDING or self._classes.cards(task_class) is not None
        labels = info.labels if are_labels_read else {}
        claims = () if status in _SETTLING else info.device_claims  # (those of waiting pods need not exist)
        return (
            status,
            self._terms.profile(tasks.labels.item(row)),
            tasks.node.item(row),
            self._classes.without_devices(task_class) if status in _SETTLING else task_class,
            tasks.job.item(row),
            tasks.sub_group.item(row),
            tasks.priority.item(row),
            tasks.pod_priority.item(row),
            tasks.deadline.item(row),
            replace(info, labels=labels, device_claims=claims, condition=None, on_its_way=None, nominated_node=""),
        )

    def _remove(self, uid: str) -> Change:
        row = self._rows.pop(uid, None)
        if row is None:
            return Change.NONE
        tasks, info = self._ledger.tasks, self.infos[row]
        assert info is not None, "a row without a pod"
        if self._uids.get(info.key) == uid:
            del self._uids[info.key]
        self._enter()
        finished = int(tasks.status[row]) in _FINISHED
        held = self._held(row)
        self._ledger.book_one(row, -1)
        self._give_back(held)
        self._claims.take(row)
        self._spread_defaults.take(row, info.ref.namespace)
        self._charges.take(row)
        self._cards.take(row)
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

    def assume_bound(self, uid: str, node_name: str, queue: str, written: Mapping[str, str]) -> bool:
        """See `ClusterState`."""
        row, node = self._rows.get(uid), self._nodes.usable_row(node_name)
        if row is None or node is None or not self._ledger.fits(row, node):
            return False
        return self._assume_bound(row, node, queue, written)

    def restore_bound(self, uid: str, node_name: str, queue: str, written: Mapping[str, str]) -> bool:
        """See `ClusterState`."""
        row, node = self._rows.get(uid), self._nodes.existing_row(node_name)
        return row is not None and node is not None and self._assume_bound(row, node, queue, written)

    def _assume_bound(self, row: int, node: int, queue: str, written: Mapping[str, str]) -> bool:
        # (numpy takes ten times as long to compare its own integers with those of an enumeration)
        if int(self._ledger.tasks.status[row]) != TaskStatus.PENDING:
            return False
        self._shown[row] = TaskStatus.PENDING
        if queue:
            self._charges.put(row, queue)
        self._keep_cards(row, written)
        self._ledger.move_one(row, TaskStatus.BINDING, node)
        return True

    def _keep_cards(self, row: int, written: Mapping[str, str]) -> None:
        """The binding of the pod writes these annotations; most write none but its queue."""
        if written:
            self._cards.put(row, written, self._classes.cards(int(self._ledger.tasks.task_class[row])))

    def assume_all_bound(self, places: Sequence[tuple[str, str, str, Mapping[str, str]]]) -> list[bool]:
        """`assume_bound` for UIDs, their nodes, their queues and what their bindings write."""
        if len(places) < _MANY or not all(queue for _, _, queue, _ in places):
            return [self.assume_bound(*place) for place in places]
        found = [(self._rows.get(uid), self._nodes.usable_row(name)) for uid, name, _, _ in places]
        known = [(row, node) for row, node in found if row is not None and node is not None]
        rows, nodes = np.array(known, dtype=np.intp).reshape(-1, 2).T
        if len(known) < len(places) or not self._can_all_be_bound(rows, nodes):
            return [self.assume_bound(*place) for place in places]
        self._shown.update((row, TaskStatus.PENDING) for row, _ in known)
        self._charges.put_all(rows, [queue for _, _, queue, _ in places])
        for (row, _), (_, _, _, written) in zip(known, places, strict=True):
            self._keep_cards(row, written)
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
        self._cards.take(row)
        self._ledger.tasks.change(row).retry_at[row] = retry_at
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
        self._ledger.tasks.change(row).retry_at[row] = retry_at
        return Change.DECISION

    def pause(self, uid: str, until: float) -> None:
        row = self._rows.get(uid)
        if row is not None:
            self._ledger.tasks.change(row).retry_at[row] = until

    def date_promise(self, uid: str, since: float) -> None:
        row = self._rows.get(uid)
        if row is not None and self._ledger.tasks.nominated[row]:
            self._ledger.tasks.change(row).nominated_since[row] = since

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
