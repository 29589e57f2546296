"""The real cluster: carries out the effects of a cycle, the more urgent first."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from typing import Final

import msgspec

from volcano_py.api.devices.claims import ClaimMeta
from volcano_py.api.effects import (
    Bind,
    Effect,
    Event,
    Evict,
    ObjectRef,
    OpenGate,
    PodCondition,
    PodGroupStatusUpdate,
    QueueAllocated,
    QueueConditions,
    ReleaseDevices,
)
from volcano_py.api.objects import Pod, PodGroup
from volcano_py.cluster.kubernetes.clock import SYSTEM_CLOCK, Clock
from volcano_py.cluster.kubernetes.http.client import KubernetesClient
from volcano_py.cluster.kubernetes.writing.binder import Binder, BinderStats
from volcano_py.cluster.kubernetes.writing.device_binder import DeviceBinder
from volcano_py.cluster.kubernetes.writing.devices.extended_claims import FindClaims
from volcano_py.cluster.kubernetes.writing.events import EventRecorder, EventStats
from volcano_py.cluster.kubernetes.writing.evictor import Evictor, EvictorStats
from volcano_py.cluster.kubernetes.writing.status_writer import Status, StatusStats, StatusWriter
from volcano_py.cluster.kubernetes.writing.volume_binder import VolumeBinder
from volcano_py.cluster.kubernetes.writing.workers import LEASE_IS_OVER, Fence, always
from volcano_py.cluster.protocol import ConditionLookup, Outcomes
from volcano_py.state.infos import NodeInfo

EVENTS_WITHIN: Final = 2.0
"""Seconds for events that wait when all else is done: a burst of thousands would take minutes at their rate."""


class LiveStats(msgspec.Struct, frozen=True):
    """All writers' numbers at one moment."""

    binder: BinderStats
    evictor: EvictorStats
    status: StatusStats
    events: EventStats


class LiveCluster:
    """Bindings first, then evictions, then statuses, then events; all methods must be called on the loop.

    Statuses and events let bindings pass, but wait only for so long (see `status.PATIENCE`, `events.PATIENCE`).
    """

    def __init__(
        self,
        client: KubernetesClient,
        outcomes: Outcomes,
        *,
        component: str,
        binds_in_flight: int,
        known_condition: ConditionLookup | None = None,
        on_surprise: Callable[[Pod], None] = lambda _pod: None,
        on_prepared: Callable[[Bind], None] = lambda _bind: None,
        find_node: Callable[[str], NodeInfo | None] = NodeInfo,
        find_vacant: Callable[[str], ClaimMeta | None] = lambda _claim: None,
        find_extended: FindClaims = lambda _namespace, _pod: (),
        on_status_given_up: Callable[[Status], None] = lambda _update: None,
        on_admitted: Callable[[PodGroup], None] = lambda _group: None,
        fence: Fence = always,
        clock: Clock = SYSTEM_CLOCK,
        rng: random.Random | None = None,
    ) -> None:
        """`component`, the scheduler's name, signs events. `known_condition`, `on_status_given_up` and `on_admitted`:
        see `StatusWriter`; `on_surprise` and `fence`: `Binder`; `find_node`: `VolumeBinder` and `DeviceBinder`;
        `find_vacant` and `find_extended`: `DeviceBinder`. `on_prepared` is called when all claims of a pod are
        ready."""
        self._clock = clock
        self.devices = DeviceBinder(
            client,
            outcomes,
            self._claims_are_ready,
            in_flight=binds_in_flight,
            on_prepared=on_prepared,
            find_node=find_node,
            find_vacant=find_vacant,
            find_extended=find_extended,
            fence=fence,
            clock=clock,
            rng=rng,
        )
        self.binder = Binder(
            client, self.devices, in_flight=binds_in_flight, on_surprise=on_surprise, fence=fence, clock=clock, rng=rng
        )
        self.volumes = VolumeBinder(
            client,
            outcomes,
            self._volumes_are_ready,
            on_prepared=lambda bind: None if bind.devices else on_prepared(bind),
            find_node=find_node,
            fence=fence,
            clock=clock,
            rng=rng,
        )
        quiet = self.binder.quiet
        self.events = EventRecorder(client, component, quiet=quiet, clock=clock, rng=rng)
        self.evictor = Evictor(client, outcomes, self.events.emit, fence=fence, clock=clock, rng=rng)
        self.status = StatusWriter(
            client,
            quiet=quiet,
            known_condition=known_condition,
            emit=self.events.emit,
            on_given_up=on_status_given_up,
            on_admitted=on_admitted,
            fence=fence,
            clock=clock,
            rng=rng,
        )

    def apply(self, effects: Sequence[Effect]) -> None:
        """Begin to carry these out, and return at once; within each sort the given order is kept."""
        binds: list[Bind] = []
        evictions: list[Evict] = []
        statuses: list[Status] = []
        events: list[Event] = []
        releases: list[ReleaseDevices] = []
        for effect in effects:
            match effect:
                case Bind():
                    binds.append(effect)
                case Evict():
                    evictions.append(effect)
                case OpenGate() | PodCondition() | PodGroupStatusUpdate() | QueueAllocated() | QueueConditions():
                    statuses.append(effect)
                case ReleaseDevices():
                    releases.append(effect)
                case Event():
                    events.append(effect)
        self.status.forget_waits(bind.pod.uid for bind in binds)
        self.volumes.submit(bind for bind in binds if bind.claims)
        self._volumes_are_ready(bind for bind in binds if not bind.claims)
        self.devices.release(releases)
        self.evictor.submit(evictions)
        self.status.submit(statuses)
        self.events.submit(events)

    def _volumes_are_ready(self, binds: Iterable[Bind]) -> None:
        """Go on with these: devices come last, because volumes may take minutes and fail."""
        binds = list(binds)
        self.devices.submit(bind for bind in binds if bind.devices)
        self.binder.submit(bind for bind in binds if not bind.devices)

    def _claims_are_ready(self, binds: Iterable[Bind]) -> None:
        self.binder.submit(binds)

    def forget(self, gone: ObjectRef) -> None:
        """The object is gone: what was written to it, or as an event about it, need not be remembered."""
        self.events.forget_object(gone)
        self.status.forget_object(gone.uid)

    def stop_new(self, why: str = LEASE_IS_OVER) -> None:
        """Begin nothing more, at once: another replica may be the leader. Queued binds and evictions are reported."""
        self.volumes.stop_new(why)
        self.devices.stop_new(why)
        self.binder.stop_new(why)
        self.evictor.stop_new(why)
        self.status.stop_new()
        self.events.stop_new()

    async def drain(self, seconds: float) -> int:
        """Carry out what was decided, for that long at most, then stop. Returns how much was given up.

        Events are written for a moment only and do not count: a successor waits for our Lease meanwhile.
        """
        ends = self._clock.monotonic() + seconds
        given_up = await self.volumes.drain(seconds)
        # One after the other, so that what matters least is what falls short; evictions add events while they end.
        for writer in (self.devices, self.binder, self.evictor, self.status):
            given_up += await writer.drain(max(0.0, ends - self._clock.monotonic()))
        await self.events.drain(max(0.0, min(EVENTS_WITHIN, ends - self._clock.monotonic())))
        return given_up

    def stats(self) -> LiveStats:
        """The numbers now."""
        return LiveStats(
            binder=self.binder.stats(),
            evictor=self.evictor.stats(),
            status=self.status.stats(),
            events=self.events.stats(),
        )

    async def aclose(self) -> None:
        """Stop at once, giving up what is not done."""
        await self.drain(0.0)
