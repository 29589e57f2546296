"""Volcano Jobs to create, and how tests wait for them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from e2e.harness.namespace import Namespace
from e2e.harness.objects import pod_spec
from e2e.harness.waiting import WAIT_SECONDS
from volcano_py.local.client import APIError


def task(name: str, replicas: int, *, annotations: Mapping[str, str] | None = None, **fields: Any) -> dict[str, Any]:
    """A task of pods that never restart their containers; `selector` says which nodes they go to."""
    selector = fields.pop("selector", None)
    spec = pod_spec(node_selector=selector, scheduler_name="", restartPolicy="Never", cpu=fields.pop("cpu", "1"))
    template = {"metadata": {"annotations": dict(annotations or {})}, "spec": spec}
    return {"name": name, "replicas": replicas, "template": template, **fields}


def job(name: str, *tasks: dict[str, Any], **spec: Any) -> dict[str, Any]:
    """A Job manifest; `spec` may bring tasks of its own."""
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {"tasks": list(tasks), **spec},
    }


class Jobs:
    """The jobs of a namespace."""

    def __init__(self, namespace: Namespace) -> None:
        self.namespace, self.cluster = namespace, namespace.cluster
        self.path = f"/apis/batch.volcano.sh/v1alpha1/namespaces/{namespace.name}/jobs"

    async def get(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = await self.cluster.client.get(f"{self.path}/{name}")
        return found

    async def wait(self, name: str, phase: str, *, seconds: float = WAIT_SECONDS, **status: Any) -> dict[str, Any]:
        """Until the job is in this phase, and its status says this."""

        async def reached() -> dict[str, Any]:
            found: dict[str, Any] = (await self.get(name)).get("status", {})
            seen = {key: found.get(key, 0) for key in status}
            assert (found.get("state", {}).get("phase"), seen) == (phase, status), await self._shown(found)
            return found

        return await self.cluster.eventually(f"job {name} {phase} {status}", reached, seconds=seconds)

    async def _shown(self, status: dict[str, Any]) -> str:
        """A job's status and all pods, to find out why it is not as expected."""
        return f"{status}; pods: {', '.join(map(str, await self.namespace.pods()))}"

    async def delete(self, name: str) -> None:
        await self.cluster.delete(f"{self.path}/{name}")

    async def annotate(self, pod: str, **annotations: str) -> None:
        path = f"/api/v1/namespaces/{self.namespace.name}/pods/{pod}"
        await self.cluster.client.merge_patch(path, {"metadata": {"annotations": annotations}})

    async def command(self, name: str, action: str) -> None:
        metadata = (await self.get(name))["metadata"]
        target = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "name": name, "uid": metadata["uid"]}
        await self.cluster.client.create(
            f"/apis/bus.volcano.sh/v1alpha1/namespaces/{self.namespace.name}/commands",
            {
                "apiVersion": "bus.volcano.sh/v1alpha1",
                "kind": "Command",
                "metadata": {"generateName": f"{name}-"},
                "action": action,
                "target": target,
            },
        )

    async def exists(self, path: str) -> bool:
        try:
            await self.cluster.client.get(path.format(namespace=self.namespace.name))
        except APIError as error:
            if error.status != 404:
                raise
            return False
        return True
