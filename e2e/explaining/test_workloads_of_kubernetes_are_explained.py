"""`volcano-py explain` for workloads of which the cluster's controllers create the pods, and for CronJobs."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from e2e.conftest import SimulatedNodes
from e2e.harness.daemon import Daemon
from e2e.harness.namespace import Namespace
from e2e.harness.objects import Object, deployment, job, pod_spec
from e2e.harness.viewer import viewer_of
from volcano_py.cli.main import main


async def explained(what: str, namespace: Namespace, viewer: Path) -> dict[str, Any]:
    """What `explain` says of it in the namespace, with the rights of the viewer's kubeconfig."""
    line = ("explain", what, "-n", namespace.name, "--kubeconfig", str(viewer), "-o", "json")
    result = await asyncio.to_thread(CliRunner().invoke, main, line, prog_name="volcano-py")
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    return found


async def test_their_pods_are_found_by_their_owners(
    namespace: Namespace, simulated_nodes: SimulatedNodes, daemon: Daemon, tmp_path: Path
) -> None:
    pool = await simulated_nodes(1, cpu="4")
    large: dict[str, Any] = {"cpu": "8", "node_selector": pool.selector}
    await namespace.apply(deployment("web", 3, **large), job("render", 2, **large))
    for pod in await namespace.wait_phases(Pending=5):
        await namespace.wait_reported(pod.name, saying="cpu")

    async with viewer_of(namespace, tmp_path, everywhere=False) as viewer:
        for what, pods in (("deploy/web", 3), ("job/render", 2), ("job.batch/render", 2)):
            found = await explained(what, namespace, viewer)
            assert (found["now"]["state"], found["now"]["wanted"]) == ("Waiting", pods), found
            said = [each for each in found["history"] if each["text"].startswith("PodScheduled=False")]
            assert [each["object"].count(f"{namespace.name}/") for each in said] == [pods], found["history"]


def cron_job(name: str, template: Object, **spec: Any) -> Object:
    """A CronJob that would create such Jobs at three in the morning."""
    return {
        "apiVersion": template["apiVersion"],
        "kind": "CronJob",
        "metadata": {"name": name},
        "spec": {"schedule": "0 3 * * *", "jobTemplate": {"spec": template["spec"]}, **spec},
    }


async def test_cron_jobs_are_explained_with_their_jobs(
    namespace: Namespace, simulated_nodes: SimulatedNodes, daemon: Daemon, tmp_path: Path
) -> None:
    pool = await simulated_nodes(1, cpu="4")
    pods = pod_spec(cpu="8", node_selector=pool.selector, restartPolicy="Never")
    work = {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "spec": {"tasks": [{"name": "work", "replicas": 2, "template": {"spec": pods}}]},
    }
    kubernetes = job("render", 1, cpu="8", node_selector=pool.selector)
    await namespace.apply(cron_job("nightly", work, suspend=True), cron_job("sweep", kubernetes))
    path = f"/apis/batch.volcano.sh/v1alpha1/namespaces/{namespace.name}/cronjobs/nightly"
    uid = (await namespace.cluster.client.get(path))["metadata"]["uid"]
    owner = {"apiVersion": work["apiVersion"], "kind": "CronJob", "name": "nightly", "uid": uid, "controller": True}
    await namespace.apply({**work, "metadata": {"name": "nightly-1", "ownerReferences": [owner]}})

    async with viewer_of(namespace, tmp_path, everywhere=False) as viewer:
        nightly, sweep = [await explained(what, namespace, viewer) for what in ("cronjob/nightly", "cj/sweep")]
        assert (nightly["state"], nightly.get("next")) == ("Suspended", None)
        (one,) = nightly["jobs"]
        assert (one["name"], one["now"]["state"]) == (f"{namespace.name}/nightly-1", "Waiting")
        assert "cpu" in one["now"]["message"]
        assert (sweep["state"], sweep["next"].endswith("T03:00:00Z"), "jobs" in sweep) == ("Active", True, False)
