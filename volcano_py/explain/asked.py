"""What pods ask for, in whole units."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from volcano_py.api.objects import Pod
from volcano_py.api.quantity import Rounding
from volcano_py.api.requests import RequestError, pod_requests
from volcano_py.explain.target import Target
from volcano_py.explain.world import World
from volcano_py.framework.devices.requests import DeviceRequests
from volcano_py.framework.devices.sums import holders
from volcano_py.state.queues.quotas import quota_units, resource_of
from volcano_py.state.status import ON_NODE_STATUSES, TaskStatus
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
    """Of as many of its waiting pods as it needs to start, or its minResources where they are more: until it is
    admitted, or while no pod exists."""
    group = target.found
    placed = sum(bool(pod.spec.node_name) for pod in target.pods)
    pods = asked(target.waiting[: max(target.need - placed, 1)]) if target.pods else {"pods": target.need}
    if group is None or (target.pods and group.status.phase not in ("", "Pending")):
        return pods
    least = quota_units(group.spec.min_resources or {}, Rounding.UP)
    return {name: max(pods.get(name, 0), least.get(name, 0)) for name in {**least, **pods}}


def devices_asked(world: World, target: Target) -> dict[str, int]:
    """What the claims of as many of its waiting pods as it needs to start count for in queues; what other pods have of
    claims that they share counts already."""
    ssn, job = world.session, world.jobs.get(target.group)
    if job is None or not ssn.shared(DeviceRequests).dims:
        return {}
    tasks, rows = ssn.ledger.tasks, ssn.tasks_of(job)
    waiting = rows[tasks.status[rows] == TaskStatus.PENDING][: max(target.need - job.ready, 1)]
    held = {claim.claim for each in holders(ssn, ON_NODE_STATUSES) for claim in each.request.shared}
    asked, total = [ssn.shared(DeviceRequests)[ssn.task_class(row)] for row in waiting.tolist()], Counter[int]()
    for each in asked:
        total.update(dict(each.own))
    for claim in {claim.claim: claim for each in asked for claim in each.shared if claim.claim not in held}.values():
        total.update(dict(claim.units))
    return {ssn.axis.names[dim]: units for dim, units in total.items()}


def asked_of_quota(target: Target, names: Iterable[str]) -> dict[str, int]:
    """What of that counts against each name of a quota, such as requests.cpu, and is not in its use yet, as pods that
    exist are. minResources may have such names themselves."""
    whole, there = still_asked(target), asked(target.pods)
    by_name = ((name, resource_of(name)) for name in names)
    return {
        name: max(max(whole.get(name, 0), whole.get(resource, 0)) - there.get(resource, 0), 0)
        for name, resource in by_name
        if name in whole or resource in whole
    }
