"""How many devices of which class the pods of a class of pods count for, as amounts of resources.

Queues name such a resource `deviceclass/NAME`, so it has a column on the resource axis, like any other. Nodes do not
have it: on them devices are chosen one by one. So it is in no sum of the ledger.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import msgspec

from volcano_py.api.devices.claims import MOST_DEVICES
from volcano_py.api.names import DEVICES_OF_CLASS
from volcano_py.state.devices.amounts import amounts_of, is_certain
from volcano_py.state.devices.needs import Ask, GivenDevices, OpenDevices
from volcano_py.state.task_class import TaskClass

if TYPE_CHECKING:
    from volcano_py.framework.session import Session

Units = tuple[tuple[int, int], ...]
"""(position on the resource axis, devices)"""


class SharedClaim(msgspec.Struct, frozen=True):
    """A claim (namespace/name) that several pods use: it counts once, however many they are."""

    claim: str
    units: Units


class DeviceRequest(msgspec.Struct, frozen=True):
    """What one pod of a class counts for: `own` for itself, `shared` together with others. `is_certain`: it gets as
    much, and not less."""

    own: Units = ()
    shared: tuple[SharedClaim, ...] = ()
    is_certain: bool = True


NO_DEVICES = DeviceRequest()


class MostDevices:
    """How many devices a request for all devices of a node may get: the plugin that chooses devices says so."""

    def __init__(self, _ssn: Session) -> None:
        self._count: Callable[[Ask], int] | None = None

    def let_chooser_say(self, count: Callable[[Ask], int]) -> None:
        """That plugin's answer."""
        self._count = count

    def of(self, ask: Ask) -> int:
        """At least as many as a pod could get for it on any node."""
        return MOST_DEVICES if self._count is None else min(self._count(ask), MOST_DEVICES)


class DeviceRequests:
    """By class, worked out when it is first needed.

    Attributes:
        dims: device class → position on the resource axis, of those that some queue names.
    """

    def __init__(self, ssn: Session) -> None:
        self._ssn = ssn
        self.dims = {
            name.removeprefix(DEVICES_OF_CLASS): dim
            for dim, name in enumerate(ssn.axis.names)
            if name.startswith(DEVICES_OF_CLASS)
        }
        self._known: dict[int, DeviceRequest] = {}

    def __getitem__(self, task_class: TaskClass) -> DeviceRequest:
        if not self.dims or not task_class.devices:
            return NO_DEVICES
        found = self._known.get(task_class.row)
        if found is None:
            found = self._known[task_class.row] = self._request(task_class)
        return found

    def _request(self, task_class: TaskClass) -> DeviceRequest:
        most, own, shared = self._ssn.shared(MostDevices).of, Counter[str](), []
        for need in task_class.devices:
            amounts = amounts_of(need, most)
            if isinstance(need, GivenDevices | OpenDevices) and need.claim:
                shared.append(SharedClaim(need.claim, self._units(amounts)))
            else:
                own.update(amounts)
        certain = all(map(is_certain, task_class.devices))
        return DeviceRequest(self._units(own), tuple(each for each in shared if each.units), certain)

    def _units(self, amounts: Mapping[str, int]) -> Units:
        return tuple(sorted((self.dims[name], count) for name, count in amounts.items() if name in self.dims and count))
