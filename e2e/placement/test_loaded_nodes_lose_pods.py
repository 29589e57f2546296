"""rescheduling on a real API server: pods leave a loaded node, are created again, and land on the idle one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from e2e.conftest import SimulatedNodes
from e2e.harness.daemon import Daemon
from e2e.harness.namespace import Namespace
from e2e.harness.objects import deployment, pod, volcano_job
from e2e.placement.prometheus import Prometheus

RESCHEDULING = """
actions: "enqueue, allocate, backfill, shuffle"
tiers:
- plugins: [{name: priority}, {name: gang}, {name: conformance}]
- plugins:
  - name: predicates
  - name: usage
  - name: rescheduling
    arguments:
      interval: 2s
      strategies:
      - name: lowNodeUtilization
        params: {thresholds: {cpu: 20}, targetThresholds: {cpu: 60}}
metrics:
  type: prometheus
  address: ADDRESS
  interval: 1s
"""


async def test_a_deployment_leaves_a_loaded_node_and_a_gang_at_its_minimum_stays(
    namespace: Namespace,
    simulated_nodes: SimulatedNodes,
    prometheus: Prometheus,
    configure: Callable[[str], Awaitable[None]],
    daemon: Daemon,
) -> None:
    """A bare pod, which nothing would create again, stays as well. All of them fit the idle node."""
    pool = await simulated_nodes(2, cpu="10")
    loaded, idle = pool.names
    prometheus.load = {loaded: 0.1, idle: 0.95}  # (so that all pods start on the node that is loaded later)
    await configure(RESCHEDULING.replace("ADDRESS", prometheus.address))
    await daemon.wait_metric("volcano_node_load_reads_total", 1, or_more=True, outcome="read")
    await namespace.apply(
        deployment("web", 3, cpu="1", node_selector=pool.selector),
        volcano_job("train", 3, cpu="1", node_selector=pool.selector),
        pod("bare", cpu="1", node_selector=pool.selector),
    )
    before = await namespace.wait_phases(Running=7)
    assert {each.node for each in before} == {loaded}

    prometheus.load = {loaded: 0.9, idle: 0.05}

    async def moved() -> None:
        pods = await namespace.pods()
        assert all(each.phase == "Running" for each in pods), pods
        places = {each.name.partition("-")[0]: set[str]() for each in pods}
        for each in pods:
            places[each.name.partition("-")[0]].add(each.node)
        assert places == {"web": {idle}, "train": {loaded}, "bare": {loaded}}, places

    await daemon.eventually("the pods of the Deployment run on the idle node", moved)
    stayed = {each.raw["metadata"]["uid"] for each in before if not each.name.startswith("web")}
    assert stayed <= {each.raw["metadata"]["uid"] for each in await namespace.pods()}
    events = await namespace.events(reason="Evict")
    messages = [event.message for event in events if event.about.startswith("Pod/web")]
    assert len(messages) == 3, messages
    for message in messages:
        assert f"leaves node {loaded}, which uses 90 % of its CPU (target 60 %)" in message
        assert f"it fits on node {idle}, which uses 5 % of its CPU and 5 % of its memory" in message
