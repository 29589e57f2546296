"""A driver of devices, as far as a scheduler sees it: a class, slices with what nodes have, and claims to it."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from e2e.harness.cluster import Cluster
from e2e.harness.namespace import Namespace
from e2e.harness.objects import Object
from e2e.harness.views import PodView

API: Final = "resource.k8s.io/v1"
CLASSES: Final = f"/apis/{API}/deviceclasses"
SLICES: Final = f"/apis/{API}/resourceslices"


@dataclass(frozen=True)
class Claim:
    """A ResourceClaim: the (pool, device) that it has, and the pods for which it is reserved."""

    raw: Object

    @property
    def devices(self) -> set[tuple[str, str]]:
        results = self.allocation.get("devices", {}).get("results", [])
        return {(result["pool"], result["device"]) for result in results}

    @property
    def users(self) -> set[str]:
        return {user["name"] for user in self._status.get("reservedFor") or []}

    @property
    def allocation(self) -> Object:
        return self._status.get("allocation") or {}

    @property
    def _status(self) -> Object:
        return self.raw.get("status") or {}


class Driver:
    """A driver of a test's own and the class of its devices. Nodes have pools of their own names."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.name = f"{secrets.token_hex(3)}.e2e.example.com"
        self.device_class = f"e2e-{secrets.token_hex(3)}"
        self.config: list[Object] = [
            {"opaque": {"driver": self.name, "parameters": {"kind": "Sharing", "strategy": None, "slots": 2}}}
        ]
        """Parameters that every device is set up with; one of them is null."""
        self._slices: list[str] = []

    @property
    def resource(self) -> str:
        """The extended resource that the class offers if it is created so."""
        return f"{self.name}/gpu"

    async def create_class(self, *, extended: bool = False) -> None:
        selector = {"cel": {"expression": f'device.driver == "{self.name}"'}}
        spec: Object = {"selectors": [selector], "config": self.config}
        if extended:
            spec["extendedResourceName"] = self.resource
        await self.cluster.client.create(CLASSES, {"metadata": {"name": self.device_class}, "spec": spec})

    async def publish(self, node: str, *devices: str, generation: int = 1, **attributes: str) -> None:
        """The node has these devices from now on, and no others; `attributes` are those of all of them."""
        texts = {name: {"string": text} for name, text in attributes.items()}
        spec: Object = {
            "driver": self.name,
            "pool": {"name": node, "generation": generation, "resourceSliceCount": 1},
            "nodeName": node,
            "devices": [{"name": device, "attributes": texts} for device in devices],
        }
        name = f"{node}-{self.name}"
        if name in self._slices:
            await self.cluster.client.merge_patch(f"{SLICES}/{name}", {"spec": spec})
        else:
            await self._create(name, spec)

    async def publish_card(self, node: str, memory: int, parts: Mapping[str, int]) -> None:
        """The node has a card with so much memory, and devices that each take a part of that: in two slices, as those
        with counters have no devices."""
        common: Object = {
            "driver": self.name,
            "pool": {"name": node, "generation": 1, "resourceSliceCount": 2},
            "nodeName": node,
        }
        counters = {"name": "card-0", "counters": {"memory": {"value": f"{memory}Gi"}}}
        await self._create(f"{node}-{self.name}-counters", {**common, "sharedCounters": [counters]})
        devices = [
            {
                "name": name,
                "capacity": {"memory": {"value": f"{part}Gi"}},
                "consumesCounters": [{"counterSet": "card-0", "counters": {"memory": {"value": f"{part}Gi"}}}],
            }
            for name, part in parts.items()
        ]
        await self._create(f"{node}-{self.name}-devices", {**common, "devices": devices})

    async def publish_shared(self, node: str, name: str, memory: int, step: int) -> None:
        """The node has a device with so much memory, which claims can share in steps."""
        bounds = {"min": f"{step}Gi", "step": f"{step}Gi", "max": f"{memory}Gi"}
        policy = {"default": f"{step}Gi", "validRange": bounds}
        device = {
            "name": name,
            "allowMultipleAllocations": True,
            "capacity": {"memory": {"value": f"{memory}Gi", "requestPolicy": policy}},
        }
        spec: Object = {
            "driver": self.name,
            "pool": {"name": node, "generation": 1, "resourceSliceCount": 1},
            "nodeName": node,
            "devices": [device],
        }
        await self._create(f"{node}-{self.name}", spec)

    async def _create(self, name: str, spec: Object) -> None:
        self._slices.append(name)
        await self.cluster.client.create(SLICES, {"metadata": {"name": name}, "spec": spec})

    async def allocate(
        self, namespace: Namespace, claim: str, node: str, device: str, *users: PodView, request: str = "gpu"
    ) -> None:
        """The claim has a device of the node, and is reserved for these pods, as if a scheduler had stopped there."""
        result = {"request": request, "driver": self.name, "pool": node, "device": device}
        here = [{"key": "metadata.name", "operator": "In", "values": [node]}]
        allocation = {
            "devices": {"results": [result]},
            "nodeSelector": {"nodeSelectorTerms": [{"matchFields": here}]},
        }
        reserved = [{"resource": "pods", "name": each.name, "uid": each.raw["metadata"]["uid"]} for each in users]
        path = f"/apis/{API}/namespaces/{namespace.name}/resourceclaims/{claim}/status"
        await self.cluster.client.merge_patch(path, {"status": {"allocation": allocation, "reservedFor": reserved}})

    async def leave(self, namespace: Namespace, pod: PodView) -> str:
        """Create a claim as a scheduler does for the extended resource of the pod; returns the name of its request."""
        owner = {"apiVersion": "v1", "kind": "Pod", "name": pod.name, "uid": pod.raw["metadata"]["uid"]}
        claim = self.claim(f"{pod.name}-left")
        claim["metadata"] |= {
            "annotations": {"resource.kubernetes.io/extended-resource-claim": "true"},
            "ownerReferences": [{**owner, "controller": True}],
        }
        asked = sorted(pod.raw["spec"]["containers"][0]["resources"]["requests"])
        request = f"container-0-request-{next(at for at, name in enumerate(asked) if '/' in name)}"
        claim["spec"]["devices"]["requests"][0]["name"] = request
        await namespace.apply(claim)
        return request

    async def remove(self) -> None:
        for name in self._slices:
            await self.cluster.delete(f"{SLICES}/{name}")
        await self.cluster.delete(f"{CLASSES}/{self.device_class}")

    def claim(self, name: str, **request: Any) -> Object:
        """One device, unless `request` has other fields of the request."""
        return {"apiVersion": API, "kind": "ResourceClaim", "metadata": {"name": name}, "spec": self._spec(request)}

    def template(self, name: str, **request: Any) -> Object:
        spec = {"spec": self._spec(request)}
        return {"apiVersion": API, "kind": "ResourceClaimTemplate", "metadata": {"name": name}, "spec": spec}

    def _spec(self, request: Mapping[str, Any]) -> Object:
        exactly = {"deviceClassName": self.device_class, **request}
        return {"devices": {"requests": [{"name": "gpu", "exactly": exactly}]}}


