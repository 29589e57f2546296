"""The controllers that the command line asks for: created together, fed together, started one by one."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from functools import partial
from typing import Any

import msgspec

from volcano_py.api.objects import Queue
from volcano_py.cluster.kubernetes.watching import kinds
from volcano_py.cluster.kubernetes.watching.informers import Informers
from volcano_py.cluster.kubernetes.watching.kinds import Kind
from volcano_py.cluster.protocol import Sink
from volcano_py.daemon.controllers.context import ControllerContext
from volcano_py.daemon.controllers.hyper_nodes import HyperNodeControl
from volcano_py.daemon.controllers.job_control import JobControl
from volcano_py.daemon.controllers.job_makers import NAMES as JOB_MAKERS
from volcano_py.daemon.controllers.job_makers import JobMakers
from volcano_py.daemon.fan_out import OnlyKinds
from volcano_py.operator.podgroups.controller import PodGroupController
from volcano_py.operator.podgroups.generated_group import GroupRules
from volcano_py.operator.podgroups.index import WORKLOAD_KINDS
from volcano_py.operator.queues.commands import CommandController
from volcano_py.operator.queues.controller import QueueController
from volcano_py.operator.queues.initial import InitialQueues


class Controllers:
    """Those in `options.controllers`; the others are None.

    Attributes:
        commands: what handles Commands, fed by kopf.
        queue_sinks: sinks for queues.
        sinks: sinks for what the informers see.
        watched: kinds that the controllers follow with the daemon's own informers.
    """

    def __init__(
        self,
        context: ControllerContext,
        *,
        queue_created: Callable[[Queue], None],
        pod_created: Callable[[float], None],
        jobs_seen: Sink | None = None,
    ) -> None:
        """`queue_created` is called with each queue that had to be created, as the server answered; `pod_created` for
        each pod created for a Volcano Job, with the seconds since the job was created. `jobs_seen` is fed with Volcano
        Jobs, whichever controllers there are."""
        self._queues = _queue_controller(context, queue_created) if context.wants("queue") else None
        # in Volcano, too, the scheduler creates these queues
        creates_queues = self._queues is None and context.options.scheduling
        self._initial = _initial_queues(context, queue_created) if creates_queues else None
        self._pod_groups = _pod_group_controller(context) if context.wants("podgroup") else None
        self._hyper_nodes = HyperNodeControl(context) if context.wants("hypernode") else None
        also = () if jobs_seen is None else (jobs_seen,)
        self._makers = JobMakers(context, also) if any(map(context.wants, JOB_MAKERS)) else None
        followers = (*self._makers.sinks, *also) if self._makers is not None else also
        self._jobs = JobControl(context, pod_created=pod_created, followers=followers) if context.wants("job") else None
        jobs = self._jobs.controller if self._jobs is not None else None
        self.commands: CommandController | None = None
        if context.wants("command") and (self._queues is not None or jobs is not None):
            self.commands = CommandController(context.client, self._queues, jobs, active=context.active)
        self.queue_sinks: list[Sink] = [each for each in (self._queues, self._initial) if each is not None]
        of_network = self._hyper_nodes.sinks if self._hyper_nodes is not None else ()
        of_queues = OnlyKinds(self._queues, kinds.POD_GROUP.name) if self._queues is not None else None
        fed = (self._pod_groups, of_queues, jobs, *of_network)
        self.sinks: list[Sink] = [each for each in fed if each is not None]
        self.watched: list[Kind] = _watched_by(context.options.controllers)
        if jobs_seen is not None and self._makers is None and self._jobs is None:
            # (a cluster need not have the API)
            self.watched.append(msgspec.structs.replace(kinds.VOLCANO_JOB, optional=True))
            self.sinks.append(OnlyKinds(jobs_seen, kinds.VOLCANO_JOB.name))

    def ahead(self, sink: Sink, bindings_passed: Callable[[], bool]) -> Sink:
        """What to feed instead of the scheduler's `sink`, and after `sinks`; see `PodGroupController.ahead`."""
        return sink if self._pod_groups is None else self._pod_groups.ahead(sink, bindings_passed)

    @property
    def informers(self) -> tuple[Informers, ...]:
        """Those that controllers have of their own, for kinds that nothing else needs."""
        of_jobs = (self._jobs.informers,) if self._jobs is not None else ()
        return of_jobs + (self._makers.informers if self._makers is not None else ())

    def leadership_gained(self) -> None:
        """This replica has the Lease now."""
        jobs = self._jobs.controller if self._jobs is not None else None
        parts = (self._queues, self._initial, self.commands, self._pod_groups, jobs, self._makers, self._hyper_nodes)
        for part in parts:
            if part is not None:
                part.leadership_gained()

    def children(self) -> Iterator[tuple[str, Callable[[], Any]]]:
        """What is to run when everything has been listed, by name."""
        if self._queues is not None:
            yield "queue controller", self._queues.run
        if self._initial is not None:
            yield "initial queues", self._initial.run
        if self.commands is not None:
            yield "command controller", self.commands.run
        if self._pod_groups is not None:
            yield "podgroup controller", self._pod_groups.run
        if self._hyper_nodes is not None:
            yield "hypernode controller", self._hyper_nodes.run
        if self._jobs is not None:
            yield "job controller", self._jobs.run
        if self._makers is not None:
            listed = self._jobs.listed if self._jobs is not None else None
            yield "controllers of CronJobs and JobFlows", partial(self._makers.run, listed)

    async def queues_exist(self) -> None:
        """Return when the queues that must exist do, or cannot be created."""
        if self._queues is not None:
            await self._queues.initial.exist.wait()
        if self._initial is not None:
            await self._initial.exist.wait()


def _queue_controller(context: ControllerContext, created: Callable[[Queue], None]) -> QueueController:
    return QueueController(
        context.client,
        active=context.active,
        record=context.record,
        default_queue=context.options.default_queue,
        on_created=created,
    )


def _initial_queues(context: ControllerContext, created: Callable[[Queue], None]) -> InitialQueues:
    return InitialQueues(
        context.client, active=context.active, default_queue=context.options.default_queue, found=created
    )


def _pod_group_controller(context: ControllerContext) -> PodGroupController:
    options = context.options
    rules = GroupRules(
        scheduler_names=frozenset(options.scheduler_names),
        default_queue=options.default_queue,
        inherit_owner_annotations=options.inherit_owner_annotations,
    )
    return PodGroupController(context.client, rules, active=context.active, record=context.record)


def _watched_by(wanted: Collection[str]) -> list[Kind]:
    """The kinds that these controllers follow; some of them twice."""
    watched: list[Kind] = []
    if "queue" in wanted:
        watched.append(kinds.POD_GROUP)
    if "podgroup" in wanted:
        watched += [kinds.POD, kinds.POD_GROUP, kinds.NAMESPACE, *(kinds.KINDS[name] for name in WORKLOAD_KINDS)]
    if "hypernode" in wanted:
        watched += [kinds.NODE, kinds.HYPER_NODE]
    if "job" in wanted:
        watched += [kinds.POD, kinds.POD_GROUP, kinds.NAMESPACE, kinds.PRIORITY_CLASS]
    return watched
