"""HyperNodes form a tree over the nodes, whatever is wrong with some of them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.placement.hyper_nodes import hyper_node, tree_of
from volcano_py.api.hyper_nodes import ExactMatch, HyperNode, Member, MemberSelector, RegexMatch
from volcano_py.api.objects import LabelSelector
from volcano_py.state.infos import NodeInfo
from volcano_py.state.topology.hyper_nodes import FaultReason, HyperNodes
from volcano_py.state.topology.patterns import Patterns, fault_of
from volcano_py.state.topology.tree import ROOT, ROOT_NAME, Tree

NODES = ["a1", "a2", "b1", "b2", "x"]
RACKS = (
    hyper_node("spine", 2, tier_name="spine", children=["rack-a", "rack-b"]),
    hyper_node("rack-a", 1, tier_name="rack", nodes=["a1", "a2"]),
    hyper_node("rack-b", 1, tier_name="rack", nodes=["b1", "b2"]),
)


def nodes_in(tree: Tree, name: str, nodes: list[str] = NODES) -> set[str]:
    return {nodes[row] for row in tree.nodes(tree.names.index(name)).tolist()}


def reasons(tree: Tree) -> set[tuple[str, FaultReason]]:
    return {(fault.name, fault.reason) for fault in tree.faults}


def test_a_domain_holds_the_nodes_of_all_that_is_below_it() -> None:
    tree = tree_of(RACKS, NODES)
    assert tree.names == (ROOT_NAME, "spine", "rack-a", "rack-b")
    assert nodes_in(tree, "rack-a") == {"a1", "a2"}
    assert nodes_in(tree, "spine") == {"a1", "a2", "b1", "b2"}
    assert nodes_in(tree, ROOT_NAME) == set(NODES), "the root holds nodes that are in no HyperNode, too"
    assert tree.faults == ()


@pytest.mark.parametrize(("hyper_nodes", "tier"), [((), 1), (RACKS, 3)])
def test_the_root_is_one_tier_above_the_highest(hyper_nodes: tuple[HyperNode, ...], tier: int) -> None:
    assert tree_of(hyper_nodes, NODES).tiers[ROOT] == tier


def test_sums_are_those_of_each_domains_nodes() -> None:
    tree = tree_of(RACKS, NODES)
    assert dict(zip(tree.names, tree.sums(np.array([1, 2, 4, 8, 16])).tolist(), strict=True)) == {
        ROOT_NAME: 31, "spine": 15, "rack-a": 3, "rack-b": 12,
    }  # fmt: skip


def test_the_common_domain_is_the_lowest_that_holds_all() -> None:
    tree = tree_of(RACKS, NODES)
    a, b, outside = tree.nearest[[0, 2, 4]].tolist()
    for domains, name in (([a], "rack-a"), ([a, b], "spine"), ([a, outside], ROOT_NAME)):
        assert tree.names[tree.common(np.array(domains))] == name


def test_the_tier_that_domains_share_grows_with_their_distance() -> None:
    tree = tree_of(RACKS, NODES)
    rack = tree.names.index("rack-a")
    assert dict(zip(tree.names, tree.common_tiers(rack).tolist(), strict=True)) == {
        ROOT_NAME: 3, "spine": 2, "rack-a": 1, "rack-b": 2,
    }  # fmt: skip


def test_a_pattern_is_found_anywhere_in_the_name() -> None:
    tree = tree_of([hyper_node("r", 1, pattern="node-1")], ["node-1", "node-10", "node-2"])
    assert nodes_in(tree, "r", ["node-1", "node-10", "node-2"]) == {"node-1", "node-10"}


def test_labels_select_nodes_and_an_empty_selector_selects_none() -> None:
    nodes = [NodeInfo("n1", labels={"rack": "r1"}), NodeInfo("n2", labels={"rack": "r2"})]
    tree = tree_of([hyper_node("r1", 1, labels={"rack": "r1"}), hyper_node("none", 1, labels={})], nodes)
    assert nodes_in(tree, "r1", ["n1", "n2"]) == {"n1"}
    assert nodes_in(tree, "none", ["n1", "n2"]) == set()


def test_a_missing_tier_is_0() -> None:
    tree = tree_of([HyperNode(metadata=hyper_node("r", 7).metadata)], NODES)
    assert tree.tiers[tree.names.index("r")] == 0


def test_nodes_and_hyper_nodes_may_be_mixed_at_any_depth() -> None:
    tree = tree_of([RACKS[1], hyper_node("hall", 5, nodes=["x", "a1"], children=["rack-a"])], NODES)
    assert nodes_in(tree, "hall") == {"a1", "a2", "x"}
    assert tree.names[tree.nearest[0]] == "rack-a", "a node that is named twice on one branch is in the lower one"
    assert tree.faults == ()


def test_nodes_that_do_not_exist_are_in_no_domain() -> None:
    tree = tree_of(RACKS, NODES, absent=["a2"])
    assert nodes_in(tree, "rack-a") == {"a1"}
    assert (tree.nearest[1], tree.place[1]) == (-1, 4)
    assert reasons(tree) == {("rack-a", FaultReason.UNKNOWN_MEMBER)}


# -- faults ----------------------------------------------------------------------------------------------------------


def test_of_two_parents_the_first_by_name_keeps_the_child() -> None:
    tree = tree_of([*RACKS, hyper_node("other", 2, children=["rack-a"])], NODES)
    assert nodes_in(tree, "other") == {"a1", "a2"}
    assert nodes_in(tree, "spine") == {"b1", "b2"}
    assert reasons(tree) == {(name, FaultReason.SECOND_PARENT) for name in ("other", "spine", "rack-a")}
    assert tree.faults[0].message == "rack-a is a member of other and of spine; it is put below other"


def test_a_cycle_drops_the_link_that_leads_up_and_keeps_the_rest() -> None:
    cyclic = hyper_node("rack-a", 1, nodes=["a1", "a2"], children=["spine"])
    tree = tree_of([RACKS[0], cyclic, RACKS[2]], NODES)
    assert nodes_in(tree, "spine") == {"a1", "a2", "b1", "b2"}
    assert reasons(tree) == {("rack-a", FaultReason.CYCLE), ("spine", FaultReason.CYCLE)}


def test_a_hyper_node_is_not_below_itself() -> None:
    tree = tree_of([hyper_node("r", 1, nodes=["a1"], children=["r"])], NODES)
    assert nodes_in(tree, "r") == {"a1"}
    assert reasons(tree) == {("r", FaultReason.CYCLE)}


def test_a_parent_has_to_be_of_a_higher_tier() -> None:
    tree = tree_of([RACKS[1], hyper_node("flat", 1, children=["rack-a"])], NODES)
    assert nodes_in(tree, "flat") == set()
    assert reasons(tree) == {("flat", FaultReason.TIER), ("rack-a", FaultReason.TIER)}


def test_a_node_in_two_hyper_nodes_is_used_in_the_first_by_name() -> None:
    tree = tree_of([RACKS[1], hyper_node("rack-b", 1, nodes=["a2", "b1"])], NODES)
    assert nodes_in(tree, "rack-a") == {"a1", "a2"}
    assert nodes_in(tree, "rack-b") == {"b1"}
    assert reasons(tree) == {(name, FaultReason.SHARED_NODE) for name in ("rack-a", "rack-b")}
    assert tree.faults[0].message == "1 node is a member of rack-a and of rack-b (a2); used in rack-a"


def test_a_member_that_does_not_exist_yet_is_adopted_when_it_comes() -> None:
    early = tree_of(RACKS[:2], NODES)
    assert nodes_in(early, "spine") == {"a1", "a2"}
    assert reasons(early) == {("spine", FaultReason.UNKNOWN_MEMBER)}
    assert tree_of(RACKS, NODES).faults == ()


@pytest.mark.parametrize(
    "member",
    [
        Member(type="Rack", selector=MemberSelector(exact_match=ExactMatch(name="a1"))),
        Member(type="Node"),
        Member(type="Node", selector=MemberSelector(exact_match=ExactMatch())),
        Member(type="Node", selector=MemberSelector(regex_match=RegexMatch())),
        Member(type="Node", selector=MemberSelector(regex_match=RegexMatch(pattern="(a"))),
        Member(type="Node", selector=MemberSelector(regex_match=RegexMatch(pattern="a(?=1)"))),
        Member(type="HyperNode", selector=MemberSelector(regex_match=RegexMatch(pattern="rack-.*"))),
        Member(type="HyperNode", selector=MemberSelector(label_match=LabelSelector(match_labels={"a": "b"}))),
        Member(
            type="Node",
            selector=MemberSelector(exact_match=ExactMatch(name="a1"), regex_match=RegexMatch(pattern="a1")),
        ),
    ],
)
def test_a_member_that_cannot_be_used_is_left_out_and_reported(member: Member) -> None:
    tree = tree_of([hyper_node("r", 1, nodes=["b1"], members=[member])], NODES)
    assert nodes_in(tree, "r") == {"b1"}
    assert reasons(tree) == {("r", FaultReason.INVALID_MEMBER)}
    assert tree.faults[0].message.startswith("spec.members[1] is ignored: ")


def test_a_negative_tier_counts_as_0() -> None:
    tree = tree_of([hyper_node("r", -3, nodes=["a1"])], NODES)
    assert tree.tiers[1] == 0
    assert reasons(tree) == {("r", FaultReason.INVALID_MEMBER)}


def test_a_name_of_several_tiers_means_the_highest_of_them() -> None:
    tree = tree_of([hyper_node("a", 1, tier_name="rack"), hyper_node("b", 2, tier_name="rack")], NODES)
    assert tree.tier_of_name() == {"rack": 2}


def test_no_pattern_takes_exponential_time() -> None:
    assert fault_of("(a+)+$") is None
    assert Patterns().names is not None
    patterns = Patterns()
    patterns.follow(["(a+)+$"], ["a" * 250 + "!"])
    assert patterns.names("(a+)+$") == set()


def test_a_name_is_compared_with_each_pattern_once(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[str] = []

    class Counting:
        def isinstance_python(self, name: str) -> bool:
            compared.append(name)
            return "1" in name

    monkeypatch.setattr("volcano_py.state.topology.patterns._compiled", lambda _pattern: Counting())
    patterns = Patterns()
    patterns.follow(["p"], ["n1", "n2"])
    patterns.follow(["p"], ["n1", "n2", "n11"])
    assert patterns.names("p") == {"n1", "n11"}
    patterns.follow(["p"], ["n2", "n11"])
    assert patterns.names("p") == {"n11"}
    assert sorted(compared) == ["n1", "n11", "n2"]


def test_a_status_alone_changes_nothing() -> None:
    store = HyperNodes()
    first = hyper_node("r", 1, nodes=["a1"])
    store.upsert(first)
    version = store.version
    store.upsert(HyperNode(metadata=first.metadata, spec=first.spec))
    assert store.version == version
    store.upsert(hyper_node("r", 1, nodes=["a2"]))
    assert store.version != version


# -- whatever there is -----------------------------------------------------------------------------------------------

NAMES = [f"h{number}" for number in range(6)]
ANY = st.lists(
    st.builds(
        hyper_node,
        st.sampled_from(NAMES),
        st.integers(0, 3),
        nodes=st.lists(st.sampled_from([*NODES, "gone"]), max_size=3),
        children=st.lists(st.sampled_from([*NAMES, "nowhere"]), max_size=3),
    ),
    unique_by=lambda each: each.metadata.name,
    max_size=6,
)


@given(ANY)
def test_whatever_hyper_nodes_say_they_form_a_tree_with_every_node_in_one_place(found: list[HyperNode]) -> None:
    tree = tree_of(found, NODES)
    assert sorted(tree.names[1:]) == sorted(each.metadata.name for each in found)
    assert sorted(tree.order.tolist()) == list(range(len(NODES)))
    for domain in range(1, len(tree)):
        above = int(tree.parent[domain])
        assert 0 <= above < domain < tree.end[domain] <= tree.end[above]
        assert tree.tiers[above] > tree.tiers[domain]
        assert set(tree.nodes(domain)) <= set(tree.nodes(above))
    for row in range(len(NODES)):
        assert row in tree.nodes(int(tree.nearest[row]))
        assert tree.order[tree.place[row]] == row
    ones = np.ones(len(NODES), dtype=np.int64)
    assert tree.sums(ones).tolist() == [len(tree.nodes(domain)) for domain in range(len(tree))]
    assert {fault.name for fault in tree.faults} <= set(tree.names)
