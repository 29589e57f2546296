"""Hierarchical queues (capacity with enableHierarchy) on a real API server, down to what `kubectl get queues` shows."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import pytest_asyncio

from e2e.conftest import SimulatedNodes
from e2e.harness.cluster import Cluster
from e2e.harness.daemon import Daemon
from e2e.harness.namespace import Namespace
from e2e.harness.objects import Object, gang, pod, pod_group, queue
from e2e.harness.views import listed
from volcano_py.api.quantity import parse_quantity

CONFIGURATION = """
actions: "allocate, preempt, reclaim"
tiers:
- plugins:
  - name: priority
  - name: gang
    enablePreemptable: false
- plugins:
  - name: drf
    enablePreemptable: false
  - name: predicates
  - name: capacity
    enableHierarchy: true
  - name: nodeorder
"""

CreateQueues = Callable[..., Awaitable[None]]


@pytest_asyncio.fixture(loop_scope="session")
async def hierarchical(
    configure: Callable[[str], Awaitable[None]], start_daemon: Callable[..., Awaitable[Daemon]]
) -> Daemon:
    """The daemon with the configuration of the design document."""
    await configure(CONFIGURATION)
    return await start_daemon()


class Tree:
    """Queues of one test; their names have the namespace's in front."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix

    def name(self, queue: str) -> str:
        return f"{self._prefix}-{queue}"

    def queue(self, name: str, parent: str = "", **cpus: int) -> Object:
        """A queue below `parent`; amounts are cpus."""
        spec: dict[str, Any] = {"parent": self.name(parent)} if parent else {}
        for field, amount in cpus.items():
            spec[field] = {"cpu": str(amount)}
        return queue(self.name(name), **spec)


async def allocated(cluster: Cluster, name: str, cpus: int) -> None:
    """Wait until the queue's status says that it, with the queues below, holds so many cpus."""

    async def reported() -> None:
        held = (await cluster.queues())[name].status.get("allocated", {}).get("cpu", "0")
        assert parse_quantity(held) == cpus, f"{name} holds {held}"

    await cluster.eventually(f"{name} holds {cpus} cpus", reported)


async def test_what_queues_hold_counts_for_all_above_and_no_ceiling_is_exceeded(
    namespace: Namespace, simulated_nodes: SimulatedNodes, create_queues: CreateQueues, hierarchical: Daemon
) -> None:
    """dept may have 5 of 8 cpus: its teams together, though each alone could have them."""
    cluster, tree = namespace.cluster, Tree(namespace.name)
    pool = await simulated_nodes(2, cpu="4")
    await create_queues(
        tree.queue("dept", capability=5, deserved=4), tree.queue("one", "dept", deserved=2), tree.queue("two", "dept")
    )
    for team in ("one", "two"):
        labels = {"team": team}
        work = gang(team, 4, minimum=1, queue=tree.name(team), node_selector=pool.selector, labels=labels)
        await namespace.apply(work)

    async def reported_whose_ceiling() -> None:
        """A node more would not help, so the reason is not Unschedulable."""
        for each in await namespace.pods():
            if not each.node:
                reported = each.condition("PodScheduled")
                assert reported.get("reason") == "Undetermined", str(each)
                whose = f"queue {tree.name('dept')}, above {tree.name(each.labels['team'])}: 5 cpu allocated"
                assert whose in reported["message"], str(each)

    await namespace.wait_phases(Running=5, Pending=3)
    await allocated(cluster, tree.name("dept"), 5)
    await cluster.eventually("the messages of the waiting pods", reported_whose_ceiling)

    async def took_turns() -> None:
        queues = await cluster.queues()
        held = [parse_quantity(queues[tree.name(team)].status["allocated"]["cpu"]) for team in ("one", "two")]
        assert (sum(held), min(held) >= 1) == (5, True), held

    await cluster.eventually("both teams hold some of the five", took_turns)
    await hierarchical.wait_metric("volcano_queue_share", 5 / 4, queue_name=tree.name("dept"))


async def test_mistakes_in_the_tree_stop_only_the_jobs_they_touch_and_can_be_fixed(
    namespace: Namespace, simulated_nodes: SimulatedNodes, create_queues: CreateQueues, hierarchical: Daemon
) -> None:
    """A job in an inner queue, a missing parent: reported on the PodGroup and on the queue; the leaf next to them
    runs.
    """
    cluster, tree = namespace.cluster, Tree(namespace.name)
    pool = await simulated_nodes(1, cpu="4")
    await create_queues(tree.queue("dept"), tree.queue("team", "dept"), tree.queue("lost", "later"))
    for name, where in (("stray", "dept"), ("stuck", "lost"), ("fine", "team")):
        await namespace.apply(gang(name, 1, queue=tree.name(where), node_selector=pool.selector))

    await namespace.wait_phases(Running=1, Pending=2)
    below = f"queue {tree.name('dept')}: has queues below it ({tree.name('team')})"
    missing = f"queue {tree.name('lost')}: spec.parent is {tree.name('later')}, which does not exist"
    for name, why in (("stray", below), ("stuck", missing)):
        reported = f"InvalidQueue: 1/1 tasks in gang unschedulable: {why}"
        await namespace.wait_event("Unschedulable", f"PodGroup/{name}", saying=reported)
    await cluster.wait_queue_event(tree.name("dept"), "InvalidQueue", saying=below)
    await cluster.wait_queue_event(tree.name("lost"), "InvalidQueue", saying=missing)

    await create_queues(tree.queue("later"))

    await namespace.wait_phases(Running=2, Pending=1)
    await allocated(cluster, tree.name("later"), 1)


