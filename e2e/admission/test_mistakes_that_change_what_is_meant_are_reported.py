"""Mistakes after which something else happens than was meant: each is reported where its author looks."""

from __future__ import annotations

import pytest

from e2e.conftest import SimulatedNodes, StartDaemon
from e2e.harness.admission import Door, answered
from e2e.harness.daemon import Daemon
from e2e.harness.jobs import Jobs
from e2e.harness.namespace import Namespace
from e2e.harness.objects import pod, pod_group, volcano_job
from volcano_py.local.client import APIError


async def test_a_label_that_names_no_podgroup_gets_an_event(
    namespace: Namespace, simulated_nodes: SimulatedNodes, daemon: Daemon
) -> None:
    """The pod runs, alone."""
    pool = await simulated_nodes(1)
    named = {"scheduling.k8s.io/group-name": "train"}
    await namespace.apply(pod_group("train", 2), pod("train-0", labels=named, node_selector=pool.selector))

    await namespace.wait_phases(Running=1)
    await namespace.wait_event("PodGroupError", "Pod/train-0", saying="does not name a PodGroup")


async def test_a_pod_of_a_gang_with_another_scheduler_is_named(
    namespace: Namespace, simulated_nodes: SimulatedNodes, daemon: Daemon
) -> None:
    pool = await simulated_nodes(1)
    ours = pod("train-0", group="train", node_selector=pool.selector)
    other = pod("train-1", group="train", scheduler_name="another-scheduler", node_selector=pool.selector)
    await namespace.apply(pod_group("train", 2), ours, other)

    await namespace.wait_event(
        "Unschedulable",
        "PodGroup/train",
        saying=f"{namespace.name}/train-1 belongs to it too, but has schedulerName another-scheduler",
    )


async def test_a_job_with_an_unknown_argument_of_a_plugin_runs(
    namespace: Namespace, simulated_nodes: SimulatedNodes, daemon: Daemon
) -> None:
    pool, jobs = await simulated_nodes(1), Jobs(namespace)
    job = volcano_job("train", 1, node_selector=pool.selector)
    job["spec"]["plugins"] = {"env": ["--no-root"]}
    await namespace.apply(job)

    await jobs.wait("train", "Running", running=1)
    await namespace.wait_event("PluginError", "Job/train", saying="'--no-root' is not one of its arguments")


async def test_a_job_that_asks_for_less_than_nothing_is_refused_at_once(
    namespace: Namespace, start_daemon: StartDaemon, door: Door
) -> None:
    await start_daemon(*door.flags)
    await answered(door)
    with pytest.raises(APIError, match=r"containers\[0\]\.resources\.requests\[cpu\]: -1 is negative"):
        await namespace.cluster.client.create(
            f"/apis/batch.volcano.sh/v1alpha1/namespaces/{namespace.name}/jobs", volcano_job("train", 1, cpu="-1")
        )
