"""The overlay `split-accounts`: scheduler, controllers and admission as processes with the rights of their part.

A busy day has something of everything that they do. At the end the API server's audit log says which account has used
which right: a right that went to the wrong part is one that its account never uses.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from e2e.conftest import Configure, SimulatedNodes
from e2e.harness.cluster import Cluster
from e2e.harness.daemon import Daemon
from e2e.harness.devices import Driver, by_name, from_template, with_resource
from e2e.harness.install import SERVICE_ACCOUNT, SYSTEM_NAMESPACE
from e2e.harness.jobs import Jobs, job, task
from e2e.harness.namespace import Namespace
from e2e.harness.networks import HYPER_NODES, exact, hyper_node
from e2e.harness.objects import Object, deployment, gang, pod, queue
from e2e.harness.preemption import PREEMPTING, URGENT
from e2e.harness.rights import CONTROLLERS_ACCOUNT, Right, refused_requests, used_rights
from e2e.rights.excused import WITHOUT_A_REQUEST
from volcano_py.local.controlplane import ControlPlane

CreateQueues = Callable[..., Awaitable[None]]

NOT_ON_THIS_DAY: Final[Mapping[str, str]] = {
    "volcano-controllers: get pods": "read after a conflict; unit tests of the controllers",
    "volcano-controllers: get queues.scheduling.volcano.sh": "read after a conflict; unit tests of that controller",
    "volcano-controllers: patch events": "an event that goes on for a minute is counted; unit tests of events",
    "volcano-scheduler: patch events": "an event that goes on for a minute is counted; unit tests of events",
    "volcano-scheduler: get pods": "read when the answer to a binding was lost; e2e/faults",
    "volcano-scheduler: create queues.scheduling.volcano.sh": "of root and default, where no controller is faster",
    "volcano-scheduler: list nodeshards.shard.volcano.sh": "with --scheduler-sharding-mode; e2e/schedulers",
    "volcano-scheduler: watch nodeshards.shard.volcano.sh": "with --scheduler-sharding-mode; e2e/schedulers",
    "volcano-scheduler: patch nodeshards/status.shard.volcano.sh": "with --scheduler-sharding-mode; e2e/schedulers",
}
"""Who has which right that this test does not show, why it is needed, and where that is shown."""

OF_THE_OVERLAY_QUEUE_GATES: Final = "volcano-scheduler: patch pods"
"""Asked for where pods have the queue's gate, whether it is granted or not."""

COMPLETES = "pod-complete.stage.kwok.x-k8s.io/delay"
RACK = "e2e.example.com/rack"
DISCOVERY = f"""
networkTopologyDiscovery:
- source: label
  enabled: true
  interval: 1s
  config:
    networkTopologyTypes:
      e2e:
      - nodeLabel: {RACK}
"""


async def jobs_of_all_kinds(namespace: Namespace, selector: Mapping[str, str]) -> None:
    """With what plugins need, with a claim, deleted when it has ended, of a CronJob and of a JobFlow, and aborted."""
    jobs = Jobs(namespace)
    worker = task("worker", 1, selector=selector, cpu="100m", annotations={COMPLETES: "1s"})
    lasting = task("worker", 2, selector=selector, cpu="100m")
    claim = {"accessModes": ["ReadWriteOnce"], "storageClassName": "", "resources": {"requests": {"storage": "1Gi"}}}
    body: Object = {"tasks": [worker], "ttlSecondsAfterFinished": 1}
    batch, flow = "batch.volcano.sh/v1alpha1", "flow.volcano.sh/v1alpha1"
    every_minute = {"schedule": "* * * * *", "jobTemplate": {"spec": body}, "successfulJobsHistoryLimit": 0}
    steps = {"flows": [{"name": "step"}], "jobRetainPolicy": "delete"}
    await namespace.apply(
        job("plugins", lasting, plugins={"ssh": [], "svc": [], "env": []}),
        job("brief", worker, ttlSecondsAfterFinished=1),
        job("claim", worker, volumes=[{"mountPath": "/data", "volumeClaim": claim}]),
        {"apiVersion": batch, "kind": "CronJob", "metadata": {"name": "cron"}, "spec": every_minute},
        {"apiVersion": flow, "kind": "JobTemplate", "metadata": {"name": "step"}, "spec": {"tasks": [worker]}},
        {"apiVersion": flow, "kind": "JobFlow", "metadata": {"name": "flow"}, "spec": steps},
    )
    await jobs.wait("plugins", "Running", running=2)
    await namespace.apply(job("plugins", {**lasting, "replicas": 3}, plugins={"ssh": [], "svc": [], "env": []}))
    await jobs.wait("plugins", "Running", running=3)
    await jobs.command("plugins", "AbortJob")
    await jobs.wait("plugins", "Aborted")


