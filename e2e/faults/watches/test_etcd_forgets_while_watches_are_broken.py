"""While no watch gets through, the cluster changes, and etcd forgets how: watches cannot go on where they ended."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from e2e.conftest import SimulatedNodes, StartDaemon
from e2e.faults.injection.etcd import compact
from e2e.faults.injection.plans import Call, Calm, Fault, Injection
from e2e.faults.injection.proxy import FaultProxy
from e2e.faults.invariants.afterwards import it_sees_what_there_is
from e2e.harness.cluster import Cluster
from e2e.harness.namespace import Namespace
from e2e.harness.objects import gang, volcano_job
from e2e.harness.views import listed
from volcano_py.local.controlplane import ControlPlane

LISTED_ANEW = {"Pod", "PodGroup", "VolcanoJob"}
"""Some of the kinds that have changed."""

WANTED = {"new-0", "new-1", "new-2", "new-3", "runs-worker-0", "runs-worker-1"}
"""Pods that must have a node afterwards. One of the job that is gone may be among them until it is collected: the job's
pods may be listed again before the jobs are."""


class NoWatches(Calm):
    """Those that are open end with their next event, which is lost; others get no answer, and are cut when it is over.

    To cut them at once would have the daemon try less and less often.
    """

    def __init__(self) -> None:
        self.over = asyncio.Event()

    async def for_call(self, call: Call) -> Injection | None:
        if call.verb != "watch":
            return None
        await self.over.wait()
        return Injection(Fault.RESET)

    async def for_event(self, call: Call) -> Injection | None:
        return Injection(Fault.WATCH_CUT)


async def test_what_happened_in_the_time_that_is_forgotten_comes_with_new_lists(
    cluster: Cluster,
    control_plane: ControlPlane,
    namespace: Namespace,
    simulated_nodes: SimulatedNodes,
    proxy: FaultProxy,
    start_daemon: StartDaemon,
    count_faults: Callable[[str], None],
) -> None:
    """What is gone takes no room any more, what has come is scheduled, and the log says why all was listed."""
    await cluster.wait_namespaces_gone()
    pool = await simulated_nodes(1, cpu="7")
    daemon = await start_daemon(server=proxy.url)
    await namespace.apply(gang("old", 3, node_selector=pool.selector))
    await namespace.apply(volcano_job("gone", 1, node_selector=pool.selector))
    await namespace.apply(volcano_job("runs", 2, node_selector=pool.selector))
    await namespace.wait_phases(Running=6)

    outage = proxy.plan = NoWatches()
    for number in range(3):
        await namespace.delete_pod(f"old-{number}")
    await namespace.delete_pod_group("old")
    jobs = f"/apis/batch.volcano.sh/v1alpha1/namespaces/{namespace.name}/jobs"
    await cluster.client.delete(f"{jobs}/gone", {"propagationPolicy": "Background"})
    # The garbage collector of a cluster this young takes half a minute to do the same.
    await namespace.delete_pod("gone-worker-0")
    await namespace.delete_pod("runs-worker-0")
    await namespace.apply(gang("new", 4, node_selector=pool.selector))
    await namespace.wait_phases(Running=1, Pending=4)
    await compact(control_plane)
    count_faults("compaction of etcd")
    # What the API server itself remembers of events goes with it.
    await control_plane.kill("kube-apiserver")
    count_faults("kill -9 of the API server")
    await control_plane.start("kube-apiserver")
    proxy.plan = Calm()
    outage.over.set()

    async def all_bound() -> None:
        # That they run as well may take the simulated kubelets half a minute, after the restart.
        pods = await namespace.pods()
        assert {each.name for each in pods if each.node} >= WANTED, listed(pods)

    await cluster.eventually("all pods have a node", all_bound)

    await it_sees_what_there_is(cluster, daemon)

    async def all_listed_again() -> None:
        # Each watch is opened again in its own time, and that of jobs may be the last.
        # A watch that is open again within two seconds hears that its version is too old; later, none is tried.
        listed_again = {
            record["kind"]
            for record in daemon.log_records()
            if record.get("msg") == "no watch was open for too long; listing again"
            or "410 Expired: too old resource version" in record.get("error", "")
        }
        assert listed_again >= LISTED_ANEW, listed_again

    await cluster.eventually("the log says that all was listed again", all_listed_again)
