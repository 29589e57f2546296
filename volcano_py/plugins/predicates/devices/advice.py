"""What nodes say that lack the devices of a pod's claims, and what is said of the best of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

import msgspec
import numpy as np

from volcano_py.api.devices.claims import MOST_DEVICES
from volcano_py.api.devices.slices import DeviceTaint
from volcano_py.api.wording.amounts import amounts
from volcano_py.api.wording.summarize import counted, summarize
from volcano_py.framework.placement.refused import Refused
from volcano_py.framework.session import Session
from volcano_py.plugins.predicates.advice.selectors import how_far
from volcano_py.plugins.predicates.devices.counting import Counting
from volcano_py.plugins.predicates.devices.matching import Nothing
from volcano_py.plugins.predicates.devices.places import Places
from volcano_py.plugins.predicates.devices.rooms import OnNodes
from volcano_py.plugins.predicates.devices.use import Free, all_free
from volcano_py.plugins.predicates.devices.wanted import Asked, Wanted
from volcano_py.state.devices.device import Device
from volcano_py.state.devices.needs import ALL, Ask, GivenDevices
from volcano_py.state.devices.picture import DevicePicture
from volcano_py.state.nodes.terms import Mask
from volcano_py.state.table.axis import IntVector
from volcano_py.state.table.table import Rows

NOT_THERE: Final = "node(s) had too few devices that the pod's ResourceClaims can get"
IN_USE: Final = "node(s) had too few free devices for the pod's ResourceClaims"
OUT_OF_REACH: Final = "node(s) could not use the devices of the pod's ResourceClaims"
NONE_FOR_EXTENDED: Final = "node(s) had too few devices for the pod's extended resources"
USED_FOR_EXTENDED: Final = "node(s) had too few free devices for the pod's extended resources"
"""The same where devices stand in for resources, of pods without ResourceClaims of their own."""
NONE_FOR_BOTH: Final = "node(s) had too few devices for the pod's ResourceClaims and extended resources"
USED_FOR_BOTH: Final = "node(s) had too few free devices for the pod's ResourceClaims and extended resources"
ALONE: Final = "node(s) had no room for the other pods of the job that share the pod's ResourceClaim"
FAULTY_POOL: Final = "node(s) had pools of devices that are incomplete or invalid"


class Lack(msgspec.Struct, frozen=True):
    """How a node without the devices is counted: it never has them, or they are in use."""

    none: str
    used: str


def lack(*, of_claims: bool, of_extended: bool) -> Lack:
    """For a pod that needs devices there for ResourceClaims, for extended resources or for both."""
    if of_claims and of_extended:
        return Lack(NONE_FOR_BOTH, USED_FOR_BOTH)
    return Lack(NONE_FOR_EXTENDED, USED_FOR_EXTENDED) if of_extended else Lack(NOT_THERE, IN_USE)


def out_of_reach(ssn: Session, need: GivenDevices) -> str:
    """From where the devices of a claim can be used."""
    subject = "A ResourceClaim of the pod has devices that can be used only from a node that"
    fix = "bring such a node back, or create the claim again"
    terms = None if need.nodes is None else need.nodes.node_selector_terms
    return how_far(ssn.nodes, ssn.ledger.nodes.present, subject, [], terms, fix)


def alone(ssn: Session, request: IntVector) -> str:
    """What the pods that share a claim request together."""
    together = amounts(ssn.axis.amounts(request))
    return (
        "Pods of a job that share the devices of a ResourceClaim run on one node, and those of them that must start "
        f"together ask for {together}: let more nodes have that free, or give each pod a claim of its own"
    )


def of_devices(
    ssn: Session,
    picture: DevicePicture,
    places: Places,
    counting: Counting,
    wanted: Wanted,
    free: Free,
    refused: Refused,
    words: Lack,
) -> Iterator[str]:
    """Sentences about nodes that refuse; those that lack what is `wanted` are counted in these `words`."""
    if words.none in refused or FAULTY_POOL in refused:
        nodes = _Nodes(ssn, places, counting, all_free(picture))
        yield from filter(None, (_lacking(nodes, each, picture.devices) for each in wanted.asked))
        yield from wanted.errors
        if wanted.largest > MOST_DEVICES:
            yield (
                f"The pod needs {wanted.largest} devices in one ResourceClaim on such a node, and {MOST_DEVICES} are "
                "the most that a claim can have: ask for fewer in a pod"
            )
    if words.used in refused:
        nodes = _Nodes(ssn, places, counting, free)
        yield from (_in_use(nodes, each, refused.rows(words.used)) for each in wanted.asked if not each.ask.is_admin)
    if FAULTY_POOL in refused:
        yield from (fault.message for fault in picture.faults)


class _Nodes:
    """Counts devices by node, of what is free."""

    def __init__(self, ssn: Session, places: Places, counting: Counting, free: Free) -> None:
        self._ssn, self._places, self._free, size = ssn, places, free, len(ssn.nodes.nodes)
        self._usable = counting.affordable(free) & (places.node < size)
        node_of = np.minimum(places.node, size - 1)
        self._on_nodes = OnNodes(counting.whole, counting.whole.left(free.used), free, node_of, size)

    def most(self, asked: Asked, among: Rows | None = None) -> tuple[int, str]:
        """How many devices can be used at once from the node with the most of them, of the nodes `among`, and its name,
        the first by name among equals."""
        size = len(asked.selectable)
        once = np.minimum(asked.costs.times(self._free.left, size), 1)
        counts = self._on_nodes.most(asked.selectable & self._usable, once)
        rows = np.flatnonzero(self._ssn.ledger.nodes.present) if among is None else among
        if not len(rows):
            return 0, ""
        best = rows[counts[rows] == counts[rows].max()]
        row = best[np.argmin(self._ssn.nodes.name_rank[best])]
        return int(counts[row]), str(self._ssn.nodes.names[row])

    def at(self, node: str, devices: Mask) -> int:
        """How many of the devices [D] the node has, whether they can be used at once or not."""
        seen = self._places.seen_from(self._ssn.nodes.rows[node])
        return int(np.count_nonzero(devices[seen]))


def _lacking(nodes: _Nodes, asked: Asked, devices: Sequence[Device]) -> str:
    """Of nodes that have too few devices, whoever uses them; "" if some node has enough."""
    most, node = nodes.most(asked)
    if most:
        if asked.ask.is_admin or most >= (asked.ask.count or nodes.at(node, asked.selectable)):
            return ""
        of = "" if (there := nodes.at(node, asked.selectable)) == most else f" of {there} that share counters"
        return f"{_asks(asked.ask)}; the most that a node has is {most}{of}, on node {node}"
    if not devices:
        return f"{_asks(asked.ask)}, and no devices are published"
    if asked.nothing is not None:
        return f"{_asks(asked.ask)}, {_why_none(asked.nothing)}"
    left_out = Counter(device.unusable for device in devices if device.unusable)
    reasons = [f"{counted(count, 'device')} {why}" for why, count in sorted(left_out.items())]
    text = f"{_asks(asked.ask)}, and none of the {counted(len(devices), 'device')} that there are will do"
    return f"{text}; not usable are: {summarize(reasons)}" if reasons else text


def _why_none(nothing: Nothing) -> str:
    if nothing.taints:
        taints = summarize([f"{_pair(each)}:{each.effect}" for each in nothing.taints])
        return f"and does not tolerate the taints of the {counted(nothing.of, 'device')} that it selects: {taints}"
    if not nothing.expression:
        return f"and none of the {counted(nothing.of, 'device')} that it selects has the capacity that it requests"
    which = "" if nothing.is_first else " that pass the selectors before it"
    return f"and none of the {counted(nothing.of, 'device')}{which} passes `{nothing.expression}`"


def _pair(taint: DeviceTaint) -> str:
    return f"{taint.key}={taint.value}" if taint.value else taint.key


def _in_use(nodes: _Nodes, asked: Asked, rows: Rows) -> str:
    """Of nodes that have enough devices, most of them in use."""
    most, node = nodes.most(asked, rows)
    return f"{_asks(asked.ask)}; the most that is free on such a node is {most}, on node {node}"


def _asks(ask: Ask) -> str:
    what = "all devices" if ask.count == ALL else counted(ask.count, "device")
    return f"Request {ask.name} asks for {what} of DeviceClass {ask.device_class}"
