"""PodGroups for pods that name none: which pods get one, and its content, as pure functions.

Pods of one controlling owner (a ReplicaSet, a Job, …) share one PodGroup; a pod without an owner has its own. The live
controller and the simulated cluster call the same functions.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from typing import Any, Final, TypeVar

import msgspec

from volcano_py.api.annotations import known
from volcano_py.api.annotations.reading import Annotation, Unreadable
from volcano_py.api.bounds import GROUP_RESOURCES
from volcano_py.api.dns_names import is_label, is_subdomain
from volcano_py.api.effects import JsonObject
from volcano_py.api.names import (
    COOLDOWN_TIME,
    DEFAULT_QUEUE,
    DEFAULT_SCHEDULER_NAME,
    GENERATED_GROUP_PREFIX,
    GROUP_NAME,
    JDB_MAX_UNAVAILABLE,
    JDB_MIN_AVAILABLE,
    PREEMPTABLE,
    QUEUE_NAME,
    REVOCABLE_ZONE,
    RUNNING_ESTIMATE,
    SCHEDULING_API,
    VOLCANO_PREFIX,
)
from volcano_py.api.objects import ObjectMeta, OwnerReference, Pod, PodGroup, PodGroupSpec, PodGroupStatus, ResourceList
from volcano_py.api.quantity import LARGEST, QuantityError, parse_quantity
from volcano_py.api.queues.choice import queue_for
from volcano_py.api.quota_usage import pod_limits, quota_usage
from volcano_py.api.requests import Amounts, RequestError, pod_requests
from volcano_py.api.shards.sharding import Sharding
from volcano_py.api.workloads import Workload
from volcano_py.operator.podgroups.ignored_keys import ignored_group_key

T = TypeVar("T")

# (API group, kind) of the owners whose annotations a group inherits; their pods come in informers of ours. A Volcano
# Job is a `Job` as well, but of another API group, and brings its own PodGroups.
INHERITING_OWNERS: Final = frozenset(
    {("apps", "ReplicaSet"), ("apps", "DaemonSet"), ("apps", "StatefulSet"), ("batch", "Job")}
)
# Owners whose scaling is followed: without replicas there is no group, with replicas it follows the owner.
SCALED_OWNERS: Final = frozenset({"ReplicaSet", "StatefulSet"})

_POD_ANNOTATIONS: Final = (
    PREEMPTABLE,
    COOLDOWN_TIME,
    REVOCABLE_ZONE,
    JDB_MIN_AVAILABLE,
    JDB_MAX_UNAVAILABLE,
    RUNNING_ESTIMATE,
)
_POD_LABELS: Final = (PREEMPTABLE, COOLDOWN_TIME)
_REVISION_LABEL: Final = "controller-revision-hash"  # set by the StatefulSet controller
_LONGEST_NAME: Final = 100  # characters of a name that is none
# Resources in minResources, each under two names, alongside the number of pods and their limits.
_MOST_NAMES: Final = GROUP_RESOURCES.most // 2 - 5
_FINISHED: Final = frozenset({"Succeeded", "Failed"})


class GroupRules(msgspec.Struct, frozen=True):
    """How generated groups are created.

    `scheduler_names`: whose pods are ours. `default_queue`: the queue when neither the pod nor its namespace names
    one. `inherit_owner_annotations`: off means that nothing is taken from the owner, its minimum of members included.
    `sharding`: the shard that a simulated scheduler has, None for all nodes.
    """

    scheduler_names: frozenset[str] = frozenset({DEFAULT_SCHEDULER_NAME})
    default_queue: str = DEFAULT_QUEUE
    inherit_owner_annotations: bool = True
    sharding: Sharding | None = None


class GroupPlan(msgspec.Struct, frozen=True):
    """The PodGroup a pod should have; `warnings` name annotations that could not be read and were left out."""

    group: PodGroup
    warnings: tuple[str, ...] = ()


def is_ours(pod: Pod, rules: GroupRules) -> bool:
    """Whether the pod asks for our scheduler."""
    return pod.spec.scheduler_name in rules.scheduler_names


def names_group(pod: Pod) -> str:
    """The PodGroup that the pod names, or ""."""
    return pod.metadata.annotations.get(GROUP_NAME, "")


def is_live(pod: Pod) -> bool:
    """Neither finished nor being deleted: such a pod is nothing to schedule."""
    return pod.metadata.deletion_timestamp is None and pod.status.phase not in _FINISHED


def wants_group(pod: Pod, rules: GroupRules) -> bool:
    """Whether the pod needs a group: it is ours, it has not ended, and it names none."""
    return not names_group(pod) and is_ours(pod, rules) and is_live(pod)


def generated_name(pod: Pod) -> str:
    """Name of the group that is generated for the pod."""
    owner = pod.metadata.controller
    return GENERATED_GROUP_PREFIX + (owner.uid if owner is not None else pod.metadata.uid)


def is_generated(key: str) -> bool:
    """Whether a PodGroup (namespace/name) has the name of one that is generated."""
    return key.partition("/")[2].startswith(GENERATED_GROUP_PREFIX)


def generated_key(pod: Pod) -> str:
    """namespace/name of that group."""
    return f"{pod.metadata.namespace}/{generated_name(pod)}"


def as_named(pod: Pod, group: str) -> Pod:
    """The pod as it is when it names `group`."""
    annotations = {**pod.metadata.annotations, GROUP_NAME: group}
    return msgspec.structs.replace(pod, metadata=msgspec.structs.replace(pod.metadata, annotations=annotations))


def inheriting_owner(pod: Pod) -> OwnerReference | None:
    """The pod's controller if it is one of the kinds whose annotations are inherited, and one that can exist."""
    owner = _controller_to_inherit_from(pod)
    return owner if owner is not None and _can_exist(owner) else None


