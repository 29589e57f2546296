"""When cycles run, and how their effects are applied.

Cycles are driven by events: a change that can alter a decision wakes the loop after a few milliseconds, so that what
belongs together is decided together; a change that only moves statuses waits longer, and so does a pod of a gang that
lacks others. With no change there is no cycle, and a backlog that nothing has unblocked is not tried again. A cycle
runs in a worker thread on a snapshot; what it commits is handed to the event loop at once, assumed in the state and
sent out while the cycle goes on.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final, Protocol

import msgspec
import structlog

from volcano_py.api.effects import Bind, Effect, Evict, PodCondition, PodGroupStatusUpdate
from volcano_py.api.extender.client import ExtenderClient
from volcano_py.api.report import CycleReport
from volcano_py.cluster.kubernetes.clock import SYSTEM_CLOCK, Clock, within
from volcano_py.cluster.protocol import EffectWriter
from volcano_py.config import SchedulerConfiguration
from volcano_py.daemon.wakeup import Wakeup
from volcano_py.framework.devices.stand_ins import StandIns
from volcano_py.framework.registry import Registry
from volcano_py.scheduler import Scheduler
from volcano_py.state.cluster_state import ClusterState
from volcano_py.state.snapshot import Snapshot
from volcano_py.state.table.change import Change

log = structlog.get_logger(__name__)

# Seconds. A gang's pods come as separate events; a decision on the first alone is of no use.
DECISIVE_PAUSE: Final = 0.01
# Statuses may lag behind bindings; meanwhile the confirmations of many pods make one pass. So do the first pods of a
# gang: until it is complete, there is only why it waits to write.
STATUS_PAUSE: Final = 0.25

# Some seconds of work. Should more come in without end, the snapshot does the rest.
_MOST_SLICES: Final = 1000


class Witness(Protocol):
    """Sees each cycle as it begins, on the snapshot taken last, what it emits, and how it ends. On the event loop."""

    def forgets(self) -> bool:
        """Asked before each cycle: whether the scheduler is to forget what it remembers of those before."""
        ...

    def began(self, number: int, seed: int, configuration: SchedulerConfiguration, *, decide: bool) -> None: ...

    def emitted(self, effects: Sequence[Effect]) -> None: ...

    def ended(self, report: CycleReport) -> None: ...

    def failed(self) -> None: ...


class CycleTiming(msgspec.Struct):
    """Pauses of the loop in seconds. `period` is the longest pause between two cycles while changes keep coming."""

    period: float = 1.0
    decisive_pause: float = DECISIVE_PAUSE
    status_pause: float = STATUS_PAUSE


class CycleLoop:
    """Runs cycles while `active()`. Asked before each: `configuration()`, None while none is valid, and `current()`,
    whether the state is what the API server has."""

    def __init__(
        self,
        state: ClusterState,
        registry: Registry,
        writer: EffectWriter,
        wakeup: Wakeup,
        *,
        configuration: Callable[[], SchedulerConfiguration | None],
        active: Callable[[], bool],
        current: Callable[[], bool] = lambda: True,
        on_report: Callable[[CycleReport], None] = lambda _report: None,
        on_evictions: Callable[[Sequence[Evict]], None] = lambda _evictions: None,
        on_failure: Callable[[], None] = lambda: None,
        witness: Witness | None = None,
        timing: CycleTiming | None = None,
        seed: int | None = None,
        report_job_shares: bool = False,
        extender: ExtenderClient | None = None,
        first_ended: asyncio.Event | None = None,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        """`first_ended` is set once a cycle has run, with success."""
        self._state = state
        self._writer = writer
        self._wakeup = wakeup
        self._configuration = configuration
        self._active, self._current = active, current
        self._on_report, self._on_evictions, self._on_failure = on_report, on_evictions, on_failure
        self._timing = timing or CycleTiming()
        self._clock = clock
        self._witness = witness
        self._seed = seed if seed is not None else time.time_ns() % 2**32
        self._scheduler = Scheduler(
            registry,
            self._emit,
            seed=self._seed,
            report_job_shares=report_job_shares,
            extender=extender,
        )
        self._stopping = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._looked_at = 0.0  # seconds since the epoch; the moment of the last snapshot
        self._used: Snapshot | None = None  # the last one, once its cycle has ended
        self._first_ended = first_ended or asyncio.Event()
        self.last_report: CycleReport | None = None
        self._remarks: dict[str, str] = {}
        self.running_since: float | None = None
        """Monotonic time at which the running cycle began, None between cycles."""
        state.on_change = wakeup.wake

    @property
    def stand_ins(self) -> Mapping[str, StandIns]:
        """Devices that stood in for resources in the last cycle, by resource."""
        return self._scheduler.stand_ins

    def running_for(self) -> float:
        """For how many seconds the running cycle has been running, 0 between cycles; may be called from any thread."""
        since = self.running_since
        return 0.0 if since is None else self._clock.monotonic() - since

    def stop(self) -> None:
        """No new cycle; the running one ends and its effects are kept."""
        self._stopping = True
        self._wakeup.event.set()

    async def run(self) -> None:
        """Until `stop`; a cycle that fails is logged and tried again after the period."""
        self._loop = asyncio.get_running_loop()
        try:
            with ThreadPoolExecutor(max_workers=1, thread_name_prefix="cycle") as executor:
                await self._run_cycles(executor)
        finally:
            self._wakeup.cancel_alarm()

    async def _run_cycles(self, executor: ThreadPoolExecutor) -> None:
        pause = 0.0
        is_due = self._wakeup.event.is_set() and not self._stopping  # what was listed before is all there
        while is_due or await self._woken(pause):
            is_due = False
            configuration = self._configuration()
            if configuration is None or not self._active() or not self._current():
                # Whatever makes one of them true wakes us; a cycle that was asked for stays asked for.
                self._wakeup.event.clear()
                await self._wakeup.event.wait()
                continue
            decide = self._wakeup.take() >= Change.INCOMPLETE
            if self._witness is not None and self._witness.forgets():
                self._scheduler.forget()
                decide = True
            started = self.running_since = self._clock.monotonic()
            try:
                await self._run_cycle(executor, configuration, decide=decide)
            except Exception:
                log.exception("cycle failed; retrying")
                self.running_since = None  # during the pause nothing runs that could hang
                self._on_failure()
                if self._witness is not None:
                    self._witness.failed()
                await self._clock.sleep(self._timing.period)
                started = self._clock.monotonic()  # this was pause enough
                self._wakeup.wake(Change.DECISION)
            self.running_since = None
            # With changes coming in without end, leave the event loop time to follow them.
            pause = min((self._clock.monotonic() - started) / 2, self._timing.period)

    async def _woken(self, pause: float) -> bool:
        """Wait until there is something to do, and a moment longer for what belongs to it. False to stop."""
        await self._sleep_until_woken(self._until_next_look(self._now()))
        woken = self._clock.monotonic()
        while not self._stopping:
            shortest = self._timing.decisive_pause if self._is_urgent() else self._timing.status_pause
            left = woken + max(shortest, pause) - self._clock.monotonic()
            if left <= 0:
                return True
            await self._clock.sleep(min(left, self._timing.decisive_pause))
        return False

    def _is_urgent(self) -> bool:
        """Whether a decision may come out differently now, rather than once a gang has all its pods."""
        if self._wakeup.change is not Change.INCOMPLETE:
            return self._wakeup.change is Change.DECISION
        configuration = self._configuration()
        return configuration is None or not self._scheduler.registry.refuses_incomplete(configuration)

    async def _sleep_until_woken(self, at_most: float | None) -> None:
        if self._wakeup.event.is_set():
            return
        if at_most is None:
            await self._wakeup.event.wait()
            return
        try:
            await within(self._clock, at_most, self._wakeup.event.wait())
        except TimeoutError:
            self._wakeup.wake(Change.DECISION)

    def _until_next_look(self, now: float) -> float | None:
        """Seconds until the passing of time alone is worth a cycle; None when it never is.

        What has fallen due since the last snapshot was taken counts: that cycle could not know.
        """
        moments = [self._state.next_retry(self._looked_at)]
        if self.last_report is not None:
            asked_for = (self.last_report.look_again_at, self.last_report.recheck_at)
            moments.extend(moment for moment in asked_for if moment > self._looked_at)
        return min((max(0.0, moment - now) for moment in moments if moment is not None), default=None)

    async def _run_cycle(
        self, executor: ThreadPoolExecutor, configuration: SchedulerConfiguration, *, decide: bool
    ) -> None:
        assert self._loop is not None
        await self._settle_state()
        before = time.perf_counter()
        now = self._now()
        # A moment may fall due while only statuses keep coming in; nothing else wakes the loop for it.
        decide = decide or self._until_next_look(now) == 0
        self._looked_at = now
        used, self._used = self._used, None
        snapshot = self._state.copy(self._looked_at, used)
        taken = time.perf_counter() - before
        if self._witness is not None:
            self._witness.began(self._scheduler.cycles + 1, self._seed, configuration, decide=decide)
        report = await self._loop.run_in_executor(executor, self._decide, snapshot, configuration, decide)
        # The effects were queued on the loop before the result, so they have been assumed by now.
        self.last_report, self._used = report, snapshot
        self._first_ended.set()
        if self._witness is not None:
            self._witness.ended(report)
        self._on_report(report)
        self._log_remarks(report)
        if report.binds or report.evictions:
            log.info(
                "cycle",
                cycle=report.cycle,
                binds=report.binds,
                evictions=report.evictions,
                pending=len(report.pending),
                seconds=round(report.duration, 4),
                snapshot_seconds=round(taken, 4),
                seed=report.seed,
            )

    def _log_remarks(self, report: CycleReport) -> None:
        """Why plugins have done nothing, once until that changes."""
        for plugin, remark in report.remarks.items():
            if remark and remark != self._remarks.get(plugin):
                log.info("plugin did nothing", plugin=plugin, why=remark)
            self._remarks[plugin] = remark

    async def _settle_state(self) -> None:
        """Do the work that a snapshot needs done, in slices, so that the event loop has its turns."""
        for _ in range(_MOST_SLICES):
            if self._state.is_settled:
                return
            self._state.settle_some()
            await asyncio.sleep(0)

    def _decide(self, snapshot: Snapshot, configuration: SchedulerConfiguration, decide: bool) -> CycleReport:
        """In the worker thread."""
        try:
            return self._scheduler.run_cycle(snapshot.with_classes_split(), configuration, decide=decide)
        except Exception:
            raise
        except BaseException as error:
            # SystemExit, say: on the event loop it would end the process.
            raise RuntimeError(f"a cycle ended by {type(error).__name__}") from error

    def _now(self) -> float:
        """Seconds since the epoch."""
        return self._clock.now().timestamp()

    def _emit(self, effects: Sequence[Effect]) -> None:
        """From the worker thread."""
        assert self._loop is not None
        if effects:
            self._loop.call_soon_threadsafe(self._assume, effects)

    def _assume(self, effects: Sequence[Effect]) -> None:
        """On the event loop: assume, then send. A lease lost meanwhile stops everything here."""
        if self._witness is not None:
            self._witness.emitted(effects)
        if self._active():
            overtaken = self._assume_binds([effect for effect in effects if isinstance(effect, Bind)])
            holding = [effect for effect in effects if self._still_holds(effect, overtaken)]
            if evictions := [effect for effect in holding if isinstance(effect, Evict)]:
                self._on_evictions(evictions)
            self._writer.apply(holding)

    def _assume_binds(self, binds: Sequence[Bind]) -> frozenset[str]:
        """Gangs with a pod that cannot be bound any more: none is bound, and the next cycle decides again."""
        assumed: list[Bind] = []
        overtaken: set[str] = set()
        for bind, is_assumed in zip(binds, self._state.assume_all_bound(binds), strict=True):
            if is_assumed:
                assumed.append(bind)
            else:
                overtaken.add(bind.job)
        for bind in assumed:
            if bind.job in overtaken:
                self._state.bind_failed(bind.pod.uid, retry_at=0.0)
        if overtaken:
            log.info("cluster changed during the cycle; deciding again", jobs=sorted(overtaken))
            # What has overtaken them need not be a change that wakes us.
            self._wakeup.wake(Change.DECISION)
        return frozenset(overtaken)

    def _still_holds(self, effect: Effect, overtaken: Collection[str]) -> bool:
        if isinstance(effect, Bind):
            return effect.job not in overtaken
        if isinstance(effect, Evict):
            return self._state.assume_evicted(effect.pod.uid)
        if isinstance(effect, PodGroupStatusUpdate):
            self._state.assume_status(effect, self._now())
            # Written or not, it is worked out again if it does not show for long.
            return not effect.provisional
        if isinstance(effect, PodCondition):
            self._state.assume_reported(effect)
        return True
