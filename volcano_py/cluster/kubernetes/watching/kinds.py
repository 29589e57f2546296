"""The resources that are watched: where each is served, and as what its objects are decoded."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

import msgspec

from volcano_py.api import hyper_nodes, objects, volumes, workloads
from volcano_py.api.devices import claims, slices
from volcano_py.api.devices.claims import DEVICE_API
from volcano_py.api.names import SCHEDULING_API, TOPOLOGY_API
from volcano_py.api.numa.topologies import NODE_INFO_API, NUMATOPOLOGY, Numatopology
from volcano_py.api.objects import ApiObject
from volcano_py.api.shards import node_shards
from volcano_py.api.shards.node_shards import SHARD_API
from volcano_py.cluster.kubernetes.http.paths import ApiPath, field_selector
from volcano_py.cluster.kubernetes.http.transport import JSON
from volcano_py.jobs.crons.plan import CronJob
from volcano_py.jobs.flows.model import FLOW_API, JobFlow, JobTemplate
from volcano_py.jobs.model import BATCH_API, VolcanoJob

_METADATA_LIST: Final = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
_METADATA: Final = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"


class ConfigMap(ApiObject, frozen=True):
    """Only one is ever watched: the scheduler's own configuration."""

    metadata: objects.ObjectMeta
    data: dict[str, str] = {}


class Kind(msgspec.Struct, frozen=True):
    """A resource: `name` is the API's kind, the first argument of the sink's methods."""

    name: str
    path: ApiPath
    """Of the list over all namespaces."""
    type: type[ApiObject]
    namespaced: bool = True
    selectors: Mapping[str, str] = msgspec.field(default_factory=lambda: MappingProxyType({}))
    """`labelSelector` and `fieldSelector` of list and watch."""
    metadata_only: bool = False
    """Ask the server to leave out spec and status; their fields then keep their defaults."""
    optional: bool = False
    """A server that does not serve the resource is taken to have no such objects."""

    @property
    def list_accept(self) -> str:
        """The Accept header for lists."""
        return _METADATA_LIST if self.metadata_only else JSON

    @property
    def watch_accept(self) -> str:
        """The Accept header for watches."""
        return _METADATA if self.metadata_only else JSON


