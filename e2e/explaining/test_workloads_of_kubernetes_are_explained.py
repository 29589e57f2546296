"""`volcano-py explain` for a Deployment and a batch Job, of which the cluster's controllers create the pods."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from e2e.conftest import SimulatedNodes
from e2e.harness.daemon import Daemon
from e2e.harness.namespace import Namespace
from e2e.harness.objects import deployment, job
from e2e.harness.viewer import viewer_of
from volcano_py.cli.main import main


async def test_their_pods_are_found_by_their_owners(
    namespace: Namespace, simulated_nodes: SimulatedNodes, daemon: Daemon, tmp_path: Path
) -> None:
    pool = await simulated_nodes(1, cpu="4")
    large: dict[str, Any] = {"cpu": "8", "node_selector": pool.selector}
    await namespace.apply(deployment("web", 3, **large), job("render", 2, **large))
    for pod in await namespace.wait_phases(Pending=5):
        await namespace.wait_reported(pod.name, saying="cpu")

    async with viewer_of(namespace, tmp_path, everywhere=False) as viewer:

        async def explained(what: str) -> dict[str, Any]:
            line = ("explain", what, "-n", namespace.name, "--kubeconfig", str(viewer), "-o", "json")
            result = await asyncio.to_thread(CliRunner().invoke, main, line, prog_name="volcano-py")
            assert result.exit_code == 0, result.output
            found: dict[str, Any] = json.loads(result.stdout)
            return found

        for what, pods in (("deploy/web", 3), ("job/render", 2), ("job.batch/render", 2)):
            found = await explained(what)
            assert (found["now"]["state"], found["now"]["wanted"]) == ("Waiting", pods), found
            said = [each for each in found["history"] if each["text"].startswith("PodScheduled=False")]
            assert [each["object"].count(f"{namespace.name}/") for each in said] == [pods], found["history"]
