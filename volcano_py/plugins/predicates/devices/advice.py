"""What nodes say that lack the devices of a pod's claims, and what is said of the best of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from volcano_py.api.wording.summarize import counted, summarize
from volcano_py.framework.placement.refused import Refused
from volcano_py.framework.session import Session
from volcano_py.plugins.predicates.advice.selectors import how_far
from volcano_py.plugins.predicates.devices.places import Places
from volcano_py.plugins.predicates.devices.wanted import Asked, Wanted
from volcano_py.state.devices.needs import ALL, Ask, GivenDevices
from volcano_py.state.devices.picture import Device, DevicePicture
from volcano_py.state.nodes.terms import Mask
from volcano_py.state.table.table import Rows

NOT_THERE: Final = "node(s) had too few devices that the pod's ResourceClaims can get"
IN_USE: Final = "node(s) had too few free devices for the pod's ResourceClaims"
OUT_OF_REACH: Final = "node(s) could not use the devices of the pod's ResourceClaims"
FAULTY_POOL: Final = "node(s) had pools of devices that are incomplete or invalid"


def out_of_reach(ssn: Session, need: GivenDevices) -> str:
    """From where the devices of a claim can be used."""
    subject = "A ResourceClaim of the pod has devices that can be used only from a node that"
    fix = "bring such a node back, or create the claim again"
    terms = None if need.nodes is None else need.nodes.node_selector_terms
    return how_far(ssn.nodes, ssn.ledger.nodes.present, subject, [], terms, fix)


def of_devices(
    ssn: Session, picture: DevicePicture, places: Places, wanted: Wanted, free: Mask, refused: Refused
) -> Iterator[str]:
    """Sentences about nodes that refuse; `free` [D]."""
    nodes = _Nodes(ssn, places)
    if NOT_THERE in refused or FAULTY_POOL in refused:
        short = [each for each in wanted.asked if nodes.most(each.selectable)[0] < _least(each.ask)]
        yield from (_lacking(nodes, each, picture.devices) for each in short)
        yield from wanted.errors
    if IN_USE in refused:
        yield from (_in_use(nodes, each, free, refused.rows(IN_USE)) for each in wanted.asked if not each.ask.is_admin)
    if FAULTY_POOL in refused:
        yield from (fault.why for fault in picture.faults)


class _Nodes:
    """Counts devices by node."""

    def __init__(self, ssn: Session, places: Places) -> None:
        self._ssn, self._node = ssn, places.node
        self._size = len(ssn.nodes.nodes)

    def most(self, devices: Mask, among: Rows | None = None) -> tuple[int, str]:
        """How many of the devices [D] can be used from the node with the most of them, of the nodes `among`, and its
        name, the first by name among equals."""
        local = devices & (self._node >= 0) & (self._node < self._size)
        counts = np.bincount(self._node[local], minlength=self._size)
        rows = np.flatnonzero(self._ssn.ledger.nodes.present) if among is None else among
        if not len(rows):
            return 0, ""
        best = rows[counts[rows] == counts[rows].max()]
        row = best[np.argmin(self._ssn.nodes.name_rank[best])]
        return int(counts[row]) + int(np.count_nonzero(devices & (self._node < 0))), str(self._ssn.nodes.names[row])


def _least(ask: Ask) -> int:
    return max(ask.count, 1)


def _lacking(nodes: _Nodes, asked: Asked, devices: Sequence[Device]) -> str:
    """Of nodes that have too few devices, whoever uses them."""
    most, node = nodes.most(asked.selectable)
    if most:
        return f"{_asks(asked.ask)}; the most that a node has is {most}, on node {node}"
    left_out = Counter(device.unusable for device in devices if device.unusable)
    reasons = [f"{counted(count, 'device')} {why}" for why, count in sorted(left_out.items())]
    text = f"{_asks(asked.ask)}, and none of the {counted(len(devices), 'device')} that there are will do"
    return f"{text}; not usable are: {summarize(reasons)}" if reasons else text


def _in_use(nodes: _Nodes, asked: Asked, free: Mask, rows: Rows) -> str:
    """Of nodes that have enough devices, most of them in use."""
    most, node = nodes.most(asked.selectable & free, rows)
    return f"{_asks(asked.ask)}; the most that is free on such a node is {most}, on node {node}"


def _asks(ask: Ask) -> str:
    what = "all devices" if ask.count == ALL else counted(ask.count, "device")
    return f"Request {ask.name} asks for {what} of DeviceClass {ask.device_class}"
