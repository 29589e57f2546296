"""What `volcano-py up` does: a control plane, the daemon as a separate process, objects, and a display."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from rich.console import Console

from volcano_py.cli.live.display import display, say
from volcano_py.cli.live.follower import DRAWING_SECONDS, Follower
from volcano_py.cli.live.mirror import WATCHED, Mirror
from volcano_py.cli.live.overview import Overview
from volcano_py.cli.processes.looking_around import how_to_look_around
from volcano_py.cluster.kubernetes.clock import SYSTEM_CLOCK, Clock
from volcano_py.cluster.kubernetes.http.client import KubernetesClient
from volcano_py.cluster.kubernetes.watching.informers import Informers
from volcano_py.local.controlplane import ControlPlane
from volcano_py.local.creation import create_objects
from volcano_py.local.errors import LocalError
from volcano_py.local.install import admission_answers, daemon_kubeconfig, install, install_admission
from volcano_py.local.processes.ports import LOOPBACK, free_port
from volcano_py.local.scheduler import SchedulerProcess
from volcano_py.observe.logs import LogFormat, configure_logs

_T = TypeVar("_T")


class NotSettledError(LocalError):
    """The objects did not come to rest in time; the message says what is missing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """When to end: as soon as `lacks` has found nothing missing for `calm` seconds, at the latest after `timeout`."""

    lacks: Callable[[Overview], list[str]]
    calm: float
    timeout: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What to bring up; without a goal it stays up. `work_dir` is kept, None is a temporary one. `configuration` is the
    text in the scheduler's ConfigMap, None the shipped one."""

    documents: tuple[dict[str, Any], ...] = ()
    extra_nodes: int = 0
    configuration: str | None = None
    scheduler_arguments: tuple[str, ...] = ()
    goal: Goal | None = None
    work_dir: Path | None = None
    admission: bool = False


class LocalCluster:
    """One run. `shown`: whether it came as far as showing the cluster. `signal`: what ended it."""

    def __init__(self, plan: Plan, binaries: Mapping[str, Path], out: Console) -> None:
        self.shown = False
        self.signal: signal.Signals | None = None
        self._plan = plan
        self._binaries = binaries
        self._out = out

    async def run(self) -> None:
        """Return when the goal is reached; without one, a signal ends it by cancellation. Nothing is left running.

        Raises:
            NotSettledError: the goal was not reached in time.
            LocalError: something did not come up, or died.
        """
        with self._cancelled_by_signals():
            say(self._out, "Starting etcd, the API server, the controller manager and KWOK …")
            async with self._control_plane() as plane:
                say(self._out, "Installing CRDs, rights and the configuration …")
                await install(plane.kubectl, self._plan.configuration)
                webhooks = await self._install_webhooks(plane) if self._plan.admission else ()
                say(self._out, "Starting the scheduler …")
                async with self._scheduler(plane, webhooks) as scheduler:
                    await during(self._show(plane, scheduler), plane.watch(), scheduler.watch())

    @contextmanager
    def _cancelled_by_signals(self) -> Iterator[None]:
        """The first signal ends everything in order; another one cuts the waiting short and kills what still runs."""
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None
        numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

        def cancel(number: signal.Signals) -> None:
            self.signal = self.signal or number
            task.cancel()

        for number in numbers:
            loop.add_signal_handler(number, cancel, number)
        try:
            yield
        finally:
            for number in numbers:
                loop.remove_signal_handler(number)

    @asynccontextmanager
    async def _control_plane(self) -> AsyncIterator[ControlPlane]:
        kept = self._plan.work_dir
        async with ControlPlane(kept, binaries=self._binaries, keep_data=kept is not None) as plane:
            with (plane.layout.logs / "up.log").open("ab") as stream:
                # Our own watches have something to say when the API server is away; it must not end up in the tables.
                configure_logs(log_format=LogFormat.JSON, stream=stream)
                yield plane

    @staticmethod
    async def _install_webhooks(plane: ControlPlane) -> Sequence[str]:
        """Let the API server ask the scheduler; returns the scheduler's flags."""
        address = f"{LOOPBACK}:{free_port(set())}"
        await install_admission(plane.kubectl, f"https://{address}")
        return ("--admission", f"--admission-address={address}", f"--admission-host={LOOPBACK}")

    @asynccontextmanager
    async def _scheduler(self, plane: ControlPlane, webhooks: Sequence[str]) -> AsyncIterator[SchedulerProcess]:
        kubeconfig = await daemon_kubeconfig(plane)
        scheduler = SchedulerProcess(
            "volcano-py", kubeconfig, plane.layout.logs, (*self._plan.scheduler_arguments, *webhooks)
        )
        try:
            await scheduler.start()
            yield scheduler
        finally:
            say(self._out, "Stopping everything …")
            await scheduler.stop()

    async def _show(self, plane: ControlPlane, scheduler: SchedulerProcess) -> None:
        mirror = Mirror()
        asyncio.get_running_loop().add_signal_handler(signal.SIGWINCH, mirror.changed.set)
        head = how_to_look_around(plane, scheduler, (await plane.client.get("/version"))["gitVersion"])
        async with await KubernetesClient.connect(plane.kubeconfig) as client:
            informers = Informers(client, mirror, WATCHED, resync_every=None)
            with display(self._out, head) as shown:
                self.shown = True
                follower = Follower(mirror, shown, lambda: scheduler.process.log_tail(1))
                try:
                    await during(self._work(plane, informers, follower), informers.run(), follower.run())
                except NotSettledError as error:
                    raise NotSettledError(f"{error}\n{end_of_log(scheduler)}") from error

    async def _work(self, plane: ControlPlane, informers: Informers, follower: Follower) -> None:
        await informers.wait_synced()
        goal = self._plan.goal
        deadline = None if goal is None else time.monotonic() + goal.timeout
        if self._plan.admission:
            await admission_answers(plane.client)
        await plane.create_nodes(self._plan.extra_nodes)
        await create_objects(plane, self._plan.documents)
        if goal is None or deadline is None:
            await asyncio.Event().wait()
        else:
            await reach(goal, follower, deadline)


async def reach(goal: Goal, follower: Follower, deadline: float, clock: Clock = SYSTEM_CLOCK) -> None:
    """Return when the goal is reached; raises NotSettledError after the deadline (of the monotonic clock)."""
    calm_since = None
    while True:
        now = clock.monotonic()
        missing = goal.lacks(follower.seen)
        if missing:
            calm_since = None
            if now > deadline:
                listed = "\n".join(f"  {each}" for each in missing)
                raise NotSettledError(f"it has not settled within {goal.timeout:g} s:\n{listed}")
        else:
            calm_since = now if calm_since is None else calm_since
            if now - calm_since >= goal.calm:
                return
        await clock.sleep(DRAWING_SECONDS)


async def during(work: Coroutine[Any, Any, _T], *others: Coroutine[Any, Any, object]) -> _T:
    """The result of `work`, while the others run. An error of any of them ends all and is raised as it is."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(other) for other in others]
            result = await work
            for task in tasks:
                task.cancel()
    except ExceptionGroup as errors:
        raise errors.exceptions[0] from errors
    return result


def end_of_log(scheduler: SchedulerProcess) -> str:
    """For messages."""
    return f"--- end of {scheduler.name}'s log ---\n{scheduler.process.log_tail()}"