async def pods_of_a_deployment(namespace: Namespace, selector: Mapping[str, str]) -> None:
    """Scaled down to none in the end: its PodGroup goes."""
    await namespace.apply(deployment("web", 2, cpu="100m", node_selector=selector))
    await namespace.wait_phases(Running=2, selector="app=web")
    await namespace.apply(deployment("web", 0, cpu="100m", node_selector=selector))
    await namespace.wait_phases(selector="app=web")


async def a_pod_that_preempts(namespace: Namespace, selector: Mapping[str, str]) -> None:
    await namespace.cluster.apply([URGENT])
    await namespace.apply(gang("low", 2, minimum=1, cpu="3", node_selector=selector))
    await namespace.wait_pod_group("low", "Running")
    await namespace.apply(pod("high", cpu="3", node_selector=selector, priority_class="e2e-urgent"))


async def volumes(namespace: Namespace, node: str, selector: Mapping[str, str]) -> None:
    """One that is there, which the scheduler gives to a claim, and one to be made for the node that it chooses."""
    selected = {"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}
    late = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "volumeBindingMode": "WaitForFirstConsumer"}
    there = {
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "e2e-there",
        "local": {"path": "/mnt/disk"},
        "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [selected]}]}},
    }
    await namespace.cluster.apply(
        [
            {**late, "metadata": {"name": "e2e-there"}, "provisioner": "kubernetes.io/no-provisioner"},
            {**late, "metadata": {"name": "e2e-made"}, "provisioner": "e2e.example.com/nobody"},
            {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "e2e-there"}, "spec": there},
        ]
    )
    for name in ("there", "made"):
        asks = {
            "storageClassName": f"e2e-{name}",
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
        }
        template = {"volumeClaimTemplate": {"spec": asks}}
        scratch = [{"name": "scratch", "ephemeral": template}]
        await namespace.apply(pod(f"volume-{name}", cpu="100m", node_selector=selector, volumes=scratch))


async def devices(driver: Driver, namespace: Namespace, node: str, selector: Mapping[str, str]) -> None:
    """One for the claim that is generated for a pod, and one for two pods: for the later one, the claim is read. One
    more for an extended resource of a pod, for which a claim is left of an earlier attempt."""
    await driver.publish(node, "gpu-0", "gpu-1", "gpu-2")
    await namespace.apply(driver.template("gpu"), pod("device", node_selector=selector, **from_template("gpu")))
    first, later = (
        pod(name, node_selector=selector, labels={"shares": name}, **by_name("shared")) for name in ("first", "later")
    )
    await namespace.apply(driver.claim("shared"), first)
    await namespace.wait_phases(Running=1, selector="shares=first")
    await namespace.apply(later)

    asked = with_resource(f"deviceclass.resource.kubernetes.io/{driver.device_class}")
    gates = [{"name": "e2e.example.com/gate"}]
    await namespace.apply(pod("extended", node_selector=selector, schedulingGates=gates, **asked))
    (extended,) = [each for each in await namespace.pods() if each.name == "extended"]
    await driver.leave(namespace, extended)
    path = f"/api/v1/namespaces/{namespace.name}/pods/extended"
    await namespace.cluster.client.merge_patch(path, {"spec": {"schedulingGates": None}})


