"""Writes Kubernetes events: once each, counted when they repeat, limited per object and in all, and after all else.

A repetition is counted here and reaches the API server as a new count now and then, so that a pod that waits for a day
costs a few writes and not one for each cycle. The reason why something waits may change with each cycle. Of those that
are not written yet only the latest is kept, so that no more wait than there are objects.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, Final

import msgspec
import structlog

from volcano_py.api.effects import Event, ObjectRef
from volcano_py.api.names import SCHEDULING_API, TOPOLOGY_API, UNSCHEDULABLE
from volcano_py.api.numa.topologies import NODE_INFO_API, NUMATOPOLOGY
from volcano_py.api.shards.node_shards import NODE_SHARD, SHARD_API
from volcano_py.cluster.kubernetes.backoff import RetryPolicy, retry
from volcano_py.cluster.kubernetes.clock import SYSTEM_CLOCK, Clock, rfc3339, wait_at_most
from volcano_py.cluster.kubernetes.http.client import KubernetesClient, PatchType
from volcano_py.cluster.kubernetes.http.errors import ConflictError, NotFoundError, RequestError
from volcano_py.cluster.kubernetes.http.paths import ApiPath
from volcano_py.cluster.kubernetes.http.ratelimit import TokenBucket
from volcano_py.cluster.kubernetes.writing.event_memory import EventKey, EventMemory, EventSeries
from volcano_py.cluster.kubernetes.writing.rest import Rest
from volcano_py.cluster.kubernetes.writing.turns import Turns
from volcano_py.cluster.kubernetes.writing.workers import Workers, stand_back
from volcano_py.jobs.flows.model import FLOW_API
from volcano_py.jobs.model import BATCH_API

log = structlog.get_logger(__name__)

IN_FLIGHT: Final = 4
CAPACITY: Final = 10_000
"""Waiting events; a `Scheduled` event for each pod of a large burst, and some room."""
PATIENCE: Final = 10.0
"""Seconds that bindings may delay an event."""
# All objects together, per second and at once: less than a tenth of what an API server on two cores can create.
RATE: Final = 100.0
BURST: Final = 500
RETRIES: Final = RetryPolicy(give_up_after=10.0)

STANDINGS: Final = frozenset({"FailedScheduling", UNSCHEDULABLE})
"""Reasons of events that describe the state of an object, not something that happened to it."""
COUNT_EVERY: Final = 60.0
"""Seconds between two writes of one event's count."""
_LONGEST_MESSAGE: Final = 1024  # characters, the API's limit
_ANSWER_WITHIN: Final = 15.0  # seconds for one attempt

API_VERSIONS: Final = {
    "PodGroup": SCHEDULING_API,
    "Queue": SCHEDULING_API,
    "Job": BATCH_API,
    "CronJob": BATCH_API,
    "JobFlow": FLOW_API,
    "JobTemplate": FLOW_API,
    "HyperNode": TOPOLOGY_API,
    NODE_SHARD: SHARD_API,
    NUMATOPOLOGY: NODE_INFO_API,
    "ReplicaSet": "apps/v1",
    "StatefulSet": "apps/v1",
    "DaemonSet": "apps/v1",
}
"""API versions of the kinds that events are about, where it is not v1."""

