"""The guide's way from a stock Volcano, and back: what the check says at each step, and who binds.

The objects are those of a stock installation. No kubelet runs the pods of a Deployment here, so scaling one starts
nothing: where the guide scales Volcano's scheduler or volcano-py, the test starts or stops a daemon as well. A daemon
that runs as Volcano's own manifests run their scheduler, without a Lease, stands in for that one.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
import yaml

from e2e.faults.invariants.cluster import bound_twice
from e2e.harness.cluster import Cluster
from e2e.harness.daemon import QUICK_ELECTION, Daemon, daemon_kubeconfig
from e2e.harness.install import LEASE_PATH
from e2e.harness.namespace import Namespace
from e2e.harness.objects import pod
from volcano_py.local.client import APIError
from volcano_py.local.controlplane import ControlPlane
from volcano_py.local.install import apply_crds, is_crd
from volcano_py.local.nodes import create_nodes
from volcano_py.shipped import shipped

STOCK = shipped("examples") / "from-volcano" / "volcano.yaml"
SILENCE = "--other-scheduler-silence=8s"
CHECK = ("migrate", "check", "--output", "json")
BLOCKED = 3

VOLCANO = "volcano-scheduler"
OURS = "volcano-py"


class Program:
    """`volcano-py` as the cluster's administrator."""

    def __init__(self, kubeconfig: Path, folder: Path) -> None:
        self._kubeconfig, self._folder = kubeconfig, folder

    async def __call__(self, *arguments: str, status: int = 0) -> str:
        """Run it, and return what it prints; it must end with this status."""
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "volcano_py",
            *arguments,
            *(() if arguments[0] == "manifests" else (f"--kubeconfig={self._kubeconfig}",)),
            cwd=Path(__file__).parents[2],
            env={"HOME": str(self._folder), "PATH": "/usr/bin:/bin"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        output, errors = await process.communicate()
        assert process.returncode == status, f"{output.decode()}\n{errors.decode()}"
        return output.decode()

    async def blocking(self) -> list[str]:
        """What the check says that blocks."""
        status = 0
        while True:
            try:
                output = await self(*CHECK, status=status)
            except AssertionError:
                if status == BLOCKED:
                    raise
                status = BLOCKED
                continue
            findings = json.loads(output)["findings"]
            blocks = [f"{each['about']}: {each['message']}" for each in findings if each["level"] == "blocks"]
            assert bool(blocks) == (status == BLOCKED)
            return blocks


@pytest.fixture
def program(control_plane: ControlPlane, tmp_path: Path) -> Program:
    return Program(control_plane.kubeconfig, tmp_path)


@pytest_asyncio.fixture(loop_scope="session")
async def stock(cluster: Cluster) -> AsyncIterator[None]:
    """Volcano as it installs itself, its webhooks without a server: they let everything pass meanwhile."""
    rendered = await cluster.kubectl("kustomize", str(shipped("crds")))
    await apply_crds(cluster.kubectl, [each for each in _documents(rendered) if is_crd(each)])
    await cluster.apply(STOCK.read_text(encoding="utf-8"))
    yield
    for each in reversed(_documents(STOCK.read_text(encoding="utf-8"))):
        if each["kind"].endswith("WebhookConfiguration"):
            await cluster.kubectl("delete", each["kind"], each["metadata"]["name"], "--ignore-not-found")


def _documents(text: str) -> list[dict[str, Any]]:
    return [each for each in yaml.safe_load_all(text) if each]


@pytest_asyncio.fixture(loop_scope="session")
async def namespace(cluster: Cluster) -> AsyncIterator[Namespace]:
    name = f"moved-{secrets.token_hex(2)}"
    nodes = await create_nodes(
        cluster.client, 2, allocatable={"cpu": "16", "memory": "64Gi"}, name_format=f"{name}-{{}}"
    )
    namespace = Namespace(cluster, name)
    await namespace.create()
    yield namespace
    await namespace.remove()
    for node in nodes:
        await cluster.delete(f"/api/v1/nodes/{node}")


async def scale(cluster: Cluster, name: str, replicas: int) -> None:
    await cluster.kubectl("-n", "volcano-system", "scale", "deployment", name, f"--replicas={replicas}")


async def replicas_of(cluster: Cluster, name: str) -> int:
    path = f"/apis/apps/v1/namespaces/volcano-system/deployments/{name}"
    found: int = (await cluster.client.get(path))["spec"]["replicas"]
    return found


async def lenient(cluster: Cluster) -> None:
    """No server answers for the webhooks here. Their Deployment exists, so the check finds nothing wrong with that; but
    pods could not be created."""
    for kind, name in (
        ("mutatingwebhookconfiguration", "volcano-admission-service-pods-mutate"),
        ("validatingwebhookconfiguration", "volcano-admission-service-queues-validate"),
    ):
        patch = '[{"op": "replace", "path": "/webhooks/0/failurePolicy", "value": "Ignore"}]'
        await cluster.kubectl("patch", kind, name, "--type=json", f"--patch={patch}")
        timeout = '[{"op": "replace", "path": "/webhooks/0/timeoutSeconds", "value": 1}]'
        await cluster.kubectl("patch", kind, name, "--type=json", f"--patch={timeout}")


async def runs(namespace: Namespace, name: str) -> None:
    """A pod that is created now is bound."""
    await namespace.apply(pod(name))

    async def bound() -> None:
        (found,) = [each for each in await namespace.pods() if each.name == name]
        assert found.node, str(found)

    await namespace.cluster.eventually(f"pod {name} is bound", bound)


async def test_there_and_back(
    cluster: Cluster,
    control_plane: ControlPlane,
    stock: None,
    namespace: Namespace,
    program: Program,
    tmp_path: Path,
) -> None:
    await lenient(cluster)
    folder = tmp_path / "volcano-py"

    # The check finds the scheduler that has no Lease, and nothing else that blocks; the plan has steps for that.
    (blocks,) = await program.blocking()
    assert blocks.startswith("Deployment volcano-system/volcano-scheduler: it runs without a Lease")
    plan = json.loads(await program("migrate", "plan", "--output", "json"))
    commands = [command for step in plan["there"] for command in step["commands"]]
    apply, *_ = [command for command in commands if command.startswith("kubectl apply -k")]

    # Installing starts nothing, and changes nothing that is Volcano's.
    before = await cluster.client.get("/api/v1/namespaces/volcano-system/configmaps/volcano-scheduler-configmap")
    await program("manifests", "--directory", str(folder))
    await cluster.kubectl("apply", "-k", apply.rpartition(" ")[2].replace("volcano-py/", f"{folder}/", 1))
    assert await replicas_of(cluster, OURS) == 0
    after = await cluster.client.get("/api/v1/namespaces/volcano-system/configmaps/volcano-scheduler-configmap")
    assert after["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"]
    theirs = await start(cluster, tmp_path, "volcano", "--leader-elect=false", SILENCE)
    await runs(namespace, "before")

    # Whoever starts volcano-py too early: it waits, and says so.
    with pytest.raises(APIError):
        await cluster.client.get(LEASE_PATH)
    await scale(cluster, OURS, 2)
    ours = await start(cluster, tmp_path, "early", *QUICK_ELECTION, SILENCE)
    await ours.wait_leading()
    for number in range(6):
        await runs(namespace, f"early-{number}")
    await ours.wait_metric("volcano_other_scheduler", 1)
    assert await ours.metric("volcano_binds_total", outcome="done") == 0
    assert "while Deployment volcano-system/volcano-py runs, too" in (await program.blocking())[0]
    await ours.stop()
    await scale(cluster, OURS, 0)

    # In order: the other one ends, then ours begins. Nothing blocks in between.
    await scale(cluster, VOLCANO, 0)
    await theirs.stop()
    assert await program.blocking() == []
    await scale(cluster, OURS, 2)
    moved = await start(cluster, tmp_path, "moved", *QUICK_ELECTION)
    await moved.wait_leading()
    await runs(namespace, "after")
    assert await moved.metric("volcano_binds_total", outcome="done") >= 1
    assert await program.blocking() == []

    # And back.
    await scale(cluster, OURS, 0)
    await moved.stop()
    await scale(cluster, VOLCANO, 1)
    theirs = await start(cluster, tmp_path, "volcano-again", "--leader-elect=false", SILENCE)
    await runs(namespace, "back")
    await theirs.stop()
    await scale(cluster, VOLCANO, 0)
    assert not bound_twice(control_plane.audit_log)
    await cluster.kubectl("delete", "-k", str(folder / "manifests" / "overlays" / "take-over-from-volcano"))
    for path in ("serviceaccounts/volcano-scheduler", "configmaps/volcano-scheduler-configmap"):
        await cluster.client.get(f"/api/v1/namespaces/volcano-system/{path}")


async def start(cluster: Cluster, folder: Path, name: str, *arguments: str) -> Daemon:
    """A daemon with the account of the installation."""
    daemon = Daemon(name, await daemon_kubeconfig(cluster, folder / f"{name}.kubeconfig"), folder, arguments)
    cluster.diagnostics.append(daemon.diagnosis)
    await daemon.start()
    return daemon


async def test_what_stands_in_the_way_is_found_on_a_real_cluster(
    cluster: Cluster, stock: None, namespace: Namespace, program: Program
) -> None:
    """Objects that say more than is read here, a webhook that nothing answers, and a configuration that is unknown."""
    await lenient(cluster)
    await cluster.apply(
        [
            {
                "apiVersion": "scheduling.volcano.sh/v1beta1",
                "kind": "Queue",
                "metadata": {"name": "more"},
                "spec": {"weight": 1, "deserved": {"cpu": "4"}},
            }
        ]
    )
    before = json.loads(await program(*CHECK, status=BLOCKED if await replicas_of(cluster, VOLCANO) else 0))
    levels = {each["about"]: each["level"] for each in before["findings"]}
    assert levels["Queue more"] == "differs"
    assert levels["MutatingWebhookConfiguration volcano-admission-service-pods-mutate"] == "note"
    dashboards = [about for about in levels if about.startswith("ConfigMap volcano-system/grafana-volcano-dashboard")]
    assert [levels[about] for about in dashboards] == ["differs"]

    await scale(cluster, "volcano-admission", 0)
    await cluster.kubectl(
        "patch",
        "mutatingwebhookconfiguration",
        "volcano-admission-service-pods-mutate",
        "--type=json",
        '--patch=[{"op": "replace", "path": "/webhooks/0/failurePolicy", "value": "Fail"}]',
    )
    configuration = "actions: allocate\ntiers:\n- plugins:\n  - name: gang\n  - name: homemade\n"
    path = "/api/v1/namespaces/volcano-system/configmaps/volcano-scheduler-configmap"
    shipped_text = (await cluster.client.get(path))["data"]
    await cluster.client.merge_patch(path, {"data": {"volcano-scheduler.conf": configuration}})
    found = "\n".join(await program.blocking())
    assert "nothing answers for volcano-system/volcano-admission-service" in found
    assert "line 5: " in found
    assert "homemade" in found
    await cluster.client.merge_patch(path, {"data": shipped_text})
    text = await program("migrate", "check", status=BLOCKED)
    assert text.startswith("Blocks\n"), text
    await lenient(cluster)
    await scale(cluster, "volcano-admission", 1)
    await cluster.delete("/apis/scheduling.volcano.sh/v1beta1/queues/more")