async def test_a_guarantee_that_the_cluster_cannot_hold_is_reported_and_keeps_nothing_from_other_teams(
    namespace: Namespace, simulated_nodes: SimulatedNodes, create_queues: CreateQueues, hierarchical: Daemon
) -> None:
    """No webhook looks at what the API server takes; the work of another team runs on all of its nodes."""
    cluster, tree = namespace.cluster, Tree(namespace.name)
    pool = await simulated_nodes(1, cpu="4")
    absurd = {"cpu": "9E"}
    bad = queue(tree.name("bad"), deserved=absurd, guarantee={"resource": absurd})
    await create_queues(bad, tree.queue("team", deserved=4))
    await namespace.apply(gang("work", 4, queue=tree.name("team"), node_selector=pool.selector))

    await namespace.wait_phases(Running=4)
    reported = f"queue {tree.name('bad')}: spec.guarantee.resource[cpu] is 9E, but "
    await cluster.wait_queue_event(tree.name("bad"), "GuaranteeNotKept", saying=reported)
    drawn = json.loads(await volcano_py("queue", "tree", "--kubeconfig", str(cluster.kubeconfig), "-o", "json"))
    shown = next(each for each in drawn["queues"] if each["name"] == tree.name("bad"))
    assert ("cpu" in shown["guarantee"], "cpu" in shown["guaranteeNotKept"]) == (False, True)


async def test_a_queue_takes_back_what_it_deserves_from_its_sibling_first(
    namespace: Namespace, simulated_nodes: SimulatedNodes, create_queues: CreateQueues, hierarchical: Daemon
) -> None:
    """The sibling is one pod beyond what it deserves, the cousin three: those four are evicted, and no other."""
    tree = Tree(namespace.name)
    pool = await simulated_nodes(1, cpu="16")
    await create_queues(
        tree.queue("a", deserved=8), tree.queue("a1", "a", deserved=4), tree.queue("a2", "a", deserved=4),
        tree.queue("b", deserved=8),
    )  # fmt: skip
    for job, where, size in (("sibling", "a1", 5), ("cousin", "b", 11)):
        labels = {"job": job}
        await namespace.apply(
            gang(job, size, minimum=1, queue=tree.name(where), node_selector=pool.selector, labels=labels)
        )
    await namespace.wait_phases(Running=16)

    group = pod_group("back", 4, queue=tree.name("a2"))
    members = [pod(f"back-{n}", group="back", node_selector=pool.selector, labels={"job": "back"}) for n in range(4)]
    await namespace.apply(group, members)

    await namespace.wait_phases(selector="job=back", Running=4)
    await namespace.wait_phases(selector="job=sibling", Running=4)
    await namespace.wait_phases(selector="job=cousin", Running=8)

    async def reported() -> None:
        evictions = [each for each in await namespace.events(reason="Evict") if each.about.startswith("Pod/")]
        assert len({each.about for each in evictions}) == 4, listed(evictions)
        assert all(tree.name("a2") in each.message for each in evictions), listed(evictions)

    await namespace.cluster.eventually("the four evicted pods say for which job", reported)


async def test_the_tree_can_be_drawn_from_the_cluster(
    namespace: Namespace, simulated_nodes: SimulatedNodes, create_queues: CreateQueues, hierarchical: Daemon
) -> None:
    """`volcano-py queue tree` works out from the cluster's objects what the daemon goes by."""
    cluster, tree = namespace.cluster, Tree(namespace.name)
    pool = await simulated_nodes(1, cpu="4")
    await create_queues(tree.queue("dept", capability=3, deserved=3), tree.queue("team", "dept", deserved=2))
    await namespace.apply(gang("work", 5, minimum=1, queue=tree.name("team"), node_selector=pool.selector))
    await namespace.wait_phases(Running=3, Pending=2)

    async def drawn() -> None:
        reported = json.loads(await volcano_py("queue", "tree", "--kubeconfig", str(cluster.kubeconfig), "-o", "json"))
        queues = {each["name"]: each for each in reported["queues"]}
        team = queues[tree.name("team")]
        assert team["parent"] == tree.name("dept")
        assert (team["allocated"]["cpu"], team["pending"]["cpu"]) == ("3", "2")
        assert (team["deserved"]["cpu"], team["capability"]["cpu"]) == ("2", "3")
        assert team["share"] == 1.5
        assert queues[tree.name("dept")]["allocated"]["cpu"] == "3"

    await cluster.eventually("the tree as the daemon has it", drawn)
    picture = await volcano_py("queue", "tree", "--kubeconfig", str(cluster.kubeconfig))
    assert any(f"── {tree.name('team')} " in line and "▓" in line for line in picture.splitlines()), picture


async def volcano_py(*arguments: str) -> str:
    """What the command prints."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "volcano_py", *arguments,
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    out, err = await process.communicate()
    assert process.returncode == 0, err.decode()
    return out.decode()
