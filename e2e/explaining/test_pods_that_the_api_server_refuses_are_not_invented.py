"""A Volcano Job whose pods a LimitRange forbids: commands that simulate the cluster create none either."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from click.testing import CliRunner

from e2e.conftest import SimulatedNodes
from e2e.harness.daemon import Daemon
from e2e.harness.jobs import Jobs, job, task
from e2e.harness.namespace import Namespace
from volcano_py.cli.main import main

LIMIT = {
    "apiVersion": "v1",
    "kind": "LimitRange",
    "metadata": {"name": "small"},
    "spec": {"limits": [{"type": "Container", "min": {"cpu": "2"}}]},
}


async def test_a_job_whose_pods_are_refused_has_none_and_says_why_until_they_are_accepted(
    namespace: Namespace, simulated_nodes: SimulatedNodes, daemon: Daemon
) -> None:
    pool, jobs = await simulated_nodes(1, cpu="4"), Jobs(namespace)
    await namespace.apply(LIMIT)
    await namespace.apply(job("train", task("worker", 2, selector=pool.selector)))

    async def refused() -> str:
        state = (await jobs.get("train")).get("status", {}).get("state", {})
        assert state.get("reason") == "FailedCreate", state
        return str(state["message"])

    message = await namespace.cluster.eventually("the status has the refusal", refused)
    assert "minimum cpu usage per Container is 2" in message

    async def explained(kind: str, name: str) -> Any:
        access = ("-n", namespace.name, "--kubeconfig", str(namespace.cluster.kubeconfig))
        line = ("explain", kind, name, *access, "-o", "json")
        result = await asyncio.to_thread(CliRunner().invoke, main, line, prog_name="volcano-py")
        assert result.exit_code == 0, result.output
        return json.loads(result.stdout)

    found = await explained("job", "train")
    assert (found["now"]["state"], found["now"]["reason"]) == ("Waiting", "FailedCreate"), found
    assert "minimum cpu usage per Container is 2" in found["now"]["message"]
    assert [each["kind"] for each in found["remedies"]] == ["missing-pods"], found
    assert "pods" not in await explained("node", pool.names[0])

    await namespace.cluster.delete(f"/api/v1/namespaces/{namespace.name}/limitranges/small")
    status = await jobs.wait("train", "Running", running=2)
    assert status["state"].get("reason", "") == ""
