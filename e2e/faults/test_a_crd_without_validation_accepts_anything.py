"""CRDs without validation, and objects of each of our kinds that no schema would admit: each is reported, others go
on.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from e2e.conftest import SimulatedNodes, StartDaemon
from e2e.faults.injection.loosened import without_validation
from e2e.faults.injection.oddities import (
    BATCH,
    BUS,
    FLOW,
    SCHEDULING,
    Store,
    all_is_well,
    each_is_reported,
    healthy_work_runs,
    path_of,
    tasks,
    unreadable,
    with_spec,
)
from e2e.harness.cluster import Cluster
from e2e.harness.daemon import QUICK_ELECTION
from e2e.harness.namespace import Namespace
from e2e.harness.objects import gang, pod, queue, volcano_job

NO_JOB = {"kind": "Job", "apiVersion": BATCH, "name": "there-is-none"}
CIRCLE = [{"name": "a", "dependsOn": {"targets": ["b"]}}, {"name": "b", "dependsOn": {"targets": ["a"]}}]
NO_POD = {"metadata": 7, "spec": {"containers": "none"}}
FLYING = [{"event": "PodExploded", "action": "Fly"}]

QUEUES = (
    unreadable("Queue", SCHEDULING, "heavy", "spec.weight", spec={"weight": "heavy"}),
    unreadable("Queue", SCHEDULING, "textual", "spec", spec="none"),
    unreadable("Queue", SCHEDULING, "listing", "spec.capability", spec={"capability": {"cpu": ["1"]}}),
)
POD_GROUPS = (
    unreadable("PodGroup", SCHEDULING, "all", "spec.minMember", spec={"minMember": "all"}),
    unreadable("PodGroup", SCHEDULING, "half", "spec.minMember", spec={"minMember": 2.5}),
    unreadable("PodGroup", SCHEDULING, "status", "status", spec={"minMember": 1}, status=[1]),
    unreadable("PodGroup", SCHEDULING, "nested", "spec.minResources", spec={"minResources": {"cpu": {"a": 1}}}),
    with_spec(
        "PodGroup", SCHEDULING, "parted", "subGroupPolicy", minMember=1, subGroupPolicy=[{"subGroupSize": "two"}]
    ),
    with_spec("PodGroup", SCHEDULING, "topped", "spec.networkTopology", networkTopology={"highestTierAllowed": "top"}),
)
JOBS = (
    unreadable("Job", BATCH, "untasked", "spec.tasks", spec={"tasks": {"a": 1}}),
    unreadable("Job", BATCH, "two", "spec.tasks[0].replicas", spec={"tasks": tasks(replicas="two")}),
    unreadable("Job", BATCH, "null-task", "spec.tasks[0]", spec={"tasks": [None]}),
    unreadable("Job", BATCH, "soon", "spec.ttlSecondsAfterFinished", spec={"ttlSecondsAfterFinished": "soon"}),
    with_spec("Job", BATCH, "minus", "replicas: -3 is negative", tasks=tasks(replicas=-3)),
    with_spec("Job", BATCH, "endless", "replicas in total exceed the limit", tasks=tasks(replicas=2**40)),
    with_spec("Job", BATCH, "empty-handed", "at least one container is required", tasks=tasks(template=None)),
    with_spec("Job", BATCH, "flying", "PodExploded", tasks=tasks(), policies=FLYING),
    with_spec("Job", BATCH, "containers", "containers", tasks=tasks(template=NO_POD)),
)
OTHERS = (
    unreadable("CronJob", BATCH, "five", "spec.schedule", spec={"schedule": 5}),
    with_spec("CronJob", BATCH, "often", "UnParseableCronJobSchedule.*often", schedule="often"),
    unreadable("JobTemplate", FLOW, "template", "spec", spec="none"),
    unreadable("JobFlow", FLOW, "everything", "spec.flows", spec={"flows": "all"}),
    with_spec("JobFlow", FLOW, "circle", "has a cycle", flows=CIRCLE),
    with_spec("JobFlow", FLOW, "follower", "JobTemplate 'template' does not exist", flows=[{"name": "template"}]),
    unreadable("Command", BUS, "shout", "action", action=7, target=NO_JOB),
    unreadable("Command", BUS, "aimless", "target", action="AbortJob", target="fine"),
)
CASES = (*QUEUES, *POD_GROUPS, *JOBS, *OTHERS)


async def test_each_oddity_is_reported_and_others_go_on(
    cluster: Cluster,
    namespace: Namespace,
    simulated_nodes: SimulatedNodes,
    create_queues: Callable[..., Awaitable[None]],
    store: Store,
    start_daemon: StartDaemon,
) -> None:
    """Also of those that were fine before, and for a daemon that starts with them when validation is back."""
    team = f"{namespace.name}-team"
    pool = await simulated_nodes(1, cpu="32")
    await create_queues(queue(team))
    daemon = await start_daemon(*QUICK_ELECTION)
    await namespace.apply(gang("before", 2, queue=team, node_selector=pool.selector, labels={"of": "before"}))
    await namespace.apply(volcano_job("spoilt", 2, node_selector=pool.selector, labels={"of": "before"}))
    await namespace.wait_phases(Running=4)

    probe = queue("probe", weight="heavy")  # type: ignore[arg-type]  # which is what it is about
    async with without_validation(cluster, probe, path_of("Queue", SCHEDULING, "")):
        for case in CASES:
            await store(case)
            if case in POD_GROUPS:
                await namespace.apply(pod(f"{case.name}-0", group=case.name, node_selector=pool.selector))
        for kind, api, name, spec in (
            ("Queue", SCHEDULING, team, {"weight": {}}),
            ("PodGroup", SCHEDULING, "before", {"minMember": "all"}),
            ("Job", BATCH, "spoilt", {"tasks": {"a": 1}}),
        ):
            await cluster.client.merge_patch(path_of(kind, api, namespace.name, name), {"spec": spec})
        await each_is_reported(namespace, CASES)
        await cluster.wait_queue_event(team, "Unreadable", saying="spec.weight")
        for about in ("PodGroup/before", "Job/spoilt"):
            await namespace.wait_event("Unreadable", about, saying="counts as in its last readable version")
        # As they were when they could be read, they go on.
        again = pod("before-0", group="before", node_selector=pool.selector, labels={"of": "before"})
        await namespace.recreate(again)
        await namespace.delete_pod("spoilt-worker-0")
        await healthy_work_runs(namespace, "meanwhile", team, pool.selector)
        await namespace.wait_phases(selector="of=before", Running=4)
        await all_is_well(daemon)

    # What is stored stays as it is.
    await daemon.kill()
    daemon = await start_daemon(*QUICK_ELECTION)
    await healthy_work_runs(namespace, "afterwards", "default", pool.selector)
    for kind in ("Queue", "PodGroup"):
        await daemon.wait_metric("volcano_informer_bad_objects_total", 3, or_more=True, kind=kind)
    heavy = f"{namespace.name}-heavy"
    fixed = {"minMember": 1, "queue": heavy}
    await cluster.client.merge_patch(path_of("Queue", SCHEDULING, "", heavy), {"spec": {"weight": 1}})
    await cluster.client.merge_patch(path_of("PodGroup", SCHEDULING, namespace.name, "all"), {"spec": fixed})
    await namespace.wait_pod_group("all", "Running")
    await all_is_well(daemon)