async def a_queue_that_is_closed(namespace: Namespace, create_queues: CreateQueues) -> None:
    name = f"team-{namespace.name}"
    await create_queues(queue(name))
    cluster = namespace.cluster
    uid = (await cluster.client.get(f"/apis/scheduling.volcano.sh/v1beta1/queues/{name}"))["metadata"]["uid"]
    target = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "name": name, "uid": uid}
    command = {"apiVersion": "bus.volcano.sh/v1alpha1", "kind": "Command", "metadata": {"name": "close"}}
    await namespace.apply({**command, "action": "CloseQueue", "target": target})


async def a_network(cluster: Cluster, node: str) -> None:
    """Racks that are discovered, one of which is edited, and one gone again; and a HyperNode of HyperNodes."""
    data = {"volcano-controller.conf": DISCOVERY}
    metadata = {"name": "volcano-controller-configmap", "namespace": SYSTEM_NAMESPACE}
    configuration = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}
    await cluster.apply([hyper_node("e2e-top", exact("e2e-rack", "HyperNode"), tier=2), configuration])

    async def racks(number: int) -> list[str]:
        by_label = {"labelSelector": "volcano.sh/network-topology-source=label"}
        found = (await cluster.client.get(HYPER_NODES, **by_label))["items"]
        assert [each["spec"]["tier"] for each in found] == [1] * number, found
        return [f"{HYPER_NODES}/{each['metadata']['name']}" for each in found]

    path, _ = await cluster.eventually("two racks are found", lambda: racks(2))
    await cluster.client.merge_patch(path, {"spec": {"tier": 9}})
    await cluster.eventually("the edit is undone", lambda: racks(2))
    await cluster.client.merge_patch(f"/api/v1/nodes/{node}", {"metadata": {"labels": {RACK: None}}})
    await cluster.eventually("a rack without nodes is gone", lambda: racks(1))


async def test_every_account_uses_all_rights_that_it_has_and_asks_for_no_others(
    parts: dict[str, Daemon],
    granted: set[Right],
    control_plane: ControlPlane,
    namespace: Namespace,
    simulated_nodes: SimulatedNodes,
    driver: Driver,
    configure: Configure,
    create_queues: CreateQueues,
) -> None:
    await configure(PREEMPTING)
    small, large = await simulated_nodes(1, labels={RACK: "r1"}), await simulated_nodes(1, labels={RACK: "r2"})
    await asyncio.gather(
        jobs_of_all_kinds(namespace, small.selector),
        pods_of_a_deployment(namespace, small.selector),
        a_pod_that_preempts(namespace, large.selector),
        volumes(namespace, small.names[0], small.selector),
        devices(driver, namespace, small.names[0], small.selector),
        a_queue_that_is_closed(namespace, create_queues),
        a_network(namespace.cluster, large.names[0]),
    )
    assert NOT_ON_THIS_DAY.keys() <= set(map(str, granted)), "a right that is no longer granted"

    async def used() -> None:
        unused = granted - await asyncio.to_thread(used_rights, control_plane.audit_log)
        left = {str(each) for each in unused if each[1:] not in WITHOUT_A_REQUEST} - NOT_ON_THIS_DAY.keys()
        assert not left, "granted, but never used: " + "; ".join(sorted(left))

    await namespace.cluster.eventually("every account has used its rights", used)
    refused = set(map(str, await asyncio.to_thread(refused_requests, control_plane.audit_log) - granted))
    assert refused <= {OF_THE_OVERLAY_QUEUE_GATES}, "asked for, but not granted: " + "; ".join(sorted(refused))
    for daemon in parts.values():
        assert (await daemon.get("/readyz"))[0] == 200
    for account in (SERVICE_ACCOUNT, CONTROLLERS_ACCOUNT):
        assert await parts[account].metric("volcano_leader") == 1
    assert await parts[SERVICE_ACCOUNT].metric("volcano_state_drift") == 0
