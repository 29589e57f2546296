"""`volcano-py jobtemplate` and `jobflow` on a real API server, as their users type them."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import yaml
from click.testing import CliRunner

from e2e.conftest import SimulatedNodes
from e2e.harness.daemon import Daemon
from e2e.harness.namespace import Namespace
from e2e.harness.objects import pod_spec
from volcano_py.cli.main import main

API = "flow.volcano.sh/v1alpha1"
COMPLETES = {"pod-complete.stage.kwok.x-k8s.io/delay": "1s"}


async def typed(namespace: Namespace, *line: str) -> tuple[int, str]:
    """Run `volcano-py` in the test's namespace: its exit code, and what it prints."""
    cluster = ["--namespace", namespace.name, "--kubeconfig", str(namespace.cluster.kubeconfig)]
    result = await asyncio.to_thread(CliRunner().invoke, main, [*line, *cluster], prog_name="volcano-py")
    return result.exit_code, result.output


def manifest(path: Path, *objects: dict[str, Any]) -> str:
    path.write_text(yaml.safe_dump_all(objects), "utf-8")
    return str(path)


async def test_a_flow_is_created_seen_and_deleted(
    namespace: Namespace, simulated_nodes: SimulatedNodes, daemon: Daemon, tmp_path: Path
) -> None:
    pool = await simulated_nodes(1, cpu="4")
    pod = {
        "metadata": {"annotations": COMPLETES},
        "spec": pod_spec(node_selector=pool.selector, scheduler_name="", restartPolicy="Never"),
    }
    spec = {"queue": "default", "tasks": [{"name": "work", "replicas": 2, "template": pod}]}
    names = ["load", "train"]
    templates = [{"apiVersion": API, "kind": "JobTemplate", "metadata": {"name": n}, "spec": spec} for n in names]
    steps = [{"name": "load"}, {"name": "train", "dependsOn": {"targets": ["load"]}}]
    flow = {"apiVersion": API, "kind": "JobFlow", "metadata": {"name": "f"}, "spec": {"flows": steps}}
    of_templates = manifest(tmp_path / "templates.yaml", *templates)

    assert await typed(namespace, "jobtemplate", "create", "-f", of_templates) == (
        0,
        "".join(f"jobtemplate {namespace.name}/{name} created\n" for name in names),
    )
    of_flow = manifest(tmp_path / "flow.yaml", flow)
    assert await typed(namespace, "jobflow", "create", "-f", of_flow) == (0, f"jobflow {namespace.name}/f created\n")

    async def done() -> None:
        code, output = await typed(namespace, "jobflow", "get", "--name", "f", "-o", "json")
        assert code == 0, output
        assert json.loads(output).get("status", {}).get("state") == {"phase": "Succeed"}, output

    await namespace.cluster.eventually("the flow is done", done)
    code, table = await typed(namespace, "jobflow", "list")
    assert code == 0, table
    header, row = (line.split() for line in table.splitlines())
    assert dict(zip(header, row, strict=True)) | {"AGE": "-"} == {
        "NAMESPACE": namespace.name, "NAME": "f", "PHASE": "Succeed", "JOBS": "2", "PENDING": "0", "RUNNING": "0",
        "COMPLETED": "2", "FAILED": "0", "AGE": "-",
    }  # fmt: skip

    async def described() -> None:
        code, reported = await typed(namespace, "jobflow", "describe", "--name", "f")
        assert code == 0, reported
        steps = [line.split()[:4] for line in reported.splitlines() if line.startswith(("load", "train"))]
        assert steps == [["load", "-", "f-load", "Completed"], ["train", "load", "f-train", "Completed"]]
        assert "Job f-train was created" in reported, "events are written in their own time"
        code, reported = await typed(namespace, "jobtemplate", "describe", "--name", "train")
        assert (code, "f-train" in reported) == (0, True), reported

    await namespace.cluster.eventually("steps, Jobs and events are described", described)
    assert await typed(namespace, "jobflow", "delete", "--name", "f") == (0, f"jobflow {namespace.name}/f deleted\n")
    code, reported = await typed(namespace, "jobtemplate", "delete", "-f", of_templates)
    assert (code, reported.count("deleted")) == (0, 2)
    code, reported = await typed(namespace, "jobflow", "get", "--name", "f")
    assert (code, "does not exist" in reported) == (1, True)
