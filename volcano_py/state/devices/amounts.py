"""How many devices of each class a claim counts for in the sums of queues."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping

from volcano_py.state.devices.needs import ALL, Ask, DeviceNeed, ExtendedDevices, GivenDevices, OpenDevices, Request


def amounts_of(need: DeviceNeed, most: Callable[[Ask], int]) -> Mapping[str, int]:
    """Device class → how many. Of a claim that has none yet, the most that it may get, on whatever node; `most` says so
    of a request for all devices."""
    match need:
        case GivenDevices():
            return dict(need.devices)
        case OpenDevices() | ExtendedDevices():
            total: Counter[str] = Counter()
            for request in need.requests:
                total.update(_of_request(request, most))
            return total
        case _:
            return {}


def is_certain(need: DeviceNeed) -> bool:
    """Whether that is what the claim gets, wherever its pod goes."""
    if isinstance(need, ExtendedDevices):
        return False  # on a node that has the resource itself, nothing
    if not isinstance(need, OpenDevices):
        return True
    return all(len(request.ways) == 1 and request.ways[0].count != ALL for request in need.requests)


def _of_request(request: Request, most: Callable[[Ask], int]) -> Mapping[str, int]:
    """Of alternatives, any may be chosen. Access as administrator takes nothing from others."""
    found: dict[str, int] = {}
    for way in request.ways:
        if not way.is_admin:
            count = most(way) if way.count == ALL else way.count
            found[way.device_class] = max(found.get(way.device_class, 0), count)
    return found
