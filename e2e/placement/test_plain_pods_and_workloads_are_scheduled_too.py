"""Pods that name no PodGroup: they need nothing but `schedulerName: volcano`."""

from __future__ import annotations

from e2e.conftest import SimulatedNodes
from e2e.harness.daemon import Daemon
from e2e.harness.namespace import Namespace
from e2e.harness.objects import deployment, job, pod


async def test_a_bare_pod_gets_a_pod_group_of_its_own(
    namespace: Namespace, simulated_nodes: SimulatedNodes, daemon: Daemon
) -> None:
    """The group is named after the pod's UID and owned by the pod."""
    pool = await simulated_nodes(1)
    await namespace.apply(pod("bare", node_selector=pool.selector))

    await namespace.wait_phases(Running=1)

    async def grouped() -> None:
        (bare,) = await namespace.pods()
        (group,) = await namespace.pod_groups()
        assert group.name == f"podgroup-{bare.raw['metadata']['uid']}"
        assert group.raw["metadata"]["ownerReferences"][0]["name"] == "bare"
        assert bare.annotations["scheduling.k8s.io/group-name"] == group.name

    await namespace.cluster.eventually("the pod and its PodGroup name each other", grouped)


async def test_the_pods_of_a_deployment_share_a_pod_group(
    namespace: Namespace, simulated_nodes: SimulatedNodes, daemon: Daemon
) -> None:
    """One group for the ReplicaSet, counting its running pods."""
    pool = await simulated_nodes(2)
    await namespace.apply(deployment("web", 3, node_selector=pool.selector))

    await namespace.wait_phases(Running=3)

    async def counted() -> None:
        groups = await namespace.pod_groups()
        assert [group.status.get("running") for group in groups] == [3], groups

    await namespace.cluster.eventually("one group that counts three pods", counted)


async def test_the_pods_of_a_batch_job_run(
    namespace: Namespace, simulated_nodes: SimulatedNodes, daemon: Daemon
) -> None:
    """A batch Job needs no PodGroup either."""
    pool = await simulated_nodes(1)
    await namespace.apply(job("batch", 2, node_selector=pool.selector))

    await namespace.wait_phases(Running=2)


async def test_pods_of_other_schedulers_are_left_alone_but_counted(
    namespace: Namespace, simulated_nodes: SimulatedNodes, daemon: Daemon
) -> None:
    """A foreign pod on a node takes its room; a foreign pod without a node does not matter."""
    pool = await simulated_nodes(1, cpu="2")
    foreign = pod("foreign", cpu="1200m", scheduler_name="another-scheduler")
    foreign["spec"]["nodeName"] = pool.names[0]
    waiting = pod("waiting", scheduler_name="another-scheduler", node_selector=pool.selector)
    await namespace.apply(foreign, waiting, pod("ours", cpu="1", node_selector=pool.selector))

    await namespace.wait_phases(Running=1, Pending=2)

    # What an earlier test left behind may be in the way for a moment.
    await namespace.wait_reported("ours", saying="Insufficient cpu")
    assert not await namespace.events("Pod/waiting", "FailedScheduling")
