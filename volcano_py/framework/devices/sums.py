"""Devices that pods hold, added up by queue. A claim that several pods of a queue use counts once in it, and once in
each queue above."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from volcano_py.framework.devices.requests import DeviceRequest, DeviceRequests
from volcano_py.state.status import ON_NODE_STATUSES
from volcano_py.state.table.axis import IntVector

if TYPE_CHECKING:
    from volcano_py.framework.session import Session

K = TypeVar("K", bound=Hashable)


class Holders(NamedTuple):
    """So many tasks of one class in the queue of one slot."""

    slot: int
    request: DeviceRequest
    tasks: int


def holders(ssn: Session, statuses: NDArray[np.bool_]) -> list[Holders]:
    """The pods in these statuses [statuses] that count for devices."""
    requests = ssn.shared(DeviceRequests)
    if not requests.dims:
        return []
    found = {each.row: requests[each] for each in ssn.snapshot.classes if each is not None and each.devices}
    tasks = ssn.ledger.tasks
    rows = np.flatnonzero((tasks.queue >= 0) & statuses[tasks.status] & np.isin(tasks.task_class, list(found)))
    pairs = np.stack((tasks.queue[rows], tasks.task_class[rows]), axis=1)
    kinds, counts = np.unique(pairs, axis=0, return_counts=True)
    return [
        Holders(slot, found[row], count)
        for (slot, row), count in zip(kinds.tolist(), counts.tolist(), strict=True)
        if found[row].own or found[row].shared
    ]


def added_up(found: Iterable[Holders], counts_in: Callable[[int], Iterable[K]]) -> Mapping[K, Counter[int]]:
    """Devices by queue and position on the resource axis. `counts_in`: the queues, as the caller calls them, in which
    pods that are charged to the queue of a slot count."""
    sums: dict[K, Counter[int]] = {}
    shared: dict[K, dict[str, None]] = {}
    for each in found:
        for queue in counts_in(each.slot):
            amounts, claims = sums.setdefault(queue, Counter()), shared.setdefault(queue, {})
            for dim, units in each.request.own:
                amounts[dim] += units * each.tasks
            for one in each.request.shared:
                if one.claim not in claims:
                    claims[one.claim] = None
                    amounts.update(dict(one.units))
    return sums


def add_devices(
    ssn: Session, sums: Mapping[str, IntVector], above: Callable[[str], Iterable[str]] = lambda _: ()
) -> None:
    """Add to `sums`, [R] by the names of queues, the devices that pods hold there, leaving ones included. `above`: the
    queues above one, in which its pods count, too."""
    names = {queue.slot: name for name, queue in ssn.queues.items()}

    def counts_in(slot: int) -> list[str]:
        name = names.get(slot)
        return [] if name is None else [each for each in (name, *above(name)) if each in sums]

    for name, devices in added_up(holders(ssn, ON_NODE_STATUSES), counts_in).items():
        for dim, units in devices.items():
            sums[name][dim] += units
