"""The plain load for a cluster that is divided into shards: each has its part of the nodes, and a queue of its own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from msgspec.structs import replace

from volcano_py.api.objects import Node, ObjectMeta, PodGroup, Queue
from volcano_py.api.shards.node_shards import NODE_SHARD, SHARD_OF_QUEUE, NodeShard, NodeShardSpec, NodeShardStatus
from volcano_py.bench.loads.workload import Workload
from volcano_py.cluster.manifests import Stored


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardedWorkload:
    """`whole` in so many `shards`; nodes and gangs go to them in turn."""

    whole: Workload
    shards: int

    @property
    def names(self) -> list[str]:
        """Of the shards, which are those of their queues, too."""
        return [f"shard-{number}" for number in range(self.shards)]

    def items(self) -> Iterator[Stored]:
        """All objects of the whole cluster, as every scheduler has them."""
        names = self.names
        nodes: dict[str, list[str]] = {name: [] for name in names}
        groups = 0
        for name in names:
            yield "Queue", Queue(metadata=ObjectMeta(name=name, uid=name, annotations={SHARD_OF_QUEUE: name}))
        for kind, obj in self.whole.items():
            if isinstance(obj, Node):
                nodes[names[sum(map(len, nodes.values())) % self.shards]].append(obj.metadata.name)
            elif isinstance(obj, PodGroup):
                queue, groups = names[groups % self.shards], groups + 1
                yield kind, replace(obj, spec=replace(obj.spec, queue=queue))
                continue
            elif kind == "Queue":
                continue
            yield kind, obj
        for name, own in nodes.items():
            status = NodeShardStatus(nodes_in_use=own)
            shard = NodeShard(
                metadata=ObjectMeta(name=name, uid=f"shard {name}"), spec=NodeShardSpec(own), status=status
            )
            yield NODE_SHARD, shard
