"""`volcano-py up --filename examples/jobs`: the Job completes with its master, the flow with its last step, and the
CronJob makes a Job when its minute has come."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from e2e.harness.waiting import eventually
from volcano_py.local.client import APIClient
from volcano_py.shipped import shipped

# So that it is left out on a foreign cluster, where there may be no binaries for one of our own.
pytestmark = pytest.mark.usefixtures("control_plane")

JOBS = "/apis/batch.volcano.sh/v1alpha1/namespaces/default/jobs"
FLOWS = "/apis/flow.volcano.sh/v1alpha1/namespaces/default/jobflows"
PODS = "/api/v1/namespaces/default/pods"

_UP_SECONDS = 240.0
"""Measured: 8 s on idle cores, 30 s on busy ones; a CronJob's minute comes on top."""


@asynccontextmanager
async def examples(tmp_path: Path) -> AsyncIterator[APIClient]:
    """The API of a local cluster, for which the examples are made."""
    command = (sys.executable, "-m", "volcano_py", "up", f"--work-dir={tmp_path}/plane", "--filename")
    process = await asyncio.create_subprocess_exec(
        *command,
        str(shipped("examples") / "jobs"),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    assert process.stdout is not None
    try:
        async with asyncio.timeout(_UP_SECONDS):
            said = b""
            while b"export KUBECONFIG=" not in said:
                line = await process.stdout.readline()
                assert line, said.decode()
                said += line
        # Its further output is not read.
        reader = asyncio.create_task(process.stdout.read())
        async with APIClient(tmp_path / "plane" / "admin.kubeconfig") as client:
            yield client
        process.send_signal(signal.SIGINT)
        async with asyncio.timeout(_UP_SECONDS):
            await reader
            assert await process.wait() == 0
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def test_the_example_jobs_complete(tmp_path: Path) -> None:
    async with examples(tmp_path) as client:
        await eventually("the job completes", lambda: _completed(client, "train"))
        await eventually("its workers are gone", lambda: _only_the_master_is_left(client))
        await eventually("the flow succeeds", lambda: _flow_succeeds(client))
        steps = ("pipeline-fetch", "pipeline-prepare", "pipeline-evaluate")
        await eventually("its jobs show that they have completed", lambda: _completed(client, *steps))
        await eventually("a minute's job completes", lambda: _a_minute_has_its_job(client))


async def _phases(client: APIClient) -> dict[str, str]:
    """Of all Jobs, by name."""
    items = (await client.get(JOBS))["items"]
    return {each["metadata"]["name"]: _phase(each) for each in items}


async def _completed(client: APIClient, *names: str) -> None:
    found = await _phases(client)
    assert {name: found.get(name) for name in names} == dict.fromkeys(names, "Completed"), found


async def _flow_succeeds(client: APIClient) -> None:
    assert _phase(await client.get(f"{FLOWS}/pipeline")) == "Succeed"


async def _only_the_master_is_left(client: APIClient) -> None:
    found = (await client.get(PODS, labelSelector="volcano.sh/job-name=train"))["items"]
    assert [(each["metadata"]["name"], each["status"]["phase"]) for each in found] == [("train-master-0", "Succeeded")]


async def _a_minute_has_its_job(client: APIClient) -> None:
    found = await _phases(client)
    assert any(name.startswith("report-") for name, phase in found.items() if phase == "Completed"), found


def _phase(found: dict[str, Any]) -> str:
    return str(found.get("status", {}).get("state", {}).get("phase", ""))
