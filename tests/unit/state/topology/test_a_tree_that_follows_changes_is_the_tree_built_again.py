"""A builder that has built earlier trees gives the same as a new one, and looks only at what a change touches."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.support.placement.hyper_nodes import hyper_node
from volcano_py.api.hyper_nodes import HyperNode, Member, MemberSelector
from volcano_py.api.objects import LabelSelector, SelectorRequirement
from volcano_py.state.infos import NodeInfo
from volcano_py.state.nodes.index import NodeIndex
from volcano_py.state.topology import members
from volcano_py.state.topology.hyper_nodes import HyperNodeInfo, read_hyper_node
from volcano_py.state.topology.tree import Tree, TreeBuilder, build

Nodes = Sequence[tuple[NodeInfo, bool]]
"""Of each row the node, and whether it exists."""


def same(one: Tree, other: Tree) -> bool:
    """Whether they are equal in every field."""
    return all(
        np.array_equal(getattr(one, field), getattr(other, field))
        for field in ("names", "tiers", "tier_names", "parent", "end", "nearest", "order", "place", "starts", "faults")
    )


def present(nodes: Nodes) -> NDArray[np.bool_]:
    return np.array([exists for _, exists in nodes], dtype=np.bool_)


NODE = st.builds(
    NodeInfo,
    st.sampled_from(["a1", "a2", "b1", "b10", "x"]),
    labels=st.dictionaries(st.sampled_from(["rack", "zone"]), st.sampled_from(["1", "2"]), max_size=2),
    unschedulable=st.booleans(),
)
NODES = st.lists(st.tuples(NODE, st.booleans()), max_size=5, unique_by=lambda each: each[0].name)
REQUIREMENT = st.builds(
    SelectorRequirement,
    key=st.sampled_from(["rack", "zone"]),
    operator=st.sampled_from(["In", "NotIn"]),
    values=st.lists(st.sampled_from(["1", "2"]), min_size=1, max_size=2),
)
REQUIREMENTS = st.one_of(
    REQUIREMENT,
    st.builds(SelectorRequirement, key=st.just("rack"), operator=st.sampled_from(["Exists", "DoesNotExist"])),
)


@st.composite
def hyper_nodes(draw: st.DrawFn) -> HyperNode:
    selector = MemberSelector(label_match=LabelSelector(match_expressions=draw(st.lists(REQUIREMENTS, max_size=1))))
    return hyper_node(
        draw(st.sampled_from(["h0", "h1", "h2", "h3"])),
        draw(st.integers(0, 2)),
        nodes=draw(st.lists(st.sampled_from(["a1", "b1", "gone"]), max_size=2)),
        children=draw(st.lists(st.sampled_from(["h0", "h1", "h2"]), max_size=2)),
        pattern=draw(st.sampled_from(["", "a", "b1", "^x$"])),
        labels=draw(st.sampled_from([None, {"rack": "1"}, {"zone": "2"}])),
        members=[Member(type="Node", selector=selector)],
    )


@given(st.data(), st.lists(hyper_nodes(), max_size=4, unique_by=lambda each: each.metadata.name), NODES)
def test_whatever_changes_the_tree_is_the_one_that_is_built_again(
    data: st.DataObject, first: list[HyperNode], nodes: Nodes
) -> None:
    """Nodes come, go, and are renamed and relabelled, and HyperNodes are edited, one or several before each tree."""
    builder, now = TreeBuilder(), list(nodes)
    infos: dict[str, HyperNodeInfo] = {each.metadata.name: read_hyper_node(each) for each in first}
    for _ in range(data.draw(st.integers(1, 4))):
        listed = sorted(infos.values(), key=lambda info: info.name)
        index = NodeIndex([node for node, _ in now], version=1)
        assert same(builder.build(listed, index, present(now)), build(listed, index, present(now)))
        for _ in range(data.draw(st.integers(1, 2))):
            if data.draw(st.booleans()):
                edited = data.draw(hyper_nodes())
                infos[edited.metadata.name] = read_hyper_node(edited)
                continue
            changed = data.draw(st.tuples(NODE, st.booleans()))
            row = next((row for row, (node, _) in enumerate(now) if node.name == changed[0].name), None)
            if row is not None:
                now[row] = changed if data.draw(st.booleans()) else (NodeInfo(""), False)
            elif free := [row for row, (node, _) in enumerate(now) if not node.name]:
                now[free[0]] = changed
            else:
                now.append(changed)


def test_more_changes_than_are_looked_at_one_by_one_are_no_different() -> None:
    racks = [
        read_hyper_node(hyper_node("a", 1, pattern="^a")),
        read_hyper_node(hyper_node("b", 1, labels={"rack": "b"})),
    ]
    builder = TreeBuilder()
    for count in (10, 200, 5):
        infos = [NodeInfo(f"a{number}", labels={"rack": "b"} if number % 2 else {}) for number in range(count)]
        index, there = NodeIndex(infos, version=count), np.ones(count, dtype=np.bool_)
        assert same(builder.build(racks, index, there), build(racks, index, there))


@pytest.mark.parametrize("kind", ["nodes", "pattern", "labels"])
def test_a_node_that_comes_or_is_renamed_has_only_its_racks_evaluated_again(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    evaluated: list[str] = []
    select = members.Members._select

    def counting(self: members.Members, info: HyperNodeInfo, *others: object) -> members.Selected:
        evaluated.append(info.name)
        return select(self, info, *others)  # type: ignore[arg-type]

    monkeypatch.setattr(members.Members, "_select", counting)
    of_kind: Callable[[int], HyperNode] = {
        "nodes": lambda rack: hyper_node(f"r{rack}", 1, nodes=[f"n{rack}-{number}" for number in range(3)]),
        "pattern": lambda rack: hyper_node(f"r{rack}", 1, pattern=f"^n{rack}-"),
        "labels": lambda rack: hyper_node(f"r{rack}", 1, labels={"rack": str(rack)}),
    }[kind]
    racks = [read_hyper_node(of_kind(rack)) for rack in range(9)]
    nodes = [NodeInfo(f"n{rack}-{number}", labels={"rack": str(rack)}) for rack in range(9) for number in range(2)]
    builder = TreeBuilder()

    def tree(now: Sequence[NodeInfo]) -> list[str]:
        evaluated.clear()
        index = NodeIndex(now, version=len(now))
        builder.build(racks, index, np.ones(len(now), dtype=np.bool_))
        return sorted(evaluated)

    assert tree(nodes) == [f"r{rack}" for rack in range(9)]
    assert tree(nodes) == []
    assert tree([*nodes[1:], nodes[0]]) == [f"r{rack}" for rack in range(9)], "all are in another row"
    moved = [*nodes[1:], nodes[0]]
    assert tree([*moved, NodeInfo("n4-2", labels={"rack": "4"})]) == ["r4"]
    renamed = [NodeInfo("n7-2", labels={"rack": "7"}) if each.name == "n2-0" else each for each in moved]
    assert tree([*renamed, NodeInfo("n4-2", labels={"rack": "4"})]) == ["r2", "r7"]