_Topic = tuple[ObjectRef, str, str]
"""An event but for its message."""


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
        self._memory = EventMemory(clock)
        self._queue: Turns[EventSeries] = Turns(in_flight)
        self._unwritten: dict[_Topic, EventSeries] = {}
        """The latest event of each object that waits to be written for the first time."""
        self._workers = Workers("events", self._queue, self._work)
        self._counter: asyncio.Task[None] | None = None
        self._rest = Rest(clock)
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

    def forget_object(self, about: ObjectRef) -> None:
        """The object is gone; some time, less is remembered of it. What waits to be written about it still is."""
        self._memory.forget_object(about)

    def stop_new(self) -> None:
        """Write nothing more."""
        self._stopped = True
        self._dropped += sum(1 for _ in self._queue.drain())
        self._unwritten.clear()
        if self._counter is not None:
            self._counter.cancel()

    async def drain(self, seconds: float) -> int:
        """Wait that long for all that waits, latest counts included, then stop. Returns how many were dropped."""
        self._rest.end()
        for series in list(self._memory):
            if not series.is_written:
                self._enqueue(series)
        self._workers.wake()
        await wait_at_most(self._clock, seconds, self._workers.quiet)
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
        key = event.about, event.type, event.reason, event.message
        if self._memory.count(key):
            self._counted += 1
            self._count_later()
            return
        if (waiting := self._unwritten.get(key[:3])) is not None:
            self._say_instead(waiting, key)
            return
        if not self._memory.may_report(event.about):
            self._limited += 1
            return
        moment = self._clock.now() if event.at is None else datetime.fromtimestamp(event.at, UTC)
        series = EventSeries(
            key,
            self._name(event.about),
            moment,
            moment,
            self._clock.monotonic(),
            action=event.action,
            related=event.related,
        )
        if event.reason in STANDINGS:
            self._unwritten[key[:3]] = series
        self._memory.remember(series)
        self._enqueue(series)

    def _say_instead(self, series: EventSeries, key: EventKey) -> None:
        """The event has not been written, and does not hold any more."""
        self._replaced += 1
        self._memory.forget(series)
        series.key, series.count = key, 1
        series.first = series.last = self._clock.now()
        series.last_seen = self._clock.monotonic()
        self._memory.remember(series)

    def _enqueue(self, series: EventSeries) -> None:
        if series.queued or series.writing:
            return  # what waits will carry the new count; what is under way would be written twice
        if len(self._queue) >= self._capacity:
            self._dropped += 1
            self._forget(self._queue.give_up_oldest())
        series.queued, series.queued_at = True, self._clock.monotonic()
        self._queue.add(series.key[0].namespace, series)

    def _forget(self, series: EventSeries) -> None:
        """A repetition will be written as an event of its own."""
        self._taken_up(series)
        self._memory.forget(series)

    def _taken_up(self, series: EventSeries) -> None:
        """It waits no more."""
        series.queued = False
        if self._unwritten.get(series.key[:3]) is series:
            del self._unwritten[series.key[:3]]

    def _name(self, about: ObjectRef) -> str:
        """Unique without asking: the object's name and a number, as the events that users know are named."""
        return f"{about.name[:230].rstrip('-.')}.{self._rng.getrandbits(64):016x}"

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
        grown = [series for series in self._memory if not series.is_written]
        for series in grown:
            if now - series.written_at >= COUNT_EVERY:
                self._enqueue(series)
        self._workers.wake()
        return bool(grown)

    # -- writing -------------------------------------------------------------------------------------------------

    async def _work(self, series: EventSeries) -> None:
        if self._quiet is not None:
            await stand_back(self._quiet, series.queued_at + PATIENCE - self._clock.monotonic(), self._clock)
        await self._bucket.take()
        self._taken_up(series)
        if self._stopped:
            return
        count, series.writing, began = series.count, True, self._rest.begin()
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
            log.debug("event not written", about=series.key[0].key, reason=series.key[2], error=str(error))
            return
        finally:
            series.writing = False
        series.written, series.written_at = count, self._clock.monotonic()
        self._written[series.key[1]] += 1
        await self._rest.after(began)

    async def _write(self, series: EventSeries, count: int) -> None:
        about = series.key[0]
        # Events about cluster-scoped objects live in the namespace `default`, where kubectl describe looks for them.
        path = ApiPath("v1", "events", about.namespace or "default")
        if series.written:
            body = {"count": count, "lastTimestamp": rfc3339(series.last)}
            try:
                await self._client.patch(path.of(series.name), body, PatchType.MERGE, within=_ANSWER_WITHIN)
            except NotFoundError:
                # The server keeps events for an hour only.
                series.name, series.written = self._name(about), 0
            else:
                return
        try:
            await self._client.post(path, self._document(series, count), within=_ANSWER_WITHIN)
        except ConflictError:
            return  # an earlier attempt, whose answer was lost, has created it

    def _document(self, series: EventSeries, count: int) -> dict[str, Any]:
        about, kind, reason, message = series.key
        extra: dict[str, Any] = {"action": series.action} if series.action else {}
        if series.related is not None:
            extra["related"] = _reference(series.related)
        return {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": series.name, "namespace": about.namespace or "default"},
            "involvedObject": _reference(about),
            **extra,
            "type": kind,
            "reason": reason,
            "message": " ".join(message.splitlines())[:_LONGEST_MESSAGE],  # tables show the first line only
            "source": {"component": self._component},
            "reportingComponent": self._component,
            "firstTimestamp": rfc3339(series.first),
            "lastTimestamp": rfc3339(series.last),
            "count": count,
        }


def _reference(ref: ObjectRef) -> dict[str, str]:
    return {
        "apiVersion": API_VERSIONS.get(ref.kind, "v1"),
        "kind": ref.kind,
        "namespace": ref.namespace,
        "name": ref.name,
        "uid": ref.uid,
    }
