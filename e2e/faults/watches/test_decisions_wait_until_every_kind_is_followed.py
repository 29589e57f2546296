"""While pods are followed and nodes are not, nothing is decided: a pod would go to a node that is gone."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from e2e.conftest import SimulatedNodes, StartDaemon
from e2e.faults.injection.plans import Call, Calm, Fault, Gate, Injection
from e2e.faults.injection.proxy import FaultProxy
from e2e.harness.cluster import Cluster
from e2e.harness.daemon import Daemon
from e2e.harness.namespace import Namespace
from e2e.harness.objects import pod, queue
from volcano_py.api.names import QUEUE_NAME
from volcano_py.local.controlplane import ControlPlane
from volcano_py.operator.kopf_host.app import LIST_EVERY

PATIENT_ELECTION = ("--leader-elect-lease-duration=90s", "--leader-elect-renew-deadline=80s")
"""On a busy machine an API server may take longer to restart than a leader may go without renewing its Lease."""


def is_read_of_nodes(call: Call) -> bool:
    return call.resource == "nodes" and call.verb in ("list", "watch")


class Unseen(Calm):
    """A resource can be neither watched nor (by default) listed; an open watch ends with its next event, which is
    lost."""

    def __init__(self, resource: str, *verbs: str) -> None:
        self._resource, self._verbs = resource, verbs or ("list", "watch")

    async def for_call(self, call: Call) -> Injection | None:
        is_broken = call.resource == self._resource and call.verb in self._verbs
        return Injection(Fault.UNAVAILABLE) if is_broken else None

    async def for_event(self, call: Call) -> Injection | None:
        return Injection(Fault.WATCH_CUT) if call.resource == self._resource else None


async def knows_of(daemon: Daemon, namespace: Namespace, name: str) -> None:
    """Wait until the daemon has seen this pod."""

    async def seen() -> None:
        assert f"{namespace.name}/{name}" in (await daemon.document("/dump"))["tasks"]

    await daemon.eventually(f"it knows of pod {name}", seen)


def said(daemon: Daemon, event: str) -> list[dict[str, object]]:
    return [record for record in daemon.log_records() if record.get("msg") == event]


async def pauses(daemon: Daemon, kind: str) -> None:
    """Wait until it says that it has something to decide, and that this kind keeps it from that."""

    async def paused() -> None:
        reported = said(daemon, "decisions paused: not all kinds are watched")
        assert reported, "it says nothing"
        assert kind in reported[-1]["kinds"], reported  # type: ignore[operator]
        assert kind in (await daemon.document("/status"))["behind"]

    await daemon.eventually("it says that decisions are paused", paused)


TeamWith = Callable[[str], Awaitable[tuple[Daemon, str, dict[str, Any]]]]


@pytest.fixture
def team_with(
    namespace: Namespace,
    simulated_nodes: SimulatedNodes,
    proxy: FaultProxy,
    start_daemon: StartDaemon,
    create_queues: Callable[..., Awaitable[None]],
) -> TeamWith:
    """A queue with this ceiling in cpu, in which a pod of 1 runs: the daemon, its name, and what pods of it have."""

    async def make(cpu: str) -> tuple[Daemon, str, dict[str, Any]]:
        pool = await simulated_nodes(1, cpu="8")
        team = f"team-{namespace.name}"
        await create_queues(queue(team, capability={"cpu": cpu}))
        daemon = await start_daemon(server=proxy.url)
        work: dict[str, Any] = {"node_selector": pool.selector, "annotations": {QUEUE_NAME: team}}
        await namespace.apply(pod("before", **work))
        await namespace.wait_phases(Running=1)
        return daemon, team, work

    return make


async def test_a_watch_of_nodes_that_breaks_while_pods_are_followed(
    cluster: Cluster,
    namespace: Namespace,
    simulated_nodes: SimulatedNodes,
    proxy: FaultProxy,
    start_daemon: StartDaemon,
) -> None:
    """The node that is gone is the larger one, where a pod would go first."""
    selector = {"e2e.volcano-py/for": namespace.name}
    gone = (await simulated_nodes(1, cpu="16", labels=selector)).names[0]
    stays = (await simulated_nodes(1, cpu="2", labels=selector)).names[0]
    daemon = await start_daemon(server=proxy.url)
    await namespace.apply(pod("before", cpu="8", node_selector=selector))
    await namespace.wait_phases(Running=1)

    proxy.plan = Unseen("nodes")
    await cluster.delete(f"/api/v1/nodes/{gone}")
    await daemon.wait_metric("volcano_informer_behind_seconds", 3, or_more=True, kind="Node")
    await namespace.apply(pod("after", node_selector=selector))
    await knows_of(daemon, namespace, "after")
    await pauses(daemon, "Node")
    status, text = await daemon.get("/healthz")
    assert status == 200, text
    proxy.plan = Calm()

    async def bound() -> None:
        nodes = {each.name: each.node for each in await namespace.pods()}
        assert nodes.get("after") == stays, nodes

    await cluster.eventually("the pod has gone to the node that is there", bound)
    assert len(said(daemon, "decisions resumed: all kinds are watched")) == 1
    await daemon.wait_metric("volcano_informer_behind_seconds", 0, kind="Node")


async def test_a_restart_of_the_api_server_after_which_nodes_are_listed_last(
    cluster: Cluster,
    control_plane: ControlPlane,
    namespace: Namespace,
    simulated_nodes: SimulatedNodes,
    proxy: FaultProxy,
    start_daemon: StartDaemon,
    count_faults: Callable[[str], None],
) -> None:
    """Pods are followed again; the list of nodes is held back until the daemon has seen a pod that waits."""
    await cluster.wait_namespaces_gone()
    selector = {"e2e.volcano-py/for": namespace.name}
    gone = (await simulated_nodes(1, cpu="16", labels=selector)).names[0]
    stays = (await simulated_nodes(1, cpu="2", labels=selector)).names[0]
    daemon = await start_daemon(*PATIENT_ELECTION, server=proxy.url)
    await namespace.apply(pod("before", cpu="8", node_selector=selector))
    await namespace.wait_phases(Running=1)

    gate = proxy.plan = Gate(is_read_of_nodes)
    await control_plane.kill("kube-apiserver")
    count_faults("kill -9 of the API server")
    await control_plane.start("kube-apiserver")
    # A server that is back within a heartbeat leaves nodes no older than that, which is good enough to decide by.
    await daemon.wait_metric("volcano_informer_behind_seconds", 3, or_more=True, kind="Node")
    await cluster.delete(f"/api/v1/nodes/{gone}")
    await namespace.apply(pod("after", node_selector=selector))
    await knows_of(daemon, namespace, "after")
    await pauses(daemon, "Node")
    gate.open()

    async def bound() -> None:
        nodes = {each.name: each.node for each in await namespace.pods()}
        assert nodes.get("after") == stays, nodes

    await cluster.eventually("the pod has gone to the node that is there", bound)


async def test_queues_that_alone_can_be_neither_watched_nor_listed(
    namespace: Namespace, proxy: FaultProxy, team_with: TeamWith
) -> None:
    """The queue's new ceiling has not been seen; the pod is beyond it, and is not bound before it has been."""
    daemon, team, work = await team_with("4")
    proxy.plan = Unseen("queues")
    await namespace.apply(queue(team, capability={"cpu": "2"}))

    async def behind() -> None:
        assert "Queue" in (await daemon.document("/status"))["behind"]

    await daemon.eventually("it knows that queues are behind", behind)
    await daemon.wait_metric("volcano_informer_behind_seconds", 3, or_more=True, kind="Queue")
    await namespace.apply(pod("after", cpu="2", **work))
    await knows_of(daemon, namespace, "after")
    await pauses(daemon, "Queue")
    proxy.plan = Calm()

    await namespace.wait_event("FailedScheduling", "Pod/after", saying=team)
    await namespace.wait_phases(Running=1, Pending=1)
    assert len(said(daemon, "decisions resumed: all kinds are watched")) == 1


async def test_queues_that_can_only_be_listed_are_listed_often(
    namespace: Namespace, proxy: FaultProxy, team_with: TeamWith
) -> None:
    """Decisions go on, and a change is seen within seconds, not with the next of the seldom lists."""
    daemon, team, work = await team_with("1")
    proxy.plan = Unseen("queues", "watch")
    await namespace.apply(queue(team, capability={"cpu": "2"}))
    await namespace.apply(pod("after", **work))
    began = time.monotonic()
    await namespace.wait_phases(Running=2)
    assert time.monotonic() - began < LIST_EVERY / 2
    assert not said(daemon, "decisions paused: not all kinds are watched")
