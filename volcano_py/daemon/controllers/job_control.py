"""The job controller, put together: its own informer, its rules, and the Jobs that it creates no pods for."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from volcano_py.admission.jobs import JobContext
from volcano_py.cluster.kubernetes.watching import kinds
from volcano_py.cluster.protocol import Sink
from volcano_py.daemon.controllers.context import ControllerContext
from volcano_py.daemon.fan_out import FanOut
from volcano_py.jobs.defaults import JobRules
from volcano_py.jobs.plugins import BUILTIN, JobPlugins
from volcano_py.operator.jobs.controller import JobController
from volcano_py.operator.jobs.problems import problem_with


class JobControl:
    """The controller and the informer of its Jobs, which also feeds `followers`. The rest of what it watches comes with
    the daemon's informers.

    The informer is one of its own, because the daemon is to start where there are no Jobs (the CRD is not installed).

    Attributes:
        controller: fed with all that it watches.
        informers: those of its own.
    """

    def __init__(
        self,
        context: ControllerContext,
        *,
        pod_created: Callable[[float], None],
        followers: Sequence[Sink] = (),
    ) -> None:
        """`pod_created` is called for each pod, with the seconds from the creation of its job to its own."""
        options = context.options
        rules = JobRules(
            scheduler_name=options.scheduler_names[0],
            default_queue=options.default_queue,
            scheduler_names=frozenset(options.scheduler_names),
        )
        plugins = JobPlugins.of(BUILTIN).with_installed()
        self.controller = JobController(
            context.client,
            active=context.active,
            record=context.record,
            learn=context.learn,
            rules=rules,
            plugins=plugins,
            problem=problem_with(JobContext(rules=rules, plugins=plugins)),
            pod_created=pod_created,
        )
        self.informers = context.informers(FanOut(self.controller, *followers), kinds.VOLCANO_JOB)

    async def listed(self) -> None:
        """Returns when all Jobs have been handed on."""
        await self.informers.wait_synced()

    async def run(self) -> None:
        """Work until cancelled; what is not served yet is waited for."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self.informers.run(), name="job informer")
            await self.informers.wait_synced()
            await self.controller.run()
