"""The daemon as others start it, with a small program in its place."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.unit.cluster.fakes import settle
from volcano_py.local.errors import ProcessFailedError
from volcano_py.local.scheduler import SchedulerProcess

_STAND_IN = """
import http.server, json, os, sys

class Ready(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200 if self.path == "/readyz" else 404)
        self.end_headers()

print(json.dumps({"arguments": sys.argv[1:], "environment": dict(os.environ)}), flush=True)
address = next(argument for argument in sys.argv if argument.startswith("--listen-address=")).partition("=")[2]
host, port = address.split(":")
http.server.HTTPServer((host, int(port)), Ready).serve_forever()
"""


@asynccontextmanager
async def running(directory: Path, program: str = _STAND_IN, *arguments: str) -> AsyncIterator[SchedulerProcess]:
    command = (sys.executable, "-c", program)
    scheduler = SchedulerProcess("daemon", directory / "kubeconfig", directory, arguments, command=command)
    try:
        yield scheduler
    finally:
        await scheduler.kill()


def reported(scheduler: SchedulerProcess) -> dict[str, Any]:
    """What it said about itself."""
    first: dict[str, Any] = json.loads(scheduler.process.log.read_text().splitlines()[0])
    return first


async def test_it_is_the_daemon_that_a_cluster_runs(tmp_path: Path) -> None:
    scheduler = SchedulerProcess("daemon", tmp_path / "kubeconfig", tmp_path, ("--strict",))
    address = scheduler.url.removeprefix("http://")
    assert scheduler.process.command == [
        *(sys.executable, "-m", "volcano_py", "run"),
        f"--kubeconfig={tmp_path / 'kubeconfig'}",
        f"--listen-address={address}",
        "--strict",
    ]


async def test_it_is_started_when_it_is_ready_and_stops_on_request(tmp_path: Path) -> None:
    async with running(tmp_path, _STAND_IN, "--more") as scheduler:
        await scheduler.start()
        assert scheduler.process.running
        assert reported(scheduler)["arguments"][-1] == "--more"
        assert await scheduler.stop() == -signal.SIGTERM


async def test_it_cannot_find_the_developers_own_cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", "/home/me/.kube/config")
    async with running(tmp_path) as scheduler:
        await scheduler.start()
        environment = reported(scheduler)["environment"]
    assert "KUBECONFIG" not in environment
    assert environment["HOME"] == str(tmp_path)


async def test_one_that_does_not_come_up_is_explained_by_its_log(tmp_path: Path) -> None:
    async with running(tmp_path, "import sys; print('no such plugin'); sys.exit(3)") as scheduler:
        with pytest.raises(ProcessFailedError, match=r"(?s)daemon did not come up; .* exit code 3 .*no such plugin"):
            await scheduler.start()


async def test_one_that_dies_is_noticed(tmp_path: Path) -> None:
    async with running(tmp_path) as scheduler:
        await scheduler.start()
        watching = asyncio.create_task(scheduler.watch())
        scheduler.process.send_signal(signal.SIGKILL)
        with pytest.raises(ProcessFailedError, match="daemon stopped unexpectedly; it was ended by SIGKILL"):
            await watching


@pytest.mark.parametrize("end", [SchedulerProcess.stop, SchedulerProcess.kill])
async def test_one_that_is_ended_on_purpose_has_not_died(
    tmp_path: Path, end: Callable[[SchedulerProcess], Any]
) -> None:
    async with running(tmp_path) as scheduler:
        await scheduler.start()
        watching = asyncio.create_task(scheduler.watch())
        await settle()
        await end(scheduler)
        await settle()  # whoever waits for the end of the process is woken with us
        assert not watching.done()
        watching.cancel()