def from_template(template: str) -> Object:
    """Fields of a pod's spec: a claim of its own."""
    return _using({"name": "gpu", "resourceClaimTemplateName": template})


def by_name(claim: str, *, cpu: str = "100m") -> Object:
    """Fields of a pod's spec: a claim that others may use, too."""
    return _using({"name": "gpu", "resourceClaimName": claim}, cpu)


def with_resource(resource: str, count: int = 1) -> Object:
    """Fields of a pod's spec: so much of an extended resource."""
    resources = {"requests": {"cpu": "100m", resource: str(count)}, "limits": {resource: str(count)}}
    return {"containers": [{"name": "main", "image": "registry.k8s.io/pause:3.10", "resources": resources}]}


def _using(entry: Object, cpu: str = "100m") -> Object:
    container = {
        "name": "main",
        "image": "registry.k8s.io/pause:3.10",
        "resources": {"requests": {"cpu": cpu}, "claims": [{"name": "gpu"}]},
    }
    return {"resourceClaims": [entry], "containers": [container]}


async def claims_in(namespace: Namespace) -> dict[str, Claim]:
    """The claims of a namespace, by name."""
    path = f"/apis/{API}/namespaces/{namespace.name}/resourceclaims"
    return {each["metadata"]["name"]: Claim(each) for each in (await namespace.cluster.client.get(path))["items"]}
