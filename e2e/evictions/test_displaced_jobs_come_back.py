"""Volcano Jobs that make room for others on a real API server run again when there is room, with all their tries."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable

import pytest

from e2e.conftest import Configure, SimulatedNodes
from e2e.harness.daemon import Daemon
from e2e.harness.jobs import Jobs, job, task
from e2e.harness.namespace import Namespace
from e2e.harness.objects import Object, queue
from e2e.harness.preemption import PREEMPTING, URGENT
from e2e.harness.waiting import COLLECTED_SECONDS

RECLAIMING = """
actions: "enqueue, allocate, reclaim, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
  - name: conformance
- plugins:
  - name: capacity
  - name: predicates
  - name: nodeorder
"""

RESTARTED = [{"events": ["PodFailed", "PodEvicted"], "action": "RestartJob"}]

CreateQueues = Callable[..., Awaitable[None]]


@pytest.fixture
def jobs(namespace: Namespace) -> Jobs:
    return Jobs(namespace)


async def is_displaced_and_comes_back(jobs: Jobs, by: Object) -> None:
    """The Job `train` of four pods runs; `by` takes its place, then leaves."""
    before = {each.raw["metadata"]["uid"] for each in await jobs.namespace.wait_phases(Running=4)}
    await jobs.wait("train", "Running", running=4)

    await jobs.namespace.apply(by)
    name, replicas = by["metadata"]["name"], by["spec"]["tasks"][0]["replicas"]
    await jobs.wait(name, "Running", running=replicas)
    status = await jobs.wait("train", "Pending", version=1, retryCount=0)
    assert status.get("running", 0) == 0, "none of its pods has stayed"
    await jobs.namespace.wait_event("ExecuteAction", "Job/train", saying="by the scheduler")

    await jobs.delete(name)
    await jobs.wait("train", "Running", seconds=COLLECTED_SECONDS, running=4, version=1, retryCount=0)
    after = await jobs.namespace.wait_phases(selector="volcano.sh/job-name=train", Running=4)
    assert before.isdisjoint(each.raw["metadata"]["uid"] for each in after)
    events = await jobs.namespace.events("Job/train", "ExecuteAction")
    assert len(events) == 1, events


async def test_a_gang_that_an_urgent_one_preempts_is_restarted_once_and_has_all_its_tries(
    jobs: Jobs, simulated_nodes: SimulatedNodes, configure: Configure, daemon: Daemon
) -> None:
    await jobs.cluster.apply([URGENT])
    await configure(PREEMPTING)
    pool = await simulated_nodes(2, cpu="2")
    await jobs.namespace.apply(job("train", task("worker", 4, selector=pool.selector), policies=RESTARTED, maxRetry=1))

    urgent = job("urgent", task("worker", 4, selector=pool.selector), priorityClassName="e2e-urgent")
    await is_displaced_and_comes_back(jobs, urgent)


async def test_a_gang_that_another_queue_reclaims_is_restarted_once_and_has_all_its_tries(
    jobs: Jobs,
    simulated_nodes: SimulatedNodes,
    create_queues: CreateQueues,
    configure: Configure,
    daemon: Daemon,
) -> None:
    """Two queues deserve half of 8 CPUs each. One gang holds all of them, and goes whole for the other queue's due."""
    await configure(RECLAIMING)
    mark = secrets.token_hex(3)
    have, want = f"have-{mark}", f"want-{mark}"
    await create_queues(*(queue(name, deserved={"cpu": "4"}) for name in (have, want)))
    pool = await simulated_nodes(2, cpu="4")
    worker = task("worker", 4, cpu="2", selector=pool.selector)
    train = job("train", worker, queue=have, minAvailable=4, policies=RESTARTED, maxRetry=1)
    await jobs.namespace.apply(train)

    await is_displaced_and_comes_back(
        jobs, job("claim", task("worker", 2, cpu="2", selector=pool.selector), queue=want)
    )
    for index in range(4):
        reported = await jobs.namespace.wait_event("Evict", f"Pod/train-worker-{index}")
        assert "reclaim" in reported.message, reported.message
