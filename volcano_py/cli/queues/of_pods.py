"""Which queue a pod is in."""

from __future__ import annotations

from collections.abc import Sequence

import orjson

from volcano_py.api.effects import JsonObject
from volcano_py.api.names import CHARGED_QUEUE, GROUP_NAME, QUEUE_NAME
from volcano_py.cli.pod_groups import queue_of_group
from volcano_py.cli.printing.changes import listed
from volcano_py.cluster.kubernetes.http.client import KubernetesClient
from volcano_py.cluster.kubernetes.http.errors import NotFoundError
from volcano_py.cluster.kubernetes.watching.kinds import POD_GROUP
from volcano_py.operator.kube_api import pod_group_path


class QueuesOfPods:
    """Which queue a pod is in: the one it was bound in, else that of its PodGroup, which is looked up the first time a
    pod of it is seen."""

    def __init__(self, client: KubernetesClient, namespace: str) -> None:
        """For the pods of a namespace ("": of all)."""
        self._client, self._namespace = client, namespace
        self._queues: dict[tuple[str, str], str] = {}
        self._listed = False

    def of(self, pod: JsonObject) -> str:
        """ "" when it is not known."""
        annotations: dict[str, str] = pod["metadata"].get("annotations") or {}
        if pod["spec"].get("nodeName") and CHARGED_QUEUE in annotations:
            return annotations[CHARGED_QUEUE]
        return self._queues.get(_group_of(pod)) or annotations.get(QUEUE_NAME, "")

    async def learn(self, pods: Sequence[JsonObject]) -> None:
        """Look up the PodGroups of these pods that are not known yet: all together at first, then one by one."""
        if not self._listed:
            self._listed = True
            path = pod_group_path(self._namespace) if self._namespace else POD_GROUP.path
            for group in await listed(self._client, path):
                metadata = group["metadata"]
                self._queues[metadata.get("namespace", ""), metadata["name"]] = queue_of_group(group)
            return
        for pod in pods:
            namespace, name = _group_of(pod)
            if name and (namespace, name) not in self._queues:
                await self._learn_one(namespace, name)

    async def _learn_one(self, namespace: str, name: str) -> None:
        try:
            group = orjson.loads(await self._client.get(pod_group_path(namespace, name)))
        except NotFoundError:
            return  # it may come yet
        self._queues[namespace, name] = queue_of_group(group)


def _group_of(pod: JsonObject) -> tuple[str, str]:
    """Namespace and name of its PodGroup; no name for one that names none."""
    metadata = pod["metadata"]
    return metadata.get("namespace", ""), (metadata.get("annotations") or {}).get(GROUP_NAME, "")
