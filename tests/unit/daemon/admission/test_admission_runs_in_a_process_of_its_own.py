"""The daemon and the process that answers webhooks: reports, readiness, and the end of either."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest
from prometheus_client import CollectorRegistry

from tests.unit.cluster.fakes import PATIENCE
from volcano_py.daemon.admission.process import AdmissionEndedError, AdmissionProcess
from volcano_py.daemon.admission.reports import Report, Reporter
from volcano_py.observe.metrics.admission import AdmissionMetrics

REVIEW = ("validate-jobs", "CREATE", "refused", 0.25)

# Takes the file descriptor as the real one does; what follows says what it reports.
CHILD = """
import os, pathlib, socket, sys, time
reports = socket.socket(fileno=int(sys.argv[-1].removeprefix("--reports=")))
pathlib.Path(sys.argv[1]).write_text(str(os.getpid()))
"""
WAITS = "reports.recv(1)\npathlib.Path(sys.argv[1]).unlink()"


def said(report: Report) -> str:
    return f"reports.sendall({msgspec.json.encode(report)!r} + b'\\n')\n"


class Parent:
    """A supervisor's view of the child that runs `script`."""

    def __init__(self, directory: Path, script: str, silent: float) -> None:
        self.registry = CollectorRegistry()
        self.pid_file = directory / "pid"
        program = (sys.executable, "-c", CHILD + script, str(self.pid_file))
        self.process = AdmissionProcess((), AdmissionMetrics(self.registry), program=program, silent=silent)
        self.task = asyncio.create_task(self.process.run())

    def sample(self, name: str, **labels: str) -> float | None:
        return self.registry.get_sample_value(f"volcano_admission_{name}", labels)

    async def until_problem(self, expected: str | None) -> None:
        async with asyncio.timeout(PATIENCE):
            while self.process.problem() != expected:  # noqa: ASYNC110 - what is waited for is no event
                await asyncio.sleep(0.01)

    async def stop(self) -> None:
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)


Start = Callable[..., Parent]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    parents: list[Parent] = []

    def begin(script: str, silent: float = PATIENCE) -> Parent:
        parents.append(Parent(tmp_path, script, silent))
        return parents[-1]

    yield begin
    assert all(parent.task.done() for parent in parents)


async def test_what_it_reports_is_shown_by_the_daemon(start: Start) -> None:
    not_yet = Report("kopf is being started")
    full = Report(None, 1234.5, [REVIEW, REVIEW], {"408": 3, "0": 1})
    parent = start(said(not_yet) + said(full) + WAITS)
    await parent.until_problem(None)
    assert parent.sample("reviews_total", webhook="validate-jobs", operation="CREATE", outcome="refused") == 2
    assert parent.sample("review_seconds_sum", webhook="validate-jobs") == 0.5
    assert parent.sample("certificate_expiry_timestamp_seconds") == 1234.5
    assert parent.sample("turned_away_total", status="408") == 3
    assert parent.sample("turned_away_total", status="0") == 1
    await parent.stop()
    assert not parent.pid_file.exists(), "it was asked to end, and did so by itself"
    assert parent.process.problem() == "the admission process has ended"


async def test_a_replica_is_not_ready_before_its_process_has_reported(start: Start) -> None:
    parent = start(WAITS)
    assert parent.process.problem() == "the admission process has not started yet"
    await parent.stop()


async def test_a_process_that_ends_is_an_error_so_that_it_is_started_again(start: Start) -> None:
    parent = start(said(Report()) + "sys.exit(3)")
    with pytest.raises(AdmissionEndedError, match="has ended with exit code 3"):
        await parent.task
    assert parent.process.problem() == "the admission process has ended"


async def test_a_process_that_hangs_is_killed(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("volcano_py.daemon.admission.process._STOP_WITHIN", 0.05)
    parent = start(said(Report()) + "time.sleep(1000)", 0.5)
    with pytest.raises(AdmissionEndedError, match=r"has reported nothing for 0\.5 s"):
        await parent.task
    with pytest.raises(ProcessLookupError):
        os.kill(int(parent.pid_file.read_text()), 0)


async def test_it_reports_until_the_daemon_is_gone() -> None:
    ours, theirs = socket.socketpair()
    problem: list[str | None] = ["starting"]
    reporter = Reporter(lambda: problem[0])
    running = asyncio.create_task(reporter.run(*await asyncio.open_connection(sock=theirs)))
    reader, writer = await asyncio.open_connection(sock=ours)

    async def report() -> Report:
        async with asyncio.timeout(PATIENCE):
            return msgspec.json.decode(await reader.readline(), type=Report)

    assert await report() == Report("starting")
    problem[0] = None
    reporter.reviewed(*REVIEW)
    reporter.turned_away(408)
    reporter.certificate_expires(5.0)
    assert await report() == Report(None, 5.0, [REVIEW], {"408": 1})
    assert await report() == Report(None, 5.0), "everything is reported once"
    writer.close()
    async with asyncio.timeout(PATIENCE):
        await running


def test_a_report_has_a_bounded_size() -> None:
    reporter = Reporter(lambda: None)
    for _ in range(20_000):
        reporter.reviewed(*REVIEW)
    assert len(reporter.report().reviews) == 10_000
    assert not reporter.report().reviews
