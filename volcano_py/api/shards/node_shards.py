"""NodeShards (`shard.volcano.sh/v1alpha1`): which nodes each scheduler should use, and which it does use."""

from __future__ import annotations

from typing import Final

from volcano_py.api.annotations.reading import Annotation, Place
from volcano_py.api.go_values import parse_bool
from volcano_py.api.objects import ApiObject, ObjectMeta

SHARD_API: Final = "shard.volcano.sh/v1alpha1"
NODE_SHARD: Final = "NodeShard"

TAKES_QUEUES: Final = Annotation(
    "shard.volcano.sh/volcano-py-takes-queues",
    lambda text: not text or parse_bool(text),
    "write true or false",
    otherwise=True,
    meanwhile="it counts as true",
    places=(Place.LABEL,),
)
"""Label of a NodeShard that takes its part of the queues; ours, not Volcano's."""
SHARD_OF_QUEUE: Final = "shard.volcano.sh/volcano-py-shard"
"""Annotation of a root queue: the NodeShard that takes its jobs; ours, not Volcano's."""


class NodeShardSpec(ApiObject, frozen=True):
    nodes_desired: list[str] = []


class NodeShardStatus(ApiObject, frozen=True):
    """`last_update_time` is the sharding controller's."""

    last_update_time: str | None = None
    nodes_in_use: list[str] = []
    nodes_to_remove: list[str] = []
    nodes_to_add: list[str] = []


class NodeShard(ApiObject, frozen=True):
    """Its name is that of the shard."""

    metadata: ObjectMeta
    spec: NodeShardSpec = NodeShardSpec()
    status: NodeShardStatus = NodeShardStatus()
