"""`volcano-py explain` for a user with the ClusterRole `view`, as installed, who may read nodes, too."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any, Final

import pytest_asyncio
from click.testing import CliRunner

from e2e.conftest import SimulatedNodes
from e2e.harness.daemon import Daemon
from e2e.harness.namespace import Namespace
from e2e.harness.objects import gang, queue
from e2e.harness.viewer import viewer_of
from volcano_py.cli.main import main

_NO_RIGHTS: Final = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "rules": []}


@pytest_asyncio.fixture(loop_scope="session")
async def viewer(namespace: Namespace, tmp_path: Path) -> AsyncIterator[Path]:
    async with viewer_of(namespace, tmp_path) as path:
        yield path


async def test_what_could_not_be_read_is_said_and_a_remedy_starts_the_job(
    namespace: Namespace,
    viewer: Path,
    simulated_nodes: SimulatedNodes,
    create_queues: Callable[..., Awaitable[None]],
    daemon: Daemon,
    tmp_path: Path,
) -> None:
    pool = await simulated_nodes(2, cpu="4")
    name = f"{namespace.name}-research"
    await create_queues(queue(name, capability={"cpu": "2"}))
    await namespace.apply(gang("train", 2, queue=name, cpu="2", node_selector=pool.selector))
    await namespace.wait_reported("train-1", saying="capability")

    async def prints(*line: str) -> str:
        result = await asyncio.to_thread(CliRunner().invoke, main, line, prog_name="volcano-py")
        assert result.exit_code == 0, result.output
        return result.stdout

    live = ("--kubeconfig", str(viewer))

    async def explained(*arguments: str, of: tuple[str, ...] = live) -> str:
        return await prints("explain", "podgroup", "train", "-n", namespace.name, *of, *arguments)

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
    file = str(tmp_path / "cluster.capture")
    await prints("capture", file, *live)
    kept = json.loads(await explained("-o", "json", of=("--from", file)))["history"]
    assert any(each["text"].startswith("event ") and ": " in each["text"] for each in kept), kept

    await namespace.cluster.apply([queue(name, capability={"cpu": "4"})])
    await namespace.wait_phases(Running=2)
    assert (await explained()).startswith(f"{namespace.name}/train: Running, 2 of 2 pods placed")


async def test_rights_in_one_namespace_are_enough_for_its_workloads(
    namespace: Namespace,
    simulated_nodes: SimulatedNodes,
    create_queues: Callable[..., Awaitable[None]],
    daemon: Daemon,
    tmp_path: Path,
) -> None:
    pool = await simulated_nodes(2, cpu="4")
    name = f"{namespace.name}-research"
    await create_queues(queue(name, capability={"cpu": "2"}))
    await namespace.apply(gang("train", 2, queue=name, cpu="2", node_selector=pool.selector))
    await namespace.wait_reported("train-1", saying="capability")
    async with viewer_of(namespace, tmp_path, everywhere=False) as viewer:
        line = ("explain", "podgroup", "train", "-n", namespace.name, "--kubeconfig", str(viewer), "-o", "json")

        async def explained() -> dict[str, Any]:
            result = await asyncio.to_thread(CliRunner().invoke, main, line, prog_name="volcano-py")
            assert result.exit_code == 0, result.output
            found: dict[str, Any] = json.loads(result.stdout)
            assert (found["now"]["state"], found["now"]["reason"]) == ("Waiting", "OverCapability"), found
            return found

        reported = await explained()
        await namespace.cluster.apply([_NO_RIGHTS | {"metadata": {"name": f"{namespace.name}-viewer"}}])

        async def says_what_the_scheduler_wrote() -> None:
            found = await explained()
            assert found["now"].get("reported"), found
            assert "capability" in found["now"]["message"]
            (unread,) = found["unread"]
            assert unread.startswith("Node, Queue and "), unread

        await namespace.cluster.eventually("nodes and queues may not be read", says_what_the_scheduler_wrote)
    unread = [text.partition(" not read: ")[0] for text in reported["unread"]]
    assert f"Pod in other namespaces than {namespace.name}" in unread
    assert not {"Pod", "PodGroup", "Node", "Queue"}.intersection(unread)
    assert f"raise capability of queue {name} to 4 cpu" in {each["text"] for each in reported["remedies"]}
