"""Daemons over one API server in memory: each has its own picture, which lags behind, and its own cycles.

Everything waits for as many turns of the event loop as `random` says, so that requests, events and cycles of all
daemons interleave in any order. The store refuses what the API server refuses, and checks after each binding what must
hold.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from random import Random
from typing import Any

import msgspec
from msgspec.structs import replace

from tests.support.registries import checked_registry
from volcano_py.api.effects import Bind, Effect, PodGroupStatusUpdate
from volcano_py.api.names import GROUP_NAME
from volcano_py.api.objects import ApiObject, Container, Node, NodeStatus, ObjectMeta, Pod, PodGroup, Queue
from volcano_py.api.shards.node_shards import NODE_SHARD, SHARD_OF_QUEUE, NodeShard, NodeShardSpec
from volcano_py.api.shards.sharding import Sharding
from volcano_py.cluster.kubernetes.http.errors import ConflictError
from volcano_py.cluster.kubernetes.http.paths import ApiPath
from volcano_py.config.defaults import default_configuration_text
from volcano_py.config.parse import parse_configuration
from volcano_py.operator.shards.keeper import NodeShardKeeper
from volcano_py.scheduler import Scheduler
from volcano_py.state.cluster_state import ClusterState

_REGISTRY = checked_registry()
_PARSED = parse_configuration(default_configuration_text(), _REGISTRY.catalogue()).config
assert _PARSED is not None
CONFIGURATION = _PARSED
KINDS = ("Node", "Queue", "PodGroup", "Pod", NODE_SHARD)
_SLOWEST = 6
"""Turns of the event loop that a step takes at most."""
_STALL, _STALLS = 60, 0.15
"""How many times as long a stall takes at most, and how often there is one."""


class Store:
    """The API server, for NodeShards and bindings. `cpu`: what each node has."""

    def __init__(self, nodes: Mapping[str, int], random: Random) -> None:
        self.objects: dict[tuple[str, str], ApiObject] = {}
        self.watchers: list[dict[str, asyncio.Queue[ApiObject]]] = []
        self.bindings: list[tuple[str, str]] = []
        self.refused = 0
        self._random, self.version, self._cpu = random, 0, dict(nodes)
        for name, cpu in nodes.items():
            status = NodeStatus(allocatable={"cpu": str(cpu), "memory": "64Gi", "pods": "110"})
            self.put("Node", Node(metadata=ObjectMeta(name=name, uid=name), status=status))

    async def turn(self, *, stalls: bool = False) -> None:
        """Some turns of the event loop, at least one; sometimes very many where what waits may stall."""
        is_stalled = stalls and self._random.random() < _STALLS
        for _ in range(self._random.randint(1, _SLOWEST * _STALL if is_stalled else _SLOWEST)):
            await asyncio.sleep(0)

    def put(self, kind: str, obj: Any) -> Any:
        self.version += 1
        obj = replace(obj, metadata=replace(obj.metadata, resource_version=str(self.version)))
        self.objects[kind, obj.metadata.key] = obj
        for events in self.watchers:
            events[kind].put_nowait(obj)
        return obj

    def of(self, kind: str) -> list[Any]:
        return [obj for (found, _), obj in self.objects.items() if found == kind]

    def desire(self, wanted: Mapping[str, Sequence[str]], generation: int = 1) -> None:
        """The sharding controller. A NodeShard of another `generation` is another object."""
        for name, nodes in wanted.items():
            known: Any = self.objects.get((NODE_SHARD, name))
            known = known or NodeShard(metadata=ObjectMeta(name=name, uid=f"shard-{name}-{generation}"))
            self.put(NODE_SHARD, replace(known, spec=NodeShardSpec(nodes_desired=list(nodes))))

    def claim(self, shard: NodeShard, nodes: Sequence[str]) -> None:
        """Have the NodeShard say that it uses these nodes, as another scheduler does."""
        self.put(NODE_SHARD, replace(shard, status=replace(shard.status, nodes_in_use=list(nodes))))

    def bind(self, pod: Pod, node: str) -> None:
        current: Any = self.objects["Pod", pod.metadata.key]
        if current.spec.node_name:
            self.refused += 1
            raise AssertionError(f"{pod.metadata.key} is bound twice")
        self.put("Pod", replace(current, spec=replace(current.spec, node_name=node)))
        self.bindings.append((pod.metadata.key, node))
        assert self.used()[node] <= self._cpu[node], f"{node} is over-committed by {pod.metadata.key}"

    def used(self) -> Counter[str]:
        """CPU by node."""
        used: Counter[str] = Counter()
        for pod in self.of("Pod"):
            if pod.spec.node_name:
                used[pod.spec.node_name] += int(pod.spec.containers[0].resources.requests["cpu"])
        return used

    # The part of the API that the keeper uses.

    async def get(self, path: ApiPath, params: Any = None) -> bytes:
        await self.turn()
        found: Any = self.objects[NODE_SHARD, path.name] if path.name else {"items": self.of(NODE_SHARD)}
        answer = msgspec.json.encode(found)
        await self.turn()
        return answer

    async def patch(self, path: ApiPath, body: Any) -> bytes:
        await self.turn()
        known: Any = self.objects[NODE_SHARD, path.name]
        if body["metadata"]["resourceVersion"] != known.metadata.resource_version:
            raise ConflictError("PATCH", str(path), 409, reason="Conflict")
        status = msgspec.convert(body["status"], type(known.status))
        answer = msgspec.json.encode(self.put(NODE_SHARD, replace(known, status=status)))
        await self.turn()
        return answer


class ShardDaemon:
    """One process: a keeper, a state that follows the store, cycles, and a binder. `stop` ends it at any point."""

    def __init__(self, name: str, store: Store) -> None:
        self._store = store
        self._name = name
        self.leads, self.holds_bindings = True, False
        self._woken = asyncio.Event()
        self._woken.set()
        self.state = ClusterState(sharding=Sharding(name), on_change=lambda _change: self._woken.set())
        api: Any = store
        self.keeper = NodeShardKeeper(
            name,
            self.state,
            self,
            api,
            active=lambda: self.leads,
            changed=self._woken.set,
            look_again=0.0001,
        )
        self.events: dict[str, asyncio.Queue[ApiObject]] = {kind: asyncio.Queue() for kind in KINDS}
        self._versions: dict[tuple[str, str], int] = {}
        self._to_bind: asyncio.Queue[Bind] = asyncio.Queue()
        self._effects: list[Effect] = []
        self._tasks: list[asyncio.Task[Any]] = []
        self.cycles = 0

    def start(self) -> None:
        self._store.watchers.append(self.events)
        for (kind, _), obj in list(self._store.objects.items()):
            self._see(kind, obj)
        works = (self.keeper.run(), *map(self._follow, KINDS), self._decide(), self._bind())
        self._tasks = [asyncio.create_task(work) for work in works]

    async def stop(self) -> None:
        """Killed: requests that it has not sent are never sent."""
        self._store.watchers = [each for each in self._store.watchers if each is not self.events]
        for task in self._tasks:
            task.cancel()
        for task in self._tasks:
            with suppress(asyncio.CancelledError):
                await task

    def check(self) -> None:
        """Raises what any of its tasks has raised."""
        for task in self._tasks:
            if task.done():
                task.result()

    # What the keeper asks for.

    def awaiting(self, names: frozenset[str]) -> frozenset[str]:
        return self.state.awaiting(names)

    async def catch_up(self, names: frozenset[str]) -> None:
        await self._store.turn()
        found = [pod for pod in self._store.of("Pod") if pod.spec.node_name in names]
        await self._store.turn()
        for pod in found:
            self._see("Pod", pod)

    # Its tasks.

    def _see(self, kind: str, obj: Any) -> None:
        known = self._versions.get((kind, obj.metadata.key), 0)
        version = int(obj.metadata.resource_version)
        if version <= known:
            return
        self._versions[kind, obj.metadata.key] = version
        (self.keeper if kind == NODE_SHARD else self.state).upsert(kind, obj)

    async def _follow(self, kind: str) -> None:
        """Each kind has a watch of its own; now and then one stalls."""
        while True:
            obj = await self.events[kind].get()
            await self._store.turn(stalls=True)
            self._see(kind, obj)

    async def _decide(self) -> None:
        scheduler = Scheduler(_REGISTRY, self._effects.extend)
        while True:
            await self._woken.wait()
            await self._store.turn()
            if not self.keeper.is_ready:
                continue
            self._woken.clear()
            self._effects.clear()
            scheduler.run_cycle(self.state.snapshot(1e9), CONFIGURATION)
            self.cycles += 1
            await self._store.turn()  # the cycle takes a while
            for effect in self._effects:
                if isinstance(effect, Bind) and self.state.assume_bound(
                    effect.pod.uid, effect.node, queue=effect.queue
                ):
                    self._to_bind.put_nowait(effect)
                elif isinstance(effect, PodGroupStatusUpdate):
                    self.state.assume_status(effect, 1e9)
                elif isinstance(effect, Bind):
                    self._woken.set()  # overtaken: decide again

    async def _bind(self) -> None:
        while True:
            bind = await self._to_bind.get()
            await self._store.turn(stalls=True)
            while self.holds_bindings:
                await self._store.turn()
            pod: Any = self._store.objects["Pod", bind.pod.key]
            self._store.bind(pod, bind.node)


def queue(name: str, shard: str) -> Queue:
    return Queue(metadata=ObjectMeta(name=name, uid=f"queue-{name}", annotations={SHARD_OF_QUEUE: shard}))


def single_pod(name: str, queue_name: str, cpu: int) -> tuple[PodGroup, Pod]:
    """A pod that asks for so much, and its PodGroup."""
    group = PodGroup(metadata=ObjectMeta(namespace="default", name=name, uid=f"group-{name}"))
    group = replace(group, spec=replace(group.spec, queue=queue_name, min_member=1))
    pod = Pod(
        metadata=ObjectMeta(namespace="default", name=name, uid=name, annotations={GROUP_NAME: name}),
        spec=replace(
            Pod(metadata=ObjectMeta()).spec,
            scheduler_name="volcano",
            containers=[msgspec.convert({"name": "c", "resources": {"requests": {"cpu": str(cpu)}}}, Container)],
        ),
    )
    return group, pod
