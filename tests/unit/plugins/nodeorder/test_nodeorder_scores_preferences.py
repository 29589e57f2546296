"""Preferred node affinity and PreferNoSchedule taints, stretched over the nodes that may take the pod."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.placement.node_answers import batch_scores
from tests.support.placement.placing import placed
from tests.support.sessions import Opened, gang, node, open_session, pod, pod_group
from volcano_py.api.objects import (
    Affinity,
    LabelSelector,
    Node,
    NodeAffinity,
    NodeSelectorTerm,
    PreferredSchedulingTerm,
    SelectorRequirement,
    Taint,
    Toleration,
    TopologySpreadConstraint,
)
from volcano_py.plugins.nodeorder import NodeOrder


def prefer(weight: int, key: str, operator: str, *values: str) -> PreferredSchedulingTerm:
    expression = SelectorRequirement(key=key, operator=operator, values=list(values))
    return PreferredSchedulingTerm(weight=weight, preference=NodeSelectorTerm(match_expressions=[expression]))


def preferring(*terms: PreferredSchedulingTerm) -> Affinity:
    return Affinity(node_affinity=NodeAffinity(preferred=list(terms)))


def soft(key: str) -> Taint:
    return Taint(key=key, effect="PreferNoSchedule")


def session(
    *nodes: Node, affinity: Affinity | None = None, tolerations: tuple[Toleration, ...] = (), **weights: int
) -> Opened:
    entry = {"arguments": {f"{name}.weight": weight for name, weight in weights.items()}}
    asking = pod("p", group="g", affinity=affinity, tolerations=tolerations)
    return open_session(nodes, pod_group("g"), asking, tiers=[[(NodeOrder, entry)]])


ZONED = [node("a", labels={"zone": "a", "disk": "ssd"}), node("b", labels={"zone": "b"}), node("c")]
WISHES = preferring(prefer(30, "zone", "In", "a"), prefer(20, "disk", "In", "ssd"), prefer(20, "zone", "Exists"))


def test_weights_of_matching_terms_add_up_and_are_stretched_to_the_best_node() -> None:
    opened = session(*ZONED, affinity=WISHES, nodeaffinity=1)
    # 70, 20 and 0 of 70
    assert batch_scores(opened, NodeOrder, "p") == {"a": 100, "b": 28, "c": 0}


def test_only_feasible_nodes_set_the_scale() -> None:
    opened = session(*ZONED, affinity=WISHES, nodeaffinity=1)
    assert batch_scores(opened, NodeOrder, "p", feasible=["c", "b"]) == {"c": 0, "b": 100}


def test_what_decides_nothing_is_left_unsaid() -> None:
    assert batch_scores(session(*ZONED), NodeOrder, "p") is None
    opened = session(*ZONED, affinity=WISHES)
    assert batch_scores(opened, NodeOrder, "p", feasible=["b"]) is None
    assert batch_scores(opened, NodeOrder, "p", feasible=["c"]) is None


def test_empty_terms_and_weights_outside_the_api_count_as_little_as_they_can() -> None:
    empty = PreferredSchedulingTerm(weight=50, preference=NodeSelectorTerm())
    wishes = preferring(
        empty, prefer(-5, "zone", "In", "b"), prefer(0, "zone", "In", "b"), prefer(2**62, "disk", "Exists")
    )
    opened = session(*ZONED, affinity=wishes, nodeaffinity=1)
    assert batch_scores(opened, NodeOrder, "p") == {"a": 100, "b": 0, "c": 0}


def test_a_preference_that_cannot_be_read_counts_nothing() -> None:
    wishes = preferring(prefer(50, "zone", "Like", "b"), prefer(50, "zone", "Gt", "b"), prefer(10, "zone", "In", "a"))
    opened = session(*ZONED, affinity=wishes, nodeaffinity=1)
    assert batch_scores(opened, NodeOrder, "p") == {"a": 100, "b": 0, "c": 0}


TAINTED = [
    node("clean"),
    node("one", taints=[soft("old")]),
    node("three", taints=[soft("old"), soft("slow"), soft("loud"), Taint(key="gone", effect="NoExecute")]),
]


def test_nodes_with_the_fewest_unwelcome_taints_come_first() -> None:
    opened = session(*TAINTED, tainttoleration=1)
    assert batch_scores(opened, NodeOrder, "p") == {"clean": 100, "one": 67, "three": 0}
    assert batch_scores(opened, NodeOrder, "p", feasible=["one", "clean"]) == {"one": 0, "clean": 100}


def test_tolerated_taints_are_no_reason_and_only_tolerations_of_the_effect_help() -> None:
    old = Toleration(key="old", operator="Exists")
    assert batch_scores(session(*TAINTED, tolerations=(old,), tainttoleration=1), NodeOrder, "p") == {
        "clean": 100,
        "one": 100,
        "three": 0,
    }
    other_effect = Toleration(operator="Exists", effect="NoSchedule")
    opened = session(*TAINTED, tolerations=(other_effect,), tainttoleration=1)
    assert batch_scores(opened, NodeOrder, "p") == {"clean": 100, "one": 67, "three": 0}
    assert batch_scores(session(*TAINTED, tolerations=(Toleration(operator="Exists"),)), NodeOrder, "p") is None


def test_both_are_weighted_and_added() -> None:
    nodes = [node("a", labels={"zone": "a"}, taints=[soft("old")]), node("b")]
    wishes = preferring(prefer(1, "zone", "In", "a"))
    assert batch_scores(session(*nodes, affinity=wishes), NodeOrder, "p") == {"a": 200, "b": 300}
    off = session(*nodes, affinity=wishes, nodeaffinity=0, tainttoleration=0)
    assert batch_scores(off, NodeOrder, "p") is None
    assert batch_scores(session(*nodes, affinity=wishes, tainttoleration=0), NodeOrder, "p") == {"a": 200, "b": 0}


def test_a_gang_sees_the_scale_move_when_the_worst_of_its_nodes_is_full() -> None:
    """Next to a node with two taints one taint is half as bad; once that node is full it is as bad as can be."""
    wish = TopologySpreadConstraint(
        topology_key="zone",
        when_unsatisfiable="ScheduleAnyway",
        label_selector=LabelSelector(match_labels={"app": "web"}),
    )
    opened = open_session(
        node("worst", cpu="64", memory="64Gi", pods="1", labels={"zone": "a"}, taints=[soft("old"), soft("slow")]),
        node("bad", cpu="10", memory="10Gi", labels={"zone": "b"}, taints=[soft("old")]),
        node("clean", cpu="6", memory="6Gi", labels={"zone": "c"}),
        gang("g", pods=2, cpu="1", memory="1Gi", labels={"app": "web"}, spread=[wish]),
        tiers=[[(NodeOrder, {"arguments": {"leastrequested.weight": 30, "balancedresource.weight": 0}})]],
    )
    # least requested 98, 90 and 83, times 30; taints 0, 50 and 100, times 3, and then 0 and 100
    assert placed(opened, 2)[0] == ["worst", "clean"]


labelled = st.lists(st.tuples(st.sampled_from(["a", "b", ""]), st.integers(0, 3)), min_size=1, max_size=6)
wishes = st.lists(
    st.builds(prefer, st.integers(1, 100), st.just("zone"), st.sampled_from(["In", "NotIn"]), st.sampled_from("ab")),
    max_size=4,
)


def by_hand(counts: list[int]) -> list[int]:
    highest = max(counts)
    return [100 * count // highest if highest else 0 for count in counts]


@settings(deadline=None)
@given(labelled, wishes)
def test_differences_between_nodes_equal_a_node_by_node_evaluation(
    drawn: list[tuple[str, int]], terms: list[PreferredSchedulingTerm]
) -> None:
    nodes = [
        node(f"n{number}", labels={"zone": zone}, taints=[soft(f"t{each}") for each in range(taints)])
        for number, (zone, taints) in enumerate(drawn)
    ]
    affinity_counts = [
        sum(
            term.weight
            for term in terms
            for wish in term.preference.match_expressions
            if (zone in wish.values) is (wish.operator == "In")
        )
        for zone, _ in drawn
    ]
    expected = [
        2 * liked + 3 * (100 - unwelcome)
        for liked, unwelcome in zip(by_hand(affinity_counts), by_hand([taints for _, taints in drawn]), strict=True)
    ]
    opened = session(*nodes, affinity=preferring(*terms))
    found = list((batch_scores(opened, NodeOrder, "p") or dict.fromkeys(map(str, range(len(nodes))), 0.0)).values())
    # a part that is the same for all nodes decides nothing and may be left out
    assert [score - found[0] for score in found] == [score - expected[0] for score in expected]
