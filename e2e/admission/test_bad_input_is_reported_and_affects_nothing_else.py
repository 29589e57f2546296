"""Whatever the API server admits and makes no sense gets a visible reason, and everything else runs."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from e2e.conftest import SimulatedNodes
from e2e.harness.cluster import Cluster
from e2e.harness.daemon import Daemon
from e2e.harness.namespace import Namespace
from e2e.harness.objects import Object, deployment, gang, pod, pod_group, queue
from volcano_py.local.client import APIError


@dataclass(frozen=True)
class Case:
    """Something odd. `reported` is found in a condition or an event about `about`; "" means that it just runs."""

    about: str
    reported: str
    objects: list[Object] = field(default_factory=list)


def odd_pod(name: str, reported: str, **fields: Any) -> Case:
    return Case(f"Pod/{name}", reported, [pod(name, **fields)])


def odd_group(name: str, reported: str, **spec: Any) -> Case:
    """A PodGroup with one pod."""
    group = pod_group(name, 1)
    group["spec"].update(spec)
    return Case(f"PodGroup/{name}", reported, [group, pod(f"{name}-0", group=name)])


NO_GROUP = "PodGroupNotFound"
IMPOSSIBLE = "InvalidPod.*impossible amount"

PODS_AND_GROUPS = (
    odd_pod("path-as-group", NO_GROUP, group="no/such/../group"),
    odd_pod("blank-group", NO_GROUP, group=" "),
    odd_pod("unicode-group", NO_GROUP, group="Grüppe 💥\n\t{{}}"),
    odd_pod("endless-group", NO_GROUP, group="g" * 100_000),
    odd_pod("impossible-cpu", IMPOSSIBLE, cpu="1e30"),
    odd_pod("endless-cpu", IMPOSSIBLE, cpu="1e400000"),
    odd_pod("impossible-memory", IMPOSSIBLE, memory="9E"),
    odd_pod("nearly-nothing", "", cpu="0.0000001n", memory="1n"),
    odd_pod(
        "odd-annotations", "", annotations={"volcano.sh/task-priority": "1e999", "volcano.sh/preemptable": "perhaps"}
    ),
    odd_pod("odd-queue-name", "PodGroupError", annotations={"scheduling.volcano.sh/queue-name": "No Such Queue!"}),
    odd_group("giant-minimum", "NotEnoughTasks", minMember=2**31 - 1),
    odd_group("no-minimum", "", minMember=0),
    # A minimum of roles beyond that of the gang does not count, in Volcano either.
    odd_group("ghost-role", "", minTaskMember={"ghost": 2**31 - 1}),
    odd_group("negative-resources", "InvalidPodGroup.*negative", minResources={"cpu": "-5"}),
    odd_group(
        "impossible-resources", "InvalidPodGroup|Overcommitted|OverDeserved|capability", minResources={"cpu": "1e30"}
    ),
    odd_group("ghost-class", "", priorityClassName="there-is-none"),
    odd_group("ghost-queue", "QueueNotFound", queue="there-is-none"),
)


def with_selector(objects: list[Object], selector: Mapping[str, str]) -> list[Object]:
    """The same, with pods that go to the test's own nodes only."""
    for each in objects:
        if each["kind"] == "Pod":
            each["spec"]["nodeSelector"] = dict(selector)
    return objects


async def what_is_reported(namespace: Namespace) -> dict[str, str]:
    """All conditions and events by Kind/name, as one text."""
    reported: dict[str, str] = {}
    for each in [*(await namespace.pods()), *(await namespace.pod_groups())]:
        key = f"{each.raw.get('kind') or ('PodGroup' if 'minMember' in each.spec else 'Pod')}/{each.name}"
        for condition in each.status.get("conditions") or []:
            reported[key] = f"{reported.get(key, '')} {condition.get('reason')}: {condition.get('message')}\n"
    for event in await namespace.events():
        reported[event.about] = f"{reported.get(event.about, '')} {event.reason}: {event.message}\n"
    return reported


async def all_is_well(daemon: Daemon) -> None:
    """The daemon lives, its books are right, and nothing failed inside it."""
    status, text = await daemon.get("/healthz")
    assert status == 200, text
    assert (await daemon.document("/dump"))["drift"] == 0
    errors = [record for record in daemon.log_records() if record.get("level") == "error"]
    assert not errors, errors


