"""The controllers of CronJobs and JobFlows, which create Volcano Jobs, put together with their informers.

Each has informers of its own, because the daemon is to start where its kinds are not served (the CRDs are not
installed); it begins when they are.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from volcano_py.cluster.kubernetes.watching import kinds
from volcano_py.cluster.kubernetes.watching.informers import Informers
from volcano_py.cluster.protocol import Sink
from volcano_py.daemon.controllers.context import ControllerContext
from volcano_py.daemon.fan_out import FanOut
from volcano_py.operator.jobs.cron_jobs import CronJobController
from volcano_py.operator.jobs.flow_probes import PodProber
from volcano_py.operator.jobs.job_flows import JobFlowController

NAMES: Final = frozenset({"cronjob", "jobflow"})
"""Names of these controllers for `--controllers`."""


class JobMakers:
    """Those of the two controllers that are wanted.

    Volcano Jobs come from the job controller's informer: it has to feed `sinks`. Where there is no such controller
    they have an informer for Jobs, too, which also feeds `followers`.
    """

    def __init__(self, context: ControllerContext, followers: Sequence[Sink] = ()) -> None:
        client, active, record, learn = context.client, context.active, context.record, context.learn
        self._cron: CronJobController | None = None
        if context.wants("cronjob"):
            self._cron = CronJobController(client, active=active, record=record, learn=learn)
        self._flow: JobFlowController | None = None
        if context.wants("jobflow"):
            self._flow = JobFlowController(client, PodProber(client), active=active, record=record, learn=learn)
        self.sinks: Sequence[Sink] = [each for each in (self._cron, self._flow) if each is not None]
        fed = FanOut(*self.sinks, *followers)
        self._jobs = None if context.wants("job") else context.informers(fed, kinds.VOLCANO_JOB)
        self._runs: list[tuple[Informers, Callable[[], Awaitable[None]]]] = []
        if self._cron is not None:
            self._runs.append((context.informers(self._cron, kinds.CRON_JOB), self._cron.run))
        if self._flow is not None:
            self._runs.append((context.informers(self._flow, kinds.JOB_FLOW, kinds.JOB_TEMPLATE), self._flow.run))

    @property
    def informers(self) -> tuple[Informers, ...]:
        """Those of its own."""
        of_jobs = (self._jobs,) if self._jobs is not None else ()
        return *of_jobs, *(informers for informers, _ in self._runs)

    def leadership_gained(self) -> None:
        """To be called when this replica gets the Lease."""
        for controller in (self._cron, self._flow):
            if controller is not None:
                controller.leadership_gained()

    async def run(self, jobs_listed: Callable[[], Awaitable[None]] | None) -> None:
        """Work until cancelled. `jobs_listed` returns when the job controller's informer has fed all to `sinks`."""
        async with asyncio.TaskGroup() as group:
            if self._jobs is not None:
                group.create_task(self._jobs.run(), name="job informer")
                jobs_listed = self._jobs.wait_synced
            assert jobs_listed is not None, "no informers of Jobs"
            for informers, work in self._runs:
                group.create_task(informers.run(), name="informers of what jobs are made of")
                group.create_task(_after(work, informers.wait_synced, jobs_listed), name="maker of jobs")


async def _after(work: Callable[[], Awaitable[None]], *conditions: Callable[[], Awaitable[None]]) -> None:
    for condition in conditions:
        await condition()
    await work()
