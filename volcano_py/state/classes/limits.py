"""What the containers of a pod may use at most."""

from __future__ import annotations

from volcano_py.api.objects import PodSpec
from volcano_py.api.quantity import LARGEST, QuantityError, nano_to_units, parse_nano


def pod_limits(spec: PodSpec) -> tuple[int, int]:
    """Millicores and bytes of the pod's lasting containers together; 0 where one of them has no limit.

    A limit that cannot be read counts as none: it decides nothing but how much use is expected of the pod.
    """
    if spec.resources is not None and spec.resources.limits:
        return _units(spec.resources.limits, "cpu"), _units(spec.resources.limits, "memory")
    cpu = memory = 0
    has_cpu = has_memory = bool(spec.containers)
    for container in spec.containers:
        limits = container.resources.limits
        if not limits:
            return 0, 0
        own_cpu, own_memory = _units(limits, "cpu"), _units(limits, "memory")
        has_cpu, has_memory = has_cpu and own_cpu > 0, has_memory and own_memory > 0
        cpu, memory = cpu + own_cpu, memory + own_memory
    return cpu if has_cpu else 0, memory if has_memory else 0


def _units(limits: dict[str, str | int | float], name: str) -> int:
    text = limits.get(name)
    if text is None:
        return 0
    try:
        value = parse_nano(text)
    except QuantityError:
        return 0
    return max(0, min(nano_to_units(value, scale=1000 if name == "cpu" else 1), LARGEST))
