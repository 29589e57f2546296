"""From which nodes each device can be used. Follows from nodes and devices, so it is kept while both stay the same."""

from __future__ import annotations

from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from volcano_py.api.objects import NodeSelector
from volcano_py.state.devices.device import Device
from volcano_py.state.devices.picture import DevicePicture
from volcano_py.state.nodes.index import NodeIndex
from volcano_py.state.nodes.terms import Mask, affinity_mask
from volcano_py.state.table.table import Rows

NETWORK: Final = -1
"""As the node of a device: it can be used from several."""
_encode = msgspec.msgpack.Encoder().encode
_EACH_DEVICE: Final = 16  # bytes


class Places:
    """Of the devices [D] of one picture.

    Attributes:
        node: [D] node row, `NETWORK`, or N for a node that does not exist.
        has_network: whether any device can be used from several nodes.
    """

    def __init__(self, index: NodeIndex, picture: DevicePicture) -> None:
        nowhere = len(index.nodes)
        rows = (index.rows.get(each.node, nowhere) if each.node else NETWORK for each in picture.devices)
        self.node: Rows = np.fromiter(rows, dtype=np.intp, count=len(picture.devices))
        self._order = np.argsort(self.node, kind="stable")
        self._starts = np.searchsorted(self.node[self._order], np.arange(nowhere + 1))
        self._network = _network(index, picture.devices, np.flatnonzero(self.node == NETWORK))
        self.has_network = bool(self._network)
        self._incomplete, self._faulty = np.zeros(nowhere, dtype=np.bool_), np.zeros(nowhere, dtype=np.bool_)
        for fault in picture.faults:
            at = [index.rows[name] for name in fault.nodes if name in index.rows] if fault.nodes else slice(None)
            self._faulty[at] = True
            self._incomplete[at] |= fault.is_incomplete

    @property
    def nbytes(self) -> int:
        return _EACH_DEVICE * len(self.node) + sum(mask.nbytes for mask, _ in self._network)

    def seen_from(self, row: int) -> Rows:
        """Positions of the devices that can be used from the node, ascending."""
        local = self._order[self._starts[row] : self._starts[row + 1]]
        shared = [positions for mask, positions in self._network if mask[row]]
        return np.sort(np.concatenate([local, *shared])) if shared else local

    def reach(self, position: int) -> Mask:
        """[N] the nodes from which the device can be used."""
        for mask, positions in self._network:
            if position in positions:
                return mask
        only = np.zeros(len(self._starts) - 1, dtype=np.bool_)
        only[self.node[position] : self.node[position] + 1] = True
        return only

    def is_incomplete(self, row: int) -> bool:
        """Whether the node sees a pool of which slices are missing."""
        return bool(self._incomplete[row])

    def is_faulty(self, rows: Rows) -> Mask:
        """[K] nodes that see a pool from which nothing is given."""
        faulty: Mask = self._faulty[rows]
        return faulty


def places(index: NodeIndex, picture: DevicePicture) -> Places:
    """Those of the picture, made once for each of its versions."""
    return index.kept.keep(("places of devices", str(picture.version)), lambda: Places(index, picture))


def _network(index: NodeIndex, devices: tuple[Device, ...], positions: Rows) -> list[tuple[Mask, NDArray[np.intp]]]:
    """The devices of the network by where they can be used from."""
    by_selector: dict[bytes, tuple[NodeSelector | None, list[int]]] = {}
    for at in positions.tolist():
        selector = devices[at].nodes
        by_selector.setdefault(_encode(selector), (selector, []))[1].append(at)
    everywhere = np.ones(len(index.nodes), dtype=np.bool_)
    return [
        (everywhere if selector is None else affinity_mask(index, selector), np.array(found, dtype=np.intp))
        for selector, found in by_selector.values()
    ]
