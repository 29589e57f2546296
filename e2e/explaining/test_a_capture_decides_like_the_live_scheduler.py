"""What a copy of the cluster shows, taken by a user who may only look, is what the live scheduler then does."""

from __future__ import annotations

import asyncio
import gzip
import json
import re
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest_asyncio
from click.testing import CliRunner, Result

from e2e.conftest import Configure, SimulatedNodes, StartDaemon
from e2e.harness.cluster import Cluster
from e2e.harness.namespace import Namespace
from e2e.harness.objects import gang, pod, pod_group
from e2e.harness.preemption import PREEMPTING, URGENT
from e2e.harness.viewer import viewer_of
from volcano_py.api.names import POD_SCHEDULED
from volcano_py.cli.main import main

MAY_NOT_READ = {
    "PriorityClass",
    "PersistentVolume",
    "StorageClass",
    "CSINode",
    "CSIDriver",
    "CSIStorageCapacity",
    "DeviceClass",
    "ResourceSlice",
}
"""What is not part of `view` and no node."""


@pytest_asyncio.fixture(loop_scope="session")
async def viewer(namespace: Namespace, tmp_path: Path) -> AsyncIterator[Path]:
    async with viewer_of(namespace, tmp_path) as path:
        yield path


async def volcano_py(*arguments: object) -> Result:
    result = await asyncio.to_thread(CliRunner().invoke, main, [str(each) for each in arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


async def test_the_live_scheduler_does_next_what_a_capture_shows(
    namespace: Namespace,
    installed: Cluster,
    simulated_nodes: SimulatedNodes,
    start_daemon: StartDaemon,
    configure: Configure,
    viewer: Path,
    tmp_path: Path,
) -> None:
    """An urgent gang takes the places of another, a pod fits, and two wait: all of it while no scheduler runs."""
    await installed.apply([URGENT])
    await configure(PREEMPTING)
    pool, other = await simulated_nodes(2, cpu="2"), await simulated_nodes(1, cpu="3")
    first = await start_daemon()
    await namespace.apply(gang("low", 2, cpu="2", node_selector=pool.selector))
    await namespace.apply(gang("steady", 1, cpu="1", node_selector=other.selector))
    await namespace.wait_phases(Running=3)
    await first.stop()
    secret = {"env": [{"name": "PASSWORD", "value": "tell-no-one"}]}
    fits = pod("fits-0", cpu="2", node_selector=other.selector, group="fits")
    fits["spec"]["containers"][0] |= secret
    await namespace.apply(
        pod_group("high", 2, priority_class="e2e-urgent"),
        *(
            pod(f"high-{n}", group="high", cpu="2", priority_class="e2e-urgent", node_selector=pool.selector)
            for n in (0, 1)
        ),
        pod_group("fits", 1),
        fits,
        gang("too-large", 2, cpu="3", node_selector=other.selector),
        gang("nowhere", 1, node_selector={"no": "such-node"}),
    )

    path = tmp_path / "cluster.capture"
    taken = await volcano_py("capture", path, "--kubeconfig", viewer)
    assert taken.exit_code == 0, taken.output
    assert set(re.findall(r"^(\w+) not read: ", taken.stderr, re.MULTILINE)) == MAY_NOT_READ
    assert (
        'StorageClass not read: storageclasses.storage.k8s.io is forbidden: User "system:serviceaccount:'
        in taken.stderr
    )
    unpacked = gzip.decompress(path.read_bytes())
    assert b"tell-no-one" not in unpacked
    assert b"PASSWORD" not in unpacked
    assert json.loads(unpacked)["revision"], "all lists are of one moment"
    simulated = await volcano_py("simulate", "--from", path, "-o", "json")
    assert simulated.exit_code == 0, simulated.output
    shown = json.loads(simulated.stdout)
    before = {each.name for each in await namespace.pods()}

    await start_daemon()
    await namespace.wait_pod_group("high", "Running")
    await namespace.wait_pod_group("fits", "Running")

    async def as_shown() -> None:
        pods = {each.name: each for each in await namespace.pods()}
        started = {"high-0", "high-1", "fits-0"}
        assert ours(shown["binds"], namespace).keys() == started
        assert {name for name in started if pods[name].node} == started
        assert pods["fits-0"].node == ours(shown["binds"], namespace)["fits-0"]
        gone = {name.partition("/")[2] for name in shown["evictions"] if name.startswith(f"{namespace.name}/")}
        assert gone == before - pods.keys() == {"low-0", "low-1"}
        waiting = {
            name: each.condition(POD_SCHEDULED).get("message", "") for name, each in pods.items() if not each.node
        }
        assert waiting == ours(shown["unschedulable"], namespace)

    await installed.eventually("the cluster is as the capture showed", as_shown)


async def test_what_if_shows_a_viewer_what_then_happens(
    namespace: Namespace,
    installed: Cluster,
    simulated_nodes: SimulatedNodes,
    start_daemon: StartDaemon,
    viewer: Path,
    tmp_path: Path,
) -> None:
    """A gang would start if another ended, and a configuration without allocation would start nothing."""
    pool = await simulated_nodes(1, cpu="2")
    await start_daemon()
    await namespace.apply(gang("old", 2, node_selector=pool.selector))
    await namespace.wait_phases(Running=2)
    await namespace.apply(gang("next", 2, node_selector=pool.selector))

    async def waits() -> None:
        assert (await namespace.cluster.pod_group(namespace.name, "next")).condition("Unschedulable")

    await installed.eventually("next waits", waits)

    same = await volcano_py(
        "what-if", "--set", f"podgroup/{namespace.name}/next.spec.minMember=2", "--kubeconfig", viewer
    )
    assert (same.exit_code, same.stdout) == (0, "Nothing changes.\n")
    ended = await volcano_py(
        "what-if", "--delete", f"podgroup/{namespace.name}/old", "--kubeconfig", viewer, "-o", "json"
    )
    assert ended.exit_code == 3, ended.output
    work = {
        each["podGroup"]: (each["before"]["placed"], each["after"]["placed"])
        for each in json.loads(ended.stdout)["work"]
    }
    assert work == {f"{namespace.name}/old": (2, 0), f"{namespace.name}/next": (0, 2)}
    assert len(await namespace.pods()) == 4, "nothing was written"
    conf = tmp_path / "none.conf"
    conf.write_text('actions: "enqueue"\ntiers:\n- plugins:\n  - name: gang\n', encoding="utf-8")
    planned = await volcano_py("config", "plan", conf, "--kubeconfig", viewer, "--fail-on", "stops")
    assert planned.exit_code == 0, planned.output

    for name in ("old-0", "old-1"):
        await namespace.delete_pod(name)
    await namespace.delete_pod_group("old")
    await namespace.wait_pod_group("next", "Running")


def ours(found: Mapping[str, Any], namespace: Namespace) -> dict[str, Any]:
    """What is of this namespace, by name."""
    prefix = f"{namespace.name}/"
    return {name.removeprefix(prefix): value for name, value in found.items() if name.startswith(prefix)}
