"""How nodes pass from one shard to another: what the status of a NodeShard says next.

A node is claimed by writing it into `nodesInUse`, and only while no other shard has it there. It is used once the claim
is written and a later look at all NodeShards shows no other claim: of two that claim a node at the same time, at least
the later one sees both, and withdraws. So a node is used by one shard at most.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet

import msgspec

from volcano_py.api.annotations.reading import Unreadable
from volcano_py.api.shards.node_shards import NodeShard, NodeShardStatus

Nodes = frozenset[str]


class ShardInfo(msgspec.Struct, frozen=True):
    """What of a NodeShard alters decisions, and what of it cannot be read."""

    name: str
    desired: Nodes = frozenset()
    in_use: Nodes = frozenset()
    takes_queues: bool = False
    uid: str = ""
    unreadable: tuple[Unreadable, ...] = ()


def next_claims(own: ShardInfo, others: Iterable[ShardInfo], busy: AbstractSet[str] = frozenset()) -> Nodes:
    """The nodes that `own` should have in use next. Those in `busy` (pods are on their way there) are not let go yet.

    Two shards that desire one node do not take turns: it stays where it is in use; where it is nowhere in use, it goes
    to the first of them by name.
    """
    taken: set[str] = set()
    for other in others:
        taken |= other.in_use
        if other.name < own.name:
            taken |= other.desired
    kept = own.in_use & (own.desired | busy)
    return Nodes(kept | (own.desired - taken))


def rivals(claimed: AbstractSet[str], others: Iterable[ShardInfo]) -> Nodes:
    """Those of the claimed nodes that other shards claim as well."""
    found: set[str] = set()
    for other in others:
        found |= claimed & other.in_use
    return Nodes(found)


def status_of(desired: AbstractSet[str], in_use: AbstractSet[str]) -> dict[str, list[str]]:
    """The status of a shard with these nodes, by field, but for the controller's `lastUpdateTime`."""
    return {
        "nodesInUse": sorted(in_use),
        "nodesToRemove": sorted(in_use - desired),
        "nodesToAdd": sorted(desired - in_use),
    }


def is_stated(status: NodeShardStatus, wanted: Mapping[str, list[str]]) -> bool:
    """Whether the status says so already, in whatever order."""
    found = (status.nodes_in_use, status.nodes_to_remove, status.nodes_to_add)
    return all(set(nodes) == set(wanted[field]) for nodes, field in zip(found, wanted, strict=True))


def with_in_use(shard: NodeShard, in_use: AbstractSet[str]) -> NodeShard:
    """The NodeShard as it is when it has these nodes in use."""
    stated = status_of(set(shard.spec.nodes_desired), in_use)
    status = NodeShardStatus(
        last_update_time=shard.status.last_update_time,
        nodes_in_use=stated["nodesInUse"],
        nodes_to_remove=stated["nodesToRemove"],
        nodes_to_add=stated["nodesToAdd"],
    )
    return msgspec.structs.replace(shard, status=status)
