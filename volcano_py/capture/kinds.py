"""The kinds that a capture has, and what follows for decisions when one cannot be read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from msgspec.structs import replace

from volcano_py.api.numa.topologies import NUMATOPOLOGY
from volcano_py.api.objects import NodeMetrics
from volcano_py.api.wording.summarize import counted
from volcano_py.capture.model import Unread
from volcano_py.cluster.kubernetes.http.paths import ApiPath
from volcano_py.cluster.kubernetes.watching import kinds
from volcano_py.cluster.kubernetes.watching.kinds import Kind
from volcano_py.cluster.load import metrics_server

KINDS: Final = (
    kinds.POD,
    *(kind for kind in kinds.KINDS.values() if kind is not kinds.POD),
    kinds.VOLCANO_JOB,
    kinds.NODE_SHARD,
    kinds.RESOURCE_CLAIM_TEMPLATE,
)
"""In the order in which they are read. Pods come first: all others are read as they were at that moment."""

NODE_METRICS: Final = Kind(metrics_server.KIND, metrics_server.PATH, NodeMetrics, namespaced=False)
"""Read where the configuration names metrics-server as the source of load."""

OF_NAME: Final[Mapping[str, Kind]] = MappingProxyType({kind.name: kind for kind in (*KINDS, NODE_METRICS)})

ESSENTIAL: Final = frozenset({"Pod", "Node", "Queue", "PodGroup"})
"""Without one of these kinds, hardly any decision is as the live scheduler's."""

_SPREADING: Final = "pods that it selects are not spread by default"
_WORKLOAD: Final = "single pods of such workloads form gangs of their own size only if they say so themselves"
_VOLUMES: Final = "pods with volumes that it concerns count as waiting for them"
_DEVICES: Final = "pods with claims to devices that it concerns count as waiting for them"

CONSEQUENCES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "Pod": "nothing runs and nothing waits",
        "Node": "no pod fits anywhere",
        "Queue": "all work is in queues without limits or shares, or waits because its queue does not exist",
        "PodGroup": "pods of gangs wait for their PodGroup",
        "Namespace": "annotations and labels of namespaces count as absent",
        "PriorityClass": "classes have the values that pods of them have; a class without a pod counts as 0",
        "ResourceQuota": "namespaces count as unlimited",
        "PodDisruptionBudget": "pods count as free to be evicted",
        "Service": _SPREADING,
        "ReplicationController": _SPREADING,
        "ReplicaSet": _WORKLOAD,
        "StatefulSet": _WORKLOAD,
        "DaemonSet": _WORKLOAD,
        "Job": _WORKLOAD,
        "VolcanoJob": "the pods and PodGroups of Jobs that are there count, but Jobs create no more",
        "PersistentVolumeClaim": _VOLUMES,
        "PersistentVolume": _VOLUMES,
        "StorageClass": _VOLUMES,
        "ResourceClaim": "pods with claims to devices count as waiting for them, and no device is in use",
        "ResourceClaimTemplate": "the claims that are there count, but pods that are created later get none from it",
        "DeviceClass": _DEVICES,
        "ResourceSlice": _DEVICES,
        "HyperNode": "jobs that ask for network topology wait, because no domain is known",
        NUMATOPOLOGY: "pods with a NUMA policy wait, because no CPUs are known",
        "NodeShard": "no shard has nodes or queues",
        "CSINode": "nodes take any number of volumes",
        "CSIDriver": "capacities of storage do not count",
        "CSIStorageCapacity": "capacities of storage do not count",
        metrics_server.KIND: "the load of nodes counts as unknown",
    }
)


def essentials(unread: Iterable[Unread]) -> list[Unread]:
    """Of what could not be read, the kinds without which hardly any decision is as the live scheduler's."""
    return [each for each in unread if each.what in ESSENTIAL]


def in_short(unread: Sequence[Unread], so: str) -> tuple[str, ...]:
    """One line for all kinds that could not be read, with `so` as what follows from that, and one for each other
    thing. For where essential kinds are among them: nothing is decided then, so what follows from each other kind, and
    from the configuration, is beside the point."""
    missing = essentials(unread)
    kinds = [each for each in unread if each not in missing and each.what.partition(_ELSEWHERE)[0] in OF_NAME]
    more = f" and {counted(len(kinds), 'more kind')}" if kinds else ""
    line = f"{', '.join(each.what for each in missing)}{more} not read: {missing[0].why}; {so}"
    others = (each for each in unread if each not in missing and each not in kinds)
    return (line, *(str(each) for each in others if not each.what.startswith("ConfigMap ")))


RIGHTS: Final = "the ClusterRole view has the right to list them in all namespaces, except for nodes"
"""For messages about essential kinds."""

_ELSEWHERE: Final = " in other namespaces than "
_OF_OTHER_PODS: Final = "they count as absent, and nodes and queues seem to have more room than they have"


def unread_elsewhere(kind: Kind, namespace: str, why: str) -> Unread:
    """What is missing where objects of the kind can be read in one namespace only."""
    so = _OF_OTHER_PODS if kind is kinds.POD else "they count as absent"
    return Unread(f"{kind.name}{_ELSEWHERE}{namespace}", why, so)


def of_namespace(kind: Kind, namespace: str) -> Kind | None:
    """The kind with what is in the namespace only; None where it is not in namespaces, or in one already."""
    if not kind.namespaced or kind.path.namespace:
        return None
    return replace(kind, path=ApiPath(kind.path.group_version, kind.path.plural, namespace))
