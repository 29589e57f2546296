"""For a while the API server answers some verbs with 500 and 503, and the others as ever."""

from __future__ import annotations

import asyncio

from e2e.conftest import SimulatedNodes, StartDaemon
from e2e.faults.churning.job_churn import ChurningJob
from e2e.faults.conftest import Scale
from e2e.faults.injection.plans import Calm, Gate, Outage, is_binding, is_read, is_write
from e2e.faults.injection.proxy import FaultProxy
from e2e.faults.invariants.cluster import Picture, bound_twice, differences
from e2e.faults.invariants.jobs import job_problems
from e2e.harness.cluster import Cluster
from e2e.harness.daemon import Daemon
from e2e.harness.namespace import Namespace
from e2e.harness.objects import gang, volcano_job
from volcano_py.local.controlplane import ControlPlane

OUTAGE_SECONDS, OUTAGE_SECONDS_SOAK = 3.0, 150.0
"""The longer one outlasts the half minute for which a binding is repeated."""


def job(name: str, replicas: int) -> ChurningJob:
    """What there must be of such a job."""
    return ChurningJob(name, 0, 1, {"worker": replicas}, replicas, ends=False)


async def lives_on(daemon: Daemon) -> None:
    """An outage of others is no reason to end, nor to be taken for ill."""
    status, text = await daemon.get("/healthz")
    assert status == 200, text
    assert await daemon.metric("volcano_leader") == 1


async def nothing_was_lost(
    cluster: Cluster, control_plane: ControlPlane, namespace: Namespace, daemon: Daemon, *jobs: ChurningJob
) -> None:
    """Wait until the jobs are whole and the daemon's picture is right; no pod was bound twice."""

    async def all_is_well() -> None:
        picture = await Picture.of(cluster.client)
        problems = await job_problems(namespace, picture, {each.name: each for each in jobs})
        problems += await differences(daemon, picture)
        assert not problems, "\n".join(problems)

    await cluster.eventually("the cluster is as if nothing had failed", all_is_well)
    assert not bound_twice(control_plane.audit_log)


async def test_writes_fail_and_watches_go_on(
    scale: Scale,
    cluster: Cluster,
    control_plane: ControlPlane,
    namespace: Namespace,
    simulated_nodes: SimulatedNodes,
    proxy: FaultProxy,
    start_daemon: StartDaemon,
) -> None:
    """What comes meanwhile is known at once, and done and reported when writing works again."""
    pool = await simulated_nodes(1, cpu="8")
    daemon = await start_daemon(server=proxy.url)
    await namespace.apply(volcano_job("runs", 2, node_selector=pool.selector))
    await namespace.wait_phases(Running=2)

    proxy.plan = Outage(scale.seed, is_write)
    await namespace.apply(
        gang("train", 3, node_selector=pool.selector), volcano_job("late", 2, node_selector=pool.selector)
    )
    await namespace.apply(gang("waits", 1, cpu="9", node_selector=pool.selector))
    await namespace.delete_pod("runs-worker-0")

    async def known() -> None:
        dump = await daemon.document("/dump")
        there = {key for key in dump["tasks"] if key.startswith(f"{namespace.name}/")}
        assert there == {
            f"{namespace.name}/{name}" for name in ("runs-worker-1", "waits-0", "train-0", "train-1", "train-2")
        }
        late = {record["job"] for record in daemon.log_records() if record.get("msg") == "job reconciliation failed"}
        assert late >= {f"{namespace.name}/runs", f"{namespace.name}/late"}, late

    await daemon.eventually("it has seen everything, and says what it cannot write", known)
    await asyncio.sleep(OUTAGE_SECONDS_SOAK if scale.soak else OUTAGE_SECONDS)
    await lives_on(daemon)
    assert [each.node for each in await namespace.pods() if each.name.startswith("train")] == [""] * 3
    proxy.plan = Calm()

    await namespace.wait_phases(Running=7, Pending=1)
    await namespace.wait_pod_group("train", "Running")
    await namespace.wait_reported("waits-0", reason="Unschedulable")
    await nothing_was_lost(cluster, control_plane, namespace, daemon, job("runs", 2), job("late", 2))
    if scale.soak:
        await daemon.wait_metric("volcano_binds_total", 1, or_more=True, outcome="failed")


async def test_reads_fail_and_writes_go_on(
    scale: Scale,
    cluster: Cluster,
    control_plane: ControlPlane,
    namespace: Namespace,
    simulated_nodes: SimulatedNodes,
    proxy: FaultProxy,
    start_daemon: StartDaemon,
) -> None:
    """What was decided is carried out; what comes meanwhile is seen when reading works again, and the log says why."""
    pool = await simulated_nodes(1, cpu="6")
    gate = proxy.plan = Gate(lambda call: is_binding(call) and call.name.startswith("train"))
    daemon = await start_daemon(server=proxy.url)
    await namespace.apply(gang("old", 2, node_selector=pool.selector))
    await namespace.apply(volcano_job("runs", 1, node_selector=pool.selector))
    await namespace.wait_phases(Running=3)
    await namespace.apply(gang("train", 3, node_selector=pool.selector))

    async def under_way() -> None:
        assert len(gate.held) == 3, gate.held

    await cluster.eventually("three bindings under way", under_way)
    proxy.plan = Outage(scale.seed, is_read, deaf=True)
    gate.open()
    await namespace.wait_phases(Running=6)
    for name in ("old-0", "old-1", "runs-worker-0"):
        await namespace.delete_pod(name)
    await namespace.delete_pod_group("old")
    await namespace.apply(gang("new", 2, node_selector=pool.selector))

    async def complains() -> None:
        said = [record for record in daemon.log_records() if record.get("msg") == "cannot watch; retrying"]
        errors = [record["error"] for record in said if record["kind"] in ("Pod", "PodGroup")]
        assert any("injected fault" in error for error in errors), said

    await daemon.eventually("it says what it cannot follow", complains)
    await asyncio.sleep(OUTAGE_SECONDS_SOAK if scale.soak else OUTAGE_SECONDS)
    await lives_on(daemon)
    proxy.plan = Calm()

    await namespace.wait_phases(Running=6)
    await namespace.wait_pod_group("train", "Running")
    await namespace.wait_pod_group("new", "Running")
    await nothing_was_lost(cluster, control_plane, namespace, daemon, job("runs", 1))
