"""Passes the outcomes of bindings and evictions to the state, metrics and events."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Final

import structlog

from volcano_py.api.effects import Bind, Event, Evict
from volcano_py.api.objects import ObjectMeta, Pod
from volcano_py.cluster.kubernetes.http.errors import ApiError, ConflictError, ForbiddenError
from volcano_py.observe.metrics import Metrics
from volcano_py.observe.metrics.effects import Outcome
from volcano_py.observe.metrics.latency import SchedulingStage, TaskStage
from volcano_py.state.cluster_state import ClusterState
from volcano_py.state.pods import LONGEST_PAUSE

log = structlog.get_logger(__name__)

# Seconds until a pod whose binding or eviction failed is tried again: doubled with each failure in a row, up to the
# second value.
FIRST_RETRY: Final = 1.0
LAST_RETRY: Final = LONGEST_PAUSE
# Pods remembered as having failed; beyond it the oldest are forgotten and start over.
_MOST_FAILURES: Final = 10_000


class OutcomeRecorder:
    """Implements `cluster.protocol.Outcomes`. `record` takes events; `clock` returns seconds since the epoch.
    `witness` sees what became of each effect."""

    def __init__(
        self,
        state: ClusterState,
        record: Callable[[Event], None],
        metrics: Metrics,
        clock: Callable[[], float] = time.time,
        witness: Callable[[str, Bind | Evict, str], None] = lambda _what, _effect, _error: None,
    ) -> None:
        self._state = state
        self._record = record
        self._metrics = metrics
        self._clock, self._witness = clock, witness
        self._pauses: dict[str, float] = {}
        """Pod → how long it waited after its last failure."""
        self._sent: dict[str, float] = {}

    def sent(self, bind: Bind) -> None:
        """The binding was handed to the binder; its duration counts from now."""
        now = self._sent[bind.pod.uid] = self._clock()
        self._reached(TaskStage.ASSUMED, bind, now)

    def evictions_sent(self, evictions: Sequence[Evict]) -> None:
        """The evictions of one plan were handed to the evictor."""
        self._metrics.effects.evictions_committed(evictions[0].action, len(evictions))

    def prepared(self, bind: Bind) -> None:
        """The claims of the pod are bound."""
        now = self._clock()
        self._metrics.latencies.stage_took(SchedulingStage.PRE_BIND, max(0.0, now - self._sent.get(bind.pod.uid, now)))
        self._reached(TaskStage.PRE_BOUND, bind, now)

    def bound(self, bind: Bind, ago: float) -> None:
        self._witness("bound", bind, "")
        moment = self._clock() - ago
        self._pauses.pop(bind.pod.uid, None)
        seconds = self._duration(bind, moment)
        self._metrics.effects.bound(Outcome.DONE, seconds)
        self._metrics.latencies.stage_took(SchedulingStage.BIND, seconds)
        self._reached(TaskStage.BOUND, bind, moment)
        text = f"Successfully assigned {bind.pod.key} to {bind.node}"
        self._record(Event(bind.pod, "Normal", "Scheduled", text, at=moment))

    def bind_failed(self, bind: Bind, error: Exception, *, gone: bool) -> None:
        self._witness("bind failed", bind, str(error))
        seconds = self._duration(bind, self._clock())
        self._metrics.effects.bound(Outcome.GONE if gone else _outcome_of(error), seconds)
        if gone:
            self._pauses.pop(bind.pod.uid, None)
            # The watch will show it, too; should it not, the pod must not be counted with its gang without end.
            ref = bind.pod
            self._state.delete("Pod", Pod(metadata=ObjectMeta(namespace=ref.namespace, name=ref.name, uid=ref.uid)))
            return
        pause = self._next_pause(bind.pod.uid)
        self._state.bind_failed(bind.pod.uid, retry_at=self._clock() + pause)
        ends = isinstance(error, ForbiddenError) and error.namespace_ends
        write = log.debug if ends else log.warning
        write("binding failed", pod=bind.pod.key, node=bind.node, error=str(error), retry_in=pause)
        if ends:
            return  # it takes no events either
        text = f"SchedulerError: binding to node {bind.node} failed: {error}; tried again in {pause:g} s"
        self._record(Event(bind.pod, "Warning", "FailedScheduling", text))

    def evicted(self, evict: Evict) -> None:
        self._witness("evicted", evict, "")
        self._pauses.pop(evict.pod.uid, None)
        self._metrics.effects.evicted(evict.action, Outcome.DONE)
        log.info("evicted", pod=evict.pod.key, action=evict.action, why=evict.message)

    def evict_failed(self, evict: Evict, error: Exception) -> None:
        self._witness("evict failed", evict, str(error))
        self._metrics.effects.evicted(evict.action, _outcome_of(error))
        pause = self._next_pause(evict.pod.uid)
        log.warning("eviction failed", pod=evict.pod.key, error=str(error), retry_in=pause)
        self._state.evict_failed(evict.pod.uid, retry_at=self._clock() + pause)

    def _next_pause(self, uid: str) -> float:
        """Seconds until a pod is tried again after another failure."""
        before = self._pauses.pop(uid, None)
        if len(self._pauses) >= _MOST_FAILURES:
            del self._pauses[next(iter(self._pauses))]
        pause = self._pauses[uid] = FIRST_RETRY if before is None else min(2 * before, LAST_RETRY)
        return pause

    def _reached(self, stage: TaskStage, bind: Bind, now: float) -> None:
        if bind.created:
            self._metrics.latencies.task_reached(stage, max(0.0, now - bind.created))

    def _duration(self, bind: Bind, moment: float) -> float:
        """Seconds from when the binding was sent until then."""
        return max(0.0, moment - self._sent.pop(bind.pod.uid, moment))


def _outcome_of(error: Exception) -> Outcome:
    """How a failure is counted."""
    if isinstance(error, ConflictError):
        return Outcome.CONFLICT
    return Outcome.REFUSED if isinstance(error, ApiError) and not error.transient else Outcome.FAILED
