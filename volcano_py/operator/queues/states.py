"""The queue controller's decisions, as pure functions: the state of a queue, and the patches to write.

Every queue is looked at on its own, with the state of its parent: a child closes because it sees its parent closed,
and opens because it sees it open again. So nothing is lost when the process stops half-way through a tree. The live
controller and the simulated cluster call the same functions.

Queue states and actions are Volcano's (`status.state`, and `action` of a Command).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Final

import msgspec

from volcano_py.api.effects import JsonObject
from volcano_py.api.names import CLOSED_BY_PARENT, DEFAULT_QUEUE, ROOT_QUEUE, SCHEDULING_API
from volcano_py.api.objects import Queue


class QueueState(StrEnum):
    """`status.state`; a queue without a state yet counts as Open."""

    OPEN = "Open"
    CLOSED = "Closed"
    CLOSING = "Closing"
    UNKNOWN = "Unknown"


class QueueAction(StrEnum):
    """What is asked of a queue: by a Command, or (`SYNC`) by any change around it."""

    OPEN = "OpenQueue"
    CLOSE = "CloseQueue"
    SYNC = "SyncQueue"


SHUT: Final = frozenset({QueueState.CLOSED, QueueState.CLOSING})


class UnknownQueueStateError(ValueError):
    """A queue's `status.state` is none of the four states; such a queue is left alone."""


class PodGroupCounts(msgspec.Struct, frozen=True):
    """How many PodGroups of a queue are in each phase; the fields are named as in the queue's status."""

    pending: int = 0
    inqueue: int = 0
    running: int = 0
    unknown: int = 0
    completed: int = 0

    @classmethod
    def of(cls, phases: Iterable[str]) -> PodGroupCounts:
        """Counts of PodGroup phases. No phase is Pending, where every PodGroup begins."""
        found = Counter(phase or "Pending" for phase in phases)
        known = {name: found.pop(name, 0) for name in ("Pending", "Inqueue", "Running", "Completed")}
        return cls(
            pending=known["Pending"],
            inqueue=known["Inqueue"],
            running=known["Running"],
            completed=known["Completed"],
            unknown=found.total(),
        )

    @property
    def total(self) -> int:
        return self.pending + self.inqueue + self.running + self.unknown + self.completed

    def as_status(self) -> dict[str, int]:
        """By field of the queue's status."""
        return {
            "pending": self.pending,
            "inqueue": self.inqueue,
            "running": self.running,
            "unknown": self.unknown,
            "completed": self.completed,
        }


class QueuePatch(msgspec.Struct, frozen=True):
    """One merge patch of a queue: `subresource` is "" for the object itself, or "status"."""

    subresource: str
    body: JsonObject


class QueueChange(msgspec.Struct, frozen=True):
    """What has to be written for one queue; None and empty mean: leave as it is.

    `refusal` says why a requested action was not carried out.
    """

    parent: str | None = None
    closed_by_parent: bool | None = None
    state: QueueState | None = None
    counts: Mapping[str, int] = msgspec.field(default_factory=dict)
    refusal: str = ""

    @property
    def is_empty(self) -> bool:
        return self.parent is None and self.closed_by_parent is None and self.state is None and not self.counts

    @property
    def only_counts(self) -> bool:
        return bool(self.counts) and self.parent is None and self.closed_by_parent is None and self.state is None

    def patches(self, queue: Queue) -> tuple[QueuePatch, ...]:
        """The merge patches in the order in which to send them.

        A process that stops between two patches must not turn a queue that its parent closed into one that was closed
        by hand: so the mark is set before the state, and taken off after it.
        """
        status = self._status_patch(queue)
        unmarks = self.closed_by_parent is False
        first = self._object_patch(queue, mark=not unmarks)
        last = self._object_patch(queue, mark=unmarks, parent=False)
        return (*first, *status, *last)

    def _object_patch(self, queue: Queue, *, mark: bool, parent: bool = True) -> tuple[QueuePatch, ...]:
        body: JsonObject = {}
        if parent and self.parent is not None:
            body["spec"] = {"parent": self.parent}
        if mark and self.closed_by_parent is not None:
            body["metadata"] = {"annotations": {CLOSED_BY_PARENT: "true" if self.closed_by_parent else "false"}}
        if not body:
            return ()
        # The UID keeps a patch away from a namesake that came later.
        body.setdefault("metadata", {})["uid"] = queue.metadata.uid
        return (QueuePatch("", body),)

    def _status_patch(self, queue: Queue) -> tuple[QueuePatch, ...]:
        status: JsonObject = dict(self.counts)
        if self.state is not None:
            status["state"] = self.state.value
        if not status:
            return ()
        if not queue.status.allocated:
            # Volcano's own CRD requires the field. An empty object in a merge patch adds it where it is missing and
            # leaves the scheduler's value alone where it is there.
            status["allocated"] = {}
        return (QueuePatch("status", {"metadata": {"uid": queue.metadata.uid}, "status": status}),)

    def apply(self, queue: Queue) -> Queue:
        """The queue as it is once everything has been written."""
        metadata, spec, status = queue.metadata, queue.spec, queue.status
        if self.closed_by_parent is not None:
            mark = "true" if self.closed_by_parent else "false"
            metadata = msgspec.structs.replace(metadata, annotations={**metadata.annotations, CLOSED_BY_PARENT: mark})
        if self.parent is not None:
            spec = msgspec.structs.replace(spec, parent=self.parent)
        if self.state is not None:
            status = msgspec.structs.replace(status, state=self.state.value)
        if self.counts:
            status = msgspec.structs.replace(status, **dict(self.counts))
        return msgspec.structs.replace(queue, metadata=metadata, spec=spec, status=status)


