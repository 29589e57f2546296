"""Pods with PersistentVolumeClaims: volumes are chosen with nodes, and Kubernetes' own controllers bind them."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest_asyncio

from e2e.conftest import SimulatedNodes, StartDaemon
from e2e.harness.cluster import Cluster
from e2e.harness.daemon import Daemon
from e2e.harness.namespace import Namespace
from e2e.harness.objects import Object, gang, pod

_VOLUMES = "/api/v1/persistentvolumes"
_CLASSES = "/apis/storage.k8s.io/v1/storageclasses"
_SELECTED_NODE = "volume.kubernetes.io/selected-node"


class Disks:
    """A storage class of a test's own with its volumes; all of it is deleted after the test."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.name = f"e2e-{secrets.token_hex(3)}"
        self._volumes: list[str] = []

    async def create(self, provisioner: str = "kubernetes.io/no-provisioner") -> None:
        body = {"metadata": {"name": self.name}, "provisioner": provisioner}
        await self.cluster.client.create(_CLASSES, {**body, "volumeBindingMode": "WaitForFirstConsumer"})

    async def remove(self) -> None:
        for name in self._volumes:
            await self.cluster.client.merge_patch(f"{_VOLUMES}/{name}", {"metadata": {"finalizers": None}})
            await self.cluster.delete(f"{_VOLUMES}/{name}")
        await self.cluster.delete(f"{_CLASSES}/{self.name}")

    async def add(self, name: str, node: str, claim: Object | None = None) -> None:
        """A volume that only `node` can use; `claim` is a claim that it is made for."""
        self._volumes.append(name)
        selected = {"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}
        spec: Object = {
            "capacity": {"storage": "10Gi"},
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": self.name,
            "persistentVolumeReclaimPolicy": "Retain",
            "local": {"path": "/mnt/disk"},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [selected]}]}},
        }
        if claim is not None:
            meta = claim["metadata"]
            spec["claimRef"] = {"kind": "PersistentVolumeClaim", "apiVersion": "v1"} | {
                key: meta[key] for key in ("namespace", "name", "uid")
            }
        await self.cluster.client.create(_VOLUMES, {"metadata": {"name": name}, "spec": spec})

    async def local(self, nodes: Sequence[str]) -> None:
        """A volume on each node, there for the taking."""
        for number, node in enumerate(nodes):
            await self.add(f"{self.name}-{number}", node)
        await self.cluster.eventually("volumes that are available", self._are_available)

    async def owners(self) -> dict[str, str]:
        """Volume → the claim that has it, "" for none."""
        found = {}
        for name in self._volumes:
            volume = await self.cluster.client.get(f"{_VOLUMES}/{name}")
            found[name] = (volume["spec"].get("claimRef") or {}).get("name", "")
        return found

    def claim(self, name: str) -> Object:
        """A claim of the class."""
        return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name}, "spec": self.asks()}

    def asks(self) -> Object:
        return {
            "storageClassName": self.name,
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "5Gi"}},
        }

    def scratch(self) -> Object:
        """Fields of a pod's spec: a generic ephemeral volume of the class."""
        template = {"volumeClaimTemplate": {"spec": self.asks()}}
        return {"volumes": [{"name": "scratch", "ephemeral": template}]}

    async def _are_available(self) -> None:
        for name in self._volumes:
            phase = (await self.cluster.client.get(f"{_VOLUMES}/{name}"))["status"].get("phase")
            assert phase == "Available", f"{name}: {phase}"


@pytest_asyncio.fixture(loop_scope="session")
async def disks(installed: Cluster) -> AsyncIterator[Disks]:
    disks = Disks(installed)
    yield disks
    await disks.remove()


def mounting(claim: str, **fields: Any) -> Object:
    """A pod that uses a claim by name."""
    return pod(claim, volumes=[{"name": "data", "persistentVolumeClaim": {"claimName": claim}}], **fields)


