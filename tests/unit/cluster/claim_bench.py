"""A binder of claims on a bench: claims and volumes as the API server has them, what is heard, what comes out."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from tests.unit.cluster.fakes import FakeApi, FakeClock, RecordingOutcomes, eventually, pod_ref, settle
from volcano_py.api.effects import Bind, ClaimBinding, ObjectRef
from volcano_py.api.objects import ObjectMeta
from volcano_py.api.volumes import (
    BIND_COMPLETED,
    SELECTED_NODE,
    PersistentVolumeClaim,
    PersistentVolumeClaimSpec,
    PersistentVolumeClaimStatus,
)
from volcano_py.cluster.kubernetes.http.client import KubernetesClient
from volcano_py.cluster.kubernetes.writing.volume_binder import VolumeBinder
from volcano_py.state.infos import NodeInfo

HOST: Final = "kubernetes.io/hostname"
CLAIMS, VOLUMES = "/api/v1/namespaces/ns/persistentvolumeclaims", "/api/v1/persistentvolumes"
KIND = "PersistentVolumeClaim"


def claim_ref(name: str) -> ObjectRef:
    return ObjectRef(KIND, "ns", name, f"uid-{name}")


def bind(pod: str = "a", *claims: ClaimBinding, within: float = 600.0) -> Bind:
    return Bind(pod_ref(pod), "node-1", "ns/gang", claims=claims or (RESERVED,), claims_within=within)


RESERVED = ClaimBinding(claim_ref("data"), "pv-1")
ORDERED = ClaimBinding(claim_ref("data"))


def claim_body(name: str = "data", version: int = 5, *, uid: str = "", volume: str = "", **meta: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": name, "namespace": "ns", "uid": uid or f"uid-{name}", "resourceVersion": str(version)}
        | meta,
        "spec": {"volumeName": volume} if volume else {},
    }


def volume_body(name: str = "pv-1", **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, "uid": f"uid-{name}", "resourceVersion": "7"}, "spec": spec}


def usable_from(node: str) -> dict[str, Any]:
    """Fields of a volume's spec: it can be used from that node only."""
    selected = {"key": HOST, "operator": "In", "values": [node]}
    return {"nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [selected]}]}}}


def heard(
    name: str = "data", version: int = 9, *, volume: str = "", node: str = "", uid: str = "", phase: str = ""
) -> PersistentVolumeClaim:
    """A claim as a watch brings it: bound to `volume` if given."""
    marks = ({BIND_COMPLETED: "yes"} if volume else {}) | ({SELECTED_NODE: node} if node else {})
    meta = ObjectMeta(
        namespace="ns", name=name, uid=uid or f"uid-{name}", resource_version=str(version), annotations=marks
    )
    return PersistentVolumeClaim(
        metadata=meta,
        spec=PersistentVolumeClaimSpec(volume_name=volume),
        status=PersistentVolumeClaimStatus(phase=phase or ("Bound" if volume else "Pending")),
    )


class Bench:
    """A binder of claims whose ready pods are kept."""

    def __init__(self, client: KubernetesClient, outcomes: RecordingOutcomes, clock: FakeClock) -> None:
        self.ready: list[str] = []
        self.prepared: list[str] = []
        self.leads = True
        self.gone: list[str] = []
        self.outcomes, self.clock = outcomes, clock
        self.binder = VolumeBinder(
            client,
            outcomes,
            self._take,
            on_prepared=lambda each: self.prepared.append(each.pod.name),
            find_node=self._find_node,
            fence=lambda: self.leads,
            in_flight=2,
            clock=clock,
        )

    def _find_node(self, name: str) -> NodeInfo | None:
        return None if name in self.gone else NodeInfo(name, labels={HOST: name})

    def _take(self, binds: Iterable[Bind]) -> None:
        self.ready += [each.pod.name for each in binds]

    def hear(self, claim: PersistentVolumeClaim) -> None:
        self.binder.claims.upsert(KIND, claim)

    async def failed(self) -> str:
        """The error with which the one pod failed."""
        await eventually(lambda: self.outcomes.lines, self.clock)
        assert self.outcomes.lines == ["failed a"]
        assert self.ready == []
        return str(self.outcomes.errors[0])


def patches(api: FakeApi) -> list[tuple[str, Any]]:
    return [(request.path.rpartition("/")[2], request.body) for request in api.sent("PATCH")]


async def written(api: FakeApi, count: int = 1) -> None:
    await eventually(lambda: len(api.sent("PATCH")) >= count)
    await settle()