def next_state(state: str, action: QueueAction, pod_groups: int) -> QueueState:
    """The state machine: current state × action × number of PodGroups in the queue.

    Raises:
        UnknownQueueStateError: `state` is no queue state.
    """
    if state not in {"", *QueueState}:
        raise UnknownQueueStateError(f"status.state is {state!r}; it must be one of {', '.join(QueueState)} or empty")
    current = QueueState(state or QueueState.OPEN)
    if action is QueueAction.OPEN:
        return QueueState.OPEN
    if action is QueueAction.SYNC and current in (QueueState.OPEN, QueueState.UNKNOWN):
        return current
    if current is QueueState.CLOSED:
        return QueueState.CLOSED
    return QueueState.CLOSING if pod_groups else QueueState.CLOSED


def parent_state(queue: Queue, queues: Mapping[str, Queue]) -> QueueState:
    """The state of the queue's parent as far as it binds the queue.

    The root queue is always open. A parent that is missing, or that lies on a cycle with the queue, is Unknown: it
    neither closes nor opens anything, so that a mistake in the tree cannot lock queues for good.
    """
    name = queue.spec.parent
    if not name or name == ROOT_QUEUE:
        return QueueState.OPEN
    parent = queues.get(name)
    if parent is None or _is_above(queue.metadata.name, parent, queues):
        return QueueState.UNKNOWN
    state = parent.status.state or QueueState.OPEN
    return QueueState(state) if state in set(QueueState) else QueueState.UNKNOWN


def _is_above(name: str, queue: Queue, queues: Mapping[str, Queue]) -> bool:
    """Whether the queue called `name` is `queue` or one of its ancestors."""
    seen: set[str] = set()
    current: Queue | None = queue
    while current is not None and current.metadata.name not in seen:
        if current.metadata.name == name:
            return True
        seen.add(current.metadata.name)
        current = queues.get(current.spec.parent)
    return False


def reconcile_queue(
    queue: Queue, counts: PodGroupCounts, parent: QueueState, action: QueueAction = QueueAction.SYNC
) -> QueueChange:
    """What to write for `queue`, given its PodGroups, the state of its parent and what is asked of it.

    Raises:
        UnknownQueueStateError: the queue's own state is none of the known ones.
    """
    refusal = _refusal(queue, parent, action)
    if queue.metadata.name == ROOT_QUEUE:
        state, mark = QueueState.OPEN, None
    else:
        state, mark = _state_and_mark(queue, counts, parent, QueueAction.SYNC if refusal else action)
    seen = queue.status
    written = {"pending": seen.pending, "inqueue": seen.inqueue, "running": seen.running}
    written |= {"unknown": seen.unknown, "completed": seen.completed}
    is_parentless = not queue.spec.parent and queue.metadata.name != ROOT_QUEUE
    return QueueChange(
        parent=ROOT_QUEUE if is_parentless else None,
        closed_by_parent=mark,
        state=state if state != queue.status.state else None,
        counts={name: count for name, count in counts.as_status().items() if count != written[name]},
        refusal=refusal,
    )


def _refusal(queue: Queue, parent: QueueState, action: QueueAction) -> str:
    name = queue.metadata.name
    if action is QueueAction.CLOSE and name == ROOT_QUEUE:
        return f"queue {ROOT_QUEUE} cannot be closed: every queue is below it; close the queues you mean"
    if action is QueueAction.OPEN and parent in SHUT:
        return f"queue {name} cannot be opened while its parent {queue.spec.parent} is {parent}; open the parent first"
    return ""


def _state_and_mark(
    queue: Queue, counts: PodGroupCounts, parent: QueueState, action: QueueAction
) -> tuple[QueueState, bool | None]:
    """The state, and the new value of the mark `closed-by-parent` (None: as it is)."""
    current = queue.status.state
    is_marked = queue.metadata.annotations.get(CLOSED_BY_PARENT) == "true"
    mark: bool | None = None
    if action is QueueAction.SYNC:
        if parent in SHUT and current in ("", QueueState.OPEN):
            action, mark = QueueAction.CLOSE, None if is_marked else True
        elif parent is QueueState.OPEN and is_marked and current in SHUT:
            action = QueueAction.OPEN
    elif action is QueueAction.CLOSE and is_marked:
        # Closed by hand from now on: it stays closed when the parent opens.
        mark = False
    state = next_state(current, action, counts.total)
    if state is QueueState.OPEN and is_marked:
        mark = False
    return state, mark


def initial_queues(default_queue: str = DEFAULT_QUEUE) -> tuple[JsonObject, ...]:
    """The queues that must exist before the first cycle: the root, and the one for work that names none."""
    root: JsonObject = {"weight": 1, "reclaimable": False}
    default: JsonObject = {"weight": 1, "reclaimable": True, "parent": ROOT_QUEUE}
    specs = {ROOT_QUEUE: root} if default_queue == ROOT_QUEUE else {ROOT_QUEUE: root, default_queue: default}
    return tuple(
        {"apiVersion": SCHEDULING_API, "kind": "Queue", "metadata": {"name": name}, "spec": spec}
        for name, spec in specs.items()
    )
