"""NodeShards as the state knows them: the own nodes, the others', and which queues are this scheduler's."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from volcano_py.api.annotations.reading import Unreadable
from volcano_py.api.effects import ObjectRef
from volcano_py.api.names import ROOT_QUEUE
from volcano_py.api.shards.node_shards import NODE_SHARD, SHARD_OF_QUEUE, TAKES_QUEUES, NodeShard
from volcano_py.api.shards.sharding import Sharding
from volcano_py.api.wording.explain import cut
from volcano_py.state.infos import QueueInfo
from volcano_py.state.shards.division import shards_of
from volcano_py.state.shards.handover import Nodes, ShardInfo
from volcano_py.state.table.change import Change
from volcano_py.state.table.stores import DerivedStore
from volcano_py.state.unreadable_values import UnreadableOfObjects

_NOTHING: Final[Mapping[str, str]] = MappingProxyType({})


class ShardView(msgspec.Struct, frozen=True):
    """What a cycle knows of shards. `homes`: node → the other shard that has it in use."""

    sharding: Sharding
    homes: Mapping[str, str] = _NOTHING
    own: Nodes = Nodes()

    def home_of(self, node: str) -> str:
        """The shard that has this node in use; "" for none."""
        return self.sharding.name if node in self.own else self.homes.get(node, "")


class Shards:
    """Store of NodeShards for a scheduler with this `sharding`. `use` is called with the own nodes when they change.

    The status of the own NodeShard counts: whoever feeds it in sees to it that no other shard uses these nodes.

    Attributes:
        version: another number whenever the queues may be divided in another way.
    """

    def __init__(self, sharding: Sharding, use: Callable[[Nodes], None], unreadable: UnreadableOfObjects) -> None:
        self._sharding, self._use, self._unreadable = sharding, use, unreadable
        self._infos: DerivedStore[NodeShard, ShardInfo] = DerivedStore(NodeShard, read_node_shard, self._changed)
        self.upsert, self.delete, self.known = self._infos.upsert, self._infos.delete, self._infos.known
        self.version = 0
        self._view: ShardView | None = None
        self._divided: tuple[tuple[int, int], dict[str, str]] | None = None

    def view(self) -> ShardView:
        """For a snapshot."""
        if self._view is None:
            others = (each for each in self._infos.values() if each.name != self._sharding.name)
            homes = {node: each.name for each in others for node in each.in_use}
            self._view = ShardView(self._sharding, homes, self._own_nodes())
        return self._view

    def are_ours(self, names: Sequence[str], queues: Mapping[str, QueueInfo], version: int) -> NDArray[np.bool_]:
        """[K] whether this scheduler decides the jobs of these queues; see `divided`."""
        known, ours = self.divided(names, queues, version), ("", self._sharding.name)
        return np.fromiter((known[name] in ours for name in names), dtype=np.bool_, count=len(names))

    def other_shard(self, name: str, queues: Mapping[str, QueueInfo], version: int) -> str:
        """The other shard that decides the jobs of the queue; "" when this scheduler does."""
        shard = self.divided((name,), queues, version)[name]
        return "" if shard == self._sharding.name else shard

    def divided(self, names: Sequence[str], queues: Mapping[str, QueueInfo], version: int) -> Mapping[str, str]:
        """Queue → the shard that decides its jobs, "" for any, for these queues at least, which need not exist.
        `version`: another number whenever `queues` are others."""
        known = self._known_division(version)
        if unknown := [name for name in names if name not in known]:
            found = shards_of(
                unknown,
                lambda name: queues[name].parent if name in queues else "",
                lambda name: self._assigned(queues[name]) if name in queues else "",
                {info.name: info for info in self._infos.values()},
            )
            known |= found
            known[ROOT_QUEUE] = ""  # what is above all is part of every tree
        return known

    def _known_division(self, queues_version: int) -> dict[str, str]:
        key = (queues_version, self.version)
        if self._divided is None or self._divided[0] != key:
            self._divided = key, {}
        return self._divided[1]

    def _assigned(self, queue: QueueInfo) -> str:
        """The NodeShard that the queue's annotation names; one that does not exist is reported."""
        name = queue.annotations.get(SHARD_OF_QUEUE, "")
        is_known = not name or self._infos.get(name) is not None
        self._unreadable.put(queue.ref, () if is_known else (_no_such_shard(name),))
        return name

    def _own_nodes(self) -> Nodes:
        own = self._infos.get(self._sharding.name)
        return own.in_use if own is not None else Nodes()

    def _changed(self, key: str, old: ShardInfo | None, new: ShardInfo | None) -> Change:
        self._view = None
        if new is None:
            self._unreadable.take(NODE_SHARD, key)
        else:
            self._unreadable.put(ObjectRef(NODE_SHARD, "", key, new.uid), new.unreadable)
        if old is None or new is None or old.takes_queues != new.takes_queues:
            self.version += 1
        if key == self._sharding.name:
            self._use(self._own_nodes())
        return Change.DECISION


def _no_such_shard(name: str) -> Unreadable:
    fix = "there is no NodeShard of this name; create it, or write the name of one"
    return Unreadable(f"annotation {SHARD_OF_QUEUE}", cut(name), fix, "the queue counts as assigned to none")


def read_node_shard(shard: NodeShard) -> ShardInfo:
    """What alters decisions, and what cannot be read."""
    meta = shard.metadata
    unreadable = TAKES_QUEUES.unreadable(meta.annotations, meta.labels)
    return ShardInfo(
        meta.name,
        Nodes(shard.spec.nodes_desired),
        Nodes(shard.status.nodes_in_use),
        bool(TAKES_QUEUES.value(meta.annotations, meta.labels)),
        meta.uid,
        () if unreadable is None else (unreadable,),
    )
