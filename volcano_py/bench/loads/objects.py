"""The objects that generated clusters are made of."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

from volcano_py.api import names
from volcano_py.api.objects import (
    Container,
    Node,
    NodeStatus,
    ObjectMeta,
    Pod,
    PodGroup,
    PodGroupSpec,
    PodGroupStatus,
    PodSpec,
    PodStatus,
    ResourceList,
    ResourceRequirements,
)
from volcano_py.cluster.manifests import EPOCH

NAMESPACE = "bench"


def node(name: str, allocatable: ResourceList, labels: Mapping[str, str] | None = None) -> Node:
    return Node(
        metadata=ObjectMeta(name=name, uid=name, labels={"kubernetes.io/hostname": name, **(labels or {})}),
        status=NodeStatus(allocatable=allocatable),
    )


def group(name: str, minimum: int, queue: str, *, born: int = 0, priority_class: str = "", phase: str = "") -> PodGroup:
    """A PodGroup, created `born` milliseconds after time began."""
    created = EPOCH + timedelta(milliseconds=born)
    return PodGroup(
        metadata=ObjectMeta(name=name, namespace=NAMESPACE, uid=name, creation_timestamp=created),
        spec=PodGroupSpec(min_member=minimum, queue=queue, priority_class_name=priority_class),
        status=PodGroupStatus(phase=phase),
    )


def pod(gang: str, member: int, request: ResourceList, *, born: int = 0, on: str = "", priority: int = 0) -> Pod:
    """A pod of a PodGroup; `on` is the node where it runs."""
    name = f"{gang}-{member}"
    metadata = ObjectMeta(
        name=name,
        namespace=NAMESPACE,
        uid=name,
        creation_timestamp=EPOCH + timedelta(milliseconds=born),
        annotations={names.GROUP_NAME: gang},
    )
    container = Container(name="main", image="bench", resources=ResourceRequirements(requests=request))
    spec = PodSpec(scheduler_name=names.DEFAULT_SCHEDULER_NAME, containers=[container], node_name=on, priority=priority)
    return Pod(metadata=metadata, spec=spec, status=PodStatus(phase="Running" if on else "Pending"))
