"""One node: what is there, and what it still takes."""

from __future__ import annotations

from collections import Counter

import numpy as np

from volcano_py.api.numa.topologies import NUMATOPOLOGY
from volcano_py.api.objects import Node, Pod
from volcano_py.cluster.memory_pods import group_of
from volcano_py.explain.model import DevicesOfNode, GpuOfNode, NodeExplanation, NumaNode
from volcano_py.explain.target import ExplainError
from volcano_py.explain.world import World
from volcano_py.plugins.deviceshare.of_node import gpus_of_node
from volcano_py.plugins.numa_aware.use import free_by_numa_node
from volcano_py.state.devices.picture import DevicePicture
from volcano_py.state.readers import read_node
from volcano_py.state.shards.shards import ShardView


def explain_node(world: World, name: str) -> NodeExplanation:
    """Raises:
    ExplainError: there is no such node.
    """
    ssn = world.session
    table = ssn.ledger.nodes
    found = [row for row in np.flatnonzero(table.present).tolist() if ssn.snapshot.nodes[row].name == name]
    if not found and ssn.snapshot.shard is not None and world.simulation.cluster.get("Node", name, Node) is not None:
        raise ExplainError(_elsewhere(name, ssn.snapshot.shard))
    if not found:
        raise ExplainError(f"node {name} does not exist, or you may not read it: `kubectl get nodes` lists them")
    row, info = found[0], ssn.snapshot.nodes[found[0]]
    node = world.simulation.cluster.get("Node", name, Node)
    amounts = () if node is None else read_node(node).problems
    there = (pod for pod in world.objects("Pod", Pod) if pod.spec.node_name == name)
    pods = Counter(group_of(pod) or pod.metadata.key for pod in there if pod.status.phase in ("Pending", "Running"))
    return NodeExplanation(
        name=name,
        allocatable=world.amounts(table.allocatable[row]),
        used=world.amounts(table.used[row]),
        free=world.amounts(np.maximum(table.allocatable[row] - table.used[row], 0)),
        closed="it is cordoned" if info.unschedulable else "",
        taints=tuple(f"{taint.key}={taint.value}:{taint.effect}" for taint in info.taints),
        pods=dict(sorted(pods.items())),
        devices=_devices(ssn.snapshot.devices, name),
        numa=tuple(NumaNode(number, cpus, free) for number, free, cpus in free_by_numa_node(ssn, row)),
        gpus=tuple(
            GpuOfNode(each.name, each.kind, each.total, each.memory, each.cores, each.users)
            for each in gpus_of_node(ssn, row)
        ),
        ignored=(*world.ignored("Node", name), *amounts, *world.ignored(NUMATOPOLOGY, name)),
    )


def _devices(picture: DevicePicture, node: str) -> tuple[DevicesOfNode, ...]:
    there = [
        (each.driver, bool(held)) for each, held in zip(picture.devices, picture.held, strict=True) if each.node == node
    ]
    counts, used = Counter(driver for driver, _ in there), Counter(driver for driver, is_used in there if is_used)
    return tuple(DevicesOfNode(driver, counts[driver], used[driver]) for driver in sorted(counts))


def _elsewhere(node: str, view: ShardView) -> str:
    own, home = view.sharding.name, view.home_of(node)
    if not home:
        return (
            f"node {node} is in no shard: put it into spec.nodesDesired of NodeShard {own} for the scheduler to use it"
        )
    return (
        f"node {node} is in shard {home}, and the scheduler of shard {own} does not use it: explain it with "
        f"--scheduler-sharding-name {home}"
    )