def _controller_to_inherit_from(pod: Pod) -> OwnerReference | None:
    owner = pod.metadata.controller
    return owner if owner is not None and (owner.group, owner.kind) in INHERITING_OWNERS else None


def _can_exist(owner: OwnerReference) -> bool:
    """The API server lets a pod name anything as its owner."""
    return is_label(owner.api_version.rpartition("/")[2]) and is_subdomain(owner.name)


def plan_group(pod: Pod, owner: Workload | None, namespace: Mapping[str, str], rules: GroupRules) -> GroupPlan:
    """The PodGroup for `pod`, whose controller is `owner` (None: it has none, or none to inherit from).

    `namespace` are the annotations of the pod's namespace.
    """
    warnings: list[str] = []
    if ignored := ignored_group_key(pod.metadata.annotations, pod.metadata.labels):
        warnings.append(ignored)
    if (controller := _controller_to_inherit_from(pod)) is not None and not _can_exist(controller):
        name = f"{controller.api_version} {controller.kind} {controller.name}"[:_LONGEST_NAME]
        warnings.append(f"the pod's controller has no valid name, {name!r}; nothing is inherited from it")
    inherited = _inherited(owner) if owner is not None and rules.inherit_owner_annotations else {}
    min_member = _min_member(inherited, warnings)
    annotations = {key: value for key, value in inherited.items() if key.startswith(VOLCANO_PREFIX)}
    annotations |= _only(pod.metadata.annotations, _POD_ANNOTATIONS)
    metadata = ObjectMeta(
        name=generated_name(pod),
        namespace=pod.metadata.namespace,
        annotations=annotations,
        labels=_only(pod.metadata.labels, _POD_LABELS),
        owner_references=[_owner_reference(pod)],
    )
    spec = PodGroupSpec(
        min_member=min_member,
        queue=queue_for(pod.metadata.annotations.get(QUEUE_NAME, ""), namespace, rules.default_queue),
        priority_class_name=pod.spec.priority_class_name,
        min_resources=_min_resources(pod, min_member, warnings),
        network_topology=_network_topology(pod.metadata.annotations, warnings),
    )
    group = PodGroup(metadata=metadata, spec=spec, status=PodGroupStatus(phase="Pending"))
    return GroupPlan(group, tuple(warnings))


def _inherited(owner: Workload) -> dict[str, str]:
    """The owner's annotations. The deadline of a batch Job bounds how long its pods run."""
    deadline = owner.spec.active_deadline_seconds
    estimate = {RUNNING_ESTIMATE: f"{deadline}s"} if deadline is not None and deadline > 0 else {}
    return estimate | owner.metadata.annotations


def group_changes(existing: PodGroup, wanted: PodGroup) -> JsonObject:
    """Merge patch that brings an existing group up to `wanted`; empty when there is nothing to write.

    Only what follows the owner: minMember, minResources and inherited annotations. An annotation that is no longer
    there stays, as another client may own it.
    """
    spec: JsonObject = {}
    if existing.spec.min_member != wanted.spec.min_member:
        spec["minMember"] = wanted.spec.min_member
    if wanted.spec.min_resources is not None and not _same_amounts(
        existing.spec.min_resources, wanted.spec.min_resources
    ):
        gone: dict[str, Any] = dict.fromkeys(existing.spec.min_resources or {})
        spec["minResources"] = gone | wanted.spec.min_resources
    seen = existing.metadata.annotations
    annotations = {key: value for key, value in wanted.metadata.annotations.items() if seen.get(key) != value}
    patch: JsonObject = {}
    if spec:
        patch["spec"] = spec
    if annotations:
        patch["metadata"] = {"annotations": annotations}
    return patch


