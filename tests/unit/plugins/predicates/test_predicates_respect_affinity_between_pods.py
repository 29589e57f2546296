"""Required affinity and anti-affinity between pods, one rule of kube-scheduler's at a time."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.placement.neighbours import HOST, ZONE, apart, near, prefers, term, with_selector
from tests.support.placement.node_answers import answers, class_of, willing
from tests.support.sessions import Opened, gang, node, open_session, pod
from volcano_py.api.objects import (
    Affinity,
    LabelSelector,
    Namespace,
    ObjectMeta,
    Pod,
    PodAffinity,
    SelectorRequirement,
    WeightedPodAffinityTerm,
)
from volcano_py.api.reasons import Reason
from volcano_py.framework.plugin import Reach
from volcano_py.plugins.predicates import Predicates

NO_COMPANY = "node(s) didn't match pod affinity rules"
KEPT_APART = "node(s) didn't match pod anti-affinity rules"
SHUNNED = "node(s) didn't satisfy existing pods anti-affinity rules"


def nodes() -> list[Any]:
    """Two nodes in zone a, one in zone b, one without labels."""
    placed = {"a1": "a", "a2": "a", "b1": "b"}
    return [*(node(name, labels={HOST: name, ZONE: zone}) for name, zone in placed.items()), node("bare")]


def opened(*objects: Any, **arguments: Any) -> Opened:
    return open_session(nodes(), *objects, tiers=[[(Predicates, {"arguments": arguments})]])


def waiting(name: str = "new", **fields: Any) -> Pod:
    return pod(name, group="g", **fields)


def runs(name: str, on: str, app: str = "db", **fields: Any) -> Pod:
    return pod(name, on=on, labels={"app": app}, **fields)


# -- affinity ---------------------------------------------------------------------------------------------------------


def test_a_pod_goes_only_where_its_company_is() -> None:
    session = opened(runs("db", "a1"), waiting(affinity=near(term(ZONE, app="db"))))
    assert answers(session, Predicates, "new") == {"a1": "", "a2": "", "b1": NO_COMPANY, "bare": NO_COMPANY}


def test_all_terms_want_their_company_and_it_must_be_the_same_pods() -> None:
    both = near(term(ZONE, app="db"), term(HOST, tier="gold"))
    apart_from_each_other = [runs("db", "a1"), pod("gold", on="a1", labels={"tier": "gold"})]
    assert willing(opened(*apart_from_each_other, waiting(affinity=both)), Predicates, "new") == []
    one = pod("one", on="a1", labels={"app": "db", "tier": "gold"})
    assert willing(opened(one, waiting(affinity=both)), Predicates, "new") == ["a1"]


def test_the_first_of_a_group_may_go_anywhere_where_there_are_the_labels() -> None:
    first = waiting(affinity=near(term(ZONE, app="db")), labels={"app": "db"})
    assert willing(opened(first), Predicates, "new") == ["a1", "a2", "b1"]
    stranger = waiting(affinity=near(term(ZONE, app="db")), labels={"app": "web"})
    assert willing(opened(stranger), Predicates, "new") == []


def test_a_later_pod_follows_the_others() -> None:
    second = waiting(affinity=near(term(ZONE, app="db")), labels={"app": "db"})
    assert willing(opened(runs("db", "b1"), second), Predicates, "new") == ["b1"]


def test_a_member_on_a_node_outside_all_domains_does_not_count_as_the_first() -> None:
    follower = waiting(affinity=near(term(ZONE, app="db")), labels={"app": "db"})
    assert willing(opened(runs("db", "bare"), follower), Predicates, "new") == ["a1", "a2", "b1"]


def test_a_terminating_pod_is_company_until_it_is_gone() -> None:
    session = opened(runs("db", "a1", deleting=True), waiting(affinity=near(term(HOST, app="db"))))
    assert willing(session, Predicates, "new") == ["a1"]


def test_pods_with_affinity_are_not_helped_by_evictions() -> None:
    session = opened(waiting(affinity=near(term(HOST, app="db"))))
    codes = session.ssn.placer.codes(class_of(session, "new"))
    assert not session.ssn.resolvable(codes).any()


# -- anti-affinity ----------------------------------------------------------------------------------------------------


def test_a_pod_keeps_away_from_the_pods_it_names() -> None:
    session = opened(runs("db", "a1"), waiting(affinity=apart(term(ZONE, app="db"))))
    assert answers(session, Predicates, "new") == {"a1": KEPT_APART, "a2": KEPT_APART, "b1": "", "bare": ""}


def test_each_term_keeps_away_by_itself() -> None:
    both = apart(term(HOST, app="db"), term(HOST, tier="gold"))
    session = opened(runs("db", "a1"), pod("gold", on="b1", labels={"tier": "gold"}), waiting(affinity=both))
    assert willing(session, Predicates, "new") == ["a2", "bare"]


def test_running_pods_keep_others_away() -> None:
    guard = runs("db", "a1", affinity=apart(term(ZONE, app="web")))
    session = opened(guard, waiting(labels={"app": "web"}), waiting("other", labels={"app": "batch"}))
    assert answers(session, Predicates, "new") == {"a1": SHUNNED, "a2": SHUNNED, "b1": "", "bare": ""}
    assert willing(session, Predicates, "other") == ["a1", "a2", "b1", "bare"]


def test_a_pod_on_a_node_without_the_label_keeps_no_pod_away() -> None:
    guard = runs("db", "bare", affinity=apart(term(ZONE, app="web")))
    assert willing(opened(guard, waiting(labels={"app": "web"})), Predicates, "new") == ["a1", "a2", "b1", "bare"]


def test_preferred_terms_keep_no_pod_away() -> None:
    guard = runs("db", "a1", affinity=prefers((-100, term(HOST, app="web"))))
    wishes = waiting(labels={"app": "web"}, affinity=prefers((-100, term(HOST, app="db"))))
    assert willing(opened(guard, wishes), Predicates, "new") == ["a1", "a2", "b1", "bare"]


def test_evictions_can_help_against_anti_affinity() -> None:
    guard = runs("db", "a1", affinity=apart(term(ZONE, app="web")))
    session = opened(guard, waiting(labels={"app": "web"}))
    assert session.ssn.resolvable(session.ssn.placer.codes(class_of(session, "new"))).all()


def test_the_first_refusal_in_kube_schedulers_order_is_reported() -> None:
    wants = near(term(ZONE, app="db"))
    guard = runs("web", "a1", app="web", affinity=apart(term(ZONE, app="new")))
    session = opened(guard, runs("db", "b1"), waiting(labels={"app": "new"}, affinity=wants))
    assert answers(session, Predicates, "new") == {"a1": NO_COMPANY, "a2": NO_COMPANY, "b1": "", "bare": NO_COMPANY}


# -- which pods a term matches ---------------------------------------------------------------------------------


def namespace(name: str, **labels: str) -> Namespace:
    return Namespace(metadata=ObjectMeta(name=name, uid=name, labels=labels))


ANY_POD = term(HOST)


@pytest.mark.parametrize(
    ("fields", "refusing"),
    [
        pytest.param({}, ["a1"], id="the pod's own namespace"),
        pytest.param({"namespaces": ["red", "blue"]}, ["a2", "b1"], id="a list"),
        pytest.param({"namespace_selector": LabelSelector()}, ["a1", "a2", "b1"], id="an empty selector is everywhere"),
        pytest.param({"namespace_selector": LabelSelector(match_labels={"hue": "warm"})}, ["a2"], id="a selector"),
        pytest.param(
            {"namespaces": ["team"], "namespace_selector": LabelSelector(match_labels={"hue": "warm"})},
            ["a1", "a2"],
            id="both add up",
        ),
        pytest.param(
            {"namespace_selector": LabelSelector(match_labels={"kubernetes.io/metadata.name": "blue"})},
            ["b1"],
            id="by the name that every namespace has for a label",
        ),
        pytest.param({"label_selector": None}, [], id="a missing selector matches no pod"),
        pytest.param(
            {"label_selector": LabelSelector(match_expressions=[SelectorRequirement(key="app", operator="Exists")])},
            ["a1"],
            id="an expression",
        ),
    ],
)
def test_a_term_means_pods_of_certain_namespaces(fields: dict[str, Any], refusing: list[str]) -> None:
    session = opened(
        namespace("red", hue="warm"),
        namespace("blue"),
        runs("own", "a1"),
        runs("red", "a2", namespace="red"),
        runs("blue", "b1", namespace="blue"),
        waiting(affinity=apart(with_selector(ANY_POD, **fields))),
    )
    assert [name for name, answer in answers(session, Predicates, "new").items() if answer] == refusing


def test_namespaces_count_for_running_pods_too() -> None:
    warm = with_selector(ANY_POD, namespace_selector=LabelSelector(match_labels={"hue": "warm"}))
    session = opened(
        namespace("red", hue="warm"),
        runs("guard", "a1", affinity=apart(warm)),
        waiting(),
        pod("new", group="g", namespace="red"),
    )
    assert willing(session, Predicates, "new") == ["a1", "a2", "b1", "bare"]
    assert willing(session, Predicates, "red/new") == ["a2", "b1", "bare"]


def test_label_keys_narrow_a_term_to_the_pods_own_values() -> None:
    old = pod("old", on="a1", labels={"app": "db", "rev": "1"})
    same = pod("same", on="a2", labels={"app": "db", "rev": "2"})
    mine = {"app": "db", "rev": "2"}
    match = with_selector(term(HOST, app="db"), match_label_keys=["rev", "not-mine"])
    mismatch = with_selector(term(HOST, app="db"), mismatch_label_keys=["rev"])
    assert willing(opened(old, same, waiting(labels=mine, affinity=apart(match))), Predicates, "new") == [
        "a1",
        "b1",
        "bare",
    ]
    assert willing(opened(old, same, waiting(labels=mine, affinity=apart(mismatch))), Predicates, "new") == [
        "a2",
        "b1",
        "bare",
    ]


def test_label_keys_that_the_api_server_has_merged_stay_as_they_were_merged() -> None:
    merged = LabelSelector(match_expressions=[SelectorRequirement(key="rev", operator="In", values=["1"])])
    kept = with_selector(term(HOST), label_selector=merged, match_label_keys=["rev"])
    session = opened(pod("old", on="a1", labels={"rev": "1"}), waiting(labels={"rev": "2"}, affinity=apart(kept)))
    assert willing(session, Predicates, "new") == ["a2", "b1", "bare"]


# -- within a cycle ---------------------------------------------------------------------------------------------------


def test_pods_placed_in_this_cycle_are_seen_and_forgotten_when_taken_back() -> None:
    mates = gang("mates", pods=2, labels={"app": "db"}, affinity=apart(term(HOST, app="db")))
    session = opened(mates)
    statement = session.place("mates", {"mates-0": "a1"})
    assert answers(session, Predicates, "mates-1")["a1"] == KEPT_APART
    statement.discard()
    assert answers(session, Predicates, "mates-1")["a1"] == ""


def test_a_promised_pod_keeps_others_away_but_is_no_company() -> None:
    session = opened(
        gang("promised", pods=1, labels={"app": "db"}),
        waiting("away", affinity=apart(term(HOST, app="db"))),
        waiting("near", affinity=near(term(HOST, app="db"))),
    )
    session.pipeline("promised", {"promised-0": "a1"})
    assert willing(session, Predicates, "away") == ["a2", "b1", "bare"]
    assert willing(session, Predicates, "near") == []
    choice = session.ssn.placer.choose(class_of(session, "near"), 1)
    assert (choice.pipelined, choice.nodes.tolist()) == (True, [session.node_row("a1")])


def test_a_second_of_a_group_waits_for_the_first_that_is_promised_a_place() -> None:
    together = near(term(ZONE, app="db"))
    session = opened(gang("mates", pods=2, labels={"app": "db"}, affinity=together))
    session.pipeline("mates", {"mates-0": "b1"})
    choice = session.ssn.placer.choose(class_of(session, "mates-1"), 1)
    assert (choice.pipelined, choice.nodes.tolist()) == (True, [session.node_row("b1")])


def test_a_place_next_to_a_leaving_pod_is_kept_until_that_pod_has_left() -> None:
    away = waiting(affinity=apart(term(HOST, app="db")), node_selector={ZONE: "a"})
    session = opened(runs("going", "a1", deleting=True), runs("db", "a2"), away)
    choice = session.ssn.placer.choose(class_of(session, "new"), 1)
    assert (choice.pipelined, choice.nodes.tolist()) == (True, [session.node_row("a1")])
    choice = session.ssn.placer.choose_on(class_of(session, "new"), session.node_row("a1"))
    assert choice.pipelined
    assert not len(session.ssn.placer.choose_on(class_of(session, "new"), session.node_row("a2")).nodes)


# -- what it costs ----------------------------------------------------------------------------------------------------


def reach(session: Opened, name: str) -> Reach:
    return session.plugin(Predicates).predicate_reach(class_of(session, name))


def test_classes_that_no_term_selects_stay_as_cheap_as_before() -> None:
    session = opened(
        runs("db", "a1", affinity=apart(term(HOST, app="db"))), waiting(labels={"app": "web"}), waiting("bare")
    )
    assert reach(session, "new") is Reach.STATIC
    assert class_of(session, "new").row == class_of(session, "bare").row


def test_keeping_apart_by_node_is_each_nodes_own_affair() -> None:
    session = opened(
        waiting("host", affinity=apart(term(HOST, app="db"))),
        waiting("zone", affinity=apart(term(ZONE, app="db"))),
        waiting("near", affinity=near(term(HOST, app="db"))),
    )
    assert [reach(session, name) for name in ("host", "zone", "near")] == [Reach.ROW, Reach.DOMAIN, Reach.DOMAIN]


def test_a_gang_that_keeps_apart_by_one_of_its_terms_is_kept_apart() -> None:
    both = apart(term(HOST, app="db"), term(HOST, app="web"))
    session = opened(gang("new", pods=3, affinity=both, labels={"app": "web"}))
    chosen = session.ssn.placer.choose(class_of(session, "new-0"), 3).nodes
    assert [session.ssn.snapshot.nodes[row].name for row in chosen.tolist()] == ["a1", "a2", "b1"]


def test_switched_off_no_pod_is_compared() -> None:
    guard = runs("db", "a1", affinity=apart(term(HOST)))
    session = opened(guard, waiting(affinity=apart(term(HOST, app="db"))), **{"predicate.PodAffinityEnable": False})
    assert willing(session, Predicates, "new") == ["a1", "a2", "b1", "bare"]
    assert reach(session, "new") is Reach.STATIC


# -- what cannot be read ----------------------------------------------------------------------------------------------

REQUIRED = "spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0]"


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"topology_key": ""}, f"{REQUIRED}.topologyKey is '': name a label, such as topology.kubernetes.io/zone"),
        (
            {"label_selector": LabelSelector(match_expressions=[SelectorRequirement(key="app", operator="Like")])},
            f"{REQUIRED}.labelSelector.matchExpressions[0].operator is 'Like': use In, NotIn, Exists or DoesNotExist",
        ),
        (
            {"label_selector": LabelSelector(match_expressions=[SelectorRequirement(key="app", operator="In")])},
            f"{REQUIRED}.labelSelector.matchExpressions[0].values is []: In needs at least one value",
        ),
        (
            {"namespace_selector": LabelSelector(match_labels={"-": "x"})},
            f"{REQUIRED}.namespaceSelector.matchLabels is '-': name labels by their keys, such as app",
        ),
        (
            {"label_selector": LabelSelector(match_labels={"app": "not/a value"})},
            f"{REQUIRED}.labelSelector.matchLabels[app] is 'not/a value': a label cannot have this value; correct it",
        ),
        (
            {"label_selector": None, "match_label_keys": ["rev"]},
            f"{REQUIRED}.matchLabelKeys is ['rev']: add a labelSelector for them to be merged into",
        ),
        (
            {"mismatch_label_keys": ["/"]},
            f"{REQUIRED}.mismatchLabelKeys[0] is '/': name a label of the pod, such as app",
        ),
    ],
)
def test_a_term_that_cannot_be_read_stops_its_own_pod_only(fields: dict[str, Any], message: str) -> None:
    broken = apart(with_selector(term(HOST, app="web"), **fields))
    session = opened(
        runs("guard", "a1", affinity=broken), waiting(affinity=broken), waiting("web", labels={"app": "web"})
    )
    problem = class_of(session, "new").problem
    assert problem is not None
    assert (problem.reason, problem.message) == (Reason.INVALID_POD, message)
    assert willing(session, Predicates, "web") == ["a1", "a2", "b1", "bare"]


@pytest.mark.parametrize("weight", [0, -1, 101])
def test_a_weight_out_of_range_is_reported(weight: int) -> None:
    wish = WeightedPodAffinityTerm(weight=weight, pod_affinity_term=term(HOST, app="db"))
    session = opened(waiting(affinity=Affinity(pod_affinity=PodAffinity(preferred=[wish]))))
    problem = class_of(session, "new").problem
    assert problem is not None
    where = "spec.affinity.podAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight"
    assert problem.message == f"{where} is {weight}: give a weight from 1 to 100"


def test_far_too_many_terms_are_refused() -> None:
    session = opened(waiting(affinity=apart(*[term(HOST, app=str(number)) for number in range(33)])))
    problem = class_of(session, "new").problem
    assert problem is not None
    assert problem.message == (
        "spec.affinity has 33 terms about pods: at most 32 are evaluated; select more pods with one term"
    )
