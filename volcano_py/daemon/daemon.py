"""The daemon, put together: informers and kopf feed the state, cycles decide, writers carry out.

Start: the addresses for probes, then everything that lists; cycles begin when every kind has been listed. Stop:
no new cycle, what was decided is carried out, the Lease is given back, then the rest ends.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

import structlog

from volcano_py.api.effects import Bind, Event, PodCondition
from volcano_py.api.extender.client import PLUGIN as EXTENDER
from volcano_py.api.objects import ApiObject
from volcano_py.cluster.extender.client import HttpExtender
from volcano_py.cluster.extender.objects import KINDS, KeptObjects
from volcano_py.cluster.kubernetes.http.client import KubernetesClient
from volcano_py.cluster.kubernetes.watching import kinds
from volcano_py.cluster.kubernetes.watching.early_lists import EarlyLists
from volcano_py.cluster.kubernetes.watching.informers import Informers
from volcano_py.cluster.kubernetes.writing.live import LiveCluster
from volcano_py.cluster.kubernetes.writing.status_writer import Status
from volcano_py.cluster.protocol import Sink
from volcano_py.config import Reloader
from volcano_py.daemon.admission.process import AdmissionProcess, admission_arguments
from volcano_py.daemon.controllers.context import ControllerContext
from volcano_py.daemon.controllers.controllers import Controllers
from volcano_py.daemon.cycles import CycleLoop, CycleTiming
from volcano_py.daemon.daemon_status import DaemonStatus
from volcano_py.daemon.deletion_forwarder import DeletionForwarder
from volcano_py.daemon.fan_out import FanOut, OnlyKinds, WithoutKinds
from volcano_py.daemon.garbage import collect_by_the_clock, keep_for_the_next_cycle, keep_what_there_is
from volcano_py.daemon.leading.held_decisions import HeldDecisions
from volcano_py.daemon.leading.leaders_events import LeadersEvents
from volcano_py.daemon.leading.leadership import Leadership
from volcano_py.daemon.leading.lifeline import Lifeline
from volcano_py.daemon.leading.other_scheduler import OtherScheduler
from volcano_py.daemon.leading.picture import Picture
from volcano_py.daemon.live_configuration import LiveConfiguration
from volcano_py.daemon.node_filter import NodeFilter
from volcano_py.daemon.node_load import NodeLoad
from volcano_py.daemon.observing.gauges import Gauges, count_reload
from volcano_py.daemon.observing.job_metrics import JobMetrics
from volcano_py.daemon.observing.pods_seen import PodsSeen
from volcano_py.daemon.observing.recording import Recording
from volcano_py.daemon.observing.unreadable import UnreadableObjects
from volcano_py.daemon.options import DaemonOptions
from volcano_py.daemon.outcomes import OutcomeRecorder
from volcano_py.daemon.pods_of_nodes import PodsOfNodes
from volcano_py.daemon.supervision import Supervisor
from volcano_py.daemon.wakeup import Wakeup
from volcano_py.observe.checks import Checks
from volcano_py.observe.health import HealthServer
from volcano_py.observe.listen import ListenAddress
from volcano_py.observe.metrics import Metrics
from volcano_py.observe.shown import Shown
from volcano_py.operator.kopf_host.app import KopfApp
from volcano_py.operator.queues.feed import QueueFeed
from volcano_py.operator.shards.keeper import NodeShardKeeper
from volcano_py.scheduler import builtin_registry
from volcano_py.state.table.change import Change

log = structlog.get_logger(__name__)

# Seconds until a cycle asks again for statuses that were given up. The writer has retried transient errors, so
# the server has been away for long, or refuses every time; cycles that achieve nothing should be rare.
_STATUS_RETRY: Final = 30.0
# Seconds for which what takes CPU to load lets the first decisions and bindings go before: kopf, which takes a third of
# a second, and the server of probes and metrics, a hundredth.
_KOPF_AFTER: Final = 10.0
_PROBES_AFTER: Final = 1.0


class Daemon:
    """One daemon process; `run` returns when it was asked to stop."""

    def __init__(self, options: DaemonOptions, client: KubernetesClient, lifeline: Lifeline, early: EarlyLists) -> None:
        """`early` has lists that are under way.

        Each part is given those above it. What a part reports to the daemon's own methods comes once `run` is called,
        when all parts exist.
        """
        self._options = options
        self._client = client
        # What takes CPU and is not needed for them lets the first decisions go before.
        self._first_decided = asyncio.Event()
        if not options.scheduling:
            self._first_decided.set()
        # What the other parts report to.
        self._supervisor = Supervisor(stop_timeout=options.drain_timeout + 5)
        self._metrics = Metrics(per_job=options.per_job_metrics)
        self._job_metrics = JobMetrics(self._metrics)
        self._checks = Checks()
        self._wakeup = Wakeup()
        self._recording = self._make_recording()
        self._state = self._recording.make_state()
        self._outcomes = OutcomeRecorder(self._state, self._record, self._metrics, witness=self._recording.outcome)
        # What decides whether we may write, and what writes.
        self._lifeline = lifeline
        self._leadership = Leadership(
            lifeline, gained=self._started_leading, lost=self._stopped_leading, catch_up=self._catch_up
        )
        self._leaders_events = LeadersEvents(self._record, leads=self._leadership.is_leading)
        self._other_scheduler = OtherScheduler(
            self._state,
            self._metrics,
            silence=options.other_scheduler_silence if options.has_nodes_alone else 0.0,
            is_ours=self._state.has_usable if options.sharding is not None else None,
            record=self._record,
            resumed=partial(self._wakeup.wake, Change.DECISION),
        )
        self._unreadable = UnreadableObjects(self._leaders_events.record, count=self._metrics.intake.bad_object)
        self._live = self._make_live()
        self._state.status_waits = self._live.status.group_waits
        # What reads: the configuration, the load of nodes, queues through kopf, all other kinds by the informers.
        self._registry = builtin_registry().with_installed()
        self._configuration = self._make_configuration()
        self._node_load = NodeLoad(
            client, self._state, configuration=lambda: self._configuration.current, metrics=self._metrics.intake
        )
        self._kept = KeptObjects(client, self._asks_extender)
        self._queues = QueueFeed([self._state] if options.scheduling else [], self._unreadable.found)
        self._controllers = self._make_controllers()
        for sink in self._controllers.queue_sinks:
            self._queues.add(sink)
        self._kopf = self._make_kopf()
        self._keeper = self._make_keeper() if options.sharding is not None else None
        self._informers = self._make_informers(early)
        self._picture = Picture(self._informers, self._kopf, whole=partial(self._wakeup.wake, Change.DECISION))
        # What decides.
        self._held = HeldDecisions(
            self._state, self._other_scheduler, self._live, may_send=self._may_schedule, on_binds=self._binds_sent
        )
        self._extender = HttpExtender(self._kept.find, self._metrics.intake.extender_asked)
        self._cycles = self._make_cycles()
        self._admission = self._make_admission()
        # What shows all that.
        self._gauges = Gauges(
            self._metrics,
            (self._informers, *self._controllers.informers),
            self._live,
            requests=client.answered,
            cycle_running=self._cycles.running_for,
            queues_behind=lambda: self._kopf.behind,
        )
        self._status = DaemonStatus(
            self._state,
            self._leadership,
            self._configuration,
            self._informers,
            self._kopf,
            self._picture,
            self._node_load,
            self._cycles,
            self._recording,
            self._other_scheduler,
        )

    # -- parts, in the order in which they are created ---------------------------------------------------------------

    def _make_recording(self) -> Recording:
        options = self._options
        if options.record is None or not options.scheduling:
            return Recording(options)
        from volcano_py.daemon.observing.live_record import LiveRecord  # what writes records takes a while to load

        return LiveRecord(options, options.record, on_stop=self._metrics.daemon.recording_stopped)

    def _make_live(self) -> LiveCluster:
        return LiveCluster(
            self._client,
            self._outcomes,
            component=self._options.component,
            known_condition=self._state.pod_condition,
            on_surprise=partial(self._learn, kinds.POD.name),
            on_prepared=self._outcomes.prepared,
            find_node=self._state.node,
            find_vacant=self._state.vacant_claim,
            find_extended=self._state.extended_claims,
            on_status_given_up=self._status_given_up,
            on_admitted=partial(self._learn, kinds.POD_GROUP.name),
            binds_in_flight=self._options.binds_in_flight,
            fence=self._leadership.is_leading,
        )

    def _make_configuration(self) -> LiveConfiguration:
        options = self._options
        reloader = Reloader(
            self._registry.catalogue(), strict=options.strict, use_default_on_invalid=options.use_default_on_invalid
        )
        return LiveConfiguration(
            reloader,
            file=options.scheduler_conf,
            on_change=self._configuration_changed,
            on_outcome=partial(count_reload, self._metrics),
            record=self._leaders_events.record,
        )

    def _make_controllers(self) -> Controllers:
        context = ControllerContext(
            self._options,
            self._client,
            active=self._leadership.may_decide,
            record=self._record,
            learn=self._learn,
            bad_object=self._unreadable.found,
            go_before=self._first_decided,
        )
        return Controllers(
            context,
            queue_created=self._queues.made,
            pod_created=self._metrics.latencies.pod_created_for_job,
            jobs_seen=self._state if self._options.scheduling else None,
        )

    def _make_kopf(self) -> KopfApp:
        return KopfApp(
            self._client,
            self._queues,
            self._controllers.commands,
            own_signals=self._supervisor.own_signals,
            bad_object=self._unreadable.found,
            load_after=partial(self._first_decisions, _KOPF_AFTER),
        )

    def _make_keeper(self) -> NodeShardKeeper:
        assert self._options.sharding is not None
        pods = PodsOfNodes(self._client, self._state, learn=self._learn, informers=lambda: self._informers)
        return NodeShardKeeper(
            self._options.sharding.name,
            self._state,
            pods,
            self._client,
            active=self._leadership.may_decide,
            changed=partial(self._wakeup.wake, Change.DECISION),
        )

    def _make_informers(self, early: EarlyLists) -> Informers:
        sinks: list[Sink] = [*self._controllers.sinks]
        watched = list(self._controllers.watched)
        if self._options.scheduling:
            config_map = kinds.config_map(self._options.config_namespace, self._options.config_map)
            sinks += [*self._sinks_for_scheduling(), OnlyKinds(self._configuration, config_map.name)]
            watched += [*kinds.STATE_KINDS, config_map]
            if self._keeper is not None:
                sinks.append(OnlyKinds(self._keeper, kinds.NODE_SHARD.name))
                watched.append(kinds.NODE_SHARD)
        sinks += [DeletionForwarder(self._live.forget), self._live.binder.pace]
        return Informers(
            self._client,
            FanOut(*sinks),
            {kind.name: kind for kind in watched}.values(),  # some are watched for several sinks
            early=early,
            go_before=self._first_decided,
            on_bad_object=self._unreadable.found,
            resync_every=self._options.resync_period or None,
        )

    def _sinks_for_scheduling(self) -> list[Sink]:
        labels = self._options.node_selector
        state: Sink = NodeFilter(self._state, labels) if labels else self._state
        state = state if self._keeper is None else WithoutKinds(state, kinds.NODE_SHARD.name)
        state = self._controllers.ahead(state, self._live.binder.quiet.is_set)
        return [
            PodsSeen(self._state, self._metrics),
            self._other_scheduler,
            state,
            OnlyKinds(self._live.volumes.claims, kinds.PERSISTENT_VOLUME_CLAIM.name),
            OnlyKinds(self._job_metrics, kinds.POD_GROUP.name),
            OnlyKinds(self._kept, *(kind.name for kind in KINDS)),
        ]

    def _make_cycles(self) -> CycleLoop:
        return CycleLoop(
            self._state,
            self._registry,
            self._held,
            self._wakeup,
            configuration=lambda: self._configuration.current,
            active=self._may_schedule,
            current=self._picture.is_current,
            on_report=self._job_metrics.reported,
            on_evictions=self._outcomes.evictions_sent,
            on_failure=self._metrics.daemon.cycle_failed,
            witness=self._recording.witness(lambda: self._configuration.text),
            timing=CycleTiming(period=self._options.schedule_period),
            seed=self._options.seed,
            report_job_shares=self._options.per_job_metrics,
            extender=self._recording.extender(self._extender),
            first_ended=self._first_decided,
        )

    def _make_admission(self) -> AdmissionProcess | None:
        if not self._options.admission.enabled:
            return None
        return AdmissionProcess(admission_arguments(self._options), self._metrics.admission)

    # -- running ---------------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Until SIGTERM or SIGINT.

        Raises:
            ConfigurationError: --strict, and the first configuration is invalid.
            ChildFailedError: a part that the process cannot do without has ended (a lost lease, too).
            ListenError: a listen address cannot be had.
        """
        self._supervisor.own_signals()
        self._recording.start()
        if self._options.scheduling:
            self._configuration.start(strict=self._options.strict)
            self._kept.begin()
        self._add_checks()
        shown = Shown(self._gauges.render, self._checks, status=self._status.status, dump=self._status.dump)
        server = HealthServer(shown)
        await server.listen([ListenAddress.parse(text) for text in self._options.listen_addresses])
        try:
            await self._supervise(server)
        finally:
            await server.stop()
            self._supervisor.release_signals()

    async def _supervise(self, server: HealthServer) -> None:
        """Children start in this order and stop in the reverse: deciding first, what it needs afterwards."""
        add = self._supervisor.add
        add("health server", partial(server.run, after=partial(self._first_decisions, _PROBES_AFTER)))
        add("record", self._recording.run)
        add("informers", self._informers.run)
        add("kopf", self._kopf.run)
        add("queues without kopf", self._kopf.stand_in)
        if self._admission is not None:
            add("admission webhooks", self._after_sync(self._admission.run))
        add("garbage", collect_by_the_clock)
        if self._options.scheduling:
            add("configuration file", self._configuration.follow_file)
            add("self-audit", self._audit)
            add("other scheduler", self._other_scheduler.run)
            add("node load", self._after_sync(self._node_load.run))
            add("objects for the extender", self._after_sync(self._kept.run))
        if self._leadership.is_elected:
            add("leader election", self._leadership.run, restart=False)
        else:
            self._metrics.set_leader(True)
        for name, run in self._controllers.children():
            add(name, self._after_sync(run))
        add("writers", self._drain_at_end)
        if self._keeper is not None:
            add("nodeshard keeper", self._after_sync(self._keeper.run))
        if self._options.scheduling:
            add("cycles", self._after_sync(self._run_cycles))
        await self._supervisor.run()

    def _after_sync(self, run: Callable[[], Any]) -> Callable[[], Any]:
        """Nothing is decided before every kind has been listed."""

        async def start() -> None:
            await self._informers.wait_synced()
            await self._kopf.listed.wait()
            await run()

        return start

    async def _first_decisions(self, within: float) -> None:
        """Returns when the first cycle has ended and its bindings are carried out, or after this many seconds."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(within):
                await self._first_decided.wait()
                await self._live.binder.quiet.wait()

    async def _run_cycles(self) -> None:
        await self._controllers.queues_exist()
        keep_what_there_is()
        keep_for_the_next_cycle()
        if not self._leadership.is_elected:
            self._other_scheduler.lead(after_ours=True)
        task = asyncio.create_task(self._cycles.run(), name="cycles")
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            # The running cycle ends, and what it committed reaches the writers before they drain.
            self._cycles.stop()
            await task
            raise
        finally:
            self._extender.close()

    async def _drain_at_end(self) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            given_up = await self._live.drain(self._options.drain_timeout)
            if given_up:
                log.warning("writes abandoned", count=given_up)

    async def _audit(self) -> None:
        while True:
            await asyncio.sleep(self._options.audit_period)
            drift = self._state.audit()
            self._metrics.daemon.audited(drift)
            if drift:
                log.error(
                    "self-audit: sums differed from the pods and were corrected; please report this with the log",
                    drift=drift,
                )

    # -- what the parts report --------------------------------------------------------------------------------------

    def _configuration_changed(self) -> None:
        self._kept.changed()
        self._wakeup.wake(Change.DECISION)

    def _asks_extender(self) -> bool:
        configuration = self._configuration.current
        return configuration is not None and any(entry.name == EXTENDER for entry in configuration.plugins())

    def _learn(self, kind: str, obj: ApiObject) -> None:
        """An answer has shown this object: the informers of its kind pass it on without waiting for the watch."""
        for informers in (self._informers, *self._controllers.informers):
            informers.learn(kind, obj)

    def _binds_sent(self, binds: Sequence[Bind]) -> None:
        self._job_metrics.placed(binds)
        for bind in binds:
            self._outcomes.sent(bind)

    def _status_given_up(self, update: Status) -> None:
        if isinstance(update, PodCondition):
            self._state.condition_write_failed(update)
        self._wakeup.wake_later(_STATUS_RETRY)

    def _started_leading(self) -> None:
        self._metrics.set_leader(True)
        self._controllers.leadership_gained()
        self._leaders_events.leadership_gained()
        self._wakeup.wake(Change.DECISION)

    async def _catch_up(self, taken_at: float, alone_from: float) -> None:
        """Learn of everything that the leader before us did: our lists may have begun before its last bindings, and our
        watches may lag behind what it saw. Controllers wait for that, too: a pod that the status of its job counts, and
        that they do not know, would look evicted to them.

        Where there was no Lease, another leader may not have noticed yet that it has gone. In a cluster where we have
        never placed a pod there is none."""
        await self._informers.wait_synced()
        self._other_scheduler.lead(after_ours=alone_from <= taken_at)
        since = taken_at
        if alone_from > taken_at and self._state.is_any_placed():
            seconds = alone_from - time.monotonic()
            log.warning("waiting for a former leader: there is no lease, but pods are bound", seconds=seconds)
            await asyncio.sleep(seconds)
            since = alone_from
            self._other_scheduler.suspect()
        await self._picture.list_since(since)
        self._controllers.leadership_gained()
        if self._keeper is not None:
            self._keeper.leadership_gained()
        self._wakeup.wake(Change.DECISION)

    def _stopped_leading(self) -> None:
        self._metrics.set_leader(False)
        if not self._supervisor.is_stopping:
            self._live.stop_new()

    def _may_schedule(self) -> bool:
        is_ready = self._keeper is None or self._keeper.is_ready
        return is_ready and self._leadership.may_decide() and not self._other_scheduler.is_present()

    def _record(self, event: Event) -> None:
        if self._leadership.is_leading():
            self._live.events.emit(event)

    def _add_checks(self) -> None:
        status = self._status
        self._checks.add_live("cycles", status.stuck)
        self._lifeline.watchdog.add(status.stuck)
        self._checks.add_ready("informers", status.unsynced)
        if self._options.scheduling:
            self._checks.add_ready("picture", status.picture_problem)
            self._checks.add_ready("configuration", self._configuration.problem)
        if self._admission is not None:
            self._checks.add_ready("admission", self._admission.problem)
