"""The scheduler's own role lets it change no pod's spec: it removes queue gates once the overlay's role is applied.

In the usual installation the same account has the role of the podgroup controller, which includes the right.
"""

from __future__ import annotations

from e2e.conftest import SimulatedNodes
from e2e.harness.daemon import Daemon
from e2e.harness.install import SERVICE_ACCOUNT
from e2e.harness.namespace import Namespace
from e2e.harness.objects import pod
from e2e.harness.views import EventView, listed
from volcano_py.api.names import QUEUE_ALLOCATION_GATE
from volcano_py.shipped import shipped

ROLE = shipped("manifests") / "overlays" / "queue-gates" / "rbac.yaml"
REMEDY = "kubectl apply -f manifests/overlays/queue-gates/rbac.yaml"


async def test_an_event_says_once_what_is_missing_and_the_pod_runs_soon_after_it_is_granted(
    parts: dict[str, Daemon], namespace: Namespace, simulated_nodes: SimulatedNodes
) -> None:
    cluster, scheduler = namespace.cluster, parts[SERVICE_ACCOUNT]
    pool = await simulated_nodes(1)
    gates = [{"name": QUEUE_ALLOCATION_GATE}]
    await namespace.apply(pod("gated", node_selector=pool.selector, schedulingGates=gates))

    async def reported() -> EventView:
        found = await namespace.events("Pod/gated", "GateNotRemoved")
        assert len(found) == 1, listed(found)
        return found[0]

    event = await cluster.eventually("an event says that the gate stays", reported)
    assert event.kind == "Warning"
    assert 'cannot patch resource "pods"' in event.message
    assert REMEDY in event.message

    def lines() -> int:
        return sum(each.get("error", "").count(REMEDY) for each in scheduler.log_records())

    async def asked_again() -> None:
        assert await scheduler.metric("volcano_api_requests_total", verb="PATCH", status="403") > 1

    await cluster.eventually("the scheduler asks again", asked_again)
    assert lines() == 1, "one line in the log"
    assert (await reported()).raw["count"] == 1

    await cluster.kubectl("apply", "-f", str(ROLE))
    try:
        (found,) = await namespace.wait_phases(Running=1)
        assert not found.spec.get("schedulingGates")
    finally:
        await cluster.kubectl("delete", "-f", str(ROLE))
