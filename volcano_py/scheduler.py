"""One scheduling cycle, top-down. The live daemon, `simulate`, replay, benchmarks and tests all run this code."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from random import Random
from typing import Any

import msgspec
import numpy as np
import structlog
from numpy.typing import NDArray

from volcano_py.actions import BUILTIN_ACTIONS
from volcano_py.api.effects import Bind, Effect, Emit, Evict
from volcano_py.api.extender.client import ExtenderClient
from volcano_py.api.report import CycleReport, NamespaceShare, PendingJob, QueueReport, TierUse
from volcano_py.config.model import SchedulerConfiguration
from volcano_py.framework.calls.answer_checks import is_interrupt, mapping_of
from volcano_py.framework.devices.releases import released_devices
from volcano_py.framework.devices.stand_ins import StandIns
from volcano_py.framework.plugin import Plugin
from volcano_py.framework.registry import Registry
from volcano_py.framework.resting.resting import Resting
from volcano_py.framework.resting.room_waits import RoomWaits
from volcano_py.framework.session import Memories, Session
from volcano_py.framework.status.closing import Closing
from volcano_py.framework.status.queue_gates import open_gates
from volcano_py.framework.status.queue_reports import missing_queues, queue_reports
from volcano_py.framework.status.requeue import requeue_if_unblocked
from volcano_py.framework.status.wakeups import SOON, earlier, earliest
from volcano_py.plugins import BUILTIN_PLUGINS
from volcano_py.state.nodes.index import NodeIndex
from volcano_py.state.snapshot import Snapshot
from volcano_py.state.status import TaskStatus
from volcano_py.state.table.ledger import Ledger

log = structlog.get_logger(__name__)


def builtin_registry() -> Registry:
    """The plugins and actions of this package. Their answers are checked in tests, see tests/support/registries.py."""
    return Registry.at(BUILTIN_PLUGINS, BUILTIN_ACTIONS).without_checks()


class _Tally(msgspec.Struct):
    """Passes effects on and counts them."""

    emit: Emit
    binds: int = 0
    evictions: int = 0

    def __call__(self, effects: Sequence[Effect]) -> None:
        for effect in effects:
            kind = type(effect)
            if kind is Bind:
                self.binds += 1
            elif kind is Evict:
                self.evictions += 1
        self.emit(effects)


class _Times(msgspec.Struct):
    """What the parts of a cycle took, in seconds, and which of them failed."""

    started: float = msgspec.field(default_factory=time.perf_counter)
    open: float = 0.0
    actions: Mapping[str, float] = msgspec.field(default_factory=dict)
    plugins_close: Mapping[str, float] = msgspec.field(default_factory=dict)
    action_errors: Mapping[str, int] = msgspec.field(default_factory=dict)

    def so_far(self) -> float:
        return time.perf_counter() - self.started


class Scheduler:
    """Runs cycles. Between them it keeps what follows from nodes while these stay as they are, jobs that rest, and
    plugins' memories.

    `seed` makes the random order among equal nodes; None takes the first by name, as simulations do. `cycles_before`
    have run elsewhere: the numbers, and with them the random orders, go on from there. Without `extender` the plugin of
    that name asks nothing.

    Attributes:
        ignores_text: conditions of which only the message would change are left alone: no decision follows from it.
    """

    def __init__(
        self,
        registry: Registry,
        emit: Emit,
        *,
        seed: int | None = None,
        report_job_shares: bool = False,
        report_queues_as_found: bool = False,
        cycles_before: int = 0,
        extender: ExtenderClient | None = None,
    ) -> None:
        self.registry = registry
        self._extender = extender
        self._emit = emit
        self._seed = seed
        self._report_job_shares = report_job_shares
        self._report_queues_as_found = report_queues_as_found
        self._cycles = cycles_before
        self.ignores_text = False
        self.stand_ins: Mapping[str, StandIns] = {}
        """Devices that stood in for resources in the last cycle, by resource."""
        self._node_index: NodeIndex | None = None
        self._memories: Memories = {}
        self._resting = Resting()
        self._used: Ledger | None = None  # that of the last cycle, once it has ended
        # What the last deciding cycle found; cycles that only bring statuses up to date report it again.
        self._pending: tuple[PendingJob, ...] = ()
        self._look_again_at = 0.0
        self._recheck_at = 0.0

    @property
    def cycles(self) -> int:
        """How many have begun."""
        return self._cycles

    def forget(self) -> None:
        """Begin the next cycle as after a restart: from the state and from what conditions say. It has to decide."""
        self._node_index = None
        self.go_on_from(Resting())

    def resting(self) -> Resting:
        """Which jobs rest now, for `go_on_from`."""
        return self._resting.copy()

    def go_on_from(self, resting: Resting) -> None:
        """Begin the next cycle, which has to decide, without what plugins remember. Jobs that rested at some earlier
        moment rest as far as everything about them is again as it was then."""
        self._memories = {}
        self._resting = resting.copy()
        self._pending, self._look_again_at, self._recheck_at = (), 0.0, 0.0

    def run_cycle(
        self,
        snapshot: Snapshot,
        configuration: SchedulerConfiguration,
        *,
        decide: bool = True,
        until: Callable[[], bool] = lambda: False,
    ) -> CycleReport:
        """One cycle over the snapshot. Effects are emitted as they are decided: bindings of a gang leave at once.

        With `decide=False` no action runs and only statuses are brought up to date. A cycle ends after the action with
        which `until` holds, without a status: for trials, after which `go_on_from` leads back.
        """
        self._cycles += 1
        cycle, seed = f"{snapshot.now:.3f}-{self._cycles}", (self._seed or 0) + self._cycles
        tally, times = _Tally(self._emit), _Times()

        # 1. Open: a private copy of the cluster, new plugins from their arguments.
        index = self._index(snapshot)
        if decide:
            index.kept.next_cycle()
            self._resting.classes.next_cycle()
        used, self._used = self._used, None
        ssn = Session(
            snapshot,
            configuration,
            self.registry,
            node_index=index,
            used=used,
            emit=tally,
            tie_rank=index.name_rank if self._seed is None else _shuffled(index, seed),
            memories=self._memories,
            resting=self._resting,
            extender=self._extender,
            decides=decide,
        )
        self.stand_ins = {ssn.axis.names[dim]: each for dim, each in ssn.stand_ins.items()}
        times.open = times.so_far()
        as_found = queue_reports(ssn) if self._report_queues_as_found else {}

        # 2. Decide: what rests wakes if need be, what is promised is kept, then the configured actions in their order.
        if decide:
            ssn.wake(self._resting)
            ssn.reservations.hold()
            ssn.wakeups.are_acting = True
            times.actions, times.action_errors = self._run_actions(ssn, until)
            ssn.wakeups.are_acting = False
        ends_here = until()
        if decide and not ends_here:
            requeue_if_unblocked(ssn)
            tally((*open_gates(ssn), *released_devices(ssn)))

        # 3. Close: plugins first, then statuses.
        if not ends_here:
            self._close(ssn, cycle, tally, times, decided=decide)

        # 4. Report.
        report = self._report(ssn, cycle, seed, tally, times, as_found, decided=decide)
        self._used = ssn.ledger
        ssn.dissolve()
        return report

    def _close(self, ssn: Session, cycle: str, tally: _Tally, times: _Times, *, decided: bool) -> None:
        """What plugins do at the end, and the statuses; after decisions, also what the next cycle goes on from."""
        times.plugins_close = ssn.dispatch.life("on_session_close", ssn)
        closing = Closing(ssn, cycle, decided=decided, ignores_text=self.ignores_text)
        tally(closing.effects())
        if not decided:
            return
        self._pending, self._look_again_at = tuple(closing.pending), closing.look_again_at
        self._recheck_at = ssn.wakeups.next_recheck
        has_acted = tally.binds + tally.evictions > 0 or closing.has_moved or ssn.promise_times.is_any_over
        if ssn.dispatch.failures.counts:
            self._resting.forget()
        elif self._remember(ssn, closing, has_acted=has_acted):
            self._look_again_at = earlier(self._look_again_at, ssn.now + SOON)

    def _remember(self, ssn: Session, closing: Closing, *, has_acted: bool) -> bool:
        """Which jobs rest from now on. Whether the next cycle is due at once for some of them."""
        return self._resting.remember(
            ssn,
            ssn.findings.set_aside,
            closing.reports,
            RoomWaits(ssn),
            has_acted=has_acted,
            next_moment=earliest(closing.look_again_at, ssn.wakeups.next_recheck),
        )

    def _report(
        self,
        ssn: Session,
        cycle: str,
        seed: int,
        tally: _Tally,
        times: _Times,
        as_found: Mapping[str, QueueReport],
        *,
        decided: bool,
    ) -> CycleReport:
        tasks = ssn.ledger.tasks
        return CycleReport(
            cycle=cycle,
            number=self._cycles,
            started=ssn.snapshot.now,
            duration=times.so_far(),
            open_duration=times.open,
            actions=times.actions,
            plugins_open=ssn.open_seconds,
            plugins_close=times.plugins_close,
            predicate_seconds=tuple(ssn.placer.stages.predicate),
            scoring_seconds=tuple(ssn.placer.stages.scoring),
            nodes=int(ssn.ledger.nodes.present.sum()),
            tasks=int((tasks.status != TaskStatus.FREE).sum()),
            jobs=int(ssn.ledger.jobs.known.sum()),
            binds=tally.binds,
            evictions=tally.evictions,
            pipelined=int((tasks.status == TaskStatus.PIPELINED).sum()),
            queues=queue_reports(ssn),
            queues_as_found=as_found,
            missing_queues=missing_queues(ssn),
            namespaces=_answers_of_all(ssn, "describe_namespaces", NamespaceShare),
            network=_answers_of_all(ssn, "describe_network", TierUse),
            job_shares=_answers_of_all(ssn, "describe_jobs", int | float) if self._report_job_shares else {},
            pending=self._pending,
            unschedulable_tasks=sum(job.pending for job in self._pending) if decided else 0,
            plugin_errors=dict(ssn.dispatch.failures.counts),
            action_errors=times.action_errors,
            seed=seed,
            pipelined_tasks=_pipelined(ssn),
            look_again_at=self._look_again_at,
            recheck_at=self._recheck_at,
            remarks=dict(ssn.findings.remarks),
        )

    def _index(self, snapshot: Snapshot) -> NodeIndex:
        if self._node_index is None or self._node_index.version != snapshot.nodes_version:
            self._node_index = NodeIndex(snapshot.nodes, snapshot.nodes_version)
        return self._node_index

    def _run_actions(self, ssn: Session, until: Callable[[], bool]) -> tuple[dict[str, float], dict[str, int]]:
        """The seconds that actions took, and how often they failed. One that fails ends there: what it had not
        committed is undone, and the next one goes on."""
        seconds: dict[str, float] = {}
        errors: Counter[str] = Counter()
        for name in ssn.configuration.actions:
            started, made = time.perf_counter(), len(ssn.statements)
            ssn.action = name
            action_type = self.registry.actions[name]
            arguments: Any = ssn.configuration.configurations.get(name)
            try:
                action_type(arguments if arguments is not None else action_type.arguments_type()).execute(ssn)
            except BaseException as error:
                if is_interrupt(error):
                    raise
                log.exception("action failed", action=name)
                errors[name] += 1
                ssn.statements.undo_open(made)
            seconds[name] = seconds.get(name, 0.0) + time.perf_counter() - started
            if until():
                break
        return seconds, dict(errors)


def _shuffled(index: NodeIndex, seed: int) -> NDArray[np.int64]:
    """[N] a random rank for each node, the same for the same seed and names, whatever rows they have. Rows without a
    node, which come first by name, keep their ranks."""
    count, empty = len(index.rows), len(index.nodes) - len(index.rows)
    ranks = np.arange(empty + count)
    # numpy's own generators take a hundredth of a second to load, when the first cycle waits for it.
    draws = np.frombuffer(Random(seed).randbytes(8 * count), dtype="<u8")
    ranks[empty:] = empty + np.argsort(draws)
    return ranks[index.name_rank]


def _answers_of_all(ssn: Session, question: str, kind: Any) -> dict[str, Any]:
    """What the plugins answer together, values of `kind`; the first to name something decides."""
    answers: dict[str, Any] = {}
    for plugin in reversed(ssn.dispatch.plugins):
        nothing: dict[str, Any] = {}
        answers |= ssn.dispatch.guard(plugin, question, partial(_answer, plugin, question, kind), otherwise=nothing)
    return answers


def _answer(plugin: Plugin, question: str, kind: Any) -> dict[str, Any]:
    return mapping_of(getattr(plugin, question)(), kind)


def _pipelined(ssn: Session) -> dict[str, str]:
    """Pods that keep a place on resources still being released: namespace/name → node."""
    tasks = ssn.ledger.tasks
    rows = np.flatnonzero(tasks.status == TaskStatus.PIPELINED).tolist()
    return {ssn.task_info(row).key: ssn.snapshot.nodes[int(tasks.node[row])].name for row in rows}
