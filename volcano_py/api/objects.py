"""API objects, decoded straight from bytes into what scheduling needs; unknown fields are dropped while decoding.

Field names follow the API (camelCase on the wire). Objects are frozen. Optional collections are empty, never None.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

import msgspec

Integer = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
"""What an API server can hold in a field that is a number."""

ResourceList = dict[str, str | int | float]
"""Resource name → quantity as the API has it (text, or a number in hand-written manifests)."""


class ApiObject(msgspec.Struct, frozen=True, rename="camel", kw_only=True, gc=False, omit_defaults=True):
    """Base: camelCase on the wire, defaults left out when written."""


class OwnerReference(ApiObject, frozen=True):
    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool = False

    @property
    def group(self) -> str:
        """The API group, "" for the core."""
        return self.api_version.rpartition("/")[0]

    @property
    def is_volcano_job(self) -> bool:
        """Whether it is a Job of Volcano's, not one of `batch/v1`."""
        return self.kind == "Job" and self.group == "batch.volcano.sh"


class ObjectMeta(ApiObject, frozen=True):
    name: str = ""
    generate_name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    creation_timestamp: datetime | None = None
    deletion_timestamp: datetime | None = None
    deletion_grace_period_seconds: int | None = None
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    owner_references: list[OwnerReference] = []

    @property
    def key(self) -> str:
        """`namespace/name`, or the name alone for cluster-scoped objects."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name

    @classmethod
    def known_by(cls, key: str, uid: str) -> ObjectMeta:
        """That of an object of which no more is known than its key and UID."""
        namespace, _, name = key.rpartition("/")
        return cls(namespace=namespace, name=name, uid=uid)

    @property
    def created(self) -> float:
        """Creation time in seconds since the epoch, 0 when unknown."""
        return self.creation_timestamp.timestamp() if self.creation_timestamp else 0.0

    @property
    def controller(self) -> OwnerReference | None:
        """The controlling owner, if any."""
        return next((owner for owner in self.owner_references if owner.controller), None)


def metadata_of(obj: ApiObject) -> ObjectMeta:
    """The metadata of an object that the API serves by itself, unlike a part of another object."""
    metadata: ObjectMeta = obj.metadata  # type: ignore[attr-defined]
    return metadata


class Taint(ApiObject, frozen=True):
    key: str = ""
    value: str = ""
    effect: str = ""


class Toleration(ApiObject, frozen=True):
    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""


class SelectorRequirement(ApiObject, frozen=True):
    key: str = ""
    operator: str = ""
    values: list[str] = []


class LabelSelector(ApiObject, frozen=True):
    match_labels: dict[str, str] = {}
    match_expressions: list[SelectorRequirement] = []


class NodeSelectorTerm(ApiObject, frozen=True):
    match_expressions: list[SelectorRequirement] = []
    match_fields: list[SelectorRequirement] = []


class NodeSelector(ApiObject, frozen=True):
    node_selector_terms: list[NodeSelectorTerm] = []


class PreferredSchedulingTerm(ApiObject, frozen=True):
    weight: Integer = 0
    preference: NodeSelectorTerm = NodeSelectorTerm()


class NodeAffinity(ApiObject, frozen=True):
    required: NodeSelector | None = msgspec.field(default=None, name="requiredDuringSchedulingIgnoredDuringExecution")
    preferred: list[PreferredSchedulingTerm] = msgspec.field(
        default=[], name="preferredDuringSchedulingIgnoredDuringExecution"
    )


class PodAffinityTerm(ApiObject, frozen=True):
    label_selector: LabelSelector | None = None
    namespaces: list[str] = []
    namespace_selector: LabelSelector | None = None
    topology_key: str = ""
    match_label_keys: list[str] = []
    mismatch_label_keys: list[str] = []


class WeightedPodAffinityTerm(ApiObject, frozen=True):
    weight: Integer = 0
    pod_affinity_term: PodAffinityTerm = PodAffinityTerm()


class PodAffinity(ApiObject, frozen=True):
    """Pod affinity and anti-affinity have the same shape."""

    required: list[PodAffinityTerm] = msgspec.field(default=[], name="requiredDuringSchedulingIgnoredDuringExecution")
    preferred: list[WeightedPodAffinityTerm] = msgspec.field(
        default=[], name="preferredDuringSchedulingIgnoredDuringExecution"
    )


class Affinity(ApiObject, frozen=True):
    node_affinity: NodeAffinity | None = None
    pod_affinity: PodAffinity | None = None
    pod_anti_affinity: PodAffinity | None = None


class TopologySpreadConstraint(ApiObject, frozen=True):
    max_skew: Integer = 1
    topology_key: str = ""
    when_unsatisfiable: str = "DoNotSchedule"
    label_selector: LabelSelector | None = None
    min_domains: Integer | None = None
    node_affinity_policy: str = "Honor"
    node_taints_policy: str = "Ignore"
    match_label_keys: list[str] = []


class ResourceRequirements(ApiObject, frozen=True):
    requests: ResourceList = {}
    limits: ResourceList = {}


class ContainerPort(ApiObject, frozen=True):
    host_port: Integer = 0
    container_port: Integer = 0
    host_ip: str = msgspec.field(default="", name="hostIP")
    protocol: str = "TCP"


class Container(ApiObject, frozen=True):
    name: str = ""
    image: str = ""
    resources: ResourceRequirements = ResourceRequirements()
    ports: list[ContainerPort] = []
    restart_policy: str = ""


class PersistentVolumeClaimSource(ApiObject, frozen=True):
    claim_name: str = ""


class GCEPersistentDiskSource(ApiObject, frozen=True):
    pd_name: str = ""
    read_only: bool = False


class AWSElasticBlockStoreSource(ApiObject, frozen=True):
    volume_id: str = msgspec.field(default="", name="volumeID")


class ISCSISource(ApiObject, frozen=True):
    iqn: str = ""
    read_only: bool = False


class RBDSource(ApiObject, frozen=True):
    monitors: list[str] = []
    pool: str = ""
    image: str = ""
    read_only: bool = False


class Volume(ApiObject, frozen=True):
    name: str = ""
    persistent_volume_claim: PersistentVolumeClaimSource | None = None
    ephemeral: dict[str, Any] | None = None
    gce_persistent_disk: GCEPersistentDiskSource | None = None
    aws_elastic_block_store: AWSElasticBlockStoreSource | None = None
    iscsi: ISCSISource | None = None
    rbd: RBDSource | None = None


class SchedulingGate(ApiObject, frozen=True):
    name: str = ""


class PodSpec(ApiObject, frozen=True):
    scheduler_name: str = ""
    node_name: str = ""
    node_selector: dict[str, str] = {}
    affinity: Affinity | None = None
    tolerations: list[Toleration] = []
    containers: list[Container] = []
    init_containers: list[Container] = []
    overhead: ResourceList = {}
    resources: ResourceRequirements | None = None
    volumes: list[Volume] = []
    resource_claims: list[dict[str, Any]] = []
    topology_spread_constraints: list[TopologySpreadConstraint] = []
    scheduling_gates: list[SchedulingGate] = []
    priority: Integer | None = None
    priority_class_name: str = ""
    preemption_policy: str = ""
    host_network: bool = False
    termination_grace_period_seconds: Integer | None = None
    active_deadline_seconds: Integer | None = None


class Condition(ApiObject, frozen=True):
    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""
    last_transition_time: datetime | None = None
    transition_id: str = msgspec.field(default="", name="transitionID")

    @property
    def said(self) -> tuple[str, str, str, str]:
        """All of it but since when, and in which cycle."""
        return self.type, self.status, self.reason, self.message


class Terminated(ApiObject, frozen=True):
    exit_code: Integer = 0


class ContainerState(ApiObject, frozen=True):
    terminated: Terminated | None = None


class ContainerStatus(ApiObject, frozen=True):
    """What in-place resize needs (what the node has granted and what it runs with), and what policies of Jobs ask."""

    name: str = ""
    allocated_resources: ResourceList = {}
    resources: ResourceRequirements | None = None
    restart_count: Integer = 0
    state: ContainerState = ContainerState()


class PodClaimStatus(ApiObject, frozen=True):
    """The ResourceClaim that was generated for one of the pod's `resourceClaims`; None: none was needed."""

    name: str = ""
    resource_claim_name: str | None = None


