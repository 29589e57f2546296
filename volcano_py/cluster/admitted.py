"""What the API server fills in when an object is created: defaults, and the admission of priorities."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from volcano_py.api.names import KUBERNETES_SCHEDULER
from volcano_py.api.objects import ApiObject, Container, Node, Pod, PriorityClass


def admitted(obj: ApiObject, priorities: Mapping[str, PriorityClass]) -> ApiObject:
    """What defaulting and admission would have filled in."""
    if isinstance(obj, Node) and not obj.status.allocatable:
        status = msgspec.structs.replace(obj.status, allocatable=obj.status.capacity)
        return msgspec.structs.replace(obj, status=status)
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
