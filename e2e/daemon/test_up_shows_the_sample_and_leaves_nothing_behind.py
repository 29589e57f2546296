"""`volcano-py up`, what newcomers type first, on a control plane of its own."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest

from e2e.harness.waiting import eventually
from volcano_py.api.names import CONFIG_KEY, CONFIG_MAP, SYSTEM_NAMESPACE
from volcano_py.config import default_configuration_text
from volcano_py.local.client import APIClient
from volcano_py.local.controlplane import ControlPlane

# So that it is left out on a foreign cluster, where there may be no binaries for one of our own.
pytestmark = pytest.mark.usefixtures("control_plane")

_UP_SECONDS = 240.0
"""Measured: 8 s on idle cores, 30 s on busy ones."""


@asynccontextmanager
async def up(directory: Path, *arguments: str) -> AsyncIterator[asyncio.subprocess.Process]:
    command = (sys.executable, "-m", "volcano_py", "up", f"--work-dir={directory}", *arguments)
    process = await asyncio.create_subprocess_exec(
        *command, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    try:
        async with asyncio.timeout(_UP_SECONDS):
            yield process
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


def left_running(directory: Path) -> list[str]:
    """The command lines of processes that were started for this work directory."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                command = (entry / "cmdline").read_bytes()
            except (FileNotFoundError, ProcessLookupError):
                continue
            if os.fsencode(directory) in command:
                found.append(command.replace(b"\0", b" ").decode(errors="replace"))
    return found


async def test_the_sample_settles_once_and_nothing_is_left(tmp_path: Path) -> None:
    async with up(tmp_path / "plane", "--once", "--nodes=1") as process:
        output, _ = await process.communicate()
    said = output.decode()
    assert process.returncode == 0, said
    for line in (
        rf"export KUBECONFIG={tmp_path}/plane/admin\.kubeconfig",
        r"nodes? new: .*cpu-1",
        # Which pods go there depends on how many of the other nodes the scheduler knows by then.
        r"node-00000 +\d+ .* [\d.]+/32 ",
        r"PodGroup default/train: Running in team-a, 4/4 pods running",
        r"PodGroup default/too-large: Inqueue in team-b, 0/3 pods running; waits: NodesRefuse: ",
        r"PodGroup default/hello \(Pod\): Running in default, 1/1 pods running",
        r"PodGroup default/web-\w+ \(ReplicaSet\): Running in team-b, 3/3 pods running",
        r"default/too-large +team-b +Inqueue +3 +0/3 +NodesRefuse",
        r"Settled\. Nothing is left running\.",
    ):
        assert re.search(line, said), f"{line} is not in\n{said}"
    assert left_running(tmp_path) == []


async def test_it_stays_up_for_kubectl_until_ctrl_c(control_plane: ControlPlane, tmp_path: Path) -> None:
    kubeconfig, conf = tmp_path / "plane" / "admin.kubeconfig", tmp_path / "own.conf"
    conf.write_text(default_configuration_text().replace("proportion", "capacity"))
    arguments = ("--no-sample", "--nodes=1", "--topology=1x2x1", f"--scheduler-conf={conf}")
    async with up(tmp_path / "plane", *arguments) as process:
        assert process.stdout is not None
        said = b""
        while not re.search(rb"\d nodes? new: ", said):  # (one line or several, as they come)
            line = await process.stdout.readline()
            assert line, said.decode()
            said += line
        async with APIClient(kubeconfig) as client:
            await eventually("the nodes and HyperNodes of the network", partial(_has_network, client))
            # The daemon makes them as soon as it leads, and tests that schedule nothing do not wait for that.
            await eventually("the queues default and root", partial(_has_queues, client, {"default", "root"}))
            in_cluster = await client.get(f"/api/v1/namespaces/{SYSTEM_NAMESPACE}/configmaps/{CONFIG_MAP}")
            assert in_cluster["data"] == {CONFIG_KEY: conf.read_text()}
        assert control_plane.server.encode() not in kubeconfig.read_bytes()
        process.send_signal(signal.SIGINT)
        rest, _ = await process.communicate()
    said += rest
    assert process.returncode == 0, said.decode()
    assert said.endswith(b"Nothing is left running.\n")
    assert b"Traceback" not in said
    assert left_running(tmp_path) == []
    # The daemon went first, and gave its Lease back before the API server was gone.
    log = (tmp_path / "plane" / "logs" / "volcano-py.log").read_text()
    assert '"level":"error"' not in log, log
    # That is the configuration of the file, as in a real cluster.
    in_force = next(line for line in log.splitlines() if '"msg":"configuration in force"' in line)
    assert f"ConfigMap {SYSTEM_NAMESPACE}/{CONFIG_MAP}" in in_force


async def test_a_daemon_that_dies_ends_it_with_the_end_of_its_log(tmp_path: Path) -> None:
    async with up(tmp_path / "plane", "--no-sample", "--nodes=1") as process:
        assert process.stdout is not None
        while b"1 node new" not in (line := await process.stdout.readline()):
            assert line
        # It is ready before it leads.
        await eventually("the daemon leads", partial(_leads, tmp_path / "plane"))
        os.kill(_daemon(tmp_path), signal.SIGKILL)
        output, _ = await process.communicate()
    said = output.decode()
    assert process.returncode == 1
    assert re.search(r"Error: volcano-py stopped unexpectedly; it was ended by SIGKILL", said), said
    assert re.search(r"end of volcano-py's log ---\n(.*\n)*\d\d:\d\d:\d\d info became leader ", said), said
    assert left_running(tmp_path) == []


async def _has_network(client: APIClient) -> bool:
    found = [
        {str(each["metadata"]["name"]) for each in (await client.get(path))["items"]}
        for path in ("/api/v1/nodes", "/apis/topology.volcano.sh/v1alpha1/hypernodes")
    ]
    racks = {"spine-1-rack-1", "spine-1-rack-2"}
    return found == [{"node-00000", *(f"{rack}-node-1" for rack in racks)}, {"spine-1", *racks}]


async def _has_queues(client: APIClient, names: set[str]) -> None:
    queues = (await client.get("/apis/scheduling.volcano.sh/v1beta1/queues"))["items"]
    assert names <= {queue["metadata"]["name"] for queue in queues}


async def _leads(directory: Path) -> None:
    log = (directory / "logs" / "volcano-py.log").read_text()
    assert '"msg":"became leader"' in log, log


def _daemon(directory: Path) -> int:
    """The process id of the daemon of this work directory."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                command = (entry / "cmdline").read_bytes().split(b"\0")
            except (FileNotFoundError, ProcessLookupError):
                continue
            if b"run" in command and any(os.fsencode(directory) in argument for argument in command):
                return int(entry.name)
    raise AssertionError("no daemon runs")
