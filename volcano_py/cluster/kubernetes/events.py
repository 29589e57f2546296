"""Writes Kubernetes events: told once, counted when they repeat, limited per object and in all, and last in line.

A repetition is counted here and reaches the API server as a new count now and then, so that a pod that waits for a day
costs a few writes and not one for each cycle. Why something waits may be another with each cycle: of what has not been
written yet only the latest is, so that no more wait to be written than there are objects.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections import Counter, OrderedDict, deque
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Final, TypeVar

import msgspec
import structlog

from volcano_py.api.effects import Event, ObjectRef
from volcano_py.api.names import SCHEDULING_API, UNSCHEDULABLE
from volcano_py.cluster.kubernetes.backoff import RetryPolicy, retry
from volcano_py.cluster.kubernetes.client import KubernetesClient, PatchType
from volcano_py.cluster.kubernetes.clock import SYSTEM_CLOCK, Clock, rfc3339, within
from volcano_py.cluster.kubernetes.errors import ConflictError, NotFoundError, RequestError
from volcano_py.cluster.kubernetes.ratelimit import TokenBucket
from volcano_py.cluster.kubernetes.workers import Workers, stand_back
from volcano_py.jobs.flow_model import FLOW_API
from volcano_py.jobs.model import BATCH_API

V = TypeVar("V")

log = structlog.get_logger(__name__)

IN_FLIGHT: Final = 4
CAPACITY: Final = 10_000
"""Waiting events; a `Scheduled` event for each pod of a large burst, and some room."""
PATIENCE: Final = 10.0
"""Seconds that bindings may delay an event."""
# All objects together, per second and at once: less than a tenth of what an API server on two cores can create.
RATE: Final = 100.0
BURST: Final = 500
# One object, as client-go limits its recorders: 25 at once, then one in five minutes.
OBJECT_RATE: Final = 1 / 300
OBJECT_BURST: Final = 25
OBJECT_REMEMBERED: Final = 1 / OBJECT_RATE
"""Seconds of silence about an object after which it begins anew; most objects are gone by then."""
RETRIES: Final = RetryPolicy(give_up_after=10.0)

STANDINGS: Final = frozenset({"FailedScheduling", UNSCHEDULABLE})
"""Reasons of events that tell how an object stands, not what has happened to it."""
WINDOW: Final = 600.0
"""Seconds after its last repetition for which an event is counted on, as in client-go; then it begins anew."""
COUNT_EVERY: Final = 60.0
"""Seconds between two writes of one event's count."""
_REMEMBERED: Final = 4096  # events and objects, as in client-go
_LONGEST_MESSAGE: Final = 1024  # characters, the API's limit
_ANSWER_WITHIN: Final = 15.0  # seconds for one attempt

API_VERSIONS: Final = {
    "PodGroup": SCHEDULING_API,
    "Queue": SCHEDULING_API,
    "Job": BATCH_API,
    "CronJob": BATCH_API,
    "JobFlow": FLOW_API,
    "JobTemplate": FLOW_API,
    "ReplicaSet": "apps/v1",
    "StatefulSet": "apps/v1",
    "DaemonSet": "apps/v1",
}
"""API versions of the kinds that events are about, where it is not v1."""

_EventKey = tuple[ObjectRef, str, str, str]
_Topic = tuple[ObjectRef, str, str]
"""An event but for its message."""


class _Series(msgspec.Struct):
    """One event object and what is to be told of it. `told` is the count on the server, 0 before it exists there."""

    key: _EventKey
    name: str
    first: datetime
    last: datetime
    last_seen: float
    count: int = 1
    told: int = 0
    told_at: float = 0.0
    queued_at: float = 0.0
    queued: bool = False
    writing: bool = False
    """A request about it is under way."""


class EventStats(msgspec.Struct, frozen=True):
    """`waiting` now; the others since the start. `dropped`: no room, `limited`: over a rate, `counted`: repetitions,
    `replaced`: another one came before they were written."""

    waiting: int
    written: int
    written_of: Mapping[str, int]
    """The same by type: Normal, Warning."""
    counted: int
    replaced: int
    limited: int
    dropped: int
    failed: int