POD: Final = Kind("Pod", ApiPath("v1", "pods"), objects.Pod)
NODE: Final = Kind("Node", ApiPath("v1", "nodes"), objects.Node, namespaced=False)
NAMESPACE: Final = Kind("Namespace", ApiPath("v1", "namespaces"), objects.Namespace, namespaced=False)
POD_GROUP: Final = Kind("PodGroup", ApiPath(SCHEDULING_API, "podgroups"), objects.PodGroup)
QUEUE: Final = Kind("Queue", ApiPath(SCHEDULING_API, "queues"), objects.Queue, namespaced=False)
RESOURCE_QUOTA: Final = Kind("ResourceQuota", ApiPath("v1", "resourcequotas"), objects.ResourceQuota)
PRIORITY_CLASS: Final = Kind(
    "PriorityClass", ApiPath("scheduling.k8s.io/v1", "priorityclasses"), objects.PriorityClass, namespaced=False
)
POD_DISRUPTION_BUDGET: Final = Kind(
    "PodDisruptionBudget", ApiPath("policy/v1", "poddisruptionbudgets"), workloads.PodDisruptionBudget
)
SERVICE: Final = Kind("Service", ApiPath("v1", "services"), workloads.Service)
REPLICATION_CONTROLLER: Final = Kind(
    "ReplicationController", ApiPath("v1", "replicationcontrollers"), workloads.ReplicationController
)
# The podgroup controller follows the replicas of these two as well …
REPLICA_SET: Final = Kind("ReplicaSet", ApiPath("apps/v1", "replicasets"), workloads.Workload)
STATEFUL_SET: Final = Kind("StatefulSet", ApiPath("apps/v1", "statefulsets"), workloads.Workload)
# … and reads the annotations of these.
DAEMON_SET: Final = Kind("DaemonSet", ApiPath("apps/v1", "daemonsets"), workloads.Workload, metadata_only=True)
JOB: Final = Kind("Job", ApiPath("batch/v1", "jobs"), workloads.Workload, metadata_only=True)
PERSISTENT_VOLUME_CLAIM: Final = Kind(
    "PersistentVolumeClaim", ApiPath("v1", "persistentvolumeclaims"), volumes.PersistentVolumeClaim
)
PERSISTENT_VOLUME: Final = Kind(
    "PersistentVolume", ApiPath("v1", "persistentvolumes"), volumes.PersistentVolume, namespaced=False
)
_STORAGE: Final = "storage.k8s.io/v1"
STORAGE_CLASS: Final = Kind(
    "StorageClass", ApiPath(_STORAGE, "storageclasses"), volumes.StorageClass, namespaced=False, optional=True
)
CSI_NODE: Final = Kind("CSINode", ApiPath(_STORAGE, "csinodes"), volumes.CSINode, namespaced=False, optional=True)
CSI_DRIVER: Final = Kind(
    "CSIDriver", ApiPath(_STORAGE, "csidrivers"), volumes.CSIDriver, namespaced=False, optional=True
)
CSI_STORAGE_CAPACITY: Final = Kind(
    "CSIStorageCapacity", ApiPath(_STORAGE, "csistoragecapacities"), volumes.CSIStorageCapacity, optional=True
)
RESOURCE_CLAIM: Final = Kind(
    "ResourceClaim", ApiPath(DEVICE_API, "resourceclaims"), claims.ResourceClaim, optional=True
)
DEVICE_CLASS: Final = Kind(
    "DeviceClass", ApiPath(DEVICE_API, "deviceclasses"), claims.DeviceClass, namespaced=False, optional=True
)
RESOURCE_SLICE: Final = Kind(
    "ResourceSlice", ApiPath(DEVICE_API, "resourceslices"), slices.ResourceSlice, namespaced=False, optional=True
)
RESOURCE_CLAIM_TEMPLATE: Final = Kind(
    "ResourceClaimTemplate",
    ApiPath(DEVICE_API, "resourceclaimtemplates"),
    claims.ResourceClaimTemplate,
    optional=True,
)
"""Not watched by the scheduler: Kubernetes creates claims from it."""
HYPER_NODE: Final = Kind(
    "HyperNode", ApiPath(TOPOLOGY_API, "hypernodes"), hyper_nodes.HyperNode, namespaced=False, optional=True
)
NUMA_TOPOLOGY: Final = Kind(
    NUMATOPOLOGY, ApiPath(NODE_INFO_API, "numatopologies"), Numatopology, namespaced=False, optional=True
)
NODE_SHARD: Final = Kind(
    "NodeShard", ApiPath(SHARD_API, "nodeshards"), node_shards.NodeShard, namespaced=False, optional=True
)
"""Watched only by a scheduler that has a shard."""
SELECTING_KINDS: Final = (SERVICE, REPLICATION_CONTROLLER, REPLICA_SET, STATEFUL_SET)
"""Kinds whose selectors say which pods belong together; such pods are spread by default."""
VOLUME_KINDS: Final = (
    PERSISTENT_VOLUME_CLAIM,
    PERSISTENT_VOLUME,
    STORAGE_CLASS,
    CSI_NODE,
    CSI_DRIVER,
    CSI_STORAGE_CAPACITY,
)
"""What the placing of pods with volumes follows from."""
DEVICE_KINDS: Final = (RESOURCE_CLAIM, DEVICE_CLASS, RESOURCE_SLICE)
"""What the placing of pods with claims to devices follows from. Servers before Kubernetes 1.34 have none of this
version."""
STATE_KINDS: Final = (
    POD,
    NODE,
    NAMESPACE,
    POD_GROUP,
    RESOURCE_QUOTA,
    PRIORITY_CLASS,
    POD_DISRUPTION_BUDGET,
    HYPER_NODE,
    NUMA_TOPOLOGY,
    *SELECTING_KINDS,
    *VOLUME_KINDS,
    *DEVICE_KINDS,
)
"""What decisions follow from, but for queues, which kopf watches."""
# Watched by the job controller alone: a cluster need not have the API.
VOLCANO_JOB: Final = Kind("VolcanoJob", ApiPath(BATCH_API, "jobs"), VolcanoJob)
# These are watched by the controllers that make Volcano Jobs of them.
CRON_JOB: Final = Kind("VolcanoCronJob", ApiPath(BATCH_API, "cronjobs"), CronJob)
JOB_FLOW: Final = Kind("JobFlow", ApiPath(FLOW_API, "jobflows"), JobFlow)
JOB_TEMPLATE: Final = Kind("JobTemplate", ApiPath(FLOW_API, "jobtemplates"), JobTemplate)

KINDS: Final[Mapping[str, Kind]] = MappingProxyType(
    {
        kind.name: kind
        for kind in (
            POD,
            NODE,
            NAMESPACE,
            POD_GROUP,
            QUEUE,
            RESOURCE_QUOTA,
            PRIORITY_CLASS,
            POD_DISRUPTION_BUDGET,
            HYPER_NODE,
            NUMA_TOPOLOGY,
            *SELECTING_KINDS,
            DAEMON_SET,
            JOB,
            *VOLUME_KINDS,
            *DEVICE_KINDS,
        )
    }
)
"""All kinds by name. `config_map` makes one more."""


def config_map(namespace: str, name: str) -> Kind:
    """The kind with just this one ConfigMap in it, so that RBAC can grant it by name."""
    return Kind(
        "ConfigMap",
        ApiPath("v1", "configmaps", namespace),
        ConfigMap,
        selectors=MappingProxyType({"fieldSelector": field_selector({"metadata.name": name})}),
    )
