"""A Volcano Job in a full cluster: it is admitted because its queue may reclaim what it deserves, and then it runs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from e2e.conftest import SimulatedNodes, StartDaemon
from e2e.harness.jobs import Jobs, job, task
from e2e.harness.namespace import Namespace
from e2e.harness.objects import gang, queue

CONFIGURATION = """
actions: "{actions}"
tiers:
- plugins: [{{name: priority}}, {{name: gang}}, {{name: conformance}}]
- plugins: [{{name: overcommit}}, {{name: drf}}, {{name: predicates}}, {{name: capacity}}, {{name: nodeorder}}]
"""


async def test_a_job_of_all_that_its_queue_deserves_is_admitted_takes_it_back_and_runs(
    namespace: Namespace,
    simulated_nodes: SimulatedNodes,
    create_queues: Callable[..., Awaitable[None]],
    configure: Callable[[str], Awaitable[None]],
    start_daemon: StartDaemon,
) -> None:
    """Without the action the job stays Pending, and has no pods: so it is not for want of a refusal that it enters."""
    await configure(CONFIGURATION.format(actions="enqueue, allocate, backfill"))
    await start_daemon()
    jobs, pool = Jobs(namespace), await simulated_nodes(2, cpu="8")
    early, late = f"{namespace.name}-early", f"{namespace.name}-late"
    await create_queues(queue(early, deserved={"cpu": "8"}), queue(late, deserved={"cpu": "8"}))
    labels = {"job": "early"}
    await namespace.apply(gang("early", 16, minimum=1, queue=early, node_selector=pool.selector, labels=labels))
    await namespace.wait_phases(Running=16)

    await namespace.apply(job("late", task("worker", 4, cpu="2", selector=pool.selector), queue=late, minAvailable=4))

    async def kept_out() -> None:
        (group,) = [each for each in await namespace.pod_groups() if each.name.startswith("late-")]
        assert group.phase == "Pending", str(group)
        assert "ClusterOvercommitted: " in str(group)

    await namespace.cluster.eventually("the job is kept out of the full cluster", kept_out)
    await namespace.wait_phases(Running=16)

    await configure(CONFIGURATION.format(actions="enqueue, allocate, reclaim, backfill"))

    await jobs.wait("late", "Running", running=4)
    await namespace.wait_phases(selector="job=early", Running=8)
