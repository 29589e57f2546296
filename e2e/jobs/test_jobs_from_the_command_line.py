"""`volcano-py job` on a real API server, as its users type it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from e2e.conftest import SimulatedNodes
from e2e.harness.daemon import Daemon
from e2e.harness.namespace import Namespace
from e2e.harness.waiting import COLLECTED_SECONDS
from volcano_py.cli.main import main

Type = Callable[..., Coroutine[Any, Any, tuple[int, str]]]


@pytest.fixture
def volcano_py_job(namespace: Namespace) -> Type:
    """Run `volcano-py job` in the test's namespace: its exit code, and what it prints."""
    cluster = ["--namespace", namespace.name, "--kubeconfig", str(namespace.cluster.kubeconfig)]

    async def run(verb: str, *arguments: str) -> tuple[int, str]:
        line = ["job", verb, *arguments, *cluster]
        result = await asyncio.to_thread(CliRunner().invoke, main, line, prog_name="volcano-py")
        return result.exit_code, result.output

    return run


async def test_a_job_is_run_seen_suspended_resumed_and_deleted(
    namespace: Namespace, volcano_py_job: Type, simulated_nodes: SimulatedNodes, daemon: Daemon
) -> None:
    await simulated_nodes(1, cpu="4")
    where = f"job {namespace.name}/train"

    async def phase_is(phase: str) -> None:
        async def reached() -> None:
            code, output = await volcano_py_job("view", "--name", "train", "--output", "json")
            assert code == 0, output
            assert json.loads(output)["status"]["state"]["phase"] == phase, output

        await namespace.cluster.eventually(f"the job is {phase}", reached)

    created = await volcano_py_job("run", "--name", "train", "--replicas", "3", "--min", "2", "--requests", "cpu=1")
    assert created == (0, f"{where} created\n")
    pods = await namespace.wait_phases(Running=3)
    assert [pod.name for pod in pods] == ["train-default0-0", "train-default0-1", "train-default0-2"]
    await phase_is("Running")

    async def listed() -> None:
        """Counts may be written after the phase."""
        code, table = await volcano_py_job("list", "--selector", "rai")
        assert code == 0, table
        header, row = (line.split() for line in table.replace("WHY IT WAITS", "WHY").splitlines())
        shown = dict(zip(header, row, strict=True))
        columns = ("NAMESPACE", "NAME", "PHASE", "QUEUE", "REPLICAS", "MIN", "RUNNING", "WHY")
        assert {name: shown[name] for name in columns} == {
            "NAMESPACE": namespace.name,
            "NAME": "train",
            "PHASE": "Running",
            "QUEUE": "default",
            "REPLICAS": "3",
            "MIN": "2",
            "RUNNING": "3",
            "WHY": "-",
        }

    await namespace.cluster.eventually("the list shows the job with three running pods", listed)

    assert await volcano_py_job("suspend", "--name", "train") == (0, f"{where} is being suspended\n")
    await phase_is("Aborted")
    await namespace.wait_phases()

    async def described() -> None:
        code, text = await volcano_py_job("view", "--name", "train")
        assert (code, "Aborted" in text, "CommandIssued" in text) == (0, True, True), text

    await namespace.cluster.eventually("the view shows the phase and its event", described)

    assert await volcano_py_job("resume", "--name", "train") == (0, f"{where} is being resumed\n")
    await namespace.wait_phases(Running=3)
    await phase_is("Running")

    assert await volcano_py_job("delete", "--name", "train") == (0, f"{where} deleted\n")
    await namespace.wait_phases(seconds=COLLECTED_SECONDS)
    code, output = await volcano_py_job("view", "--name", "train")
    assert (code, f"{where} does not exist" in output) == (1, True), output


async def test_what_the_server_refuses_is_reported_with_the_fix(
    namespace: Namespace, volcano_py_job: Type, tmp_path: Path
) -> None:
    """A job that is there already, one whose tasks are none, and one in a namespace that does not exist."""
    manifest = tmp_path / "job.yaml"
    kind = "apiVersion: batch.volcano.sh/v1alpha1, kind: Job"
    manifest.write_text(f"{{{kind}, metadata: {{name: empty}}, spec: {{tasks: many}}}}")
    code, output = await volcano_py_job("run", "--filename", str(manifest))
    assert (code, "spec.tasks" in output) == (1, True), output

    assert (await volcano_py_job("run", "--name", "twice"))[0] == 0
    code, output = await volcano_py_job("run", "--name", "twice")
    assert (code, f"job {namespace.name}/twice exists already" in output) == (1, True), output

    namespace_option = ["--namespace", "nowhere"]
    line = ["job", "run", "--name", "lost", *namespace_option, "--kubeconfig", str(namespace.cluster.kubeconfig)]
    result = await asyncio.to_thread(CliRunner().invoke, main, line)
    assert (result.exit_code, "namespace nowhere does not exist" in result.output) == (1, True), result.output