async def test_pods_and_pod_groups(namespace: Namespace, simulated_nodes: SimulatedNodes, daemon: Daemon) -> None:
    """One namespace full of oddities, and a healthy gang that comes last."""
    pool = await simulated_nodes(1, cpu="64", memory="64Gi")
    for case in PODS_AND_GROUPS:
        await namespace.apply(with_selector(case.objects, pool.selector))
    await namespace.apply(gang("fine", 3, node_selector=pool.selector, labels={"of": "fine"}))

    await namespace.wait_phases(selector="of=fine", Running=3)

    async def reported() -> None:
        texts = await what_is_reported(namespace)
        phases = {each.name: each.phase for each in await namespace.pods()}
        wrong = []
        for case in PODS_AND_GROUPS:
            name = case.about.partition("/")[2]
            (phase,) = (phases[key] for key in (name, f"{name}-0") if key in phases)
            text = texts.get(case.about, "")
            if (
                (phase != "Running")
                if not case.reported
                else (phase != "Pending" or not re.search(case.reported, text))
            ):
                wrong.append(f"{case.about} {phase}: {text[:1000]!r} should have {case.reported!r}")
        assert not wrong, "\n".join(wrong)

    await namespace.cluster.eventually("each oddity has its reason, or runs", reported)
    await all_is_well(daemon)


async def test_an_owner_whose_minimum_cannot_be_read(
    namespace: Namespace, simulated_nodes: SimulatedNodes, daemon: Daemon
) -> None:
    """Its pods are scheduled one by one, and a message says so."""
    pool = await simulated_nodes(1)
    web = deployment("web", 2, node_selector=pool.selector)
    # Annotations of the Deployment reach its ReplicaSet, from which the PodGroup inherits.
    web["metadata"]["annotations"] = {"scheduling.volcano.sh/group-min-member": "lots"}
    await namespace.apply(web)

    await namespace.wait_phases(Running=2)

    async def reported() -> None:
        messages = [event.message for event in await namespace.events(reason="PodGroupError")]
        assert any("group-min-member" in message and "lots" in message for message in messages), messages

    await namespace.cluster.eventually("an event about a pod names the annotation and its value", reported)
    await all_is_well(daemon)


async def test_nodes(cluster: Cluster, namespace: Namespace, simulated_nodes: SimulatedNodes, daemon: Daemon) -> None:
    """Nodes without allocatable, or with more than there can be, next to a healthy one."""
    selector = {"e2e.volcano-py/for": namespace.name}
    pool = await simulated_nodes(3, cpu="4", labels=selector)
    nothing, endless, _ = pool.names
    for name, allocatable in ((nothing, None), (endless, {"cpu": "1e30", "memory": "1e30", "pods": "1"})):
        status = {"allocatable": allocatable, "capacity": allocatable}
        await cluster.client.merge_patch(f"/api/v1/nodes/{name}/status", {"status": status})

    async def known() -> None:
        nodes = (await daemon.document("/dump"))["nodes"]
        assert not nodes[nothing]["allocatable"].get("cpu"), nodes
        assert nodes[endless]["allocatable"]["pods"] == 1, nodes

    await daemon.eventually("what the nodes have is known", known)
    await namespace.apply(gang("fine", 5, node_selector=selector))

    pods = await namespace.wait_phases(Running=5)

    used = [each.node for each in pods]
    assert nothing not in used
    assert used.count(endless) == 1
    await namespace.apply(gang("late", 1, node_selector=selector))
    await namespace.wait_event("Unschedulable", "PodGroup/late", saying="0/3 nodes are unavailable")
    await all_is_well(daemon)


async def test_a_node_that_is_deleted_with_pods_on_it(
    cluster: Cluster, namespace: Namespace, simulated_nodes: SimulatedNodes, daemon: Daemon
) -> None:
    """Its pods are not forgotten: when it comes back, they still take their room."""
    pool = await simulated_nodes(1, cpu="4")
    (name,) = pool.names
    node = await cluster.client.get(f"/api/v1/nodes/{name}")
    await namespace.apply(gang("first", 3, node_selector=pool.selector, labels={"of": "first"}))
    await namespace.wait_phases(Running=3)

    await cluster.delete(f"/api/v1/nodes/{name}")
    await namespace.apply(gang("second", 2, node_selector=pool.selector))
    await namespace.wait_event("Unschedulable", "PodGroup/second", saying="node")
    metadata = {key: node["metadata"][key] for key in ("name", "labels", "annotations")}
    await cluster.client.create("/api/v1/nodes", {"metadata": metadata, "spec": {}, "status": node["status"]})

    async def counted() -> None:
        seen = (await daemon.document("/dump"))["nodes"][name]
        assert seen["exists"]
        assert seen["used"]["cpu"] == 3000

    await daemon.eventually("the pods count on the node that is back", counted)
    # A pod that asks for the node now gets a message that says how much of it is taken.
    await namespace.wait_event("Unschedulable", "PodGroup/second", saying="Insufficient cpu")
    assert [each.node for each in await namespace.pods("of=first")] == [name] * 3
    await namespace.wait_phases(selector="of!=first", Pending=2)
    await all_is_well(daemon)


