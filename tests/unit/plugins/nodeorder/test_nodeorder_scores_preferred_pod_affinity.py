"""nodeorder's score of preferred affinity and anti-affinity between pods."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.placement.neighbours import HOST, ZONE, apart, near, prefers, term
from tests.support.placement.node_answers import batch_scores, class_of, domain_score
from tests.support.sessions import Opened, gang, node, open_session, pod
from volcano_py.plugins.nodeorder import NodeOrder

FLAT = {"podaffinity.weight": 1, "nodeaffinity.weight": 0, "tainttoleration.weight": 0}


def nodes() -> list[Any]:
    placed = {"a1": "a", "a2": "a", "b1": "b"}
    return [*(node(name, labels={HOST: name, ZONE: zone}) for name, zone in placed.items()), node("bare")]


def opened(*objects: Any, **arguments: Any) -> Opened:
    return open_session(nodes(), *objects, tiers=[[(NodeOrder, {"arguments": {**FLAT, **arguments}})]])


def wishing(*terms: Any) -> Any:
    return pod("new", group="g", labels={"app": "web"}, affinity=prefers(*terms))


def runs(name: str, on: str, app: str = "db", **fields: Any) -> Any:
    return pod(name, on=on, labels={"app": app}, **fields)


def test_company_counts_by_weight_in_its_domain_and_the_best_gets_100() -> None:
    session = opened(runs("db", "a1"), wishing((30, term(ZONE, app="db")), (10, term(HOST, app="db"))))
    assert batch_scores(session, NodeOrder, "new") == {"a1": 100.0, "a2": 75.0, "b1": 0.0, "bare": 0.0}


def test_every_pod_counts() -> None:
    session = opened(runs("d1", "a1"), runs("d2", "a1"), runs("d3", "b1"), wishing((7, term(HOST, app="db"))))
    assert batch_scores(session, NodeOrder, "new") == {"a1": 100.0, "a2": 0.0, "b1": 50.0, "bare": 0.0}


def test_anti_affinity_is_subtracted_and_the_lowest_gets_0() -> None:
    session = opened(runs("db", "a1"), wishing((-100, term(ZONE, app="db"))))
    assert batch_scores(session, NodeOrder, "new") == {"a1": 0.0, "a2": 0.0, "b1": 100.0, "bare": 100.0}


def test_preferences_of_running_pods_count_too() -> None:
    likes = runs("db", "a1", affinity=prefers((20, term(HOST, app="web"))))
    dislikes = runs("old", "b1", affinity=prefers((-20, term(HOST, app="web"))))
    session = opened(likes, dislikes, pod("new", group="g", labels={"app": "web"}))
    assert batch_scores(session, NodeOrder, "new") == {"a1": 100.0, "a2": 50.0, "b1": 0.0, "bare": 50.0}


def test_requirements_of_running_pods_count_1_and_anti_affinity_nothing() -> None:
    needs = runs("db", "a1", affinity=near(term(ZONE, app="web")))
    forbids = runs("old", "b1", affinity=apart(term(HOST, app="web")))
    likes = runs("fan", "b1", affinity=prefers((2, term(HOST, app="web"))))
    session = opened(needs, forbids, likes, pod("new", group="g", labels={"app": "web"}))
    assert batch_scores(session, NodeOrder, "new") == {"a1": 50.0, "a2": 50.0, "b1": 100.0, "bare": 0.0}


def test_a_term_that_stands_twice_counts_twice() -> None:
    twice = runs("db", "a1", affinity=prefers((10, term(HOST, app="web")), (10, term(HOST, app="web"))))
    once = runs("one", "b1", affinity=prefers((10, term(HOST, app="web"))))
    session = opened(twice, once, pod("new", group="g", labels={"app": "web"}))
    assert batch_scores(session, NodeOrder, "new") == {"a1": 100.0, "a2": 0.0, "b1": 50.0, "bare": 0.0}


def test_scores_are_cut_off_to_whole_numbers() -> None:
    three = [runs(f"d{number}", "a1") for number in range(3)]
    session = opened(*three, runs("d3", "b1"), wishing((1, term(HOST, app="db"))))
    scores = batch_scores(session, NodeOrder, "new")
    assert scores is not None
    assert scores["b1"] == 33.0


def test_only_the_nodes_that_may_take_the_pod_are_compared() -> None:
    session = opened(runs("d1", "a1"), runs("d2", "a1"), runs("d3", "b1"), wishing((1, term(HOST, app="db"))))
    assert batch_scores(session, NodeOrder, "new", ["a2", "b1"]) == {"a2": 0.0, "b1": 100.0}
    assert batch_scores(session, NodeOrder, "new", ["a2", "bare"]) is None


@pytest.mark.parametrize(("weight", "best"), [(3, 300.0), (-1, 0.0)])
def test_the_score_is_weighted(weight: int, best: float) -> None:
    session = opened(runs("db", "a1"), wishing((1, term(HOST, app="db"))), **{"podaffinity.weight": weight})
    scores = batch_scores(session, NodeOrder, "new")
    assert scores is not None
    assert max(scores.values()) == best


def test_switched_off_no_pod_is_counted() -> None:
    session = opened(runs("db", "a1"), wishing((1, term(HOST, app="db"))), **{"podaffinity.weight": 0})
    assert batch_scores(session, NodeOrder, "new") is None


def test_alike_pods_that_avoid_each_other_are_placed_apart_though_placed_together() -> None:
    mates = gang("mates", pods=4, labels={"app": "db"}, affinity=prefers((-1, term(HOST, app="db"))))
    session = opened(mates, **{"leastrequested.weight": 0, "balancedresource.weight": 0})
    chosen: list[int] = []
    while len(chosen) < 4:
        left = [f"mates-{number}" for number in range(len(chosen), 4)]
        nodes = session.ssn.placer.choose(class_of(session, left[0]), len(left)).nodes.tolist()
        names = {row: name for name, row in session.ssn.nodes.rows.items()}
        session.place("mates", {pod: names[row] for pod, row in zip(left, nodes, strict=False)})
        chosen += nodes
    assert sorted(chosen) == [0, 1, 2, 3]


def test_placing_pods_moves_scores_only_where_they_care_for_each_other() -> None:
    own = gang("own", pods=1, labels={"app": "db"}, affinity=prefers((1, term(ZONE, app="db"))))
    other = gang("other", pods=1, labels={"app": "web"}, affinity=prefers((1, term(ZONE, app="db"))))
    needs = gang("needs", pods=1, labels={"app": "db"}, affinity=near(term(ZONE, app="db")))
    session = opened(own, other, needs)
    found = [domain_score(session, NodeOrder, f"{name}-0") is not None for name in ("own", "other", "needs")]
    assert found == [True, False, True]


def test_pods_placed_in_this_cycle_are_company_for_the_next() -> None:
    mates = gang("mates", pods=2, labels={"app": "db"}, affinity=prefers((-1, term(HOST, app="db"))))
    session = opened(mates)
    nowhere = dict.fromkeys(("a1", "a2", "b1", "bare"), 0.0)
    assert batch_scores(session, NodeOrder, "mates-1") == nowhere
    statement = session.place("mates", {"mates-0": "a1"})
    assert batch_scores(session, NodeOrder, "mates-1") == {"a1": 0.0, "a2": 100.0, "b1": 100.0, "bare": 100.0}
    statement.discard()
    assert batch_scores(session, NodeOrder, "mates-1") == nowhere