class ContainerRequest(ApiObject, frozen=True):
    """Which request of a ResourceClaim has the devices for an extended resource of a container."""

    container_name: str = ""
    resource_name: str = ""
    request_name: str = ""


class ExtendedClaimStatus(ApiObject, frozen=True):
    """The ResourceClaim that was created for extended resources of the pod."""

    request_mappings: list[ContainerRequest] = []
    resource_claim_name: str = ""


class PodStatus(ApiObject, frozen=True):
    phase: str = "Pending"
    start_time: datetime | None = None
    conditions: list[Condition] = []
    nominated_node_name: str = ""
    container_statuses: list[ContainerStatus] = []
    init_container_statuses: list[ContainerStatus] = []
    allocated_resources: ResourceList = {}
    resources: ResourceRequirements | None = None
    """Granted to and used by the pod as a whole, where it asks for resources as a whole."""
    resource_claim_statuses: list[PodClaimStatus] = []
    extended_resource_claim_status: ExtendedClaimStatus | None = None


class Pod(ApiObject, frozen=True):
    metadata: ObjectMeta
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()


class NodeSpec(ApiObject, frozen=True):
    unschedulable: bool = False
    taints: list[Taint] = []


class ContainerImage(ApiObject, frozen=True):
    names: list[str] = []
    size_bytes: Integer = 0


