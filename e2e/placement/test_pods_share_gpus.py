"""Pods that share GPUs: their cards are written with the binding, and read back after a restart."""

from __future__ import annotations

from collections import Counter
from typing import Any

from e2e.conftest import Configure, NodePool, SimulatedNodes, StartDaemon
from e2e.harness.cluster import Cluster
from e2e.harness.daemon import Daemon
from e2e.harness.namespace import Namespace
from e2e.harness.objects import Object, gang, pod
from e2e.harness.views import PodView

_REGISTER = "volcano.sh/node-vgpu-register"
_IDS = "volcano.sh/vgpu-ids-new"
_CARDS = "GPU-1,10,16000,NVIDIA-T4,true,hami-core:GPU-2,10,8000,NVIDIA-T4,true,hami-core:"
CONFIGURATION = """
actions: "enqueue, allocate, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
  - name: predicates
  - name: deviceshare
    arguments:
      deviceshare.VGPUEnable: true
      deviceshare.SchedulePolicy: binpack
      deviceshare.ScheduleWeight: 10
"""


_GEOMETRIES = """
      deviceshare.KnownMigGeometries:
      - models: [A100-SXM4-40GB]
        allowedGeometries:
        - {group: group1, geometries: [{name: 1g.5gb, memory: 5120, count: 7}]}
        - group: group2
          geometries: [{name: 2g.10gb, memory: 10240, count: 3}, {name: 1g.5gb, memory: 5120, count: 1}]
"""
_DIVIDED = "GPU-1,10,40960,NVIDIA-A100-SXM4-40GB,true,mig:"


def sharing(memory: int, cores: int = 10) -> dict[str, Any]:
    """The fields of a pod's spec: a container with a part of one card."""
    limits = {"volcano.sh/vgpu-number": "1", "volcano.sh/vgpu-memory": str(memory), "volcano.sh/vgpu-cores": str(cores)}
    container: Object = {"name": "main", "image": "registry.k8s.io/pause:3.10", "resources": {"limits": limits}}
    return {"containers": [container]}


async def gpu_pool(cluster: Cluster, simulated_nodes: SimulatedNodes, cards: str = _CARDS) -> NodePool:
    """A node with two cards, or these. Its sums alone would refuse nothing."""
    offers: dict[str, Any] = {
        "volcano.sh/vgpu-number": "99",
        "volcano.sh/vgpu-memory": "99999",
        "volcano.sh/vgpu-cores": "999",
    }
    return await _annotated(cluster, await simulated_nodes(1, **offers), _REGISTER, cards)


async def numbered_pool(cluster: Cluster, simulated_nodes: SimulatedNodes, *, gpus: int) -> NodePool:
    """A node with so many GPUs of 16000 MB that have numbers, of which number 1 is unhealthy."""
    offers: dict[str, Any] = {"volcano.sh/gpu-number": str(gpus), "volcano.sh/gpu-memory": str(16000 * gpus)}
    return await _annotated(cluster, await simulated_nodes(1, **offers), "volcano.sh/gpu-unhealthy-ids", "1")


async def _annotated(cluster: Cluster, pool: NodePool, key: str, text: str) -> NodePool:
    await cluster.client.merge_patch(f"/api/v1/nodes/{pool.names[0]}", {"metadata": {"annotations": {key: text}}})
    return pool


async def waits_after_a_restart(
    namespace: Namespace, daemon: Daemon, start_daemon: StartDaemon, late: Object, *, saying: str
) -> None:
    """A new daemon knows what is in use, so that the pod called late finds no GPU."""
    await daemon.stop()
    await start_daemon()
    await namespace.apply([late])
    await namespace.wait_event("FailedScheduling", "Pod/late", saying=saying)


async def makes_room(namespace: Namespace, leaves: str, *, running: int) -> PodView:
    """The pod called late, which runs once that one has gone."""
    await namespace.delete_pod(leaves)
    pods = await namespace.wait_phases(Running=running)
    return next(each for each in pods if each.name == "late")


async def test_a_gang_gets_its_cards_with_the_binding_and_a_restart_knows_them(
    installed: Cluster,
    namespace: Namespace,
    simulated_nodes: SimulatedNodes,
    start_daemon: StartDaemon,
    configure: Configure,
) -> None:
    """Three pods fill both cards. After a restart a fourth waits, until one of them has gone."""
    await configure(CONFIGURATION)
    daemon = await start_daemon()
    pool = await gpu_pool(installed, simulated_nodes)
    await namespace.apply(gang("train", 3, node_selector=pool.selector, **sharing(8000)))

    pods = await namespace.wait_phases(Running=3)

    written = {each.name: each.annotations for each in pods}
    cards = Counter(texts[_IDS] for texts in written.values())
    assert cards == {"GPU-1,NVIDIA,8000,10:": 2, "GPU-2,NVIDIA,8000,10:": 1}
    for texts in written.values():
        assert texts["volcano.sh/devices-to-allocate"] == texts[_IDS]
        assert texts["volcano.sh/vgpu-node"] == pool.names[0]
        assert texts["volcano.sh/bind-phase"] == "allocating"
        assert texts["volcano.sh/vgpu-time"].isdigit()

    late = pod("late", node_selector=pool.selector, **sharing(1))
    saying = "had too few GPUs with enough memory free"
    await waits_after_a_restart(namespace, daemon, start_daemon, late, saying=saying)

    leaves = next(name for name, texts in written.items() if texts[_IDS].startswith("GPU-2"))
    placed = await makes_room(namespace, leaves, running=3)
    assert placed.annotations[_IDS] == "GPU-2,NVIDIA,1,10:"


