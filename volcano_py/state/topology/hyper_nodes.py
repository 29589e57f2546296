"""HyperNodes as they are read: what of an object says where it is in the tree."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

import msgspec

from volcano_py.api.effects import ObjectRef
from volcano_py.api.hyper_nodes import HyperNode, Member
from volcano_py.api.objects import LabelSelector
from volcano_py.state.table.change import Change
from volcano_py.state.table.stores import DerivedStore
from volcano_py.state.terms.label_syntax import faults_of_selector
from volcano_py.state.terms.selectors import is_empty
from volcano_py.state.topology.limits import LARGEST_NUMBER
from volcano_py.state.topology.patterns import fault_of

_NODE: Final = "Node"
_HYPER_NODE: Final = "HyperNode"


class FaultReason(StrEnum):
    """What may be wrong with a HyperNode; reasons of a condition."""

    INVALID_MEMBER = "InvalidMember"
    UNKNOWN_MEMBER = "UnknownMember"
    CYCLE = "CyclicMembers"
    TIER = "TierNotAboveMembers"
    SECOND_PARENT = "MemberHasTwoParents"
    SHARED_NODE = "NodeInTwoHyperNodes"


class Fault(msgspec.Struct, frozen=True, order=True):
    """What is wrong with the HyperNode `name`: it is used without what is in dispute."""

    name: str
    reason: FaultReason
    message: str


class HyperNodeInfo(msgspec.Struct, frozen=True):
    """One HyperNode.

    Attributes:
        ref: the object.
        tier: the lower, the nearer its nodes are.
        tier_name: what the tier is called; "" for nothing.
        children: names of the HyperNodes among its members.
        nodes: names of nodes.
        patterns: regular expressions over names of nodes; all can be used.
        selectors: label selectors of nodes.
        faults: what of the object by itself cannot be used.
    """

    ref: ObjectRef
    tier: int
    tier_name: str
    children: tuple[str, ...] = ()
    nodes: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()
    selectors: tuple[LabelSelector, ...] = ()
    faults: tuple[Fault, ...] = ()

    @property
    def name(self) -> str:
        return self.ref.name


class HyperNodes:
    """Store of HyperNodes.

    Attributes:
        version: another number whenever one of them has changed in more than its status.
    """

    def __init__(self) -> None:
        self.version = 0
        self._infos: DerivedStore[HyperNode, HyperNodeInfo] = DerivedStore(HyperNode, read_hyper_node, self._changed)
        self.upsert, self.delete, self.known = self._infos.upsert, self._infos.delete, self._infos.known
        self._sorted: tuple[HyperNodeInfo, ...] | None = ()

    def all(self) -> tuple[HyperNodeInfo, ...]:
        """All, by name."""
        if self._sorted is None:
            self._sorted = tuple(sorted(self._infos.values(), key=lambda info: info.name))
        return self._sorted

    def _changed(self, _key: str, _old: HyperNodeInfo | None, _new: HyperNodeInfo | None) -> Change:
        self.version += 1
        self._sorted = None
        return Change.DECISION


def read_hyper_node(hyper_node: HyperNode) -> HyperNodeInfo:
    """What can be used of the object; the rest is among its faults."""
    name, spec = hyper_node.metadata.name, hyper_node.spec
    nodes, children, patterns = dict[str, None](), dict[str, None](), dict[str, None]()
    selectors: list[LabelSelector] = []
    faults: list[Fault] = []
    tier = min(max(spec.tier, 0), LARGEST_NUMBER)
    if spec.tier != tier:
        text = f"spec.tier is {spec.tier}: tiers are 0 to {LARGEST_NUMBER}; it counts as {tier}"
        faults.append(Fault(name, FaultReason.INVALID_MEMBER, text))
    for number, member in enumerate(spec.members):
        wrong = _wrong_with(member)
        selector = member.selector
        if wrong:
            faults.append(Fault(name, FaultReason.INVALID_MEMBER, f"spec.members[{number}] is ignored: {wrong}"))
        elif selector.exact_match is not None:
            (nodes if member.type == _NODE else children)[selector.exact_match.name] = None
        elif selector.regex_match is not None:
            patterns[selector.regex_match.pattern] = None
        elif selector.label_match is not None and not is_empty(selector.label_match):
            selectors.append(selector.label_match)
    return HyperNodeInfo(
        ref=ObjectRef(_HYPER_NODE, "", name, hyper_node.metadata.uid),
        tier=tier,
        tier_name=spec.tier_name,
        children=tuple(children),
        nodes=tuple(nodes),
        patterns=tuple(patterns),
        selectors=tuple(selectors),
        faults=tuple(faults),
    )


def _wrong_with(member: Member) -> str:
    """Why the member cannot be used; "" when it can."""
    selector = member.selector
    given = [each for each in (selector.exact_match, selector.regex_match, selector.label_match) if each is not None]
    if member.type not in (_NODE, _HYPER_NODE):
        return f"type is {member.type!r}; use Node or HyperNode"
    if len(given) != 1:
        return f"selector has {len(given)} of exactMatch, regexMatch and labelMatch; use exactly one"
    if member.type == _HYPER_NODE and selector.exact_match is None:
        return "HyperNodes are selected by exactMatch alone; name them one by one"
    if selector.exact_match is not None and not selector.exact_match.name:
        return "exactMatch.name is empty; name the member"
    if selector.regex_match is not None and (fault := fault_of(selector.regex_match.pattern)):
        return f"regexMatch.pattern cannot be used: {fault}"
    return next(faults_of_selector("labelMatch", selector.label_match), "")
