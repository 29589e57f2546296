"""Mistakes after which something else happens than was meant: each is reported where its author looks."""

from __future__ import annotations

import pytest

from e2e.conftest import SimulatedNodes, StartDaemon
from e2e.harness.daemon import Daemon
from e2e.harness.jobs import Jobs
from e2e.harness.namespace import Namespace
from e2e.harness.objects import pod, pod_group, volcano_job
from e2e.harness.webhooks.admission import Door, answered
from volcano_py.api.names import IGNORED_ANNOTATION as IGNORED
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


async def test_annotations_that_cannot_be_read_stop_nothing_and_get_one_event_each(
    namespace: Namespace, simulated_nodes: SimulatedNodes, daemon: Daemon
) -> None:
    pool = await simulated_nodes(1)
    annotations = {"volcano.sh/task-priority": "1e999", "volcano.sh/running-estimate": "long"}
    await namespace.apply(pod("odd", node_selector=pool.selector, annotations=annotations))

    (odd,) = await namespace.wait_phases(Running=1)

    priority = (
        "annotation volcano.sh/task-priority is '1e999': write a whole number, such as 100; "
        "until then it counts as absent"
    )
    estimate = (
        "annotation volcano.sh/running-estimate is 'long': write a duration above 0, such as 45m; "
        "until then it counts as absent"
    )
    about = {"Pod/odd": priority, f"PodGroup/podgroup-{odd.raw['metadata']['uid']}": estimate}
    for name, message in about.items():
        await namespace.wait_event(IGNORED, name, saying=message)
    # More cycles, and a change of the pod that leaves the values alone.
    path = f"/api/v1/namespaces/{namespace.name}/pods/odd"
    await namespace.cluster.client.merge_patch(path, {"metadata": {"annotations": {"note": "new"}}})
    await namespace.apply(pod("next", node_selector=pool.selector))
    await namespace.wait_phases(Running=2)
    await namespace.wait_event("Scheduled", "Pod/next")
    events = await namespace.events(reason=IGNORED)
    assert {event.about: event.message for event in events} == about
    assert [event.raw["count"] for event in events] == [1, 1]
    shown = await namespace.cluster.kubectl("get", "events", "--namespace", namespace.name)
    assert shown.count(priority) == 1


async def test_a_job_that_asks_for_less_than_nothing_is_refused_at_once(
    namespace: Namespace, start_daemon: StartDaemon, door: Door
) -> None:
    await start_daemon(*door.flags)
    await answered(door)
    with pytest.raises(APIError, match=r"containers\[0\]\.resources\.requests\[cpu\]: -1 is negative"):
        await namespace.cluster.client.create(
            f"/apis/batch.volcano.sh/v1alpha1/namespaces/{namespace.name}/jobs", volcano_job("train", 1, cpu="-1")
        )
