"""What pods ask for, in whole units."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from volcano_py.api.objects import Pod
from volcano_py.api.quantity import Rounding
from volcano_py.api.requests import RequestError, pod_requests
from volcano_py.explain.target import Target
from volcano_py.state.queues.quotas import quota_units
from volcano_py.state.table.units import whole_units


def asks(pod: Pod) -> dict[str, int]:
    """Of one pod, with the place it takes; nothing more where a quantity cannot be read."""
    try:
        units, _ = whole_units(pod_requests(pod.spec, pod.status), Rounding.UP)
    except RequestError:
        units = {}
    return {**units, "pods": 1}


def asked(pods: Iterable[Pod]) -> dict[str, int]:
    """Of all of them."""
    total: Counter[str] = Counter()
    for pod in pods:
        total.update(asks(pod))
    return {name: value for name, value in total.items() if value}


def still_asked(target: Target) -> dict[str, int]:
    """Of as many of its waiting pods as it needs to start; its minResources while no pod exists."""
    group = target.found
    if not target.pods and group is not None:
        return {**quota_units(group.spec.min_resources or {}, Rounding.UP), "pods": target.need}
    placed = sum(bool(pod.spec.node_name) for pod in target.pods)
    return asked(target.waiting[: max(target.need - placed, 1)])
