"""Capacity of devices that claims share: what one request takes of each device, and how often that is still there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np

from volcano_py.framework.views import Counts
from volcano_py.state.devices.counters import Amounts
from volcano_py.state.devices.picture import DevicePicture
from volcano_py.state.devices.shares import Capacity, consumption
from volcano_py.state.nodes.terms import Mask

Takings = Mapping[int, list[tuple[int, int]]]
"""Shared device → columns, and how much a request takes of each."""
UNBOUNDED: Final = 2**31


class Costs:
    """Of one request, for each shared device that it selects: entries [Q] of what it takes of which column.

    Attributes:
        of: by device.
    """

    def __init__(self, picture: DevicePicture, capacity: Capacity, selectable: Mask) -> None:
        self.of: dict[int, list[tuple[int, int]]] = {}
        for at in picture.shares.positions:
            if selectable[at] and (consumed := consumption(picture.devices[at], capacity)) is not None:
                self.of[at] = [*picture.shares.taken(at, consumed).items()]
        entries = [(at, column, amount) for at, taken in self.of.items() for column, amount in taken if amount]
        self._device, self._column, self._amount = np.array(entries, dtype=np.int64).reshape(-1, 3).T

    def times(self, left: Amounts, size: int) -> Counts:
        """[D] how often the request can get the device, one time after the other: 1 for a device that is not shared.
        `left` [K], `size` is D."""
        found = np.ones(size, dtype=np.int64)
        found[[*self.of]] = UNBOUNDED
        np.minimum.at(found, self._device, left[self._column] // self._amount)
        return np.maximum(found, 0)

    def shared(self, size: int) -> Mask:
        """[D] the devices that are shared."""
        found = np.zeros(size, dtype=np.bool_)
        found[[*self.of]] = True
        return found
