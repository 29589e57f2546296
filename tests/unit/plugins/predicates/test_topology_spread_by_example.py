"""Spread constraints in clusters small enough to count by hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from tests.support.placement.node_answers import batch_scores, class_of, node_rows
from tests.support.placement.placing import placed
from tests.support.sessions import NAMESPACE, Opened, gang, node, open_session, pod
from volcano_py.api.objects import LabelSelector, ObjectMeta, Taint, Toleration, TopologySpreadConstraint
from volcano_py.api.workloads import Service, ServiceSpec
from volcano_py.framework.statement import Motive
from volcano_py.framework.views import FITS, NodeView
from volcano_py.plugins.nodeorder import NodeOrder
from volcano_py.plugins.predicates import Predicates

ZONE, HOSTNAME = "zone", "kubernetes.io/hostname"
APP = {"app": "web"}
CROWDED = "node(s) didn't match pod topology spread constraints"
UNLABELED = f"{CROWDED} (missing required label)"


def spread(key: str = ZONE, **fields: Any) -> TopologySpreadConstraint:
    return TopologySpreadConstraint(topology_key=key, **{"label_selector": LabelSelector(match_labels=APP), **fields})


def at(name: str, zone: str | None, **fields: Any) -> Any:
    """A node of a zone, or of none; its host name is in its labels."""
    labels = {HOSTNAME: name} if zone is None else {HOSTNAME: name, ZONE: zone}
    return node(name, labels={**labels, **fields.pop("labels", {})}, **fields)


def opened(nodes: Sequence[Any], on: str, *constraints: TopologySpreadConstraint, **fields: Any) -> Opened:
    """Matching pods on the nodes named in `on` (a name each), and one pending pod with the constraints."""
    there = [pod(f"p{number}", labels=APP, on=name) for number, name in enumerate(on.split())]
    fields = {"labels": APP, **fields}
    arguments = fields.pop("arguments", {})
    return open_session(
        *nodes,
        *there,
        gang("new", cpu="1", spread=constraints, **fields),
        tiers=[[(Predicates, {"arguments": arguments}), NodeOrder]],
    )


def reported(session: Opened, name: str = "new-0") -> dict[str, str]:
    codes = session.ssn.placer.codes(class_of(session, name))
    return {
        each: "" if codes[row] == FITS else session.ssn.refusal_of(int(codes[row])).message
        for each, row in sorted(session.ssn.nodes.rows.items())
    }


THREE = (at("a1", "a"), at("a2", "a"), at("b1", "b"), at("c1", "c"))


@pytest.mark.parametrize(
    ("on", "max_skew", "shut"),
    [
        pytest.param("", 1, "", id="no pods"),
        pytest.param("a1", 1, "a1 a2", id="one ahead"),
        pytest.param("a1 b1", 1, "a1 a2 b1", id="two ahead of the third"),
        pytest.param("a1 b1 c1", 1, "", id="even"),
        pytest.param("a1 a2 b1", 2, "a1 a2", id="a skew of two"),
    ],
)
def test_a_zone_may_be_ahead_of_the_emptiest_by_the_skew(on: str, max_skew: int, shut: str) -> None:
    answers = reported(opened(THREE, on, spread(max_skew=max_skew)))
    assert [name for name, text in answers.items() if text == CROWDED] == shut.split()
    assert set(answers.values()) <= {"", CROWDED}


def test_nodes_without_the_label_never_take_the_pod_whatever_is_evicted() -> None:
    session = opened([*THREE, at("d1", None)], "d1", spread())
    assert reported(session)["d1"] == UNLABELED
    codes = session.ssn.placer.codes(class_of(session, "new-0"))
    assert not session.ssn.resolvable(codes)[session.node_row("d1")]
    assert reported(opened([*THREE, at("d1", None)], "a1", spread(HOSTNAME)))["d1"] == "", (
        "the other constraint decides"
    )


def test_fewer_domains_than_asked_for_count_as_one_that_is_empty() -> None:
    assert reported(opened(THREE, "a1 b1 c1", spread(min_domains=3)))["a1"] == ""
    assert set(reported(opened(THREE, "a1 b1 c1", spread(min_domains=4))).values()) == {CROWDED}


def test_a_pod_that_does_not_match_itself_only_has_to_stay_within_the_skew() -> None:
    assert set(reported(opened(THREE, "a1", spread(), labels={"app": "other"})).values()) == {""}
    assert reported(opened(THREE, "a1 a2", spread(), labels={"app": "other"}))["a1"] == CROWDED


def test_zones_that_the_pod_cannot_use_do_not_hold_it_back_by_default() -> None:
    nodes = [at("a1", "a", labels={"disk": "ssd"}), at("b1", "b")]
    wanted = {"node_selector": {"disk": "ssd"}}
    assert reported(opened(nodes, "a1", spread(), **wanted))["a1"] == ""
    assert reported(opened(nodes, "a1", spread(node_affinity_policy="Ignore"), **wanted))["a1"] == CROWDED


def test_tainted_zones_hold_it_back_by_default() -> None:
    nodes = [at("a1", "a"), at("b1", "b", taints=[Taint(key="gpu", effect="NoSchedule")])]
    assert reported(opened(nodes, "a1", spread()))["a1"] == CROWDED
    assert reported(opened(nodes, "a1", spread(node_taints_policy="Honor")))["a1"] == ""


@pytest.mark.parametrize("selector", [LabelSelector(), None], ids=["empty", "missing"])
@pytest.mark.parametrize("min_domains", [None, 4], ids=["", "with too few zones"])
def test_a_pod_whose_selector_matches_none_does_not_count_its_gang_either(
    selector: LabelSelector | None, min_domains: int | None
) -> None:
    """kube-scheduler counts no pod for a selector without conditions, although it matches all."""
    roomy = [at("a1", "a", cpu="64"), at("b1", "b", cpu="8"), at("c1", "c", cpu="8")]
    constraint = spread(label_selector=selector, min_domains=min_domains)
    session = opened(roomy, "", constraint, pods=6, labels=APP)
    task_class = class_of(session, "new-0")
    chosen = session.ssn.placer.choose(task_class, 6).nodes
    assert [session.ssn.snapshot.nodes[row].name for row in chosen.tolist()] == ["a1"] * 6, "where most is free"


def test_several_constraints_hold_at_once_and_the_first_no_is_reported() -> None:
    answers = reported(opened([*THREE, at("a3", "a")], "a1 b1 c1", spread(), spread(HOSTNAME)))
    assert [name for name, text in answers.items() if not text] == ["a2", "a3"]


def test_pods_on_a_node_that_lacks_the_key_of_another_constraint_do_not_count() -> None:
    keyless = node("a9", labels={ZONE: "a"})
    assert reported(opened([*THREE, keyless], "a9", spread(), spread(HOSTNAME)))["a1"] == ""
    assert reported(opened([*THREE, keyless], "a9", spread()))["a1"] == CROWDED


def test_a_gang_may_crowd_nodes_that_do_not_count() -> None:
    """With node affinity switched off a pod gets to nodes that its constraint leaves out all the same."""
    nodes = [at("a1", "a", labels={"disk": "ssd"}), at("a2", "a", cpu="64"), at("b1", "b", labels={"disk": "ssd"})]
    off = {"predicate.NodeAffinityEnable": False}
    session = opened(nodes, "", spread(), pods=4, node_selector={"disk": "ssd"}, arguments=off)
    chosen = session.ssn.placer.choose(class_of(session, "new-0"), 4).nodes
    assert [session.ssn.snapshot.nodes[row].name for row in chosen.tolist()] == ["a2"] * 4


def test_what_a_pod_tolerates_decides_which_zones_count_for_it_and_not_for_the_next() -> None:
    taint = Taint(key="gpu", effect="NoSchedule")
    honest = spread(node_taints_policy="Honor")
    session = open_session(
        at("a1", "a"),
        at("b1", "b", taints=[taint]),
        pod("there", labels=APP, on="a1"),
        gang("plain", cpu="1", labels=APP, spread=[honest]),
        gang("tolerant", cpu="1", labels=APP, spread=[honest], tolerations=[Toleration(key="gpu", operator="Exists")]),
        tiers=[[Predicates]],
    )
    assert reported(session, "plain-0")["a1"] == ""
    assert reported(session, "tolerant-0")["a1"] == CROWDED, "zone b is one for it, and is empty"


def test_pods_that_terminate_do_not_count() -> None:
    leaving = pod("leaving", labels=APP, on="a1", deleting=True)
    assert reported(opened([*THREE, leaving], "", spread()))["a1"] == ""


def test_nothing_is_refused_when_it_is_switched_off() -> None:
    off = {"predicate.PodTopologySpreadEnable": False}
    assert set(reported(opened([*THREE, at("d1", None)], "a1", spread(), arguments=off)).values()) == {""}


def test_places_of_this_cycle_count_until_they_are_given_back() -> None:
    session = open_session(*THREE, gang("new", pods=2, cpu="1", labels=APP, spread=[spread()]), tiers=[[Predicates]])
    first = session.place("new", {"new-0": "a1"})
    assert reported(session, "new-1")["a2"] == CROWDED
    first.discard()
    assert set(reported(session, "new-1").values()) == {""}
    session.pipeline("new", {"new-0": "b1"})
    assert reported(session, "new-1")["b1"] == CROWDED, "a promised place is as good as taken"


def test_what_is_bound_now_keeps_to_the_rule_also_if_a_promise_comes_to_nothing() -> None:
    session = open_session(
        at("a1", "a"),
        at("b1", "b"),
        pod("there", labels=APP, on="a1"),
        gang("new", pods=2, cpu="1", labels=APP, spread=[spread()]),
        tiers=[[Predicates]],
    )
    session.pipeline("new", {"new-0": "b1"})
    assert reported(session, "new-1") == {"a1": CROWDED, "b1": ""}, "without new-0, zone b is empty"
    task_class = class_of(session, "new-1")
    assert [session.ssn.placer.may_take(task_class, session.node_row(name)) for name in ("a1", "b1")] == [True, True]


def test_without_a_promise_pods_that_terminate_count_as_little_as_with_it() -> None:
    session = open_session(
        at("a1", "a"),
        at("b1", "b"),
        pod("leaving", labels=APP, on="a1", deleting=True),
        gang("new", pods=2, cpu="1", labels=APP, spread=[spread()]),
        tiers=[[Predicates]],
    )
    session.pipeline("new", {"new-0": "b1"})
    assert reported(session, "new-1") == {"a1": "", "b1": CROWDED}


def test_a_pod_that_is_evicted_counts_no_more() -> None:
    session = open_session(
        *THREE,
        gang("old", running_on=["a1"], labels=APP),
        gang("new", cpu="1", labels=APP, spread=[spread()]),
        tiers=[[Predicates]],
    )
    assert reported(session)["a1"] == CROWDED
    task_class = class_of(session, "new-0")
    assert not session.ssn.placer.may_take(task_class, session.node_row("a1"))
    statement = session.ssn.statement()
    statement.evict(session.job("old"), class_of(session, "old-0"), session.rows("old-0"), Motive("preempt", ""))
    assert reported(session)["a1"] == ""
    assert session.ssn.placer.may_take(task_class, session.node_row("a1"))
    statement.rollback(0)
    assert reported(session)["a1"] == CROWDED


# -- preferences
# ---------------------------------------------------------------------------------------------------------


def points(session: Opened, *feasible: str) -> dict[str, float]:
    """Without the weight, which is 2."""
    found = batch_scores(session, NodeOrder, "new-0", feasible)
    assert found is not None
    return {name: score / 2 for name, score in found.items()}


def wish(key: str = ZONE, **fields: Any) -> TopologySpreadConstraint:
    return spread(key, when_unsatisfiable="ScheduleAnyway", **fields)


def test_the_fewer_matching_pods_in_a_zone_the_better() -> None:
    # 2, 1 and 0 pods times log(3 + 2) are 3, 2 and 0 when rounded; turned round: 100 × (3 + 0 - n) // 3
    assert points(opened(THREE, "a1 a2 b1", wish())) == {"a1": 0, "a2": 0, "b1": 33, "c1": 100}


def test_without_pods_all_nodes_are_equally_good() -> None:
    assert set(points(opened(THREE, "", wish())).values()) == {100}


def test_host_names_are_counted_node_by_node() -> None:
    assert points(opened(THREE, "a1 a1 a2", wish(HOSTNAME))) == {"a1": 0, "a2": 50, "b1": 100, "c1": 100}


def test_only_domains_among_the_nodes_that_may_take_the_pod_weigh() -> None:
    # one domain: 2 × log(3) = 2.197, which is the least and the most
    assert points(opened(THREE, "a1 a2 b1", wish()), "a1", "a2") == {"a1": 100, "a2": 100}


def test_a_larger_skew_waters_differences_down() -> None:
    # 2 + 1.609…, for skews of 1 and 3: 0 against 2, then 2 against 4
    assert points(opened(THREE, "a1", wish()))["a1"] == 0
    assert points(opened(THREE, "a1", wish(max_skew=3)))["a1"] == 50


def test_nodes_without_a_key_get_nothing() -> None:
    assert points(opened([*THREE, at("d1", None)], "a1", wish()))["d1"] == 0


def test_its_weight_is_that_of_the_arguments() -> None:
    weighted = open_session(
        *THREE,
        pod("p0", labels=APP, on="a1"),
        gang("new", cpu="1", spread=(wish(),), labels=APP),
        tiers=[[Predicates, (NodeOrder, {"arguments": {"podtopologyspread.weight": 7}})]],
    )
    found = batch_scores(weighted, NodeOrder, "new-0", ())
    assert found is not None
    assert (found["a1"], found["b1"]) == (0, 700)


RACK = "rack"
BY_ROOM_FIRST = {"podtopologyspread.weight": 1, "leastrequested.weight": 100, "balancedresource.weight": 0}


def in_one_go(nodes: Sequence[Any], pods: int, *constraints: TopologySpreadConstraint, **fields: Any) -> list[str]:
    """Where a gang goes that rather has room than is spread."""
    off = {"predicate.NodeAffinityEnable": False}
    session = open_session(
        *nodes,
        gang("g", pods=pods, cpu="1", memory="1Gi", labels=APP, spread=constraints, **fields),
        tiers=[[(Predicates, {"arguments": off}), (NodeOrder, {"arguments": BY_ROOM_FIRST})]],
    )
    names, _ = placed(session, pods)
    return names


def test_pods_on_nodes_that_do_not_count_change_no_preferences() -> None:
    """Two go to the roomy node, whose zone is no more crowded by that; the third has the choice of two alike."""
    even: dict[str, Any] = {"cpu": "8", "memory": "8Gi"}
    roomy: dict[str, Any] = {"cpu": "64", "memory": "64Gi", "pods": "2"}
    alike = [
        at("a1", "a", labels={RACK: "r", "disk": "ssd"}, **even),
        at("b1", "b", labels={RACK: "r", "disk": "ssd"}, **even),
    ]
    without_rack = at("a9", "a", labels={"disk": "ssd"}, **roomy)
    assert in_one_go([*alike, without_rack], 3, wish(), wish(RACK)) == ["a9", "a9", "a1"]
    not_selected = at("a9", "a", labels={RACK: "r"}, **roomy)
    selected = {"node_selector": {"disk": "ssd"}}
    assert in_one_go([*alike, not_selected], 3, wish(), **selected) == ["a9", "a9", "a1"]
    assert in_one_go([*alike, not_selected], 3, wish()) == ["a9", "a9", "b1"], "where it counts"


def test_by_default_pods_count_on_nodes_without_host_name_too() -> None:
    zone = "topology.kubernetes.io/zone"
    service = Service(metadata=ObjectMeta(name="web", namespace=NAMESPACE, uid="web"), spec=ServiceSpec(selector=APP))
    session = open_session(
        node("a1", labels={HOSTNAME: "a1", zone: "a"}),
        node("a9", labels={zone: "a"}),
        node("b1", labels={HOSTNAME: "b1", zone: "b"}),
        service,
        *(pod(f"p{number}", labels=APP, on="a9") for number in range(3)),
        gang("new", cpu="1", labels=APP),
        tiers=[[Predicates, NodeOrder]],
    )
    found = points(session, "a1", "b1")
    assert found["a1"] < found["b1"] == 100


def test_pods_without_preferences_are_not_scored() -> None:
    assert batch_scores(opened(THREE, "a1", spread()), NodeOrder, "new-0") is None


# -- for good ---------------------------------------------------------------------------------------------------------


def refused_for_good(session: Opened) -> dict[str, str]:
    """Node → why it will never take the pod as the node is; only nodes with such a reason."""
    view = NodeView(session.ssn.ledger.nodes, node_rows(session))
    codes = session.plugin(Predicates).predicate_for_good(class_of(session, "new-0"), view)
    found = zip(sorted(session.ssn.nodes.rows), codes.tolist(), strict=True)
    return {name: session.ssn.refusal_of(code).message for name, code in found if code != FITS}


def test_a_node_without_the_label_refuses_for_good_and_a_crowded_one_does_not() -> None:
    found = opened([at("a1", "a"), at("b1", "b"), at("none", None)], "a1", spread())
    assert reported(found) == {"a1": CROWDED, "b1": "", "none": UNLABELED}
    assert refused_for_good(found) == {"none": UNLABELED}


def test_a_preference_or_a_switched_off_constraint_refuses_nothing_for_good() -> None:
    nodes = [at("a1", "a"), at("none", None)]
    assert refused_for_good(opened(nodes, "", spread(when_unsatisfiable="ScheduleAnyway"))) == {}
    assert refused_for_good(opened(nodes, "", spread(), arguments={"predicate.PodTopologySpreadEnable": False})) == {}