async def test_a_gang_gets_the_local_volumes_of_three_nodes(
    disks: Disks, namespace: Namespace, simulated_nodes: SimulatedNodes, daemon: Daemon
) -> None:
    """Each pod has a claim of its own; the node without a volume stays empty."""
    await disks.create()
    pool = await simulated_nodes(4)
    await disks.local(pool.names[1:])
    await namespace.apply(gang("train", 3, node_selector=pool.selector, **disks.scratch()))

    pods = await namespace.wait_phases(Running=3)

    assert {each.node for each in pods} == set(pool.names[1:])
    assert sorted((await disks.owners()).values()) == [f"train-{number}-scratch" for number in range(3)]
    for each in pods:
        claim = await namespace.cluster.client.get(
            f"/api/v1/namespaces/{namespace.name}/persistentvolumeclaims/{each.name}-scratch"
        )
        number = pool.names.index(each.node) - 1
        assert claim["spec"]["volumeName"] == f"{disks.name}-{number}", "the volume is that of the pod's node"


async def test_a_gang_with_too_few_volumes_takes_none_until_the_last_is_there(
    disks: Disks, namespace: Namespace, simulated_nodes: SimulatedNodes, daemon: Daemon
) -> None:
    await disks.create()
    pool = await simulated_nodes(3)
    await disks.local(pool.names[:2])
    await namespace.apply(gang("train", 3, node_selector=pool.selector, **disks.scratch()))

    await namespace.wait_event(
        "Unschedulable", "PodGroup/train", saying="didn't find available persistent volumes to bind"
    )
    assert set((await disks.owners()).values()) == {""}
    assert not any(each.node for each in await namespace.pods())

    await disks.add(f"{disks.name}-late", pool.names[2])
    await namespace.wait_phases(Running=3)


async def test_a_claim_that_does_not_exist_is_named_and_waited_for(
    disks: Disks, namespace: Namespace, simulated_nodes: SimulatedNodes, daemon: Daemon
) -> None:
    await disks.create()
    pool = await simulated_nodes(1)
    await disks.local(pool.names)
    await namespace.apply(mounting("data", node_selector=pool.selector))

    expected = f"VolumeNotReady: PersistentVolumeClaim {namespace.name}/data does not exist; create it"
    event = await namespace.wait_event("FailedScheduling", "Pod/data", saying=expected)
    assert event.message == expected, event

    await namespace.apply(disks.claim("data"))
    await namespace.wait_phases(Running=1)


class Provisioner:
    """Makes volumes for the nodes that claims are annotated with, as a storage driver's provisioner does."""

    def __init__(self, disks: Disks, namespace: Namespace) -> None:
        self._disks, self._namespace = disks, namespace
        self.fails = 0
        """How many claims it gives back first."""
        self.astray: dict[str, str] = {}
        """Node → the one for which it makes a volume instead."""
        self.at_work = asyncio.Event()
        self.at_work.set()
        self.given_back: list[str] = []
        self._made: set[str] = set()

    async def work(self) -> None:
        while await self.at_work.wait():
            path = f"/api/v1/namespaces/{self._namespace.name}/persistentvolumeclaims"
            for claim in (await self._namespace.cluster.client.get(path))["items"]:
                await self._look_at(f"{path}/{claim['metadata']['name']}", claim)
            await asyncio.sleep(0.1)

    async def _look_at(self, path: str, claim: Object) -> None:
        meta = claim["metadata"]
        node = (meta.get("annotations") or {}).get(_SELECTED_NODE)
        if not node or meta["uid"] in self._made:
            return
        if len(self.given_back) < self.fails:
            self.given_back.append(node)
            await self._namespace.cluster.client.merge_patch(
                path, {"metadata": {"annotations": {_SELECTED_NODE: None}}}
            )
            return
        self._made.add(meta["uid"])
        await self._disks.add(f"pvc-{meta['uid']}", self.astray.get(node, node), claim)


@pytest_asyncio.fixture(loop_scope="session")
async def provisioner(disks: Disks, namespace: Namespace) -> AsyncIterator[Provisioner]:
    """At work until the end of the test."""
    provisioner = Provisioner(disks, namespace)
    task = asyncio.create_task(provisioner.work(), name="provisioner")
    yield provisioner
    task.cancel()
    ended = await asyncio.gather(task, return_exceptions=True)
    assert isinstance(ended[0], asyncio.CancelledError), ended


