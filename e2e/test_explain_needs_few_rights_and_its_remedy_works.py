"""`volcano-py explain` for a user who may view objects and read queues and nodes, on a real API server."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest_asyncio
from click.testing import CliRunner

from e2e.conftest import SimulatedNodes
from e2e.harness.daemon import Daemon
from e2e.harness.install import kubeconfig_view
from e2e.harness.namespace import Namespace
from e2e.harness.objects import gang, queue
from volcano_py.cli.main import main
from volcano_py.local.client import APIClient
from volcano_py.local.controlplane import service_account_token
from volcano_py.local.workdir.kubeconfig import with_token

_RBAC = "/apis/rbac.authorization.k8s.io/v1"
_READ = ["get", "list"]


@pytest_asyncio.fixture(loop_scope="session")
async def viewer(namespace: Namespace, tmp_path: Path) -> AsyncIterator[Path]:
    """The kubeconfig of a user with the ClusterRole `view` who may read queues and nodes, too."""
    client, name = namespace.cluster.client, f"{namespace.name}-viewer"
    await client.create(f"/api/v1/namespaces/{namespace.name}/serviceaccounts", {"metadata": {"name": "viewer"}})
    rules = [
        {"apiGroups": ["scheduling.volcano.sh"], "resources": ["queues", "podgroups"], "verbs": _READ},
        {"apiGroups": [""], "resources": ["nodes"], "verbs": _READ},
    ]
    await client.create(f"{_RBAC}/clusterroles", {"metadata": {"name": name}, "rules": rules})
    for role in (name, "view"):
        await client.create(f"{_RBAC}/clusterrolebindings", _binding(f"{name}-{role}", role, namespace.name))
    token = await service_account_token(client, namespace.name, "viewer")
    path = with_token(tmp_path / "viewer.kubeconfig", await kubeconfig_view(namespace.cluster), token)

    async def allowed() -> None:
        async with APIClient(path) as own:
            await own.get("/api/v1/pods")
            await own.get("/api/v1/nodes")
            await own.get("/apis/scheduling.volcano.sh/v1beta1/queues")

    await namespace.cluster.eventually("the viewer has its rights", allowed)
    yield path
    for role in (name, "view"):
        await namespace.cluster.delete(f"{_RBAC}/clusterrolebindings/{name}-{role}")
    await namespace.cluster.delete(f"{_RBAC}/clusterroles/{name}")


def _binding(name: str, role: str, namespace: str) -> dict[str, Any]:
    return {
        "metadata": {"name": name},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
        "subjects": [{"kind": "ServiceAccount", "name": "viewer", "namespace": namespace}],
    }


async def test_what_could_not_be_read_is_said_and_a_remedy_starts_the_job(
    namespace: Namespace,
    viewer: Path,
    simulated_nodes: SimulatedNodes,
    create_queues: Callable[..., Awaitable[None]],
    daemon: Daemon,
) -> None:
    pool = await simulated_nodes(2, cpu="4")
    name = f"{namespace.name}-research"
    await create_queues(queue(name, capability={"cpu": "2"}))
    await namespace.apply(gang("train", 2, queue=name, cpu="2", node_selector=pool.selector))
    await namespace.wait_reported("train-1", saying="capability")

    async def explained(*arguments: str) -> str:
        line = ["explain", "podgroup", "train", "-n", namespace.name, "--kubeconfig", str(viewer), *arguments]
        result = await asyncio.to_thread(CliRunner().invoke, main, line, prog_name="volcano-py")
        assert result.exit_code == 0, result.output
        return result.stdout

    reported = json.loads(await explained("-o", "json"))
    assert (reported["now"]["state"], reported["now"]["reason"]) == ("Waiting", "OverCapability"), reported
    assert any(text.startswith("PriorityClass not read: ") for text in reported["unread"]), reported
    binding = [limit["name"] for limit in reported["limits"] if limit.get("binding")]
    assert binding == [name]
    remedies = {each["text"] for each in reported["remedies"]}
    assert f"raise capability of queue {name} to 4 cpu" in remedies

    assert reported["forecast"]["why"], reported  # nothing of this test has an end that would help

    async def shows_events() -> None:
        history = json.loads(await explained("-o", "json"))["history"]
        assert any(each["text"].startswith("event ") and each["object"].endswith("/train") for each in history), history

    await namespace.cluster.eventually("the history has events of the PodGroup", shows_events)

    await namespace.cluster.apply([queue(name, capability={"cpu": "4"})])
    await namespace.wait_phases(Running=2)
    assert (await explained()).startswith(f"{namespace.name}/train: Running, 2 of 2 pods placed")