class EventRecorder:
    """Carries out `Event` effects."""

    def __init__(
        self,
        client: KubernetesClient,
        component: str,
        *,
        quiet: asyncio.Event | None = None,
        in_flight: int = IN_FLIGHT,
        capacity: int = CAPACITY,
        rate: float = RATE,
        burst: int = BURST,
        retries: RetryPolicy = RETRIES,
        clock: Clock = SYSTEM_CLOCK,
        rng: random.Random | None = None,
    ) -> None:
        """`component` signs the events: the scheduler's name. `quiet` is set while there is nothing more urgent."""
        self._client, self._component, self._quiet = client, component, quiet
        self._retries, self._clock, self._capacity = retries, clock, capacity
        self._rng = rng or random.Random()
        self._bucket = TokenBucket(rate, burst, clock)
        self._buckets: OrderedDict[ObjectRef, TokenBucket] = OrderedDict()
        self._series: OrderedDict[_EventKey, _Series] = OrderedDict()
        self._queue: deque[_Series] = deque()
        self._unwritten: dict[_Topic, _Series] = {}
        """How objects stand, as far as it waits to be written for the first time."""
        self._workers = Workers("events", self._take, self._work, limit=in_flight)
        self._counter: asyncio.Task[None] | None = None
        self._stopped = False
        self._written: Counter[str] = Counter()
        self._counted = self._replaced = self._limited = self._dropped = self._failed = 0

    def emit(self, event: Event) -> None:
        """Write or count this event, some time."""
        self.submit((event,))

    def submit(self, events: Iterable[Event]) -> None:
        """Write or count these events, some time."""
        if self._stopped:
            return
        for event in events:
            self._accept(event)
        self._workers.wake()

    def stop_new(self) -> None:
        """Write nothing more."""
        self._stopped = True
        self._dropped += len(self._queue)
        self._queue.clear()
        self._unwritten.clear()
        if self._counter is not None:
            self._counter.cancel()

    async def drain(self, seconds: float) -> int:
        """Wait that long for all that waits, latest counts included, then stop. Returns how many were dropped."""
        for series in list(self._series.values()):
            if series.count > series.told:
                self._enqueue(series)
        self._workers.wake()
        with contextlib.suppress(TimeoutError):
            await within(self._clock, seconds, self._workers.quiet.wait())
        left = len(self._queue) + self._workers.busy
        self.stop_new()
        await self._workers.cancel()
        return left

    def stats(self) -> EventStats:
        """The numbers now."""
        return EventStats(
            waiting=len(self._queue),
            written=self._written.total(),
            written_of=self._written.copy(),
            counted=self._counted,
            replaced=self._replaced,
            limited=self._limited,
            dropped=self._dropped,
            failed=self._failed,
        )

    # -- deciding what to write ----------------------------------------------------------------------------------

    def _accept(self, event: Event) -> None:
        now = self._clock.monotonic()
        key = event.about, event.type, event.reason, event.message
        series = self._series.get(key)
        if series is not None and now - series.last_seen < WINDOW:
            self._counted += 1
            series.count += 1
            series.last, series.last_seen = self._clock.now(), now
            self._series.move_to_end(key)
            self._count_later()
            return
        if (waiting := self._unwritten.get(key[:3])) is not None:
            self._say_instead(waiting, key, now)
            return
        if not self._bucket_of(event.about, now).try_take():
            self._limited += 1
            return
        moment = self._clock.now()
        series = _Series(key, self._name(event.about), moment, moment, now)
        if event.reason in STANDINGS:
            self._unwritten[key[:3]] = series
        self._remember(series)
        self._enqueue(series)

    def _say_instead(self, series: _Series, key: _EventKey, now: float) -> None:
        """Nobody has seen the event, and it does not hold any more."""
        self._replaced += 1
        if self._series.get(series.key) is series:
            del self._series[series.key]
        series.key, series.count = key, 1
        series.first, series.last, series.last_seen = self._clock.now(), self._clock.now(), now
        self._remember(series)

    def _remember(self, series: _Series) -> None:
        self._series[series.key] = series
        self._series.move_to_end(series.key)
        while len(self._series) > _REMEMBERED or series.last_seen - _first(self._series).last_seen >= WINDOW:
            self._series.popitem(last=False)

    def _bucket_of(self, about: ObjectRef, now: float) -> TokenBucket:
        while self._buckets and now - _first(self._buckets).last_asked >= OBJECT_REMEMBERED:
            self._buckets.popitem(last=False)
        bucket = self._buckets.get(about)
        if bucket is None:
            bucket = self._buckets[about] = TokenBucket(OBJECT_RATE, OBJECT_BURST, self._clock)
        self._buckets.move_to_end(about)
        if len(self._buckets) > _REMEMBERED:
            self._buckets.popitem(last=False)
        return bucket

    def _enqueue(self, series: _Series) -> None:
        if series.queued or series.writing:
            return  # what waits will carry the new count; what is under way would be written twice
        if len(self._queue) >= self._capacity:
            self._dropped += 1
            self._forget(self._queue.popleft())
        series.queued, series.queued_at = True, self._clock.monotonic()
        self._queue.append(series)

    def _forget(self, series: _Series) -> None:
        """A repetition will be told as an event of its own."""
        self._taken_up(series)
        if self._series.get(series.key) is series:
            del self._series[series.key]

    def _taken_up(self, series: _Series) -> None:
        """It waits no more."""
        series.queued = False
        if self._unwritten.get(series.key[:3]) is series:
            del self._unwritten[series.key[:3]]

    def _name(self, about: ObjectRef) -> str:
        """Unique without asking: the object's name and a number, as the events that users know are named."""
        return f"{about.name[:230]}.{self._rng.getrandbits(64):016x}"

    def _count_later(self) -> None:
        if self._counter is None:
            self._counter = asyncio.create_task(self._write_counts(), name="event counts")

    async def _write_counts(self) -> None:
        """Queue the counts that have grown, until none has."""
        try:
            while True:
                await self._clock.sleep(COUNT_EVERY)
                if not self._queue_counts():
                    return
        finally:
            self._counter = None

    def _queue_counts(self) -> bool:
        """Whether there are counts that have grown."""
        now = self._clock.monotonic()
        grown = [series for series in self._series.values() if series.count > series.told]
        for series in grown:
            if now - series.told_at >= COUNT_EVERY:
                self._enqueue(series)
        self._workers.wake()
        return bool(grown)

    # -- writing -------------------------------------------------------------------------------------------------

    def _take(self) -> _Series | None:
        return self._queue.popleft() if self._queue else None

    async def _work(self, series: _Series) -> None:
        if self._quiet is not None:
            await stand_back(self._quiet, series.queued_at + PATIENCE - self._clock.monotonic(), self._clock)
        await self._bucket.take()
        self._taken_up(series)
        if self._stopped:
            return
        count, series.writing = series.count, True
        try:
            await retry(
                lambda: self._write(series, count),
                self._retries,
                self._clock,
                rng=self._rng,
                keep_trying=lambda: not self._stopped,
            )
        except RequestError as error:
            # No event is worth more attempts: the namespace may be going, or the server be overloaded.
            self._failed += 1
            self._forget(series)
            log.debug("an event was not written", about=series.key[0].key, reason=series.key[2], error=str(error))
            return
        finally:
            series.writing = False
        series.told, series.told_at = count, self._clock.monotonic()
        self._written[series.key[1]] += 1

    async def _write(self, series: _Series, count: int) -> None:
        about = series.key[0]
        # Events about cluster-scoped objects live in the namespace `default`, where kubectl describe looks for them.
        path = f"/api/v1/namespaces/{about.namespace or 'default'}/events"
        if series.told:
            body = {"count": count, "lastTimestamp": rfc3339(series.last)}
            try:
                await self._client.patch(f"{path}/{series.name}", body, PatchType.MERGE, within=_ANSWER_WITHIN)
            except NotFoundError:
                # The server keeps events for an hour only.
                series.name, series.told = self._name(about), 0
            else:
                return
        try:
            await self._client.post(path, self._document(series, count), within=_ANSWER_WITHIN)
        except ConflictError:
            return  # an earlier attempt, whose answer was lost, has created it

    def _document(self, series: _Series, count: int) -> dict[str, Any]:
        about, kind, reason, message = series.key
        return {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": series.name, "namespace": about.namespace or "default"},
            "involvedObject": {
                "apiVersion": API_VERSIONS.get(about.kind, "v1"),
                "kind": about.kind,
                "namespace": about.namespace,
                "name": about.name,
                "uid": about.uid,
            },
            "type": kind,
            "reason": reason,
            "message": message[:_LONGEST_MESSAGE],
            "source": {"component": self._component},
            "reportingComponent": self._component,
            "firstTimestamp": rfc3339(series.first),
            "lastTimestamp": rfc3339(series.last),
            "count": count,
        }


def _first(of: OrderedDict[Any, V]) -> V:
    return next(iter(of.values()))
