"""Admission in a separate process, started and watched by the daemon.

Reviews cost the daemon nothing: reading a large one takes a tenth of a second, in which a process with a single
interpreter lock would neither bind nor renew its Lease.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import sys
from asyncio.subprocess import DEVNULL, Process
from collections.abc import Sequence
from typing import Final

import msgspec
import structlog

from volcano_py.daemon.admission.reports import LONGEST_LINE, Report
from volcano_py.daemon.options import DaemonOptions
from volcano_py.observe.metrics.admission import AdmissionMetrics

log = structlog.get_logger(__name__)

# Seconds. A review of the largest size takes a part of one; the process reports twice a second.
_SILENT: Final = 30.0
_STOP_WITHIN: Final = 5.0
_NOT_YET: Final = "the admission process has not started yet"
_PROGRAM: Final = (sys.executable, "-m", "volcano_py")
_REPORT: Final = msgspec.json.Decoder(Report)


class AdmissionEndedError(RuntimeError):
    """The process has ended, or says nothing any more; it can be started again."""


class AdmissionProcess:
    """A child of the supervisor (`run`)."""

    def __init__(
        self,
        arguments: Sequence[str],
        record: AdmissionMetrics,
        *,
        program: Sequence[str] = _PROGRAM,
        silent: float = _SILENT,
    ) -> None:
        """`arguments` are those of `volcano-py`; `silent`: seconds after which it counts as stuck."""
        self._command, self._record, self._silent = (*program, *arguments), record, silent
        self._problem: str | None = _NOT_YET

    def problem(self) -> str | None:
        """For readiness: a replica that cannot answer must not be asked."""
        return self._problem

    async def run(self) -> None:
        """Start it and take its reports, until cancelled.

        Raises:
            AdmissionEndedError: it has ended by itself, or is stuck.
        """
        ours, theirs = socket.socketpair()
        with theirs:
            process = await asyncio.create_subprocess_exec(
                *self._command,
                f"--reports={theirs.fileno()}",
                pass_fds=(theirs.fileno(),),
                stdin=DEVNULL,
                # Ctrl-C in a terminal is for the daemon, which ends it.
                start_new_session=True,
            )
        reader, writer = await asyncio.open_connection(sock=ours, limit=LONGEST_LINE)
        try:
            await self._take_reports(reader)
        finally:
            self._problem = "the admission process has ended"
            writer.close()
            await _end(process)
        raise AdmissionEndedError(f"the admission process has ended with exit code {process.returncode}")

    async def _take_reports(self, reader: asyncio.StreamReader) -> None:
        while True:
            try:
                async with asyncio.timeout(self._silent):
                    line = await reader.readline()
            except TimeoutError as error:
                raise AdmissionEndedError(
                    f"the admission process has reported nothing for {self._silent:g} s; it is stopped"
                ) from error
            if not line.endswith(b"\n"):
                return
            report = _REPORT.decode(line)
            self._problem = report.problem
            self._record.certificate_expires(report.expires)
            for review in report.reviews:
                self._record.reviewed(*review)
            for status, count in report.turned_away.items():
                self._record.turned_away(status, count)


def admission_arguments(options: DaemonOptions) -> list[str]:
    """The command line that starts admission alone, with what it has to know of the daemon's options."""
    wanted = options.admission
    given: dict[str, object | None] = {
        "kubeconfig": options.kubeconfig,
        "context": options.context,
        "scheduler-name": options.component,
        "default-queue": options.default_queue,
        "resync-period": f"{options.resync_period:g}s",
        "admission-address": wanted.address,
        "admission-service": f"{wanted.namespace}/{wanted.name}",
        "admission-manage-certificates": str(wanted.manage_certificates).lower(),
        "admission-cert-dir": wanted.certificate_directory,
        "admission-client-ca-file": wanted.client_ca_file,
        "admission-max-queue-depth": wanted.max_queue_depth,
        "log-level": options.log_level,
        "log-format": options.log_format,
    }
    return [
        "admission",
        *(f"--{name}={value}" for name, value in given.items() if value is not None),
        *(f"--admission-host={host}" for host in wanted.hosts),
        *(f"--admission-client-name={name}" for name in wanted.client_names),
    ]


async def _end(process: Process) -> None:
    """It ends when its socket is closed; if not, it is killed."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_STOP_WITHIN):
            await process.wait()
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
