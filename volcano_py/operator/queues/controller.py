"""The queue controller: creates the queues that must exist, keeps states and counts, opens and closes queues.

`states.py` decides what to write; here it is written, by merge patches of the controller's own fields.
A change of state carries the version it was decided on, so that it is never based on an old view; a change of counts
alone does not need to, because the next look corrects it.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Final

import msgspec
import structlog

from volcano_py.api.effects import Event, ObjectRef
from volcano_py.api.json_values import Reader
from volcano_py.api.names import CLOSED_BY_PARENT, DEFAULT_QUEUE
from volcano_py.api.objects import ApiObject, PodGroup, Queue
from volcano_py.api.wording.summarize import counted
from volcano_py.cluster.kubernetes.http.errors import NotFoundError, RequestError
from volcano_py.cluster.kubernetes.watching.versions import is_older
from volcano_py.cluster.kubernetes.writing.turns import CLUSTER
from volcano_py.operator.controller import Controller
from volcano_py.operator.kube_api import (
    IsActive,
    KubeApi,
    Record,
    is_another_object,
    queue_path,
)
from volcano_py.operator.queues.initial import InitialQueues
from volcano_py.operator.queues.states import (
    PodGroupCounts,
    QueueAction,
    QueueChange,
    QueueState,
    UnknownQueueStateError,
    parent_state,
    reconcile_queue,
)

log = structlog.get_logger(__name__)

KINDS: Final = ("Queue", "PodGroup")
"""The kinds to feed in."""

INTERVAL: Final = 1.0
"""Seconds between two writes of a queue's counts: under load they change hundreds of times a second."""
MAX_REQUEUES: Final = 15
"""As Volcano's `--max-requeue-num`."""

_WORKERS: Final = 4
_QUEUE: Final = Reader(Queue)


class _Request(msgspec.Struct, frozen=True):
    """What a Command orders for a queue."""

    action: QueueAction
    asked_by: str
    uid: str


