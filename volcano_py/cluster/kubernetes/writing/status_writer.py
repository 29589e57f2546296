"""Writes statuses: the scheduler's own fields, as patches, and only what is not there already.

Newer values replace those that still wait, content that was written is not written again, and one object is never
written by two requests at once. Bindings go first; namespaces take turns. A pod that is being bound is not said to wait
any more.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any, Final

import msgspec
import structlog

from volcano_py.api.effects import Event, OpenGate, PodCondition, PodGroupStatusUpdate, QueueAllocated, QueueConditions
from volcano_py.api.json_values import Reader
from volcano_py.api.names import POD_SCHEDULED, SCHEDULING_API
from volcano_py.api.objects import Condition, PodGroup, Queue
from volcano_py.api.wording.explain import gate_not_removed
from volcano_py.cluster.kubernetes.backoff import RetryPolicy, retry
from volcano_py.cluster.kubernetes.clock import SYSTEM_CLOCK, Clock, rfc3339, wait_at_most
from volcano_py.cluster.kubernetes.http.client import KubernetesClient, PatchType
from volcano_py.cluster.kubernetes.http.errors import (
    ForbiddenError,
    NotFoundError,
    RequestError,
    StoppedError,
    UnprocessableError,
)
from volcano_py.cluster.kubernetes.http.paths import ApiPath
from volcano_py.cluster.kubernetes.watching.resources import StatusPaths
from volcano_py.cluster.kubernetes.writing.coalescing import CoalescingQueue
from volcano_py.cluster.kubernetes.writing.rest import Rest
from volcano_py.cluster.kubernetes.writing.turns import CLUSTER
from volcano_py.cluster.kubernetes.writing.workers import LEASE_IS_OVER, Fence, Workers, always, stand_back
from volcano_py.cluster.protocol import ConditionLookup

log = structlog.get_logger(__name__)

Status = OpenGate | PodCondition | PodGroupStatusUpdate | QueueAllocated | QueueConditions
Key = tuple[type[Status], str]
"""Type of effect, and the object's UID (for `QueueAllocated` the queue's name)."""

Content = tuple[int, str, Mapping[str, str]]
"""What an effect writes to the object: a digest, then the nominated node and the allocated amounts."""

IN_FLIGHT: Final = 4
"""Of one namespace. The API server serves some at a time, and what is sent beyond that only delays bindings."""
CAPACITY: Final = 50_000
"""Waiting objects; beyond it the cluster has more unwritten pods than a status writer can help."""
RETRIES: Final = RetryPolicy(give_up_after=15.0, conflicts=True)
GATE_NOT_REMOVED: Final = "GateNotRemoved"
"""Reason of the event on a pod whose queue has room, and whose gate the API server does not let go."""
PATIENCE: Final = 1.0
"""Seconds that bindings may delay a status, but for one that a controller waits for."""
# Seconds for which written content is trusted to be there still. Should another client have changed it meanwhile, the
# scheduler, which sees the object, asks again, and after this time the content is written again.
_TRUSTED_FOR: Final = 300.0
_REMEMBERED: Final = 100_000  # objects
_REMEMBERED_FAILURES: Final = 4096  # objects; when more fail at the same time, some are logged again
_ANSWER_WITHIN: Final = 15.0  # seconds for one attempt
_NOTHING: Final[Mapping[str, str]] = {}
_GROUP: Final = Reader(PodGroup)


class StatusStats(msgspec.Struct, frozen=True):
    """`waiting`, `in_flight` and `remembered` now; the others since the start. `spared`: equal content was there
    already; `remembered`: objects whose content is known."""

    waiting: int
    in_flight: int
    remembered: int
    written: int
    spared: int
    dropped: int
    failed: int


class StatusWriter:
    """Carries out effects that write statuses, and `OpenGate`."""

    def __init__(
        self,
        client: KubernetesClient,
        *,
        quiet: asyncio.Event | None = None,
        known_condition: ConditionLookup | None = None,
        emit: Callable[[Event], None] = lambda _event: None,
        on_given_up: Callable[[Status], None] = lambda _update: None,
        on_admitted: Callable[[PodGroup], None] = lambda _group: None,
        in_flight: int = IN_FLIGHT,
        capacity: int = CAPACITY,
        retries: RetryPolicy = RETRIES,
        fence: Fence = always,
        clock: Clock = SYSTEM_CLOCK,
        rng: random.Random | None = None,
    ) -> None:
        """`quiet` is set while there is nothing more urgent. `known_condition` returns a condition that a pod has now;
        without it, a pod's first condition after a start counts as a transition. `emit` takes the events about gates
        that stay. `on_given_up`: what was not written, and will not be unless it is submitted again. `on_admitted` gets
        PodGroups whose admission is written, as the server has them. `fence`: see `Binder`."""
        self._client, self._clock, self._retries, self._rng = client, clock, retries, rng or random.Random()
        self._quiet, self._fence = quiet, fence
        self._known_condition = known_condition or (lambda _uid, _type: None)
        self._emit, self._on_given_up, self._on_admitted = emit, on_given_up, on_admitted
        self._paths = StatusPaths(client, clock)
        self._queue: CoalescingQueue[Key, tuple[float, Status]] = CoalescingQueue(capacity, in_flight)
        lanes = (self._queue.urgent, self._queue.lane)
        self._workers = [Workers("status", lane, self._work) for lane in lanes]
        self._written: OrderedDict[Key, tuple[float, Content]] = OrderedDict()
        self._failures_logged: OrderedDict[Key, bool] = OrderedDict()
        """What could not be written → whether it was refused."""
        self._rest = Rest(clock)
        self._outdated: set[Key] = set()
        """Keys of updates that a worker has taken and that are not to be written after all."""
        self._stopped = False
        self._patches = self._spared = self._failed = 0

    def submit(self, updates: Iterable[Status]) -> None:
        """Write these, unless something newer comes first."""
        if self._stopped:
            return
        now = self._clock.monotonic()
        for update in updates:
            key = _key(update)
            waiting = self._queue.get(key)
            # The age is that of the oldest value replaced, or changing often would mean never being written.
            value = (waiting[0] if waiting else now, update)
            dropped = self._queue.put(_namespace(update), key, value, urgent=_is_awaited(update))
            if dropped is not None:
                self._on_given_up(dropped[1])
        self._wake()

    def forget_waits(self, pods: Iterable[str]) -> None:
        """Pods of these UIDs are about to be bound: do not write any more why they waited."""
        for uid in pods:
            key: Key = (PodCondition, uid)
            if self._queue.is_taken(key):
                self._outdated.add(key)
            if (waiting := self._queue.remove(key)) is not None:
                self._on_given_up(waiting[1])

    def group_waits(self, uid: str) -> bool:
        """Whether a status of the PodGroup of this UID waits to be written, or is being written."""
        return self._queue.is_waiting((PodGroupStatusUpdate, uid))

    def forget_object(self, uid: str) -> None:
        """The pod, PodGroup or queue is gone."""
        self._forget((PodCondition, uid))
        self._forget((OpenGate, uid))
        self._forget((PodGroupStatusUpdate, uid))
        self._forget((QueueConditions, uid))

    def stop_new(self) -> None:
        """Write nothing more: another scheduler may be the leader now."""
        self._stopped = True
        self._queue.clear()

    async def drain(self, seconds: float) -> int:
        """Wait that long for all to be written, then stop. Returns how many were not."""
        self._rest.end()
        ends = self._clock.monotonic() + seconds
        for workers in self._workers:
            await wait_at_most(self._clock, max(0.0, ends - self._clock.monotonic()), workers.quiet)
        left = len(self._queue) + self._busy
        self.stop_new()
        for workers in self._workers:
            await workers.cancel()
        return left

    def stats(self) -> StatusStats:
        """The numbers now."""
        return StatusStats(
            waiting=len(self._queue),
            in_flight=self._busy,
            remembered=len(self._written),
            written=self._patches,
            spared=self._spared,
            dropped=self._queue.dropped,
            failed=self._failed,
        )

    # -- one update ----------------------------------------------------------------------------------------------

    async def _work(self, item: tuple[Key, tuple[float, Status]]) -> None:
        key, (submitted, update) = item
        began = None
        try:
            if self._quiet is not None:
                await stand_back(self._quiet, submitted + _patience(update) - self._clock.monotonic(), self._clock)
            if not self._is_wanted(key):
                if key in self._outdated:
                    self._on_given_up(update)
                return
            if self._is_there(key, update):
                self._spared += 1
                return
            began = self._rest.begin()
            await retry(
                lambda: self._write(key, update),
                self._retries,
                self._clock,
                rng=self._rng,
                keep_trying=lambda: self._is_wanted(key),
            )
        except RequestError as error:
            self._report_failure(key, update, error)
        finally:
            self._outdated.discard(key)
            self._queue.release(key)
            self._wake()  # a newer value may wait in the other lane
        if began is not None and not _is_awaited(update):
            await self._rest.after(began)

    def _is_wanted(self, key: Key) -> bool:
        """Whether what was taken is still to be written: nothing newer has come meanwhile."""
        return key not in self._queue and key not in self._outdated and not self._stopped

    def _wake(self) -> None:
        for workers in self._workers:
            workers.wake()

    @property
    def _busy(self) -> int:
        return sum(workers.busy for workers in self._workers)

    async def _write(self, key: Key, update: Status) -> None:
        if not self._fence():
            raise StoppedError("status", LEASE_IS_OVER)
        try:
            match update:
                case OpenGate():
                    await self._open_gate(update)
                case PodCondition():
                    await self._write_condition(key, update)
                case PodGroupStatusUpdate():
                    await self._write_group(update)
                case QueueAllocated():
                    await self._write_queue(key, update)
                case QueueConditions():
                    await self._write_queue_conditions(update)
        except NotFoundError:
            # The object is gone, which is no matter; or discovery is out of date, which the next write will find out.
            self._paths.forget()
            self._forget(key)
            return
        except UnprocessableError as error:
            if error.is_about_another_object:
                self._forget(key)  # a namesake has taken its place
                return
            raise
        self._patches += 1
        self._remember(key, update)

    async def _write_condition(self, key: Key, update: PodCondition) -> None:
        condition: dict[str, Any] = {
            "type": POD_SCHEDULED,
            "status": "False",
            "reason": update.reason,
            "message": update.message,
        }
        known = self._known_condition(update.pod.uid, POD_SCHEDULED)
        if key not in self._written and (known is None or known.status != "False"):
            # A strategic merge keeps the time that is there, when the patch names none.
            condition["lastTransitionTime"] = rfc3339(self._clock.now())
        status: dict[str, Any] = {"conditions": [condition]}
        if update.nominated_node:
            status["nominatedNodeName"] = update.nominated_node
        await self._client.patch(
            ApiPath("v1", "pods", update.pod.namespace).of(update.pod.name, "status"),
            {"metadata": {"uid": update.pod.uid}, "status": status},
            PatchType.STRATEGIC,
            within=_ANSWER_WITHIN,
        )

    async def _open_gate(self, update: OpenGate) -> None:
        """Gates can only be taken off, so one that was there is the only one there can be."""
        body = {"metadata": {"uid": update.pod.uid}, "spec": {"schedulingGates": []}}
        await self._client.patch(
            ApiPath("v1", "pods", update.pod.namespace).of(update.pod.name), body, within=_ANSWER_WITHIN
        )

    async def _write_group(self, update: PodGroupStatusUpdate) -> None:
        group = update.group
        status = {
            "phase": update.phase,
            "conditions": [_condition(condition, self._clock.now()) for condition in update.conditions],
            "running": update.running,
            "succeeded": update.succeeded,
            "failed": update.failed,
        }
        subresource = await self._paths.subresource(SCHEDULING_API, "podgroups")
        answer = await self._client.patch(
            ApiPath(SCHEDULING_API, "podgroups", group.namespace).of(group.name, subresource),
            {"metadata": {"uid": group.uid}, "status": status},
            within=_ANSWER_WITHIN,
        )
        if _is_awaited(update):
            with contextlib.suppress(msgspec.ValidationError):  # it has become unreadable, as the watch will say
                self._on_admitted(_GROUP.decode(answer))

    async def _write_queue(self, key: Key, update: QueueAllocated) -> None:
        path = ApiPath(SCHEDULING_API, "queues").of(update.queue)
        subresource = await self._paths.subresource(SCHEDULING_API, "queues")
        # A merge patch removes a key of a map only if it names the key, so the keys have to be known: from our last
        # write, or, the first time, from the queue.
        last = self._written.get(key)
        before = set(last[1][2]) if last else set((await self._client.read(path, Queue)).status.allocated)
        allocated = {**dict.fromkeys(before - set(update.allocated)), **update.allocated}
        await self._client.patch(path.sub(subresource), {"status": {"allocated": allocated}}, within=_ANSWER_WITHIN)

    async def _write_queue_conditions(self, update: QueueConditions) -> None:
        """A server whose definition of queues has no conditions drops them."""
        queue = update.queue
        conditions = [_condition(condition, self._clock.now()) for condition in update.conditions]
        # Volcano's own definition requires the amounts; an empty object in a merge patch leaves those that are there.
        status = {"allocated": {}, "conditions": conditions}
        subresource = await self._paths.subresource(SCHEDULING_API, "queues")
        await self._client.patch(
            ApiPath(SCHEDULING_API, "queues").of(queue.name, subresource),
            {"metadata": {"uid": queue.uid}, "status": status},
            within=_ANSWER_WITHIN,
        )

    # -- memory --------------------------------------------------------------------------------------------------

    def _is_there(self, key: Key, update: Status) -> bool:
        last = self._written.get(key)
        if last is None or self._clock.monotonic() - last[0] > _TRUSTED_FOR:
            return False
        digest, node, allocated = _content(update)
        # No nominated node means that it is left as it is.
        return last[1][0] == digest and node in ("", last[1][1]) and last[1][2] == allocated

    def _remember(self, key: Key, update: Status) -> None:
        now = self._clock.monotonic()
        self._written[key] = now, _content(update)
        self._written.move_to_end(key)
        self._failures_logged.pop(key, None)
        # Not only those known to be gone: an object that was written long ago is read again.
        while now - next(iter(self._written.values()))[0] > _TRUSTED_FOR or len(self._written) > _REMEMBERED:
            self._written.popitem(last=False)

    def _forget(self, key: Key) -> None:
        """The object is gone."""
        self._written.pop(key, None)
        self._failures_logged.pop(key, None)

    def _report_failure(self, key: Key, update: Status, error: RequestError) -> None:
        """Once for each object until a write succeeds, and once more if it is refused after there was no answer."""
        if key in self._queue:
            return  # it was given up for something newer
        self._failed += 1
        was_refused = self._failures_logged.get(key)
        is_new = was_refused is None or (error.is_refusal and not was_refused)
        what, why = "status not written", str(error)
        if isinstance(update, OpenGate):
            what, why = "queue gate not removed", gate_not_removed(why, is_forbidden=isinstance(error, ForbiddenError))
            if is_new and error.is_refusal:
                self._emit(Event(update.pod, "Warning", GATE_NOT_REMOVED, why))
        write = log.warning if is_new else log.debug
        write(what, object=_name(update), error=why)
        self._failures_logged[key] = error.is_refusal
        if len(self._failures_logged) > _REMEMBERED_FAILURES:
            self._failures_logged.popitem(last=False)
        self._on_given_up(update)


def _key(update: Status) -> Key:
    match update:
        case OpenGate():
            return OpenGate, update.pod.uid
        case PodCondition():
            return PodCondition, update.pod.uid
        case PodGroupStatusUpdate():
            return PodGroupStatusUpdate, update.group.uid
        case QueueAllocated():
            return QueueAllocated, update.queue
        case QueueConditions():
            return QueueConditions, update.queue.uid


def _namespace(update: Status) -> str:
    """Whose turn it is when this is written."""
    match update:
        case OpenGate() | PodCondition():
            return update.pod.namespace
        case PodGroupStatusUpdate():
            return update.group.namespace
        case QueueAllocated() | QueueConditions():
            return CLUSTER


def _patience(update: Status) -> float:
    """Seconds that bindings may delay it."""
    return 0.0 if _is_awaited(update) else PATIENCE


def _is_awaited(update: Status) -> bool:
    """Whether a controller creates pods after it."""
    return isinstance(update, PodGroupStatusUpdate) and update.phase == "Inqueue"


def _name(update: Status) -> str:
    match update:
        case OpenGate() | PodCondition():
            return f"Pod {update.pod.key}"
        case PodGroupStatusUpdate():
            return f"PodGroup {update.group.key}"
        case QueueAllocated():
            return f"Queue {update.queue}"
        case QueueConditions():
            return f"Queue {update.queue.name}"


def _content(update: Status) -> Content:
    """Digests, because the texts of many thousand pods would fill the memory."""
    match update:
        case OpenGate():
            return 0, "", _NOTHING
        case PodCondition():
            return hash((update.reason, update.message)), update.nominated_node, _NOTHING
        case PodGroupStatusUpdate():
            # A condition that differs in transition ID and time only has not changed.
            conditions = _texts(update.conditions)
            return hash((update.phase, conditions, update.running, update.succeeded, update.failed)), "", _NOTHING
        case QueueAllocated():
            return 0, "", dict(update.allocated)
        case QueueConditions():
            return hash(_texts(update.conditions)), "", _NOTHING


def _texts(conditions: Iterable[Condition]) -> tuple[tuple[str, str, str, str], ...]:
    return tuple(each.said for each in conditions)


def _condition(condition: Condition, now: datetime) -> dict[str, str]:
    return {
        "type": condition.type,
        "status": condition.status,
        "reason": condition.reason,
        "message": condition.message,
        "lastTransitionTime": rfc3339(condition.last_transition_time or now),
        "transitionID": condition.transition_id,
    }
