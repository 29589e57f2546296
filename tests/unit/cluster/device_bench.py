"""An API server for one claim or several, with what the real one has of them, and a binder of devices on a bench."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any, Final

from tests.unit.cluster.fakes import (
    FakeApi,
    FakeClock,
    RecordingOutcomes,
    Reply,
    Request,
    eventually,
    pod_ref,
    refusal,
)
from volcano_py.api.devices.claims import (
    DELETE_PROTECTION,
    AllocatedConfig,
    AllocatedDevices,
    Allocation,
    ClaimMeta,
    DeviceResult,
    DeviceToleration,
)
from volcano_py.api.effects import Bind, DeviceBinding, ObjectRef
from volcano_py.api.objects import NodeSelector, NodeSelectorTerm, SelectorRequirement
from volcano_py.cluster.kubernetes.http.client import KubernetesClient, PatchType
from volcano_py.cluster.kubernetes.writing.device_binder import DeviceBinder
from volcano_py.state.infos import NodeInfo

CLAIMS: Final = "/apis/resource.k8s.io/v1/namespaces/ns/resourceclaims"
PODS: Final = "/api/v1/namespaces/ns/pods"
DRIVER: Final = "gpu.example.com"
PARAMETERS: Final = {"kind": "GpuConfig", "sharing": None, "slots": [None, {"first": None}], "count": 0}


def on_node(name: str) -> NodeSelector:
    field = SelectorRequirement(key="metadata.name", operator="In", values=[name])
    return NodeSelector(node_selector_terms=[NodeSelectorTerm(match_fields=[field])])


def devices(*names: str, node: str = "node-1") -> Allocation:
    """These devices of a node's pool, with all that an allocation can have."""
    tolerations = [DeviceToleration(key="old", operator="Exists")]
    results = [
        DeviceResult(request="gpu", driver=DRIVER, pool=node, device=name, tolerations=tolerations) for name in names
    ]
    config = AllocatedConfig(source="FromClass", requests=["gpu"], opaque={"driver": DRIVER, "parameters": PARAMETERS})
    return Allocation(devices=AllocatedDevices(results=results, config=[config]), node_selector=on_node(node))


def written(*names: str, node: str = "node-1") -> dict[str, Any]:
    """How the API has such an allocation, written at the beginning of the test."""
    return {
        "devices": {
            "results": [
                {
                    "request": "gpu",
                    "driver": DRIVER,
                    "pool": node,
                    "device": name,
                    "tolerations": [{"key": "old", "operator": "Exists"}],
                }
                for name in names
            ],
            "config": [
                {
                    "source": "FromClass",
                    "requests": ["gpu"],
                    "opaque": {"driver": DRIVER, "parameters": PARAMETERS},
                }
            ],
        },
        "nodeSelector": {
            "nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}]
        },
        "allocationTimestamp": "2026-11-21T09:30:00Z",
    }


def user(pod: str) -> dict[str, str]:
    return {"resource": "pods", "name": pod, "uid": f"uid-{pod}"}


def gets(claim: str = "gpus", *names: str) -> DeviceBinding:
    """The claim gets these devices; without any, it has some."""
    reference = ObjectRef("ResourceClaim", "ns", claim, f"uid-{claim}")
    return DeviceBinding(reference, devices(*names) if names else None)


def bind(pod: str = "a", *bindings: DeviceBinding) -> Bind:
    return Bind(pod_ref(pod), "node-1", "ns/gang", devices=bindings or (gets("gpus", "gpu-0"),))


class ClaimServer:
    """Keeps claims as an API server does: each write is a version, and a patch of an older one is a conflict."""

    def __init__(self, api: FakeApi) -> None:
        self.api = api
        self.claims: dict[str, dict[str, Any]] = {}
        self.log: list[str] = []
        """What was written, such as `gpus/status`."""

    def add(self, name: str = "gpus", *, finalizers: tuple[str, ...] = (), **status: Any) -> None:
        meta = {"name": name, "namespace": "ns", "uid": f"uid-{name}", "resourceVersion": "5"}
        self.claims[name] = {"metadata": meta | {"finalizers": list(finalizers)}, "status": status}
        self.api.on("GET", f"{CLAIMS}/{name}", lambda _request: Reply(body=self.claims[name]))
        for door in ("", "/status"):
            self.api.on("PATCH", f"{CLAIMS}/{name}{door}", partial(self._patch, name, door))

    def protected(self, name: str = "gpus", **status: Any) -> None:
        self.add(name, finalizers=(DELETE_PROTECTION,), **status)

    def change(self, name: str = "gpus", **status: Any) -> None:
        """Somebody else writes the status."""
        self.claims[name]["status"] = status
        self._count_up(name)

    def users(self, name: str = "gpus") -> list[str]:
        return [each["name"] for each in self.claims[name]["status"].get("reservedFor", ())]

    def allocation(self, name: str = "gpus") -> Any:
        return self.claims[name]["status"].get("allocation")

    def _patch(self, name: str, door: str, request: Request) -> Reply:
        claim = self.claims[name]
        if request.headers["Content-Type"] == PatchType.JSON:
            changes = {each["path"]: each["value"] for each in request.body}
            status = {path.rpartition("/")[2]: value for path, value in changes.items() if "/status/" in path}
            version = changes["/metadata/resourceVersion"]
        else:
            status, version = request.body.get("status", {}), request.body["metadata"]["resourceVersion"]
        if version != claim["metadata"]["resourceVersion"]:
            return refusal(409, "Conflict", "the object has been modified")
        if door:
            merged = claim["status"] | status
            claim["status"] = {key: value for key, value in merged.items() if value is not None}
        else:
            claim["metadata"]["finalizers"] = request.body["metadata"]["finalizers"]
        self._count_up(name)
        self.log.append(name + door)
        return Reply(body=claim)

    def _count_up(self, name: str) -> None:
        meta = self.claims[name]["metadata"]
        meta["resourceVersion"] = str(int(meta["resourceVersion"]) + 1)


class DeviceBench:
    """A binder of devices whose ready pods are kept."""

    def __init__(self, client: KubernetesClient, outcomes: RecordingOutcomes, clock: FakeClock) -> None:
        self.ready: list[str] = []
        self.prepared: list[str] = []
        self.leads = True
        self.gone: list[str] = []
        self.vacant: dict[str, ClaimMeta] = {}
        """Claims (namespace/name) that are known to have no devices."""
        self.left: dict[str, list[ObjectRef]] = {}
        """UID of a pod → claims that are left of earlier attempts to give it extended resources."""
        self.outcomes, self.clock = outcomes, clock
        self.binder = DeviceBinder(
            client,
            outcomes,
            self._take,
            in_flight=2,
            on_prepared=lambda each: self.prepared.append(each.pod.name),
            find_node=lambda name: None if name in self.gone else NodeInfo(name),
            find_vacant=self.vacant.get,
            find_extended=lambda _namespace, pod: self.left.get(pod, []),
            fence=lambda: self.leads,
            clock=clock,
        )

    def _take(self, binds: Iterable[Bind]) -> None:
        self.ready += [each.pod.name for each in binds]

    async def failed(self, pod: str = "a") -> str:
        """The error with which the one pod failed."""
        await eventually(lambda: self.outcomes.lines, self.clock)
        assert self.outcomes.lines == [f"failed {pod}"]
        return str(self.outcomes.errors[0])
