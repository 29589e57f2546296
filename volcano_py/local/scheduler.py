"""The scheduler as a separate process: the same `volcano-py run` that a cluster runs, against any kubeconfig."""

from __future__ import annotations

import os
import site
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from volcano_py.local.processes.ports import LOOPBACK, free_port
from volcano_py.local.processes.processes import ManagedProcess
from volcano_py.local.processes.readiness import wait_ready

_COMMAND = (sys.executable, "-m", "volcano_py", "run")
"""Not the `volcano-py` script: where that one is depends on how the package was installed."""

_READY_SECONDS = 60.0
"""As long as the processes of the control plane get: on idle cores it takes two, but machines may be busy."""

_STOP_SECONDS = 20.0
"""Less than the 30 s the shipped Deployment gives it."""


class SchedulerProcess:
    """One `volcano-py run`, listening on a free port of the loopback interface; its log goes to `directory`.

    It logs in with a kubeconfig, or with `variables` of its environment, as in a pod.
    """

    def __init__(
        self,
        name: str,
        kubeconfig: Path | None,
        directory: Path,
        arguments: Sequence[str] = (),
        *,
        command: Sequence[str] = _COMMAND,
        variables: Mapping[str, str] | None = None,
    ) -> None:
        address = f"{LOOPBACK}:{free_port(set())}"
        self.name = name
        self.url = f"http://{address}"
        login = () if kubeconfig is None else (f"--kubeconfig={kubeconfig}",)
        self.process = ManagedProcess(
            name,
            [*command, *login, f"--listen-address={address}", *arguments],
            directory / f"{name}.log",
            {**_environment(directory), **(variables or {})},
        )

    async def start(self, *, ready: bool = True) -> None:
        """Start it, and wait for /readyz unless not `ready`."""
        await self.process.start()
        if ready:
            await self.ready()

    async def ready(self) -> None:
        """Wait until /readyz answers 200; an error shows what it answers instead, and the end of the log."""
        await wait_ready(self.process, f"{self.url}/readyz", _READY_SECONDS)

    async def watch(self) -> None:
        """Return never; raises ProcessFailedError when it ends unasked."""
        await self.process.wait_unexpected_end()
        raise self.process.failure("stopped unexpectedly")

    async def stop(self) -> int | None:
        """SIGTERM, and the exit code. Minus 9 means that it had to be killed."""
        await self.process.stop(_STOP_SECONDS)
        return self.process.exit_code

    async def kill(self) -> None:
        """SIGKILL: it releases nothing."""
        await self.process.kill()


def _environment(home: Path) -> dict[str, str]:
    """Ours, but without a way to the developer's own cluster; packages installed below the real home stay in reach."""
    inherited = {key: value for key, value in os.environ.items() if key != "KUBECONFIG"}
    return {**inherited, "HOME": str(home), "PYTHONUSERBASE": site.getuserbase()}
