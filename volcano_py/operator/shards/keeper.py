"""Takes over and lets go the nodes of this scheduler's NodeShard, and feeds the state with what is in use.

The order is what keeps a node with one scheduler (`state/shards/handover.py` has the rules):

1. A node that is no longer desired is not used any more from that moment on: a cycle that still runs cannot bind to it.
2. It is let go (`nodesInUse`) once no pod of ours is on its way there. Then another scheduler may claim it.
3. A node is claimed by writing the status, on condition that the NodeShard is as it was seen.
4. All NodeShards are read after that. A node that another one claims as well is given back.
5. The pods of the others are read: what their former scheduler has bound there may not have come by the watch yet.
6. Only then is it used.

What is in the status when this replica gets the Lease may be a claim that was never verified, so 4 comes first then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final, Protocol

import msgspec
import structlog

from volcano_py.api.json_values import Reader
from volcano_py.api.objects import ApiObject
from volcano_py.api.shards.node_shards import NODE_SHARD, NodeShard
from volcano_py.cluster.kubernetes.watching.versions import is_older
from volcano_py.cluster.kubernetes.writing.turns import CLUSTER
from volcano_py.cluster.protocol import Sink
from volcano_py.operator.controller import Controller
from volcano_py.operator.kube_api import IsActive, KubeApi, node_shard_path, patch_status
from volcano_py.state.shards.handover import Nodes, ShardInfo, is_stated, next_claims, rivals, status_of, with_in_use
from volcano_py.state.shards.shards import read_node_shard

log = structlog.get_logger(__name__)

LOOK_AGAIN: Final = 0.2
"""Seconds until pods that are on their way are looked at again."""
_OWN: Final = ""
"""The only key."""
_NODE_SHARD: Final = Reader(NodeShard)


class _List(msgspec.Struct, frozen=True):
    items: list[NodeShard] = []


_LIST: Final = Reader(_List)


class PodsOfNodes(Protocol):
    """What the keeper has to know of pods."""

    def awaiting(self, names: Nodes) -> Nodes:
        """Those of the nodes to which pods are on their way."""

    async def catch_up(self, names: Nodes) -> None:
        """Returns when the state knows every pod that was on these nodes when this was called."""


class NodeShardKeeper(Controller[str]):
    """A `Sink` in front of `state`: NodeShards come to the state as they are, its own with the nodes that are used.

    Without the Lease (`active`) nothing is used. `changed` is called when decisions may begin (`is_ready`).
    """

    def __init__(
        self,
        name: str,
        state: Sink,
        pods: PodsOfNodes,
        api: KubeApi,
        *,
        active: IsActive,
        changed: Callable[[], None],
        look_again: float = LOOK_AGAIN,
    ) -> None:
        super().__init__("nodeshard", lambda _key: CLUSTER, active=active, workers=1)
        self._name, self._state, self._pods, self._api = name, state, pods, api
        self._changed, self._look_again = changed, look_again
        self._shards: dict[str, NodeShard] = {}
        self._infos: dict[str, ShardInfo] = {}
        self._using = Nodes()
        self._is_missing = False
        self.is_ready = False
        """Whether it is known which nodes are used: before that, pods would be reported as fitting nowhere."""

    # What is fed in.

    def replace(self, kind: str, objects: Sequence[ApiObject]) -> None:
        """`Sink`: these are all there are of the kind."""
        if kind != NODE_SHARD:
            self._state.replace(kind, objects)
            return
        shards = [obj for obj in objects if isinstance(obj, NodeShard)]
        for name in self._shards.keys() - {shard.metadata.name for shard in shards}:
            self._forget(name)
        for shard in shards:
            self._see(shard)
        self._feed_all()

    def upsert(self, kind: str, obj: ApiObject) -> None:
        """`Sink`: new or changed."""
        if isinstance(obj, NodeShard):
            self._see(obj)
        else:
            self._state.upsert(kind, obj)

    def delete(self, kind: str, obj: ApiObject) -> None:
        """`Sink`: gone."""
        if isinstance(obj, NodeShard):
            self._forget(obj.metadata.name)
        self._state.delete(kind, obj)

    def _feed_all(self) -> None:
        """What is not among them is gone for the state as well."""
        self._state.replace(NODE_SHARD, [self._as_used(shard) for shard in self._shards.values()])

    def _see(self, shard: NodeShard) -> None:
        name, known = shard.metadata.name, self._shards.get(shard.metadata.name)
        if known is not None and is_older(shard.metadata, known.metadata):
            return
        if name == self._name and known is not None and known.metadata.uid != shard.metadata.uid:
            self._using = Nodes()  # another object of the name: nothing of it is ours yet
        self._shards[name], self._infos[name] = shard, read_node_shard(shard)
        if name == self._name:
            self._use(self._using & self._infos[name].desired & self._infos[name].in_use)
        else:
            self._state.upsert(NODE_SHARD, shard)
        self._work.add(_OWN)

    def _forget(self, name: str) -> None:
        self._shards.pop(name, None)
        self._infos.pop(name, None)
        if name == self._name:
            self._using = Nodes()
        self._work.add(_OWN)

    def _as_used(self, shard: NodeShard) -> NodeShard:
        return with_in_use(shard, self._using) if shard.metadata.name == self._name else shard

    def _use(self, nodes: Nodes) -> None:
        """From now on these nodes are used, and no others."""
        if nodes != self._using:
            log.info("nodes of the shard changed", shard=self._name, nodes=len(nodes), before=len(self._using))
        self._using = nodes
        self._state.upsert(NODE_SHARD, self._as_used(self._shards[self._name]))

    # The work.

    def _keys(self) -> Iterable[str]:
        return (_OWN,)

    async def _reconcile(self, key: str) -> None:
        info = self._infos.get(self._name)
        if info is None:
            self._report_missing()
            self._ready()
            return
        self._is_missing = False
        busy = self._pods.awaiting(info.in_use - info.desired)
        if busy:
            self._work.add(key, self._look_again)
        claims = next_claims(info, self._others(), busy)
        if not is_stated(self._shards[self._name].status, status_of(info.desired, claims)):
            await self._write(info, claims)
            return  # what was written comes back, and is looked at then
        if unverified := (claims & info.desired) - self._using:
            await self._verify(unverified)
        self._ready()

    async def _verify(self, unverified: Nodes) -> None:
        seen = _LIST.decode(await self._api.get(node_shard_path())).items
        others = [read_node_shard(shard) for shard in seen if shard.metadata.name != self._name]
        lost = rivals(unverified, others)
        if lost:
            log.warning(
                "claims withdrawn: another shard claims these nodes too", shard=self._name, nodes=sorted(lost)[:10]
            )
            for shard in seen:
                self._see(shard)
            await self._write(self._infos[self._name], self._infos[self._name].in_use - lost)
        won = unverified - lost
        await self._pods.catch_up(won)
        now = self._infos.get(self._name)
        if now is not None and self._active():
            self._use(self._using | (won & now.desired & now.in_use))

    async def _write(self, info: ShardInfo, claims: Nodes) -> None:
        """Write that these nodes are in use; the answer is seen like an event."""
        shard = self._shards[self._name]
        changes = status_of(info.desired, claims)
        await patch_status(self._api, node_shard_path(self._name), shard.metadata, changes, self._note)
        self._work.add(_OWN)

    def _note(self, answer: bytes) -> None:
        self._see(_NODE_SHARD.decode(answer))

    def _others(self) -> list[ShardInfo]:
        return [info for name, info in self._infos.items() if name != self._name]

    def _ready(self) -> None:
        if not self.is_ready:
            self.is_ready = True
            self._changed()

    def _report_missing(self) -> None:
        if not self._is_missing:
            self._is_missing = True
            log.error(
                "no node is used: the NodeShard of this scheduler does not exist; create it, or name another one with "
                "--scheduler-sharding-name",
                shard=self._name,
            )

    def _failed(self, key: str, error: Exception, failures: int) -> bool:  # noqa: ARG002 - the base's signature
        self._log_failure("status of the NodeShard cannot be written", error, failures, shard=self._name)
        return True