def _by_number(amount: int, resource: str = "volcano.sh/gpu-memory") -> dict[str, Any]:
    """The fields of a pod's spec: a container with a part of the memory of one GPU, or with so many whole ones."""
    limits = {resource: str(amount)}
    container: Object = {"name": "main", "image": "registry.k8s.io/pause:3.10", "resources": {"limits": limits}}
    return {"containers": [container]}


async def test_a_gang_shares_gpus_by_their_numbers_and_a_restart_knows_them(
    installed: Cluster,
    namespace: Namespace,
    simulated_nodes: SimulatedNodes,
    start_daemon: StartDaemon,
    configure: Configure,
) -> None:
    """One of three GPUs is unhealthy. After a restart a fourth pod waits, until one has gone, and gets its GPU."""
    await configure(CONFIGURATION.replace("VGPUEnable", "GPUSharingEnable"))
    daemon = await start_daemon()
    pool = await numbered_pool(installed, simulated_nodes, gpus=3)
    await namespace.apply(gang("train", 3, node_selector=pool.selector, **_by_number(8000)))

    pods = await namespace.wait_phases(Running=3)

    written = {each.name: each.annotations for each in pods}
    assert Counter(texts["volcano.sh/gpu-index"] for texts in written.values()) == {"0": 2, "2": 1}
    assert all(len(texts["volcano.sh/predicate-time"]) == len("1700000000000000000") for texts in written.values())

    late = pod("late", node_selector=pool.selector, **_by_number(8001))
    saying = "had no GPU with enough memory free"
    await waits_after_a_restart(namespace, daemon, start_daemon, late, saying=saying)

    leaves = next(name for name, texts in written.items() if texts["volcano.sh/gpu-index"] == "2")
    placed = await makes_room(namespace, leaves, running=3)
    assert placed.annotations["volcano.sh/gpu-index"] == "2"


async def test_pods_get_whole_gpus_and_a_restart_knows_them(
    installed: Cluster,
    namespace: Namespace,
    simulated_nodes: SimulatedNodes,
    start_daemon: StartDaemon,
    configure: Configure,
) -> None:
    """One of four GPUs is unhealthy, which the sums of the node do not say."""
    await configure(CONFIGURATION.replace("VGPUEnable", "GPUNumberEnable"))
    daemon = await start_daemon()
    pool = await numbered_pool(installed, simulated_nodes, gpus=4)
    two = _by_number(2, "volcano.sh/gpu-number")
    await namespace.apply([pod("first", node_selector=pool.selector, **two)])
    (first,) = await namespace.wait_phases(Running=1)
    assert first.annotations["volcano.sh/gpu-index"] == "0,2"

    late = pod("late", node_selector=pool.selector, **two)
    saying = "had too few GPUs that no pod uses"
    await waits_after_a_restart(namespace, daemon, start_daemon, late, saying=saying)

    placed = await makes_room(namespace, "first", running=1)
    assert placed.annotations["volcano.sh/gpu-index"] == "0,2"


async def test_a_gang_gets_instances_of_a_divided_gpu_and_a_restart_knows_them(
    installed: Cluster,
    namespace: Namespace,
    simulated_nodes: SimulatedNodes,
    start_daemon: StartDaemon,
    configure: Configure,
) -> None:
    """Three pods have the large instances. After a restart a fourth waits, until one of them has gone."""
    await configure(CONFIGURATION.rstrip() + _GEOMETRIES)
    daemon = await start_daemon()
    pool = await gpu_pool(installed, simulated_nodes, _DIVIDED)
    await namespace.apply(gang("train", 3, node_selector=pool.selector, **sharing(8000)))

    pods = await namespace.wait_phases(Running=3)

    written = {each.name: each.annotations[_IDS] for each in pods}
    assert sorted(written.values()) == [f"GPU-1[group2-{place}],NVIDIA,10240,10:" for place in range(3)]

    late = pod("late", node_selector=pool.selector, **sharing(8000))
    saying = "had too few GPUs with a large enough MIG instance"
    await waits_after_a_restart(namespace, daemon, start_daemon, late, saying=saying)

    leaves = next(name for name, text in written.items() if "group2-1" in text)
    placed = await makes_room(namespace, leaves, running=3)
    assert placed.annotations[_IDS] == "GPU-1[group2-1],NVIDIA,10240,10:"


async def test_pods_of_an_exclusive_rule_share_no_gpu_after_a_restart_either(
    installed: Cluster,
    namespace: Namespace,
    simulated_nodes: SimulatedNodes,
    start_daemon: StartDaemon,
    configure: Configure,
) -> None:
    """Two pods have the two cards. After a restart a third of the rule waits, and one of no rule does not."""
    await configure(CONFIGURATION.rstrip() + "\n      deviceshare.GPUExclusiveRules: [{app: train}]\n")
    daemon = await start_daemon()
    pool = await gpu_pool(installed, simulated_nodes)
    labels = {"app": "train"}
    await namespace.apply(
        [pod(name, node_selector=pool.selector, labels=labels, **sharing(1000)) for name in ("p0", "p1")]
    )
    pods = await namespace.wait_phases(Running=2)
    assert {each.annotations[_IDS][:5] for each in pods} == {"GPU-1", "GPU-2"}

    late = pod("late", node_selector=pool.selector, labels=labels, **sharing(1))
    saying = "without a pod that an exclusive rule keeps apart"
    await waits_after_a_restart(namespace, daemon, start_daemon, late, saying=saying)
    await namespace.apply([pod("other", node_selector=pool.selector, **sharing(1))])
    await namespace.wait_phases(Running=3, Pending=1)
