"""Stops decisions while another scheduler binds pods of our scheduler name, and reports it.

A Lease keeps replicas of ours apart, but Volcano's own manifests run its scheduler without one.

A scheduler that binds nothing may have ended, or may have no room. So its silence ends the pause, but not the
suspicion: the first decisions are held back for a moment (`held_decisions.py`), in which the other one takes the pods.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Sequence
from typing import Any, Final

import structlog

from volcano_py.api.effects import Bind, Event, ObjectRef
from volcano_py.api.objects import ApiObject, Pod, metadata_of
from volcano_py.cluster.kubernetes.clock import SYSTEM_CLOCK, Clock
from volcano_py.cluster.kubernetes.watching import kinds
from volcano_py.daemon.leading.foreign_bindings import SETTLE, ForeignBindings
from volcano_py.observe.metrics import Metrics
from volcano_py.state.cluster_state import ClusterState

log = structlog.get_logger(__name__)

REASON: Final = "OtherScheduler"
"""Of the event."""

_JITTER: Final = 0.5
"""The part of the silence by which it is longer at most. Of two daemons that see each other and stop, one must be the
first to go on, which the other sees."""


class OtherScheduler:
    """A `Sink` of pods that must come before the state, which says whether a pod was waiting.

    `silence` in seconds; 0 looks at nothing. `record` takes events; `resumed` is called when decisions may go on.
    `is_ours`: whether no other scheduler may bind to this node; by default to none.
    """

    def __init__(
        self,
        state: ClusterState,
        metrics: Metrics,
        *,
        silence: float,
        record: Callable[[Event], None],
        resumed: Callable[[], None],
        is_ours: Callable[[str], bool] | None = None,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self._state, self._metrics, self._clock = state, metrics, clock
        self._record, self._resumed = record, resumed
        self._is_ours = is_ours or (lambda _node: True)
        self._looks = silence > 0
        self._bindings = ForeignBindings(silence=silence * (1 + _JITTER * random.random()))
        self._appeared = asyncio.Event()

    # -- what it is given --------------------------------------------------------------------------------------------

    def lead(self, *, after_ours: bool) -> None:
        """We begin to lead; `after_ours`: perhaps after a predecessor whose last bindings are still under way."""
        self._bindings.count_from(self._clock.monotonic() + (SETTLE if after_ours else 0.0))

    def suspect(self) -> None:
        """Pods of ours were bound by a process that is not known."""
        if self._looks:
            self._bindings.suspect()

    def trust(self) -> None:
        """No other scheduler has taken what we decided and held back."""
        self._bindings.trust()

    def sent(self, binds: Sequence[Bind]) -> None:
        """These bindings are handed to the writers."""
        if self._looks:
            for bind in binds:
                self._bindings.sent(bind.pod.uid, bind.node)

    def replace(self, kind: str, objects: Sequence[ApiObject]) -> None:
        """The first list says of no pod that it was waiting before."""

    def upsert(self, kind: str, obj: ApiObject) -> None:  # noqa: ARG002 - the protocol's signature
        if not (self._looks and isinstance(obj, Pod) and obj.spec.node_name and self._is_ours(obj.spec.node_name)):
            return
        meta = obj.metadata
        if obj.spec.scheduler_name in self._state.scheduler_names and self._state.is_shown_waiting(meta.uid):
            before = self._bindings.total
            is_new = self._bindings.bound(meta.uid, meta.key, obj.spec.node_name, self._clock.monotonic())
            self._metrics.daemon.foreign_bindings(self._bindings.total - before)
            if is_new:
                self._report(obj)

    def delete(self, kind: str, obj: ApiObject) -> None:
        if kind == kinds.POD.name:
            self._bindings.forget(metadata_of(obj).uid)

    # -- what it says --------------------------------------------------------------------------------------------------

    def is_present(self) -> bool:
        """Whether decisions have to wait."""
        return self._bindings.is_present(self._clock.monotonic())

    @property
    def is_suspected(self) -> bool:
        """Whether the first decisions are to be held back."""
        return self._bindings.is_suspected

    @property
    def total(self) -> int:
        """Pods that were bound by another process, ever."""
        return self._bindings.total

    def status(self) -> dict[str, Any] | None:
        """For /status; None while no other scheduler is seen."""
        now, last = self._clock.monotonic(), self._bindings.last
        if last is None or not self._bindings.is_present(now):
            return None
        return {
            "lastPod": last.pod,
            "lastNode": last.node,
            "secondsAgo": round(now - last.at, 1),
            "resumesIn": round(self._bindings.silent_in(now), 1),
        }

    async def run(self) -> None:
        """Wait, each time one appears, until it has been silent for long enough."""
        while True:
            await self._appeared.wait()
            self._appeared.clear()
            while (seconds := self._bindings.silent_in(self._clock.monotonic())) > 0:
                await self._clock.sleep(seconds)
            self._metrics.daemon.other_scheduler(False)
            log.info("decisions resumed: the other scheduler has bound no pod lately")
            self._resumed()

    def _report(self, pod: Pod) -> None:
        self._metrics.daemon.other_scheduler(True)
        self._appeared.set()
        meta, name, node = pod.metadata, pod.spec.scheduler_name, pod.spec.node_name
        seconds = round(self._bindings.silent_in(self._clock.monotonic()))
        log.error(
            "decisions paused: another scheduler binds pods of our scheduler name; stop it, or give one of the two "
            "another --scheduler-name",
            scheduler_name=name,
            pod=meta.key,
            node=node,
            resume_after_silence=seconds,
        )
        text = (
            f"Another scheduler has bound this pod to node {node}, and others before, under the scheduler name {name}. "
            f"volcano-py decides nothing until the other one has bound no pod for {seconds} s. Stop one of the two."
        )
        self._record(Event(ObjectRef("Pod", meta.namespace, meta.name, meta.uid), "Warning", REASON, text))