class NodeStatus(ApiObject, frozen=True):
    allocatable: ResourceList = {}
    capacity: ResourceList = {}
    images: list[ContainerImage] = []


class Node(ApiObject, frozen=True):
    metadata: ObjectMeta
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()


class PodGroupSpec(ApiObject, frozen=True):
    min_member: Integer = 0
    min_task_member: dict[str, Integer] = {}
    queue: str = ""
    priority_class_name: str = ""
    min_resources: ResourceList | None = None
    network_topology: dict[str, Any] | None = None
    sub_group_policy: list[dict[str, Any]] = []


class PodGroupStatus(ApiObject, frozen=True):
    phase: str = ""
    conditions: list[Condition] = []
    running: Integer = 0
    succeeded: Integer = 0
    failed: Integer = 0


class PodGroup(ApiObject, frozen=True):
    metadata: ObjectMeta
    spec: PodGroupSpec = PodGroupSpec()
    status: PodGroupStatus = PodGroupStatus()


class QueueGuarantee(ApiObject, frozen=True):
    resource: ResourceList = {}


class QueueSpec(ApiObject, frozen=True):
    weight: Integer = 1
    capability: ResourceList = {}
    deserved: ResourceList = {}
    guarantee: QueueGuarantee = QueueGuarantee()
    reclaimable: bool | None = None
    parent: str = ""
    priority: Integer = 0
    type: str = ""
    affinity: dict[str, Any] | None = None
    dequeue_strategy: str = "traverse"


class QueueStatus(ApiObject, frozen=True):
    """Counts are None until they are first written: kubectl then shows blanks."""

    state: str = ""
    unknown: Integer | None = None
    pending: Integer | None = None
    running: Integer | None = None
    inqueue: Integer | None = None
    completed: Integer | None = None
    allocated: ResourceList = {}
    conditions: list[Condition] = []


class Queue(ApiObject, frozen=True):
    metadata: ObjectMeta
    spec: QueueSpec = QueueSpec()
    status: QueueStatus = QueueStatus()


class Namespace(ApiObject, frozen=True):
    metadata: ObjectMeta


class PriorityClass(ApiObject, frozen=True):
    metadata: ObjectMeta
    value: Integer = 0
    global_default: bool = False
    preemption_policy: str = ""


class ResourceQuotaSpec(ApiObject, frozen=True):
    hard: ResourceList = {}
    scopes: list[str] = []
    scope_selector: dict[str, Any] | None = None


class ResourceQuotaStatus(ApiObject, frozen=True):
    hard: ResourceList = {}
    used: ResourceList = {}


class ResourceQuota(ApiObject, frozen=True):
    metadata: ObjectMeta
    spec: ResourceQuotaSpec = ResourceQuotaSpec()
    status: ResourceQuotaStatus = ResourceQuotaStatus()


class NodeMetrics(ApiObject, frozen=True):
    """What a node's pods and system use, as metrics-server reports it (`metrics.k8s.io/v1beta1`)."""

    metadata: ObjectMeta
    timestamp: datetime | None = None
    usage: ResourceList = {}