class QueueController(Controller[str]):
    """A `Sink` for `KINDS`; `run` does the work.

    Without the Lease (`active`) it only keeps what it has seen. `max_requeues`: how often a write that is refused is
    tried again before the queue gets a Warning event instead; negative means forever. `on_created` gets each of
    the queues that must exist, as the server answered when one was missing.
    """

    def __init__(
        self,
        api: KubeApi,
        *,
        active: IsActive,
        record: Record,
        default_queue: str = DEFAULT_QUEUE,
        interval: float = INTERVAL,
        max_requeues: int = MAX_REQUEUES,
        on_created: Callable[[Queue], None] = lambda _queue: None,
    ) -> None:
        super().__init__("queue", lambda _queue: CLUSTER, active=active, workers=_WORKERS)
        self._api, self._record = api, record
        self._default_queue = default_queue
        self._interval, self._max_requeues = interval, max_requeues
        self._on_created = on_created
        self._queues: dict[str, Queue] = {}
        self._groups: dict[str, tuple[str, str]] = {}  # PodGroup → its queue and phase
        self._phases: dict[str, Counter[str]] = {}  # queue → PodGroups by phase
        self._requests: dict[str, _Request] = {}
        self._written: dict[str, float] = {}  # queue → when its counts were written last, by the loop's clock
        self.initial = InitialQueues(api, active=active, default_queue=default_queue, found=self._initial_found)
        """Those that must exist."""

    # What is fed in.

    def replace(self, kind: str, objects: Sequence[ApiObject]) -> None:
        """`Sink`: these are all there are of the kind."""
        keep = {obj.metadata.key for obj in objects if isinstance(obj, Queue | PodGroup)}
        if kind == "Queue":
            for name in [name for name in self._queues if name not in keep]:
                self._queue_deleted(name)
        elif kind == "PodGroup":
            for key in [key for key in self._groups if key not in keep]:
                self._count(key, None)
        for obj in objects:
            self.upsert(kind, obj)

    def upsert(self, kind: str, obj: ApiObject) -> None:
        """`Sink`: new or changed."""
        match obj:
            case Queue():
                self._queue_seen(obj)
                self.initial.upsert(kind, obj)
            case PodGroup():
                self._count(obj.metadata.key, (obj.spec.queue or self._default_queue, obj.status.phase))

    def delete(self, kind: str, obj: ApiObject) -> None:  # noqa: ARG002 - the protocol's signature
        """`Sink`: gone."""
        match obj:
            case Queue():
                self._queue_deleted(obj.metadata.name)
            case PodGroup():
                self._count(obj.metadata.key, None)

    def request(self, queue: str, action: QueueAction, asked_by: str, uid: str = "") -> None:
        """Open or close the queue with this name, and this UID unless it is empty; `asked_by` is for its event."""
        self._requests[queue] = _Request(action, asked_by, uid)
        self._work.add(queue)

    def leadership_gained(self) -> None:
        """To be called when this replica gets the Lease."""
        self.initial.leadership_gained()
        super().leadership_gained()

    def _keys(self) -> Iterable[str]:
        return self._queues

    def _queue_seen(self, queue: Queue) -> None:
        name = queue.metadata.name
        known = self._queues.get(name)
        if known is not None and is_older(queue.metadata, known.metadata):
            return
        self._queues[name] = queue
        if known is None or _matters(known) != _matters(queue):
            self._work.add(name)
        if known is None or known.status.state != queue.status.state:
            self._look_at_children(name)

    def _queue_deleted(self, name: str) -> None:
        if self._queues.pop(name, None) is None:
            return
        self._written.pop(name, None)
        self.initial.gone(name)

    def _count(self, key: str, now: tuple[str, str] | None) -> None:
        """The PodGroup `key` is in this queue and phase; None when it is gone."""
        before = self._groups.get(key)
        if before == now:
            return
        if before is not None:
            queue, phase = before
            phases = self._phases[queue]
            phases[phase] -= 1
            if not phases[phase]:
                del phases[phase]
            if not phases:
                del self._phases[queue]
            del self._groups[key]
            self._work.add(queue)
        if now is not None:
            queue, phase = now
            self._groups[key] = now
            self._phases.setdefault(queue, Counter())[phase] += 1
            self._work.add(queue)

    def _look_at_children(self, name: str) -> None:
        for child, queue in self._queues.items():
            if queue.spec.parent == name:
                self._work.add(child)

    # The work.

    async def run(self) -> None:
        """Work until cancelled. To be started when queues and PodGroups have been listed."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(super().run())
            tasks.create_task(self.initial.run(), name="initial queues")

    def _initial_found(self, queue: Queue) -> None:
        self._queue_seen(queue)
        self._on_created(queue)

    async def _turn(self, name: str) -> None:
        if not self._active():
            self._requests.pop(name, None)  # the next leader does not know it either
        await super()._turn(name)

    async def _reconcile(self, name: str) -> None:
        request = self._requests.get(name)
        queue = self._queues.get(name)
        if queue is None and request is not None:
            queue = await self._read(name)
        if queue is None or (request is not None and request.uid not in ("", queue.metadata.uid)):
            if request is not None:
                log.warning("queue not found", queue=name, action=request.action.value, asked_by=request.asked_by)
            self._done(name, request)
            return
        change = self._decide(queue, request)
        if change.refusal:
            self._record_event(queue, "Warning", request, change.refusal)
        if change.only_counts and (wait := self._wait_before_counts(name)) > 0:
            self._done(name, request)
            self._work.add(name, max(0.01, wait))
            return
        if not change.is_empty:
            await self._write(queue, change)
            self._record_change(queue, change, request)
        self._done(name, request)

    def _decide(self, queue: Queue, request: _Request | None) -> QueueChange:
        name = queue.metadata.name
        counts = PodGroupCounts.of(self._phases.get(name, Counter()).elements())
        action = request.action if request is not None else QueueAction.SYNC
        try:
            return reconcile_queue(queue, counts, parent_state(queue, self._queues), action)
        except UnknownQueueStateError as error:
            log.warning("queue not managed", queue=name, error=str(error))
            return QueueChange(refusal=f"queue {name} is not managed: {error}")

    def _wait_before_counts(self, name: str) -> float:
        last = self._written.get(name)
        return 0.0 if last is None else last + self._interval - asyncio.get_running_loop().time()

    async def _write(self, queue: Queue, change: QueueChange) -> None:
        name = queue.metadata.name
        version = "" if change.only_counts else queue.metadata.resource_version
        try:
            for patch in change.patches(queue):
                body = patch.body
                if version:
                    body = body | {"metadata": body.get("metadata", {}) | {"resourceVersion": version}}
                answer = _readable(await self._api.patch(queue_path(name, patch.subresource), body))
                if answer is None:
                    break  # it has become unreadable meanwhile; what was written stays
                queue = answer
                version = version and queue.metadata.resource_version
        except RequestError as error:
            if is_another_object(error):
                await self._read(name)
            raise
        self._written[name] = asyncio.get_running_loop().time()
        self._queue_seen(queue)

    async def _read(self, name: str) -> Queue | None:
        try:
            queue = _readable(await self._api.get(queue_path(name)))
        except NotFoundError:
            self._queue_deleted(name)
            return None
        if queue is not None:
            self._queue_seen(queue)
        return queue

    def _done(self, name: str, request: _Request | None) -> None:
        """The request has been dealt with, unless another one came meanwhile."""
        if request is not None and self._requests.get(name) is request:
            del self._requests[name]

    def _failed(self, name: str, error: Exception, failures: int) -> bool:
        if not isinstance(error, RequestError):
            log.error("queue reconciliation failed", queue=name, exc_info=error)
        # A server that is away is no reason to give up: nothing else would bring the queue back to our attention.
        is_away = isinstance(error, RequestError) and error.transient
        if is_away or self._max_requeues < 0 or failures <= self._max_requeues:
            return True
        log.warning("queue cannot be written", queue=name, failures=failures, error=str(error))
        request = self._requests.pop(name, None)
        queue = self._queues.get(name)
        if queue is not None:
            action = request.action if request is not None else QueueAction.SYNC
            self._record_event(queue, "Warning", request, f"{action} of queue {name} failed {failures} times: {error}")
        return False

    # Events.

    def _record_change(self, queue: Queue, change: QueueChange, request: _Request | None) -> None:
        """An event for a change of state; that a new queue is open is none."""
        if change.state is None or (change.state is QueueState.OPEN and not queue.status.state):
            return
        name = queue.metadata.name
        log.info("queue state changed", queue=name, before=queue.status.state, state=change.state.value)
        message = f"queue {name} is {change.state}"
        if change.state is QueueState.CLOSING:
            left = PodGroupCounts.of(self._phases.get(name, Counter()).elements()).total
            message += f" until its {counted(left, 'PodGroup')} {'is' if left == 1 else 'are'} gone"
        if request is not None and not change.refusal:
            message += f", requested by {request.asked_by}"
        elif change.closed_by_parent is not None:
            message += f", like its parent {queue.spec.parent}"
        self._record_event(queue, "Normal", request, message)

    def _record_event(self, queue: Queue, severity: str, request: _Request | None, message: str) -> None:
        reason = request.action if request is not None else QueueAction.SYNC
        about = ObjectRef("Queue", "", queue.metadata.name, queue.metadata.uid)
        self._record(Event(about, severity, reason.value, message))


def _readable(answer: bytes) -> Queue | None:
    """The queue in an answer; None if it is unreadable, which the feed reports on it."""
    try:
        return _QUEUE.decode(answer)
    except msgspec.ValidationError:
        return None


def _matters(queue: Queue) -> tuple[object, ...]:
    """What the controller depends on; changes of the rest, such as `allocated`, need no work."""
    status = queue.status
    counts = (status.pending, status.inqueue, status.running, status.unknown, status.completed)
    return queue.metadata.uid, queue.spec.parent, queue.metadata.annotations.get(CLOSED_BY_PARENT), status.state, counts
