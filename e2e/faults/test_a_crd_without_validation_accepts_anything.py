"""CRDs without validation, and objects of each of our kinds that no schema would admit: each is reported, others go
on.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pytest_asyncio

from e2e.conftest import SimulatedNodes, StartDaemon
from e2e.faults.loosened import without_validation
from e2e.harness.cluster import Cluster
from e2e.harness.daemon import QUICK_ELECTION, Daemon
from e2e.harness.namespace import Namespace
from e2e.harness.objects import Object, gang, pod, queue, volcano_job
from e2e.harness.views import EventView

SCHEDULING, BATCH = "scheduling.volcano.sh/v1beta1", "batch.volcano.sh/v1alpha1"
FLOW, BUS = "flow.volcano.sh/v1alpha1", "bus.volcano.sh/v1alpha1"
RESOURCES = {
    ("Queue", SCHEDULING): "queues",
    ("PodGroup", SCHEDULING): "podgroups",
    ("Job", BATCH): "jobs",
    ("CronJob", BATCH): "cronjobs",
    ("JobTemplate", FLOW): "jobtemplates",
    ("JobFlow", FLOW): "jobflows",
    ("Command", BUS): "commands",
}

UNREADABLE = "Unreadable: this {kind} cannot be read: {path}"


@dataclass(frozen=True)
class Case:
    """Something odd of one of our kinds. `told` is found in its status or in an event about it."""

    kind: str
    api: str
    name: str
    reported: str
    fields: dict[str, Any]

    @property
    def body(self) -> Object:
        return {"apiVersion": self.api, "kind": self.kind, "metadata": {"name": self.name}, **self.fields}


def unreadable(kind: str, api: str, name: str, path: str, **fields: Any) -> Case:
    """An object in which something at `path` has the wrong type."""
    return Case(kind, api, name, UNREADABLE.format(kind=kind, path=re.escape(path)), fields)


def with_spec(kind: str, api: str, name: str, reported: str, **spec: Any) -> Case:
    """One that can be read, and makes no sense."""
    return Case(kind, api, name, reported, {"spec": spec})


def tasks(**changes: Any) -> list[Any]:
    """The tasks of a job of one pod, with these changes in the one there is."""
    (task,) = volcano_job("any", 1)["spec"]["tasks"]
    return [{**task, **changes}]


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


def path_of(kind: str, api: str, namespace: str, name: str = "") -> str:
    """Where objects of the kind are."""
    where = "" if kind == "Queue" else f"/namespaces/{namespace}"
    return f"/apis/{api}{where}/{RESOURCES[kind, api]}" + (f"/{name}" if name else "")


def name_of(case: Case, namespace: str) -> str:
    """Queues are the whole cluster's."""
    return f"{namespace}-{case.name}" if case.kind == "Queue" else case.name


@pytest_asyncio.fixture(loop_scope="session")
async def store(cluster: Cluster, namespace: Namespace) -> AsyncIterator[Callable[[Case], Awaitable[None]]]:
    """Create objects as they are. What no schema would admit is gone after the test, and does not wait for the
    namespace's end: other tests look at the whole cluster."""
    queues: list[str] = []

    async def create(case: Case) -> None:
        body, name = case.body, name_of(case, namespace.name)
        body["metadata"] = {"name": name}
        await cluster.client.create(path_of(case.kind, case.api, namespace.name), body)
        if case.kind == "Queue":
            queues.append(name)

    yield create
    for kind, api in RESOURCES:
        for name in queues if kind == "Queue" else [""]:  # the others all at once
            await cluster.delete(path_of(kind, api, namespace.name, name))


async def what_is_reported(namespace: Namespace) -> dict[str, str]:
    """Status and events of all objects of our kinds by Kind/name; a pod's message counts for its PodGroup, too."""
    reported: dict[str, str] = {}

    def add(about: str, text: str) -> None:
        reported[about] = f"{reported.get(about, '')}{text}\n"

    for kind, api in RESOURCES:
        for each in (await namespace.cluster.client.get(path_of(kind, api, namespace.name)))["items"]:
            add(f"{kind}/{each['metadata']['name']}", str(each.get("status") or ""))
    events: list[EventView] = [*(await namespace.events()), *(await namespace.cluster.events("default"))]
    for event in events:
        add(event.about.removesuffix("-0").replace("Pod/", "PodGroup/"), f"{event.reason}: {event.message}")
    return reported


async def each_is_reported(namespace: Namespace) -> None:
    """Wait until there is a reason on every odd object."""

    async def reported() -> None:
        texts = await what_is_reported(namespace)
        wrong = []
        for case in CASES:
            about = f"{case.kind}/{name_of(case, namespace.name)}"
            if not re.search(case.reported, texts.get(about, "")):
                wrong.append(f"{about}: {texts.get(about, '')[:600]!r} should have {case.reported!r}")
        assert not wrong, "\n".join(wrong)

    await namespace.cluster.eventually("each oddity has its reason", reported)


async def all_is_well(daemon: Daemon) -> None:
    """The daemon lives, its books are right, and nothing failed inside it."""
    status, text = await daemon.get("/healthz")
    assert status == 200, text
    assert (await daemon.document("/dump"))["drift"] == 0
    records = daemon.log_records()
    errors = [each for each in records if each.get("level") == "error" and "object unreadable" not in each["msg"]]
    assert not errors, errors
    defects = [each for each in records if each.get("exception")]
    assert not defects, defects


async def healthy_work_runs(namespace: Namespace, name: str, team: str, selector: Mapping[str, str]) -> None:
    """Something of each kind, made now: a gang in a queue, a job, and the job of a flow."""
    labels = {"of": name}
    of_pods: dict[str, Any] = {"node_selector": selector, "labels": labels}
    spec = volcano_job(name, 1, node_selector=selector, labels=labels)["spec"]
    await namespace.apply(gang(f"{name}-gang", 2, queue=team, **of_pods))
    await namespace.apply(volcano_job(f"{name}-job", 1, **of_pods))
    for kind, body in (("JobTemplate", spec), ("JobFlow", {"flows": [{"name": name}]})):
        await namespace.apply({"apiVersion": FLOW, "kind": kind, "metadata": {"name": name}, "spec": body})
    await namespace.wait_phases(selector=f"of={name}", Running=4)


async def test_each_oddity_is_reported_and_others_go_on(
    cluster: Cluster,
    namespace: Namespace,
    simulated_nodes: SimulatedNodes,
    create_queues: Callable[..., Awaitable[None]],
    store: Callable[[Case], Awaitable[None]],
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
        await each_is_reported(namespace)
        await cluster.wait_queue_event(team, "Unreadable", saying="spec.weight")
        for about in ("PodGroup/before", "Job/spoilt"):
            await namespace.wait_event("Unreadable", about, saying="counts as in its last readable version")
        # As they were when they could be read, they go on.
        await namespace.delete_pod("before-0")
        await namespace.apply(pod("before-0", group="before", node_selector=pool.selector, labels={"of": "before"}))
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
