"""The scores of network-topology-aware, by the worked examples of its formulas."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.placement.hyper_nodes import hyper_node, tree_of
from tests.support.sessions import node, open_session
from volcano_py.plugins.network_topology import NetworkTopologyAware
from volcano_py.plugins.network_topology.scores import Filling, Gathering
from volcano_py.state.topology.tree import Tree

NODES = ["a", "b", "c", "d", "out"]
THREE_TIERS = (
    hyper_node("r1", 1, nodes=["a"]),
    hyper_node("r2", 1, nodes=["b"]),
    hyper_node("r3", 1, nodes=["c"]),
    hyper_node("r4", 1, nodes=["d"]),
    hyper_node("s1", 2, children=["r1", "r2"]),
    hyper_node("s2", 2, children=["r3"]),
    hyper_node("s3", 2, children=["r4"]),
    hyper_node("t1", 3, children=["s1", "s2"]),
    hyper_node("t2", 3, children=["s3"]),
)


def by_name(tree: Tree, values: np.ndarray[tuple[int], np.dtype[np.float64]]) -> dict[str, float]:
    return dict(zip(tree.names, values.tolist(), strict=True))


def population(tree: Tree, *names: str) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array([int(name in names) for name in tree.names], dtype=np.int64)


def test_nearness_falls_with_the_tier_that_is_shared() -> None:
    """Own rack 1, same tier-2 block 2/3, same tier 3 1/3, elsewhere 0."""
    tree = tree_of(THREE_TIERS, NODES)
    placed = np.zeros(len(tree), dtype=np.int64)
    placed[tree.names.index("r1")] = 1
    scores = by_name(tree, Gathering(tree, placed, 4, 1.0).scores(population(tree)))
    expected = {"r1": 1, "r2": 2 / 3, "r3": 1 / 3, "r4": 0, tree.names[0]: 0}
    assert {name: scores[name] for name in expected} == pytest.approx(expected)


def test_among_the_nearest_those_with_more_pods_of_the_job_are_better() -> None:
    tree = tree_of(THREE_TIERS, NODES)
    placed = np.zeros(len(tree), dtype=np.int64)
    placed[[tree.names.index("r1"), tree.names.index("r2")]] = 3, 1
    scores = by_name(tree, Gathering(tree, placed, 8, 100.0).scores(population(tree, "r1", "r2", "r3")))
    assert scores["r1"] == pytest.approx(200 / 3 + 300 / 8)
    assert scores["r2"] == pytest.approx(200 / 3 + 100 / 8)
    assert scores["r3"] == pytest.approx(100 / 3)


def test_nothing_draws_the_first_pod_and_the_first_draws_the_next() -> None:
    tree = tree_of(THREE_TIERS, NODES)
    gathering = Gathering(tree, np.zeros(len(tree), dtype=np.int64), 2, 100.0)
    assert not gathering.scores(population(tree, "r1")).any()
    group = tree.names.index("r3")
    assert gathering.place(group) == group
    scores = by_name(tree, gathering.scores(population(tree)))
    assert scores["r3"] == 100.0
    assert scores["r1"] == pytest.approx(100 / 3)


def test_other_pods_prefer_full_hyper_nodes_tier_by_tier() -> None:
    """s = 0.5, 0.25, 0.125 with a fading of 0.8 gives 32.0; a node outside of all HyperNodes 77.0."""
    tree = tree_of([hyper_node("r", 1, nodes=["a"]), hyper_node("s", 2, children=["r"])], ["a", "out"])
    size = {tree.names[0]: 80, "s": 40, "r": 20}
    allocatable = np.array([[size[name]] for name in tree.names], dtype=np.int64)
    used = np.full_like(allocatable, 9)
    one = np.array([1], dtype=np.int64)
    filling = Filling(tree, used, allocatable, one, np.ones(1), 0.8, 100.0)
    scores = by_name(tree, filling.scores(population(tree)))
    assert scores["r"] == pytest.approx(32.0, abs=0.05)
    assert scores[tree.names[0]] == pytest.approx(77.0, abs=0.05)
    filling.place(tree.names.index("r"))
    assert by_name(tree, filling.scores(population(tree)))["r"] > scores["r"]


def test_a_hyper_node_that_would_be_exceeded_scores_0_on_its_tier() -> None:
    tree = tree_of([hyper_node("r", 1, nodes=["a"])], ["a", "out"])
    allocatable = np.array([[100], [10]], dtype=np.int64)
    used = np.array([[10], [10]], dtype=np.int64)
    filling = Filling(tree, used, allocatable, np.array([1], dtype=np.int64), np.ones(1), 0.0, 100.0)
    assert by_name(tree, filling.scores(population(tree)))["r"] == 0.0


def test_of_domains_the_fullest_that_is_not_exceeded_is_best() -> None:
    """Ask 6 CPU: 10 CPU with 3 in use 0.9; 10 empty 0.6; 12 with 7 in use is over: 0."""
    opened = open_session(node("a", cpu="10"), node("b", cpu="10"), node("c", cpu="12"), tiers=[[NetworkTopologyAware]])
    tree = tree_of([hyper_node(name, 1, nodes=[name[-1]]) for name in ("ra", "rb", "rc")], ["a", "b", "c"])
    plugin = NetworkTopologyAware(NetworkTopologyAware.arguments_type(), opened.ssn.dispatch.plugins[0].flags)
    plugin.on_session_open(opened.ssn)
    cpu = opened.ssn.axis.index("cpu")
    assert cpu is not None
    opened.ssn.ledger.nodes.change([0, 2]).used[[0, 2], cpu] = 3_000, 7_000
    request = np.zeros(len(opened.ssn.axis), dtype=np.int64)
    request[cpu] = 6_000
    domains = np.array([tree.names.index(name) for name in ("ra", "rb", "rc")], dtype=np.intp)
    assert plugin.hyper_node_order(request, tree, domains).tolist() == pytest.approx([90.0, 60.0, 0.0])
