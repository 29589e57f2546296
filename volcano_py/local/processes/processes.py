"""One supervised child process: a log file, a process group of its own, and an end that is always noticed."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from volcano_py.local.errors import LocalError, ProcessFailedError
from volcano_py.local.processes.log_lines import readable

_LAUNCHER = Path(__file__).with_name("launcher.py")

_LOOK_AGAIN_SECONDS = 0.5

_TAIL_LINES = 30
_TAIL_BYTES = 262_144


class ManagedProcess:
    """A process that is started, watched, stopped and started again under one name and with one command.

    Its output goes to `log`, appended over restarts. The process leads its own process group, so that a Ctrl-C on the
    terminal reaches only us and everything stops in order; when we die without a chance to do so, the kernel kills it
    (Linux; see launcher.py).
    """

    def __init__(
        self, name: str, command: Sequence[str | Path], log: Path, environment: Mapping[str, str] | None = None
    ) -> None:
        self.name = name
        self.command = [str(part) for part in command]
        self.log = log
        self._environment = environment
        self._process: asyncio.subprocess.Process | None = None
        self._wanted = False

    @property
    def pid(self) -> int | None:
        """The process id while it runs, else None."""
        return self._process.pid if self._process is not None and self._process.returncode is None else None

    @property
    def running(self) -> bool:
        return self.pid is not None

    @property
    def exit_code(self) -> int | None:
        """How it ended: its exit code, or minus the number of the signal that ended it. None while it runs."""
        return self._process.returncode if self._process is not None else None

    async def start(self) -> None:
        """Start the command; it may need a while to become ready."""
        if self.running:
            raise LocalError(f"{self.name} is already running, as process {self.pid}")
        self.log.parent.mkdir(parents=True, exist_ok=True)
        with self.log.open("ab") as output:
            self._process = await asyncio.create_subprocess_exec(
                *launched(self.command),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=None if self._environment is None else dict(self._environment),
                start_new_session=True,
            )
        self._wanted = True

    async def stop(self, grace_seconds: float) -> None:
        """SIGTERM, then SIGKILL after the grace; returns when the process is gone. Nothing happens if it is."""
        self._wanted = False
        if self._process is None or not self.running:
            return
        self._signal(signal.SIGTERM)
        try:
            async with asyncio.timeout(grace_seconds):
                await self._process.wait()
        except TimeoutError:
            pass
        finally:
            # Whatever interrupted the wait (the timeout, a second Ctrl-C), nothing is left running.
            await self.kill()

    async def kill(self) -> None:
        """SIGKILL, as a crash or a lost machine would look to the others; returns when the process is gone."""
        self._wanted = False
        if self._process is not None and self.running:
            self._signal(signal.SIGKILL)
            await asyncio.shield(self._process.wait())

    def send_signal(self, number: signal.Signals) -> None:
        """Send a signal to the process, e.g. SIGSTOP to see what the others do while it hangs."""
        if not self.running:
            raise LocalError(f"{self.name} is not running, so it cannot be sent {number.name}")
        self._signal(number)

    async def wait_unexpected_end(self) -> None:
        """Return when the process has ended unasked."""
        while True:
            process = self._process
            if process is not None:
                await process.wait()
                if self._process is process and self._wanted:
                    return
            # Not started yet, or stopped on purpose: look again in a while whether it runs.
            await asyncio.sleep(_LOOK_AGAIN_SECONDS)

    def failure(self, problem: str) -> ProcessFailedError:
        """An error about this process that shows the end of its log and how it ended, if it did."""
        return ProcessFailedError(self.name, f"{problem}{_ending(self.exit_code)} ({self.log})", self.log_tail())

    def log_tail(self, lines: int = _TAIL_LINES) -> str:
        """The last lines of the log, for people; "" when there is none."""
        try:
            with self.log.open("rb") as file:
                file.seek(0, os.SEEK_END)
                file.seek(max(0, file.tell() - _TAIL_BYTES))
                content = file.read()
        except FileNotFoundError:
            return ""
        return "\n".join(readable(line) for line in content.decode(errors="replace").splitlines()[-lines:])

    def _signal(self, number: signal.Signals) -> None:
        # It leads its session, so its id is its group's. Only while it is not reaped: later the id may be another
        # process's.
        if self._process is not None and self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, number)


def launched(command: Sequence[str]) -> list[str]:
    """`command` behind the launcher that ties its life to ours."""
    return [sys.executable, "-I", "-S", str(_LAUNCHER), str(os.getpid()), *command]


def _ending(code: int | None) -> str:
    if code is None:
        return ""
    if code < 0:
        return f"; it was ended by {signal.Signals(-code).name}"
    return f"; it ended with exit code {code}"
