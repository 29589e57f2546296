"""HyperNodes for tests, in short: `hyper_node("rack-a", 1, nodes=["n1", "n2"])`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from volcano_py.api.hyper_nodes import (
    ExactMatch,
    HyperNode,
    HyperNodeSpec,
    Member,
    MemberSelector,
    RegexMatch,
)
from volcano_py.api.objects import LabelSelector, ObjectMeta
from volcano_py.state.infos import NodeInfo
from volcano_py.state.nodes.index import NodeIndex
from volcano_py.state.topology.hyper_nodes import read_hyper_node
from volcano_py.state.topology.tree import Tree, build


def hyper_node(
    name: str,
    tier: int,
    *,
    tier_name: str = "",
    nodes: Iterable[str] = (),
    children: Iterable[str] = (),
    pattern: str = "",
    labels: dict[str, str] | None = None,
    members: Sequence[Member] = (),
) -> HyperNode:
    """A HyperNode with these members, and `members` as they are."""
    found = [Member(type="Node", selector=MemberSelector(exact_match=ExactMatch(name=each))) for each in nodes]
    found += [Member(type="HyperNode", selector=MemberSelector(exact_match=ExactMatch(name=each))) for each in children]
    if pattern:
        found.append(Member(type="Node", selector=MemberSelector(regex_match=RegexMatch(pattern=pattern))))
    if labels is not None:
        selector = MemberSelector(label_match=LabelSelector(match_labels=labels))
        found.append(Member(type="Node", selector=selector))
    meta = ObjectMeta(name=name, uid=f"uid-of-{name}")
    return HyperNode(metadata=meta, spec=HyperNodeSpec(tier=tier, tier_name=tier_name, members=[*found, *members]))


def tree_of(
    hyper_nodes: Iterable[HyperNode],
    nodes: Iterable[str | NodeInfo],
    *,
    absent: Iterable[str] = (),
) -> Tree:
    """The tree over these nodes, in this order of rows; those in `absent` are only named by pods."""
    infos = [NodeInfo(node) if isinstance(node, str) else node for node in nodes]
    index = NodeIndex(infos, version=1)
    present = np.array([bool(info.name) and info.name not in set(absent) for info in infos], dtype=np.bool_)
    read = sorted((read_hyper_node(each) for each in hyper_nodes), key=lambda info: info.name)
    return build(read, index, present)
