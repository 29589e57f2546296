"""What is free of devices that are not shared, and requests for them."""

from __future__ import annotations

import numpy as np

from volcano_py.plugins.predicates.devices.rooms import Wish
from volcano_py.plugins.predicates.devices.use import Free
from volcano_py.state.nodes.terms import Mask


def only_free(devices: Mask) -> Free:
    """These devices [D]; the others are in use."""
    return Free(devices, ~devices, np.zeros(0, dtype=np.int64))


def wishes(asked: list[tuple[Mask, int]]) -> list[Wish]:
    """Requests that each select devices [D], and need so many of them."""
    return [Wish(mask, count, np.ones(len(mask), dtype=np.int64), np.zeros_like(mask)) for mask, count in asked]
