"""A small cluster as an API server lists it, with much in it that decisions do not need."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from tests.unit.cluster.fakes import FakeApi, Reply, page, refusal
from volcano_py.api.names import CONFIG_KEY
from volcano_py.capture.kinds import KINDS
from volcano_py.cluster.kubernetes.watching.kinds import Kind

MARK: Final = "tell-no-one"
"""In every field that decisions do not follow from."""

CONFIG_MAP: Final = "/api/v1/namespaces/volcano-system/configmaps/volcano-scheduler-configmap"

_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"

_SPEC: Final[dict[str, Any]] = {
    "schedulerName": "volcano",
    "serviceAccountName": MARK,
    "imagePullSecrets": [{"name": MARK}],
    "containers": [
        {
            "name": "main",
            "image": "registry.k8s.io/pause:3.10",
            "command": [MARK],
            "args": [MARK],
            "env": [
                {"name": "PASSWORD", "value": MARK},
                {"name": "TOKEN", "valueFrom": {"secretKeyRef": {"name": MARK, "key": MARK}}},
            ],
            "envFrom": [{"secretRef": {"name": MARK}}],
            "livenessProbe": {"exec": {"command": [MARK]}},
            "lifecycle": {"preStop": {"exec": {"command": [MARK]}}},
            "resources": {"requests": {"cpu": "1", "memory": "1Gi"}},
            "volumeMounts": [{"name": MARK, "mountPath": f"/{MARK}"}],
        }
    ],
    "volumes": [
        {"name": f"{MARK}-secret", "secret": {"secretName": MARK}},
        {"name": f"{MARK}-config", "configMap": {"name": MARK}},
        {"name": "data", "persistentVolumeClaim": {"claimName": "data"}},
        {
            "name": "scratch",
            "ephemeral": {
                "volumeClaimTemplate": {
                    "metadata": {"annotations": {"note": MARK}},
                    "spec": {
                        "accessModes": ["ReadWriteOnce"],
                        "storageClassName": "fast",
                        "dataSource": {"kind": "VolumeSnapshot", "name": MARK},
                    },
                }
            },
        },
    ],
}


def metadata(name: str, namespace: str = "", **more: Any) -> dict[str, Any]:
    annotations = {_APPLIED: MARK, f"{MARK}.example.com/note": MARK, **more.pop("annotations", {})}
    return {
        "name": name,
        **({"namespace": namespace} if namespace else {}),
        "uid": f"uid-{name}",
        "resourceVersion": "7",
        "creationTimestamp": "2026-11-01T10:00:00Z",
        "annotations": annotations,
        "managedFields": [{"manager": MARK}],
        **more,
    }


def pod(name: str, group: str = "", *, node: str = "", **spec: Any) -> dict[str, Any]:
    group_of = {"scheduling.k8s.io/group-name": group} if group else {}
    return {
        "metadata": metadata(name, "team", annotations={**group_of, "volcano.sh/preemptable": "true"}),
        "spec": {**_SPEC, "nodeName": node, **spec},
        "status": {"phase": "Running" if node else "Pending", "message": MARK, "hostIP": MARK},
    }


def waiting(name: str, group: str = "", **spec: Any) -> dict[str, Any]:
    """A pod without volumes, so that nothing but room decides where it goes."""
    return pod(name, group, **{"volumes": [], **spec})


def node(name: str, cpu: str = "4") -> dict[str, Any]:
    allocatable = {"cpu": cpu, "memory": "16Gi", "pods": "110"}
    return {"metadata": metadata(name), "status": {"allocatable": allocatable, "nodeInfo": {"machineID": MARK}}}


def group(name: str, members: int, **spec: Any) -> dict[str, Any]:
    return {"metadata": metadata(name, "team"), "spec": {"minMember": members, **spec}, "status": {"phase": "Inqueue"}}


def job(name: str) -> dict[str, Any]:
    template = {"metadata": {"annotations": {"note": MARK}, "labels": {"app": name}}, "spec": dict(_SPEC)}
    claim = {"accessModes": ["ReadWriteOnce"], "dataSourceRef": {"name": MARK}}
    return {
        "metadata": metadata(name, "team"),
        "spec": {
            "schedulerName": "volcano",
            "minAvailable": 1,
            "tasks": [{"name": "worker", "replicas": 1, "template": template}],
            "volumes": [{"mountPath": "/data", "volumeClaim": claim}],
        },
    }


LISTS: Final[Mapping[str, tuple[dict[str, Any], ...]]] = {
    "Pod": (pod("runs", "train", node="n1"), waiting("waits", "train"), waiting("alone")),
    "Node": (node("n1"), node("n2")),
    "Queue": ({"metadata": metadata("default"), "spec": {"weight": 1}, "status": {"state": "Open"}},),
    "PodGroup": (group("train", 1),),
    "Namespace": ({"metadata": metadata("team")},),
    "PriorityClass": ({"metadata": metadata("high"), "value": 1000, "description": MARK},),
    "VolcanoJob": (job("sweep"),),
}


def serve(api: FakeApi, lists: Mapping[str, tuple[dict[str, Any], ...]] = LISTS, *, version: int = 7) -> None:
    """Lists of all kinds, as of this version; those that are not among `lists` are empty, as that of events."""
    api.on("GET", "/api/v1/events", page(version))
    for kind in KINDS:
        api.on("GET", kind.path, page(version, *lists.get(kind.name, ())))


def forbid(api: FakeApi, *kinds: Kind) -> None:
    for kind in kinds:
        api.on("GET", kind.path, refusal(403, "Forbidden", f'User "ann" cannot list resource "{kind.path.plural}"'))


def config_map(text: str) -> Reply:
    return Reply(body={"metadata": metadata("volcano-scheduler-configmap"), "data": {CONFIG_KEY: text}})
