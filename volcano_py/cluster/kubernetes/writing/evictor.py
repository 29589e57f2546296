"""Evicts pods: says why in the pod's conditions, then deletes it with its own grace period, as Volcano does.

The deletion carries the UID as precondition. PodDisruptionBudgets were honoured when the victim was chosen.
"""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable, Iterable
from typing import Final

import msgspec
import structlog

from volcano_py.api.effects import Event, Evict
from volcano_py.api.names import DISRUPTION_TARGET, PREEMPTION_BY_SCHEDULER
from volcano_py.api.objects import Pod
from volcano_py.cluster.kubernetes.backoff import RetryPolicy
from volcano_py.cluster.kubernetes.clock import SYSTEM_CLOCK, Clock, rfc3339
from volcano_py.cluster.kubernetes.http.client import KubernetesClient, PatchType
from volcano_py.cluster.kubernetes.http.errors import (
    ConflictError,
    NotFoundError,
    RequestError,
    StoppedError,
    UnprocessableError,
)
from volcano_py.cluster.kubernetes.http.paths import ApiPath
from volcano_py.cluster.kubernetes.writing.workers import LEASE_IS_OVER, Fence, Pipeline, always
from volcano_py.cluster.protocol import Outcomes

log = structlog.get_logger(__name__)

# Evictions come in tens, bindings in thousands; a low limit leaves the server to bindings.
IN_FLIGHT: Final = 16
RETRIES: Final = RetryPolicy(give_up_after=30.0)
_ANSWER_WITHIN = 15.0  # seconds for one attempt

EVENT_REASON: Final = "Evict"
_CONDITIONS: Final = (("Ready", "False", "Evict"), (DISRUPTION_TARGET, "True", PREEMPTION_BY_SCHEDULER))
"""Type, status and reason, as Volcano sets them."""


class EvictorStats(msgspec.Struct, frozen=True):
    """`queued` and `in_flight` now; the others since the start."""

    queued: int
    in_flight: int
    evicted: int
    failed: int


class Evictor:
    """Carries out `Evict` effects in turns, some at a time, and reports each once."""

    def __init__(
        self,
        client: KubernetesClient,
        outcomes: Outcomes,
        emit: Callable[[Event], None],
        *,
        in_flight: int = IN_FLIGHT,
        retries: RetryPolicy = RETRIES,
        fence: Fence = always,
        clock: Clock = SYSTEM_CLOCK,
        rng: random.Random | None = None,
    ) -> None:
        """`emit` takes the events about evictions; `fence` is asked before each write (see `Binder`)."""
        self._client, self._outcomes, self._emit, self._retries = client, outcomes, emit, retries
        self._fence = fence
        self._clock, self._rng = clock, rng or random.Random()
        self._pipeline: Pipeline[Evict] = Pipeline(
            "evict",
            self._evict,
            self._fail,
            namespace=lambda evict: evict.pod.namespace,
            limit=in_flight,
            clock=clock,
        )
        self._evicted = self._failed = 0

    def submit(self, evictions: Iterable[Evict]) -> None:
        """Evict these, in the order of each namespace. Once stopped, they are reported as failed at once."""
        self._pipeline.submit(evictions)

    def stop_new(self, why: str = LEASE_IS_OVER) -> None:
        """Begin no eviction any more; those under way are finished, unless the fence has fallen."""
        self._pipeline.stop_new(why)

    async def drain(self, seconds: float) -> int:
        """Wait that long for all evictions, then give up the rest. Returns how many were given up."""
        return await self._pipeline.drain(seconds)

    def stats(self) -> EvictorStats:
        """The numbers now."""
        return EvictorStats(
            queued=self._pipeline.queued, in_flight=self._pipeline.busy, evicted=self._evicted, failed=self._failed
        )

    async def _evict(self, evict: Evict) -> None:
        try:
            path = ApiPath("v1", "pods", evict.pod.namespace).of(evict.pod.name)
            await self._write(lambda: self._mark(evict, path))
            await self._write(lambda: self._delete(evict, path))
        except _PodGoneError:
            pass
        except RequestError as error:
            self._fail(evict, error)
            return
        else:
            self._record_event(evict)
        self._evicted += 1
        self._outcomes.evicted(evict)

    async def _write(self, write: Callable[[], Awaitable[None]]) -> None:
        """Repeated while it may succeed; no attempt is made once the fence has fallen."""

        async def attempt() -> None:
            if not self._fence():
                raise StoppedError("evict", LEASE_IS_OVER)
            await write()

        await self._pipeline.retry(attempt, self._retries, self._rng)

    async def _mark(self, evict: Evict, path: ApiPath) -> None:
        """Say in the conditions what happens. A Job's podFailurePolicy reads them, and so does
        the controller of Volcano Jobs, so they come before the deletion."""
        now, message = rfc3339(self._clock.now()), f"{evict.action}: {evict.message}"
        conditions = [
            {"type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": now}
            for kind, status, reason in _CONDITIONS
        ]
        body = {"metadata": {"uid": evict.pod.uid}, "status": {"conditions": conditions}}
        try:
            await self._client.patch(path.sub("status"), body, PatchType.STRATEGIC, within=_ANSWER_WITHIN)
        except NotFoundError as error:
            raise _PodGoneError from error
        except UnprocessableError as error:
            if error.is_about_another_object:
                raise _PodGoneError from error
            log.warning("conditions of an evicted pod not written", pod=evict.pod.key, error=str(error))

    async def _delete(self, evict: Evict, path: ApiPath) -> None:
        body = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": evict.pod.uid}}
        try:
            await self._client.delete(path, body, within=_ANSWER_WITHIN)
        except NotFoundError as error:
            raise _PodGoneError from error
        except ConflictError as error:
            pod = await self._client.read(path, Pod)
            if pod.metadata.uid != evict.pod.uid:
                raise _PodGoneError from error
            raise

    def _record_event(self, evict: Evict) -> None:
        message = f"{evict.action}: {evict.message}"
        self._emit(Event(evict.pod, "Warning", EVENT_REASON, message, action=evict.action, related=evict.claimant))
        if evict.group is not None:
            # The same text for every pod, so that the events of a whole gang become one with a count.
            self._emit(Event(evict.group, "Normal", EVENT_REASON, message, action=evict.action, related=evict.claimant))

    def _fail(self, evict: Evict, error: RequestError) -> None:
        self._failed += 1
        log.warning("pod not evicted", pod=evict.pod.key, action=evict.action, error=str(error))
        self._outcomes.evict_failed(evict, error)


class _PodGoneError(Exception):
    """The pod to be evicted does not exist any more."""