async def test_a_queue_that_is_deleted_in_use(
    cluster: Cluster,
    namespace: Namespace,
    simulated_nodes: SimulatedNodes,
    create_queues: Callable[..., Awaitable[None]],
    daemon: Daemon,
) -> None:
    """What runs goes on; what waits is reported, and runs when the queue is there again."""
    name = f"{namespace.name}-team"
    pool = await simulated_nodes(1, cpu="4")
    await create_queues(queue(name))
    await namespace.apply(gang("first", 2, queue=name, node_selector=pool.selector))
    await namespace.wait_phases(Running=2)

    await cluster.delete(f"/apis/scheduling.volcano.sh/v1beta1/queues/{name}")
    await daemon.wait_queues(name, gone=True)
    await namespace.apply(gang("second", 1, queue=name, node_selector=pool.selector))
    await namespace.wait_event("Unschedulable", "PodGroup/second", saying=f"QueueNotFound: queue {name} does not exist")
    await namespace.apply(gang("fine", 1, node_selector=pool.selector))
    await namespace.wait_phases(Running=3, Pending=1)

    await create_queues(queue(name))

    await namespace.wait_phases(Running=4)
    await all_is_well(daemon)


async def test_queues_that_contradict_themselves(
    cluster: Cluster,
    namespace: Namespace,
    simulated_nodes: SimulatedNodes,
    create_queues: Callable[..., Awaitable[None]],
    daemon: Daemon,
) -> None:
    """Parents in a circle, impossible ceilings, the largest weight: others get their share all the same."""
    pool = await simulated_nodes(1, cpu="4")
    prefix = namespace.name
    await create_queues(
        queue(f"{prefix}-heavy", weight=65535),
        queue(f"{prefix}-endless", capability={"cpu": "1e30", "memory": "9E"}),
        queue(f"{prefix}-nothing", capability={"cpu": "0", "memory": "0"}),
        queue(f"{prefix}-hen", parent=f"{prefix}-egg"),
        queue(f"{prefix}-egg", parent=f"{prefix}-hen"),
        queue(f"{prefix}-orphan", parent="there-is-none"),
    )
    for kind in ("heavy", "endless", "nothing", "hen", "egg", "orphan"):
        await namespace.apply(gang(kind, 1, queue=f"{prefix}-{kind}", cpu="100m", node_selector=pool.selector))
    await namespace.apply(gang("fine", 2, cpu="100m", node_selector=pool.selector, labels={"of": "fine"}))

    await namespace.wait_phases(selector="of=fine", Running=2)

    async def reported_or_running() -> None:
        texts = await what_is_reported(namespace)
        silent = [each.name for each in await namespace.pods() if not each.node and not texts.get(f"Pod/{each.name}")]
        assert not silent, silent

    await cluster.eventually("every pod that does not run has a reason", reported_or_running)
    await all_is_well(daemon)


async def test_a_guarantee_of_more_than_there_is(
    cluster: Cluster,
    namespace: Namespace,
    simulated_nodes: SimulatedNodes,
    create_queues: Callable[..., Awaitable[None]],
    daemon: Daemon,
) -> None:
    """Nothing is kept for it, an event on its queue says so, and all others run."""
    name = f"{namespace.name}-greedy"
    pool = await simulated_nodes(1, cpu="4")
    await create_queues(queue(name, deserved={"cpu": "1e9"}, guarantee={"resource": {"cpu": "1e9"}}))
    await cluster.wait_queue_event(name, "GuaranteeNotKept", saying="spec.guarantee.resource[cpu] is 1e9")

    await namespace.apply(gang("fine", 2, node_selector=pool.selector))

    await namespace.wait_phases(Running=2)
    await all_is_well(daemon)


async def test_invented_resource_names(namespace: Namespace, simulated_nodes: SimulatedNodes, daemon: Daemon) -> None:
    """Anyone may invent names, and each costs a column; when there are too many, further names are reported."""
    for first in range(0, 200, 50):
        amounts = {f"example.com/invented-{number}": "1" for number in range(first, first + 50)}
        hostile = pod(f"hostile-{first}")
        hostile["spec"]["containers"][0]["resources"] = {"requests": amounts, "limits": amounts}
        await namespace.apply(hostile)
    await namespace.wait_event("FailedScheduling", "Pod/hostile-150", saying="at most")

    devices: dict[str, Any] = {"example.com/real": "1"}
    pool = await simulated_nodes(1, **devices)
    await namespace.apply(gang("fine", 2, node_selector=pool.selector, labels={"of": "fine"}))

    await namespace.wait_phases(selector="of=fine", Running=2)
    await all_is_well(daemon)


@pytest.mark.parametrize("cpu", ["-1", "a lot", "NaN", "1e"])
async def test_what_the_api_server_itself_refuses(cpu: str, cluster: Cluster, namespace: Namespace) -> None:
    """It never reaches the scheduler, so no other message is needed."""
    with pytest.raises(APIError) as refused:
        await cluster.client.create(f"/api/v1/namespaces/{namespace.name}/pods", pod("odd", cpu=cpu))

    assert refused.value.status in (400, 422)
