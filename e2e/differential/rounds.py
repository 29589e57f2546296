"""A round: some clusters side by side on one API server, and what both schedulers say of every pod asked about.

Both see all clusters of the round, so nothing has to keep them apart for the comparison to be true.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final

from e2e.differential.clusters import Cluster
from e2e.differential.components import Component
from e2e.differential.ours import Answer, Ours, read_objects
from e2e.differential.pods.features import OVERHEAD, RUNTIME_CLASS
from e2e.differential.pods.selecting import all_paths
from e2e.differential.pods.storage import CLAIMS, CLASSES, CSI_NODES, VOLUMES, Stored
from e2e.differential.theirs import SCHEDULER_NAME, KubeScheduler
from e2e.differential.words import NAMESPACES, Manifest
from volcano_py.local.client import APIClient
from volcano_py.local.nodes import simulated_node

_NODES: Final = "/api/v1/nodes"
_STORAGE: Final = (VOLUMES, CLASSES, CSI_NODES)
_ASKED: Final = "differential/asked"
"""Label of the pods that are asked about; its value is the round."""
_MARKER: Final = "differential/marker"
# A ReplicationController would stay by default: no garbage collector takes off the finalizer that orphans its pods.
_NOW: Final = {"gracePeriodSeconds": 0, "propagationPolicy": "Background"}
_LONG: Final = {"gracePeriodSeconds": 3600}


@dataclass(frozen=True, slots=True)
class Comparison:
    """What both said of one pod and `nodes` nodes. `theirs` is None for a pod that kube-scheduler did not try.

    `message` is what it says of the pod.
    """

    cluster: int
    pod: Mapping[str, Any]
    ours: Answer
    theirs: frozenset[str] | None
    nodes: int
    message: str

    @property
    def agree(self) -> bool:
        if self.theirs is None or self.ours.gated:
            return self.theirs is None and self.ours.gated
        return self.ours.nodes == self.theirs


@dataclass(frozen=True, slots=True)
class Scoring:
    """What both gave the nodes that a pod fits, for one reason; only differences between nodes mean anything."""

    cluster: int
    pod: Mapping[str, Any]
    component: str
    nodes: tuple[str, ...]
    ours: tuple[float, ...]
    theirs: tuple[float, ...]

    @property
    def agree(self) -> bool:
        return _above_the_first(self.ours) == _above_the_first(self.theirs)

    @property
    def decides(self) -> bool:
        """Whether it prefers any node to another."""
        return len({*self.theirs}) > 1


def _above_the_first(scores: Sequence[float]) -> list[float]:
    return [score - scores[0] for score in scores]


async def furnish(client: APIClient) -> None:
    """Create what all rounds share."""
    namespaces = [{"metadata": {"name": name, "labels": labels}} for name, labels in NAMESPACES.items()]
    await client.create_many("/api/v1/namespaces", namespaces)
    runtime_class = {"metadata": {"name": RUNTIME_CLASS}, "handler": "any", "overhead": {"podFixed": OVERHEAD}}
    await client.create("/apis/node.k8s.io/v1/runtimeclasses", runtime_class)


class Arena:
    """The API server on which rounds take place, one after the other."""

    def __init__(self, client: APIClient, kube_scheduler: KubeScheduler) -> None:
        self._client = client
        self._theirs = kube_scheduler

    async def compare(self, round_name: str, clusters: Sequence[Cluster]) -> list[Comparison]:
        """Build the clusters, ask both schedulers about every pod, and clear everything away.

        What they disagree about is asked once more: kube-scheduler's watches are not in step with each other.
        """
        async with self._built(round_name, clusters):
            asked = [(cluster.number, pod) for cluster in clusters for pod in cluster.asked]
            first = await self._ask(f"{round_name}-1", asked)
            doubtful = [pod for pod, answer in zip(asked, first, strict=True) if not answer.agree]
            again = await self._ask(f"{round_name}-2", doubtful) if doubtful else []
            return [answer for answer in first if answer.agree] + again

    async def _ask(self, asking: str, pods: Sequence[tuple[int, Manifest]]) -> list[Comparison]:
        created = await _together(self._create_pod(_asked(pod, asking)) for _, pod in pods)
        ours = Ours(await read_objects(self._client))
        uids = {pod["metadata"]["uid"] for pod in created}
        answers = [ours.fitting(pod["metadata"]["uid"]) for pod in created]
        tried = [pod["metadata"]["uid"] for pod in created if not pod["spec"].get("schedulingGates")]
        theirs = await self._theirs.fitting(tried, f"{_ASKED}={asking}")
        theirs |= {uid: passed for uid in uids.difference(theirs) if (passed := self._theirs.passed(uid)) is not None}
        return [
            Comparison(cluster, pod, answer, theirs.get(uid), ours.nodes, self._theirs.says(uid))
            for (cluster, _), pod, answer in zip(pods, created, answers, strict=True)
            for uid in [pod["metadata"]["uid"]]
        ]

    async def score(
        self, round_name: str, clusters: Sequence[Cluster], components: Sequence[Component]
    ) -> list[Scoring]:
        """Build the clusters, have both score the nodes of every pod, and clear everything away.

        Pods that they disagree about are scored once more, for the same reason as in `compare`.
        """
        async with self._built(round_name, clusters):
            asked = [(cluster.number, pod) for cluster in clusters for pod in cluster.asked]
            first = await self._score(f"{round_name}-1", asked, components)
            agreed = [all(each.agree for each in scorings) for scorings in first]
            doubtful = [pod for pod, agree in zip(asked, agreed, strict=True) if not agree]
            again = await self._score(f"{round_name}-2", doubtful, components) if doubtful else []
            found = [scorings for scorings, agree in zip(first, agreed, strict=True) if agree] + again
            return [each for scorings in found for each in scorings]

    async def _score(
        self, asking: str, pods: Sequence[tuple[int, Manifest]], components: Sequence[Component]
    ) -> list[list[Scoring]]:
        """Of each pod, what concerns it."""
        created = await _together(self._create_pod(_asked(pod, asking)) for _, pod in pods)
        fitting = await self._theirs.fitting([pod["metadata"]["uid"] for pod in created], f"{_ASKED}={asking}")
        theirs = self._theirs.scores()
        objects = await read_objects(self._client)
        scorings: list[list[Scoring]] = [[] for _ in pods]
        for component in components:
            ours = Ours(objects, component.configuration)
            for (cluster, _), pod, found in zip(pods, created, scorings, strict=True):
                nodes = tuple(sorted(fitting[pod["metadata"]["uid"]]))
                if len(nodes) > 1 and component.concerns(pod):
                    scored = theirs.get((_key(pod), component.plugin), {})
                    given = tuple(scored.get(node, 0) / component.weight for node in nodes)
                    own = tuple(ours.scores(pod["metadata"]["uid"], nodes))
                    found.append(Scoring(cluster, pod, component.name, nodes, own, given))
        return scorings

    @asynccontextmanager
    async def _built(self, round_name: str, clusters: Sequence[Cluster]) -> AsyncIterator[None]:
        try:
            await self._client.create_many(_NODES, [node for cluster in clusters for node in cluster.nodes])
            await _together(self._store(each) for cluster in clusters for each in cluster.stored)
            running = [each for cluster in clusters for each in cluster.running]
            created = await _together(self._create_pod(each.manifest) for each in running)
            await _together(
                self._client.merge_patch(f"{_path(pod)}/status", {"status": {"phase": each.phase}})
                for each, pod in zip(running, created, strict=True)
                if each.phase != "Pending"
            )
            await _together(
                self._client.delete(_path(pod), _LONG)
                for each, pod in zip(running, created, strict=True)
                if each.leaving
            )
            await self._wait_until_seen(f"marker-{round_name}")
            yield
        finally:
            for path in (
                *map(_pods_path, NAMESPACES),
                _NODES,
                *map(CLAIMS.format, NAMESPACES),
                *_STORAGE,
                *all_paths(),
            ):
                await self._client.delete(path, _NOW)

    async def _wait_until_seen(self, marker: str) -> None:
        """Create one more node, and wait until kube-scheduler has tried a pod on it. Hardly any other tolerates it."""
        taint = {"key": _MARKER, "effect": "NoExecute"}
        await self._client.create(_NODES, simulated_node(marker, taints=[taint]))
        pod = {
            "metadata": {"name": marker, "namespace": next(iter(NAMESPACES))},
            "spec": {
                "schedulerName": SCHEDULER_NAME,
                "nodeSelector": {"kubernetes.io/hostname": marker},
                "tolerations": [{"key": _MARKER, "operator": "Exists"}],
                "containers": [{"name": "main", "image": "any"}],
            },
        }
        created = await self._create_pod(pod)
        await self._theirs.has_seen(marker, created["metadata"]["uid"])

    async def _store(self, stored: Stored) -> None:
        await self._client.create(stored.path, stored.manifest)
        if stored.phase:
            path = f"{stored.path}/{stored.manifest['metadata']['name']}/status"
            await self._client.merge_patch(path, {"status": {"phase": stored.phase}})

    async def _create_pod(self, pod: Manifest) -> Manifest:
        created: Manifest = await self._client.create(_pods_path(pod["metadata"]["namespace"]), pod)
        return created


def _asked(pod: Manifest, asking: str) -> Manifest:
    """The manifest under another name and with the label by which it is found."""
    metadata = pod["metadata"]
    labels = {**metadata["labels"], _ASKED: asking}
    return {**pod, "metadata": {**metadata, "name": f"{metadata['name']}-{asking}", "labels": labels}}


def _key(pod: Mapping[str, Any]) -> str:
    return f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"


def _pods_path(namespace: str) -> str:
    return f"/api/v1/namespaces/{namespace}/pods"


def _path(pod: Mapping[str, Any]) -> str:
    return f"{_pods_path(pod['metadata']['namespace'])}/{pod['metadata']['name']}"


async def _together(calls: Iterable[Any]) -> list[Any]:
    return list(await asyncio.gather(*calls))
