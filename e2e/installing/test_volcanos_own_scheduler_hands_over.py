"""Volcano's own scheduler and ours on one cluster, under Volcano's CRDs: a trial, and the way there and back.

The binary is not built here. VOLCANO_SCHEDULER is its path, VOLCANO_CRDS the folder of its CRDs
(config/crd/volcano/bases in its repository). Without them these tests are skipped; elsewhere a daemon of ours, which
runs as Volcano's manifests run their scheduler, stands in for it.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import pytest
import pytest_asyncio
import yaml

from e2e.faults.invariants.cluster import bound_twice
from e2e.harness.cluster import Cluster
from e2e.harness.daemon import QUICK_ELECTION, Daemon, daemon_kubeconfig
from e2e.harness.namespace import Namespace
from e2e.harness.objects import gang
from volcano_py.bench.peers import Peers, read_crds
from volcano_py.cluster.kubernetes.http.client import KubernetesClient
from volcano_py.local.controlplane import ControlPlane
from volcano_py.local.install import apply_crds
from volcano_py.local.nodes import create_nodes
from volcano_py.local.processes.processes import ManagedProcess
from volcano_py.shipped import shipped

SCHEDULER, CRDS = (os.environ.get(name, "") for name in ("VOLCANO_SCHEDULER", "VOLCANO_CRDS"))
OVERLAY: Final = shipped("manifests") / "overlays" / "take-over-from-volcano"
STOCK: Final = shipped("examples") / "from-volcano" / "volcano.yaml"
TRIAL: Final = "volcano-trial"
THEIRS, OURS = "vc-scheduler", "volcano-py"

pytestmark = pytest.mark.skipif(
    not (SCHEDULER and CRDS), reason="VOLCANO_SCHEDULER and VOLCANO_CRDS do not say where Volcano's scheduler is"
)


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def installed(cluster: Cluster, control_plane: ControlPlane) -> Cluster:
    """Volcano as it installs itself, but for its webhooks, which nothing answers for here, and ours next to it."""
    await apply_crds(cluster.kubectl, read_crds(Path(CRDS)))
    stock = [each for each in yaml.safe_load_all(STOCK.read_text(encoding="utf-8")) if each]
    await cluster.apply([each for each in stock if not each["kind"].endswith("WebhookConfiguration")])
    await cluster.kubectl("apply", "-k", str(OVERLAY))
    async with await KubernetesClient.connect(control_plane.kubeconfig) as client:
        # What Volcano's controllers would do: its scheduler places nothing from a queue without a state.
        await Peers(("vc-scheduler",)).contenders(control_plane, client, control_plane.kubeconfig)
    return cluster


@pytest_asyncio.fixture(loop_scope="session")
async def namespace(installed: Cluster) -> AsyncIterator[Namespace]:
    """With two nodes of 16 CPUs."""
    name = f"handed-{secrets.token_hex(2)}"
    nodes = await create_nodes(
        installed.client, 2, allocatable={"cpu": "16", "memory": "64Gi"}, name_format=f"{name}-{{}}"
    )
    namespace = Namespace(installed, name)
    await namespace.create()
    yield namespace
    await namespace.remove()
    for node in nodes:
        await installed.delete(f"/api/v1/nodes/{node}")


@asynccontextmanager
async def theirs(plane: ControlPlane, folder: Path) -> AsyncIterator[None]:
    """Volcano's scheduler, with the arguments and the configuration of its manifests."""
    manifest = yaml.safe_load_all(STOCK.read_text(encoding="utf-8"))
    (configuration,) = (each["data"] for each in manifest if each and "volcano-scheduler.conf" in each.get("data", {}))
    own = folder / secrets.token_hex(2)
    own.mkdir()
    (own / "scheduler.conf").write_text(configuration["volcano-scheduler.conf"], encoding="utf-8")
    command = (
        *(SCHEDULER, f"--kubeconfig={plane.kubeconfig}", f"--scheduler-conf={own / 'scheduler.conf'}"),
        *("--leader-elect=false", "--schedule-period=1s", "--logtostderr", f"--cache-dump-dir={own}"),
    )
    process = ManagedProcess(THEIRS, command, own / "scheduler.log")
    await process.start()
    try:
        yield
        assert process.running, process.log_tail()
    finally:
        await process.stop(10)


@asynccontextmanager
async def ours(cluster: Cluster, folder: Path, *arguments: str) -> AsyncIterator[Daemon]:
    """A daemon with the account of the installation, as the overlay runs it."""
    name = f"ours-{secrets.token_hex(2)}"
    kubeconfig = await daemon_kubeconfig(cluster, folder / f"{name}.kubeconfig")
    controllers = "--controllers=*,-job,-cronjob,-jobflow,-hypernode"
    daemon = Daemon(name, kubeconfig, folder, (controllers, *arguments))
    cluster.diagnostics.append(daemon.diagnosis)
    await daemon.start()
    try:
        yield daemon
    finally:
        await daemon.stop()


async def runs(namespace: Namespace, name: str, scheduler: str = "volcano") -> None:
    """A gang that is created now runs, and its PodGroup says so."""
    await namespace.apply(gang(name, 3, cpu="1", labels={"of": name}, scheduler_name=scheduler))
    await namespace.wait_phases(selector=f"of={name}", Running=3)
    await namespace.wait_pod_group(name, "Running")


async def writers(namespace: Namespace, name: str) -> set[str]:
    """The programs that have written the status of a PodGroup."""
    metadata = (await namespace.pod_group(name)).raw["metadata"]
    return {each["manager"] for each in metadata["managedFields"] if "f:status" in each["fieldsV1"]}


async def test_a_trial_writes_no_status_of_volcanos_podgroups(
    installed: Cluster, control_plane: ControlPlane, namespace: Namespace, tmp_path: Path
) -> None:
    flags = ("--scheduler-name", TRIAL, "--leader-elect=false")
    async with theirs(control_plane, tmp_path), ours(installed, tmp_path, *flags):
        await namespace.apply(gang("waits", 2, cpu="100"))
        await runs(namespace, "first")
        await runs(namespace, "tried", TRIAL)
        await runs(namespace, "second")
        await runs(namespace, "tried-again", TRIAL)
        for name in ("waits", "first", "second"):
            assert await writers(namespace, name) == {THEIRS}, name
        assert OURS in await writers(namespace, "tried")
    assert not bound_twice(control_plane.audit_log)


async def test_there_and_back_each_podgroup_has_one_writer_at_a_time(
    installed: Cluster, control_plane: ControlPlane, namespace: Namespace, tmp_path: Path
) -> None:
    async with theirs(control_plane, tmp_path):
        await runs(namespace, "before")
        await namespace.apply(gang("waits", 2, cpu="100"))
        await namespace.wait_pod_group("waits", "Inqueue")
        assert await writers(namespace, "before") == {THEIRS}

    async with ours(installed, tmp_path, *QUICK_ELECTION) as moved:
        await moved.wait_leading()
        await runs(namespace, "after")
        assert await writers(namespace, "after") == {OURS}
        assert await moved.metric("volcano_binds_total", outcome="done") == 3, "the others keep their places"
        assert len(await namespace.pods("of=before")) == 3

    async with theirs(control_plane, tmp_path):
        await runs(namespace, "back")
        assert await writers(namespace, "back") == {THEIRS}
        await namespace.wait_phases(Running=9, Pending=2)
    assert not bound_twice(control_plane.audit_log)
