"""Tasks of a binder: one for each pod whose claims are written. They can be stopped together."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from volcano_py.cluster.kubernetes.clock import Clock, wait_at_most


class PodTasks:
    """See the module.

    Attributes:
        stopped: why nothing is begun any more; "" until `stop`.
        idle: set while there is no task.
    """

    def __init__(self, clock: Clock) -> None:
        self.stopped = ""
        self.idle = asyncio.Event()
        self.idle.set()
        self._clock = clock
        self._tasks: set[asyncio.Task[None]] = set()

    def __len__(self) -> int:
        return len(self._tasks)

    def begin(self, work: Coroutine[Any, Any, None], name: str) -> None:
        """Do the work in a task of its own."""
        self.idle.clear()
        task = asyncio.create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def stop(self, why: str) -> None:
        """End all tasks, soon."""
        self.stopped = self.stopped or why
        for task in list(self._tasks):
            # Not at once: one that has not begun yet would end without a report.
            asyncio.get_running_loop().call_soon(task.cancel)

    async def drain(self, seconds: float, done: asyncio.Event) -> int:
        """Wait that long for `done`, then stop. Returns how many tasks were given up."""
        await wait_at_most(self._clock, seconds, done)
        tasks = list(self._tasks)
        self.stop("the process ends")
        await asyncio.gather(*tasks, return_exceptions=True)
        return len(tasks)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not self._tasks:
            self.idle.set()