def _same_amounts(one: ResourceList | None, other: ResourceList | None) -> bool:
    """Equal in value: `1Gi` is `1024Mi`."""
    if one is None or other is None or one.keys() != other.keys():
        return one is other
    try:
        return all(parse_quantity(one[name]) == parse_quantity(other[name]) for name in one)
    except QuantityError:
        return False


def group_as_json(group: PodGroup) -> JsonObject:
    """The group as it is sent to the API server."""
    body: JsonObject = msgspec.to_builtins(group)
    return {"apiVersion": SCHEDULING_API, "kind": "PodGroup", **body}


def pod_annotation(pod: Pod, group: str) -> JsonObject:
    """Merge patch that makes the pod name `group`, on condition that the pod is still the one that was seen.

    The conditions matter: a pod that has been given a group in the meantime keeps it.
    """
    precondition = {"uid": pod.metadata.uid, "resourceVersion": pod.metadata.resource_version}
    return {"metadata": {"annotations": {GROUP_NAME: group}, **precondition}}


def representative(pods: Iterable[Pod], kind: str, workload: Workload) -> Pod | None:
    """The pod that represents all pods of a ReplicaSet or StatefulSet: the oldest, of the revision rolled out last."""
    revision = workload.status.update_revision if kind == "StatefulSet" else ""
    candidates = [pod for pod in pods if not revision or pod.metadata.labels.get(_REVISION_LABEL) == revision]
    return min(candidates, key=lambda pod: (pod.metadata.created, pod.metadata.name), default=None)


def _owner_reference(pod: Pod) -> OwnerReference:
    """The pod's controller, or the pod, as controller of the group: the garbage collector takes the group along.

    `blockOwnerDeletion` is left out, because setting it needs rights on the owner's finalizers.
    """
    owner = pod.metadata.controller
    if owner is not None:
        return owner
    metadata = pod.metadata
    return OwnerReference(api_version="v1", kind="Pod", name=metadata.name, uid=metadata.uid, controller=True)


def _only(source: Mapping[str, str], keys: Iterable[str]) -> dict[str, str]:
    return {key: source[key] for key in keys if key in source}


def _read(annotation: Annotation[T], annotations: Mapping[str, str], warnings: list[str], whose: str = "") -> T | None:
    """The value, with a warning where it cannot be read. `whose`: of which object it is, if not of the pod itself."""
    found = annotation.read(annotations)
    if isinstance(found, Unreadable):
        warnings.append(f"{whose}{found.message}")
        return annotation.otherwise
    return found


def _min_member(owner: Mapping[str, str], warnings: list[str]) -> int:
    written = _read(known.GROUP_MIN_MEMBER, owner, warnings, "the owner's ")
    return 1 if written is None else written


def _network_topology(annotations: Mapping[str, str], warnings: list[str]) -> dict[str, Any] | None:
    mode = _read(known.NETWORK_TOPOLOGY_MODE, annotations, warnings)
    tier = _read(known.NETWORK_TOPOLOGY_HIGHEST_TIER, annotations, warnings)
    if mode is None and tier is None:
        return None
    return {"mode": mode or "hard"} | ({} if tier is None else {"highestTierAllowed": tier})


def _min_resources(pod: Pod, min_member: int, warnings: list[str]) -> ResourceList | None:
    """What `min_member` such pods count for in a ResourceQuota, under the names that a quota uses, and devices under
    their own name as well.

    None, which means that nothing is checked before the pods themselves are, when the pod's amounts cannot be read or
    are out of range: the scheduler reports that on the pod, which needs a group for it.
    """
    try:
        requests = pod_requests(pod.spec)
        if len(requests) > _MOST_NAMES:
            warnings.append(f"minResources of the pod's group left out: the pod asks for {len(requests)} resources")
            return None
        limits = pod_limits(pod.spec)
    except RequestError as error:
        warnings.append(f"minResources of the pod's PodGroup left out: {error}")
        return None
    for name, value in itertools.chain(requests.items(), limits.items()):
        if value > LARGEST:
            warnings.append(f"minResources of the pod's PodGroup left out: the request for {name} is out of range")
            return None
    return quota_usage(min_member, _times(requests, min_member), _times(limits, min_member))


def _times(amounts: Amounts, count: int) -> Amounts:
    return {name: value * count for name, value in amounts.items()}