async def test_volumes_are_made_for_the_nodes_of_a_gang(
    disks: Disks, namespace: Namespace, simulated_nodes: SimulatedNodes, daemon: Daemon, provisioner: Provisioner
) -> None:
    await disks.create("e2e.volcano-py/disk")
    pool = await simulated_nodes(3, cpu="1")
    claims = [disks.claim(f"data-{number}") for number in range(3)]
    pods = [mounting(f"data-{number}", group="train", node_selector=pool.selector) for number in range(3)]
    await namespace.apply(claims, gang("train", 0, minimum=3), pods)

    running = await namespace.wait_phases(Running=3)

    assert {each.node for each in running} == set(pool.names)
    assert sorted((await disks.owners()).values()) == ["data-0", "data-1", "data-2"]
    await daemon.wait_metric("volcano_task_scheduling_duration_seconds_count", 3, stage="PreBound")


async def test_a_pod_whose_volume_could_not_be_created_is_tried_again(
    disks: Disks, namespace: Namespace, simulated_nodes: SimulatedNodes, daemon: Daemon, provisioner: Provisioner
) -> None:
    provisioner.fails = 1
    await disks.create("e2e.volcano-py/disk")
    pool = await simulated_nodes(1)
    await namespace.apply(disks.claim("data"), mounting("data", node_selector=pool.selector))

    await namespace.wait_event("FailedScheduling", "Pod/data", saying="its provisioner has given up; tried again in")
    await namespace.wait_phases(Running=1)
    assert provisioner.given_back == [pool.names[0]]


async def test_a_pod_follows_a_volume_that_was_made_for_another_node(
    disks: Disks, namespace: Namespace, simulated_nodes: SimulatedNodes, daemon: Daemon, provisioner: Provisioner
) -> None:
    await disks.create("e2e.volcano-py/disk")
    pool = await simulated_nodes(2)
    here, there = pool.names
    provisioner.astray = {here: there, there: here}
    await namespace.apply(disks.claim("data"), mounting("data", node_selector=pool.selector))

    (running,) = await namespace.wait_phases(Running=1)

    path = f"/api/v1/namespaces/{namespace.name}/persistentvolumeclaims/data"
    claim = await namespace.cluster.client.get(path)
    chosen, volume = claim["metadata"]["annotations"][_SELECTED_NODE], claim["spec"]["volumeName"]
    assert running.node == provisioner.astray[chosen]
    reported = (
        f"was bound to volume {volume}, which by its nodeAffinity cannot be used from node {chosen}; correct the labels"
    )
    await namespace.wait_event("FailedScheduling", "Pod/data", saying=reported)


async def test_a_new_daemon_goes_on_with_what_the_old_one_had_chosen(
    disks: Disks,
    namespace: Namespace,
    simulated_nodes: SimulatedNodes,
    start_daemon: StartDaemon,
    provisioner: Provisioner,
) -> None:
    """The first one stops while volumes are being made: the pods end on the nodes that these are made for."""
    provisioner.at_work.clear()
    await disks.create("e2e.volcano-py/disk")
    pool = await simulated_nodes(4, cpu="1")
    first = await start_daemon()
    claims = [disks.claim(f"data-{number}") for number in range(2)]
    pods = [mounting(f"data-{number}", group="train", node_selector=pool.selector) for number in range(2)]
    await namespace.apply(claims, gang("train", 0, minimum=2), pods)

    async def chosen() -> dict[str, str]:
        path = f"/api/v1/namespaces/{namespace.name}/persistentvolumeclaims"
        found = {
            claim["metadata"]["name"]: claim["metadata"]["annotations"].get(_SELECTED_NODE, "")
            for claim in (await namespace.cluster.client.get(path))["items"]
            if "annotations" in claim["metadata"]
        }
        assert len([node for node in found.values() if node]) == 2, found
        return found

    nodes = await namespace.cluster.eventually("a node for each claim", chosen)
    assert await first.stop() == 0
    provisioner.at_work.set()
    await start_daemon()

    running = await namespace.wait_phases(Running=2)
    assert {each.name: each.node for each in running} == nodes
