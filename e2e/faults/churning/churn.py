"""A cluster that never rests: gangs, pods, Deployments, jobs, nodes and queues come, change and go, by chance."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from e2e.conftest import NodePool
from e2e.faults.churning.job_churn import ChurningJob, JobChurn
from e2e.faults.injection.patience import patiently
from e2e.harness.namespace import Namespace
from e2e.harness.objects import deployment, pod, pod_group
from volcano_py.local.nodes import create_nodes

NODE_CPUS = 8
_MEMORY = "16Gi"

_PAUSE = (0.02, 0.25)
"""Seconds between two changes."""
_AWAY = (0.5, 4.0)
"""Seconds for which a node is deleted or cordoned, or a queue closed."""
_MOST_AWAY = 2

_BUSY = 1.2
"""Demand over capacity that the churn stays around, so that some always wait."""
_QUIET = 0.6
"""Demand over capacity in the end. Pods ask for 2 CPUs at most: with all nodes half empty, every pod has a place."""

_OVERDUE = timedelta(seconds=10)
"""After the time by which a pod was to be gone; its kubelet ends it at once, if there is one."""

_DEPLOYMENTS = ("web", "cache")

_GROUPS = "/apis/scheduling.volcano.sh/v1beta1"


@dataclass(slots=True)
class Gang:
    """A gang as it should be; `ends` when its pods finish by themselves."""

    name: str
    size: int
    minimum: int
    cpu: int
    queue: str
    ends: bool

    @property
    def demand(self) -> int:
        return 0 if self.ends else self.size * self.cpu

    @property
    def pods(self) -> list[str]:
        return [f"{self.name}-{number}" for number in range(self.size)]


@dataclass(slots=True)
class Population:
    """What exists, or is about to."""

    gangs: dict[str, Gang] = field(default_factory=dict)
    singles: dict[str, int] = field(default_factory=dict)
    """Plain pods and their CPUs."""
    replicas: dict[str, int] = field(default_factory=lambda: dict.fromkeys(_DEPLOYMENTS, 0))

    @property
    def demand(self) -> int:
        """CPUs asked for."""
        return (
            sum(gang.demand for gang in self.gangs.values()) + sum(self.singles.values()) + sum(self.replicas.values())
        )


def _is_overdue(deletion: str | None) -> bool:
    """Whether an object should have been gone by now."""
    return deletion is not None and datetime.now(UTC) - datetime.fromisoformat(deletion) > _OVERDUE


class Churn:
    """Changes the namespace and the pool's nodes until asked to stop; `settle` then brings it to where all must run."""

    def __init__(self, namespace: Namespace, pool: NodePool, queues: tuple[str, ...], seed: int) -> None:
        self.population = Population()
        self.changes = 0
        self._namespace, self._client = namespace, namespace.cluster.client
        self._pool, self._queues = pool, queues
        self._rng = random.Random(seed)
        self._capacity = NODE_CPUS * len(pool.names)
        self._away: list[tuple[float, str, Callable[[], Awaitable[object]]]] = []
        self._number = 0
        self._stopped = False
        self._jobs = JobChurn(namespace, pool.selector, queues, self._rng, self._leave)

    @property
    def jobs(self) -> Mapping[str, ChurningJob]:
        """The Volcano Jobs by name."""
        return self._jobs.jobs

    @property
    def demand(self) -> int:
        """CPUs asked for."""
        return self.population.demand + self._jobs.demand

    async def run(self) -> None:
        """Until `stop`, or until cancelled, which leaves a change half made."""
        await self._create_deployments()
        while not self._stopped:
            await self._come_back()
            await self._change()
            self.changes += 1
            await asyncio.sleep(self._rng.uniform(*_PAUSE))

    def stop(self) -> None:
        """`run` returns after the change that is being made: what is noted in the population is then what there is."""
        self._stopped = True

    async def settle(self) -> None:
        """Bring back what is away, and shrink the demand to what has room in every case."""
        await self._come_back(everything=True)
        for name in _DEPLOYMENTS:
            await self._scale(name, 2)
        while self.demand > _QUIET * self._capacity:
            # Some of each kind are left.
            takers = {
                sum(gang.demand for gang in self.population.gangs.values()): self._delete_gang,
                sum(self.population.singles.values()): self._delete_single,
                self._jobs.demand: self._jobs.delete,
            }
            await takers[max(takers)]()

    async def fix(self) -> None:
        """Create again what others have deleted: pods whose node was away for long, among others.

        Pods that were deleted while their node was away are ended: the kubelet that came back knows nothing of them.
        """
        answer = await patiently(lambda: self._client.get(self._path("pods")))
        assert answer is not None
        for item in answer["items"]:
            if _is_overdue(item["metadata"].get("deletionTimestamp")):
                await self._delete(self._path("pods", item["metadata"]["name"]), force=True)
        there = {item["metadata"]["name"] for item in answer["items"]}
        for gang in self.population.gangs.values():
            for name in gang.pods:
                if name not in there:
                    await self._create_pod(name, gang.cpu, gang)
        for name, cpu in self.population.singles.items():
            if name not in there:
                await self._create_pod(name, cpu)

    # -- one change ------------------------------------------------------------------------------------------------

    async def _change(self) -> None:
        crowded = self.demand > _BUSY * self._capacity
        grow, shrink = (1.0, 6.0) if crowded else (6.0, 2.0)
        changes: dict[Callable[[], Awaitable[None]], float] = {
            self._create_gang: grow,
            self._create_single: grow / 2,
            self._delete_gang: shrink,
            self._delete_single: shrink / 2,
            self._replace_member: 1.5,
            self._rescale: 1.5,
            self._lose_node: 0.6,
            self._cordon_node: 0.6,
            self._close_queue: 0.6,
            **self._jobs.changes(grow, shrink),
        }
        change = self._rng.choices(list(changes), list(changes.values()))[0]
        await change()

    async def _create_gang(self) -> None:
        size = self._rng.randint(2, 8)
        gang = Gang(
            name=self._name("gang"),
            size=size,
            minimum=size if self._rng.random() < 0.7 else self._rng.randint(1, size),
            cpu=self._rng.choice((1, 1, 2)),
            queue=self._rng.choice(self._queues),
            ends=self._rng.random() < 0.3,
        )
        self.population.gangs[gang.name] = gang
        group = pod_group(gang.name, gang.minimum, queue=gang.queue)
        if self._rng.random() < 0.5:
            group["spec"]["minResources"] = {"cpu": str(gang.minimum * gang.cpu)}
        # Pods that come before their PodGroup are nothing unusual.
        group_first = self._rng.random() < 0.7
        if group_first:
            await self._create_group(group)
        for name in gang.pods:
            await self._create_pod(name, gang.cpu, gang)
        if not group_first:
            await self._create_group(group)

    async def _create_single(self) -> None:
        name = self._name("single")
        self.population.singles[name] = self._rng.choice((1, 2))
        await self._create_pod(name, self.population.singles[name])

    async def _delete_gang(self) -> None:
        if not self.population.gangs:
            return
        gang = self.population.gangs.pop(self._rng.choice(list(self.population.gangs)))
        deletions = [self._path("pods", name) for name in gang.pods]
        group = f"{_GROUPS}/namespaces/{self._namespace.name}/podgroups/{gang.name}"
        deletions.insert(self._rng.choice((0, len(deletions))), group)
        for path in deletions:
            await self._delete(path)

    async def _delete_single(self) -> None:
        if self.population.singles:
            name = self._rng.choice(list(self.population.singles))
            del self.population.singles[name]
            await self._delete(self._path("pods", name))

    async def _replace_member(self) -> None:
        """A pod of a gang is deleted, and created again under its old name."""
        gangs = [gang for gang in self.population.gangs.values() if not gang.ends]
        if not gangs:
            return
        gang = self._rng.choice(gangs)
        name = self._rng.choice(gang.pods)
        await self._delete(self._path("pods", name), force=True)
        await self._create_pod(name, gang.cpu, gang)

    async def _rescale(self) -> None:
        await self._scale(self._rng.choice(_DEPLOYMENTS), self._rng.randint(0, 6))

    async def _lose_node(self) -> None:
        """A node is deleted with pods on it, and comes back."""
        name = self._node_to_take()
        if not name:
            return
        await self._delete(f"/api/v1/nodes/{name}")

        async def back() -> None:
            await patiently(
                lambda: create_nodes(
                    self._client,
                    1,
                    allocatable={"cpu": str(NODE_CPUS), "memory": _MEMORY, "pods": "110"},
                    labels=self._pool.selector,
                    name_format=name,
                )
            )

        self._leave(name, back)

    async def _cordon_node(self) -> None:
        name = self._node_to_take()
        if not name:
            return
        path = f"/api/v1/nodes/{name}"
        await patiently(lambda: self._client.merge_patch(path, {"spec": {"unschedulable": True}}), fine=(404,))
        self._leave(
            name,
            lambda: patiently(lambda: self._client.merge_patch(path, {"spec": {"unschedulable": None}}), fine=(404,)),
        )

    async def _close_queue(self) -> None:
        name = self._rng.choice(self._queues)
        if name in self._gone():
            return
        await self._set_state(name, "Closed")
        self._leave(name, lambda: self._set_state(name, "Open"))

    # -- what is away ----------------------------------------------------------------------------------------------

    def _gone(self) -> set[str]:
        return {name for _, name, _ in self._away}

    def _node_to_take(self) -> str:
        gone = self._gone() & set(self._pool.names)
        there = [name for name in self._pool.names if name not in gone]
        return self._rng.choice(there) if len(gone) < _MOST_AWAY else ""

    def _leave(self, name: str, back: Callable[[], Awaitable[object]]) -> None:
        due = asyncio.get_running_loop().time() + self._rng.uniform(*_AWAY)
        self._away.append((due, name, back))

    async def _come_back(self, *, everything: bool = False) -> None:
        now = asyncio.get_running_loop().time()
        for entry in [entry for entry in self._away if everything or entry[0] <= now]:
            self._away.remove(entry)
            await entry[2]()

    # -- requests --------------------------------------------------------------------------------------------------

    def _name(self, prefix: str) -> str:
        self._number += 1
        return f"{prefix}-{self._number}"

    def _path(self, resource: str, name: str = "") -> str:
        path = f"/api/v1/namespaces/{self._namespace.name}/{resource}"
        return f"{path}/{name}" if name else path

    async def _create_group(self, group: dict[str, Any]) -> None:
        await self._create(f"{_GROUPS}/namespaces/{self._namespace.name}/podgroups", group)

    async def _create_deployments(self) -> None:
        path = f"/apis/apps/v1/namespaces/{self._namespace.name}/deployments"
        for name in _DEPLOYMENTS:
            await self._create(path, deployment(name, 0, node_selector=self._pool.selector))

    async def _scale(self, name: str, replicas: int) -> None:
        self.population.replicas[name] = replicas
        path = f"/apis/apps/v1/namespaces/{self._namespace.name}/deployments/{name}"
        await patiently(lambda: self._client.merge_patch(path, {"spec": {"replicas": replicas}}))

    async def _create_pod(self, name: str, cpu: int, gang: Gang | None = None) -> None:
        annotations = {"pod-complete.stage.kwok.x-k8s.io/delay": "1s"} if gang is not None and gang.ends else {}
        body = pod(
            name,
            cpu=str(cpu),
            group=gang.name if gang is not None else "",
            annotations=annotations,
            node_selector=self._pool.selector,
            restartPolicy="Never",
        )
        await self._create(self._path("pods"), body)

    async def _set_state(self, queue: str, state: str) -> None:
        """As an administrator does without Commands: by the state itself."""
        path = f"{_GROUPS}/queues/{queue}/status"
        await patiently(lambda: self._client.merge_patch(path, {"status": {"state": state}}))

    async def _create(self, path: str, body: dict[str, Any]) -> None:
        await patiently(lambda: self._client.create(path, body), fine=(409,))

    async def _delete(self, path: str, *, force: bool = False) -> None:
        options = {"gracePeriodSeconds": 0} if force else None
        await patiently(lambda: self._client.delete(path, options), fine=(404,))
