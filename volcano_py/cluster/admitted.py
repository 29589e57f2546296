"""What is filled in when an object is created: defaults and priorities by the API server, a label by the kubelet."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from volcano_py.api.names import KUBERNETES_SCHEDULER
from volcano_py.api.objects import ApiObject, Container, Node, Pod, PriorityClass

_HOSTNAME: Final = "kubernetes.io/hostname"
"""The label that the kubelet sets, by default to the node's name."""


def admitted(obj: ApiObject, priorities: Mapping[str, PriorityClass]) -> ApiObject:
    """What defaulting and admission would have filled in, and of a node its kubelet."""
    if isinstance(obj, Node):
        return _registered(obj)
    if not isinstance(obj, Pod):
        return obj
    obj = _with_host_ports(obj)
    if not obj.spec.scheduler_name:
        obj = msgspec.structs.replace(obj, spec=msgspec.structs.replace(obj.spec, scheduler_name=KUBERNETES_SCHEDULER))
    if obj.spec.priority is not None:
        return obj
    name = obj.spec.priority_class_name
    defaults = [] if name else [item for item in priorities.values() if item.global_default]
    found = priorities.get(name) or min(defaults, key=lambda item: item.value, default=None)
    value = found.value if found is not None else 0
    policy = obj.spec.preemption_policy or (found.preemption_policy if found is not None else "")
    spec = msgspec.structs.replace(obj.spec, priority=value, preemption_policy=policy)
    return msgspec.structs.replace(obj, spec=spec)


def _registered(node: Node) -> Node:
    """A node says what it offers, and has its name as a label: terms of pods rely on it."""
    labels, status = node.metadata.labels, node.status
    if _HOSTNAME not in labels:
        metadata = msgspec.structs.replace(node.metadata, labels={**labels, _HOSTNAME: node.metadata.name})
        node = msgspec.structs.replace(node, metadata=metadata)
    if status.allocatable:
        return node
    return msgspec.structs.replace(node, status=msgspec.structs.replace(status, allocatable=status.capacity))


def _with_host_ports(pod: Pod) -> Pod:
    """On the host's network every container port is a host port."""
    spec = pod.spec
    if not spec.host_network:
        return pod
    on_host = msgspec.structs.replace(
        spec,
        containers=[_on_host(container) for container in spec.containers],
        init_containers=[_on_host(container) for container in spec.init_containers],
    )
    return msgspec.structs.replace(pod, spec=on_host)


def _on_host(container: Container) -> Container:
    ports = [msgspec.structs.replace(port, host_port=port.container_port) for port in container.ports]
    return msgspec.structs.replace(container, ports=ports)
