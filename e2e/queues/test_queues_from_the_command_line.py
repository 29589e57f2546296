"""`volcano-py queue`, `pod` and `podgroup` on a real API server, as their users type them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

import pytest
import pytest_asyncio
from click.testing import CliRunner

from e2e.conftest import SimulatedNodes
from e2e.harness.cluster import Cluster
from e2e.harness.daemon import Daemon
from e2e.harness.namespace import Namespace
from e2e.harness.objects import gang
from volcano_py.cli.main import main

Type = Callable[..., Coroutine[Any, Any, tuple[int, str]]]


@pytest.fixture
def volcano_py(cluster: Cluster) -> Type:
    """Run `volcano-py` on the cluster: its exit code, and what it prints."""

    async def run(*arguments: str) -> tuple[int, str]:
        line = [*arguments, "--kubeconfig", str(cluster.kubeconfig)]
        result = await asyncio.to_thread(CliRunner().invoke, main, line, prog_name="volcano-py")
        return result.exit_code, result.output

    return run


@pytest_asyncio.fixture(loop_scope="session")
async def names(namespace: Namespace) -> AsyncIterator[tuple[str, str]]:
    """Of a queue and of one below it, both still to be made; they are gone after the test."""
    department, team = f"{namespace.name}-dept", f"{namespace.name}-team"
    yield department, team
    for name in (team, department):
        await namespace.cluster.delete(f"/apis/scheduling.volcano.sh/v1beta1/queues/{name}")


def cells(line: str) -> list[str]:
    return line.split()


async def test_a_queue_is_created_seen_closed_opened_and_deleted(
    namespace: Namespace, names: tuple[str, str], volcano_py: Type, simulated_nodes: SimulatedNodes, daemon: Daemon
) -> None:
    department, team = names
    pool = await simulated_nodes(1, cpu="4")

    async def state_is(name: str, state: str) -> None:
        async def reached() -> None:
            code, output = await volcano_py("queue", "get", "--name", name, "-o", "json")
            assert code == 0, output
            assert json.loads(output)["status"].get("state") == state, output

        await namespace.cluster.eventually(f"queue {name} is {state}", reached)

    assert await volcano_py("queue", "create", "--name", team, "--parent", department) == (
        1,
        f"Error: queue {team}: --parent {department} does not exist; create that first\n",
    )
    assert await volcano_py("queue", "create", "--name", department) == (0, f"queue {department} created\n")
    created = await volcano_py(
        *("queue", "create", "--name", team, "--parent", department, "--weight", "3"),
        *("--capability", "cpu=3,memory=8Gi", "--deserved", "cpu=2", "--guarantee", "cpu=1", "--not-reclaimable"),
    )
    ignored = "spec.deserved (cpu 2) has no effect: proportion divides by spec.weight; "
    assert (created[0], created[1].startswith(f"queue {team} created\nqueue {team}: {ignored}")) == (0, True), created
    await state_is(team, "Open")

    async def is_said() -> None:
        code, output = await volcano_py("queue", "get", "--name", team)
        assert (code, ignored in output) == (0, True), output

    await namespace.cluster.eventually("what the configuration ignores is on the queue", is_said)
    code, checked = await volcano_py("config", "check", "--live")
    assert (code, f"queue {team}: {ignored}" in checked) == (0, True), checked

    await namespace.apply(gang("works", 2, queue=team, cpu="1", node_selector=pool.selector))
    await namespace.apply(gang("waits", 2, queue=team, cpu="2", node_selector=pool.selector))
    await namespace.wait_phases(Running=2, Pending=2)
    await _what_waits_says_why(namespace, team, volcano_py)

    code, listed = await volcano_py("queue", "list")
    assert code == 0, listed
    row = next(line for line in map(cells, listed.splitlines()) if line[0] == team)
    assert row[1:4] == [department, "Open", "3"]

    # With the one above it; not Closed as long as PodGroups are there.
    code, reported = await volcano_py("queue", "close", "--name", department)
    assert (code, reported.startswith(f"Command default/{department}-close-")) == (0, True), reported
    assert reported.endswith(f" created: close queue {department}\n"), reported
    await state_is(department, "Closed")
    await state_is(team, "Closing")
    code, reported = await volcano_py("queue", "open", "--name", team)
    assert (code, reported) == (
        1,
        f"Error: queue {team} cannot be opened while its parent {department} is Closed; open the parent first\n",
    )
    code, reported = await volcano_py("queue", "open", "--name", department)
    assert code == 0, reported
    await state_is(team, "Open")

    code, reported = await volcano_py("queue", "delete", "--name", team)
    assert code == 1, reported
    assert "has 2 unfinished PodGroups" in reported
    for name in ("works", "waits"):
        for number in range(2):
            await namespace.delete_pod(f"{name}-{number}")
        await namespace.delete_pod_group(name)
    await namespace.wait_no_pod_groups()
    assert await volcano_py("queue", "delete", "--name", team) == (0, f"queue {team} deleted\n")
    assert await volcano_py("queue", "delete", "--name", department) == (0, f"queue {department} deleted\n")


async def test_a_job_that_runs_says_that_its_queue_was_deleted(
    namespace: Namespace, names: tuple[str, str], volcano_py: Type, simulated_nodes: SimulatedNodes, daemon: Daemon
) -> None:
    """By kubectl, as without admission nothing forbids it; and no more once the queue exists again."""
    _, team = names
    pool = await simulated_nodes(1, cpu="4")
    code, created = await volcano_py("queue", "create", "--name", team, "--capability", "cpus=4")
    meant = 'spec.capability.cpus (4) has no effect: no resource has this name (did you mean "cpu"?)'
    assert (code, created) == (0, f"queue {team} created\nqueue {team}: {meant}\n")
    await namespace.apply(gang("works", 2, queue=team, cpu="1", node_selector=pool.selector))
    await namespace.wait_phases(Running=2)
    missing = f"QueueNotFound: queue {team} does not exist"

    def says(*arguments: str, found: bool, text: str) -> Callable[[], Coroutine[Any, Any, None]]:
        async def reached() -> None:
            code, output = await volcano_py(*arguments)
            assert (code, text in output) == (0, found), output

        return reached

    listed, tree = ("podgroup", "list", "--namespace", namespace.name), ("queue", "tree")
    await namespace.cluster.delete(f"/apis/scheduling.volcano.sh/v1beta1/queues/{team}")
    await namespace.cluster.eventually("the list says so", says(*listed, found=True, text=missing))
    explained = ("explain", "podgroup", "works", "--namespace", namespace.name)
    await namespace.cluster.eventually("explain says so", says(*explained, found=True, text=missing))
    code, drawn = await volcano_py(*tree)
    lines = drawn.splitlines()
    assert lines[lines.index("Queues that do not exist:") + 1].lstrip().split()[0].startswith(team[:4]), drawn
    assert await volcano_py("queue", "create", "--name", team) == (0, f"queue {team} created\n")
    await namespace.cluster.eventually("the list no longer says so", says(*listed, found=False, text=missing))
    await says(*tree, found=False, text="Queues that do not exist:")()


async def _what_waits_says_why(namespace: Namespace, queue: str, volcano_py: Type) -> None:
    async def reported() -> None:
        code, groups = await volcano_py("podgroup", "list", "--namespace", namespace.name, "--queue", queue)
        assert code == 0, groups
        rows = {cells(line)[1]: line for line in groups.splitlines()[1:]}
        assert set(rows) == {"works", "waits"}
        assert cells(rows["works"])[2:9] == ["-", queue, "Running", "2", "2", "0", "0"]
        assert rows["works"].endswith("  -"), groups
        assert "cpu" in rows["waits"], groups

        code, pods = await volcano_py("pod", "list", "--all-namespaces", "--queue", queue)
        assert code == 0, pods
        of_pods = {cells(line)[1]: line for line in pods.splitlines()[1:]}
        assert {name: cells(line)[3:6] for name, line in of_pods.items()} == {
            "works-0": [queue, "1/1", "Running"],
            "works-1": [queue, "1/1", "Running"],
            "waits-0": [queue, "0/1", "Pending"],
            "waits-1": [queue, "0/1", "Pending"],
        }
        assert "cpu" in of_pods["waits-0"], pods

    await namespace.cluster.eventually("what waits says why", reported)
