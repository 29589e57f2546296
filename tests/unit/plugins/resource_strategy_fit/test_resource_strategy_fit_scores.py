"""resource-strategy-fit: worked scores, and every formula against a node-by-node evaluation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.placement.node_answers import class_of, node_rows, scores
from tests.support.sessions import Objects, Opened, node, open_session, pod, pod_group
from volcano_py.framework.views import NodeView
from volcano_py.plugins.resource_strategy_fit import ResourceStrategyFit

GPU, T4, A10 = "nvidia.com/gpu", "nvidia.com/t4", "nvidia.com/a10"
Amounts = Mapping[str, str]

SEED_STRATEGY: dict[str, Any] = {
    "resourceStrategyFitWeight": 10,
    "resources": {GPU: {"type": "MostAllocated", "weight": 2}, "cpu": {"type": "LeastAllocated", "weight": 1}},
}


def session(*objects: Objects, arguments: Mapping[str, Any]) -> Opened:
    entry = {"arguments": dict(arguments)}
    return open_session(pod_group("g"), *objects, tiers=[[(ResourceStrategyFit, entry)]])


def score(has: Amounts, used: Amounts, asked: Amounts, arguments: Mapping[str, Any] = SEED_STRATEGY) -> float:
    """Of a pod that asks for `asked` for a node with `has`, of which another pod uses `used`."""
    pods = [pod("old", on="n1", devices=used), pod("new", group="g", devices=asked)]
    opened = session(node("n1", devices=has), *pods, arguments=arguments)
    return scores(opened, ResourceStrategyFit, "new")["n1"]


# -- strategies ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("has", "used", "asked", "expected"),
    [
        pytest.param({"cpu": "16", GPU: "8"}, {"cpu": "4", GPU: "2"}, {"cpu": "4", GPU: "2"}, 500, id="half and half"),
        pytest.param(
            {"cpu": "16", GPU: "8"}, {"cpu": "4", GPU: "4"}, {"cpu": "4", GPU: "2"}, 2000 / 3, id="a fuller GPU node"
        ),
        pytest.param(
            {"cpu": "16", GPU: "8"}, {"cpu": "4", GPU: "2"}, {"cpu": "4"}, 500, id="GPUs that are not asked for"
        ),
        pytest.param({"cpu": "16"}, {"cpu": "14"}, {"cpu": "4"}, 0, id="a node that would be exceeded"),
        pytest.param({"cpu": "16", GPU: "8"}, {GPU: "2"}, {GPU: "2", "memory": "1Gi"}, 500, id="GPUs only"),
        pytest.param({"cpu": "16", GPU: "8"}, {"cpu": "4"}, {"memory": "1Gi"}, 0, id="nothing that counts"),
        pytest.param({"cpu": "16"}, {}, {"cpu": "4", GPU: "2"}, 250, id="a node without GPUs"),
    ],
)
def test_the_seeds_strategies_gather_gpus_and_spread_cpus(
    has: Amounts, used: Amounts, asked: Amounts, expected: float
) -> None:
    assert score(has, used, asked) == pytest.approx(expected)


def test_cpu_and_memory_are_spread_when_nothing_is_configured() -> None:
    assert score({"cpu": "16", "memory": "32Gi"}, {}, {"cpu": "4", "memory": "8Gi"}, {}) == 750


def test_the_weight_of_the_plugin_scales_and_0_switches_off() -> None:
    has, used, asked = {"cpu": "16", GPU: "8"}, {"cpu": "4", GPU: "4"}, {"cpu": "4", GPU: "2"}
    assert score(has, used, asked, {**SEED_STRATEGY, "resourceStrategyFitWeight": 3}) == pytest.approx(200)
    assert score(has, used, asked, {**SEED_STRATEGY, "resourceStrategyFitWeight": 0}) == 0


def test_a_star_stands_for_all_resources_that_begin_like_it() -> None:
    strategy = {"resources": {"nvidia.com/*": {"type": "MostAllocated", "weight": 1}}}
    has, used = {"cpu": "16", T4: "4", A10: "8"}, {T4: "1"}
    assert score(has, used, {"cpu": "4", T4: "1"}, strategy) == 500
    assert score(has, used, {T4: "1", A10: "2"}, strategy) == pytest.approx((0.5 + 0.25) / 2 * 1000)
    assert score(has, used, {"cpu": "4"}, strategy) == 0


def test_what_is_placed_in_the_cycle_counts() -> None:
    nodes = [node(name, cpu="16", devices={GPU: "8"}) for name in ("n1", "n2")]
    pods = [pod(name, group="g", cpu="4", devices={GPU: "2"}) for name in ("a", "b")]
    opened = session(*nodes, *pods, arguments=SEED_STRATEGY)
    before = scores(opened, ResourceStrategyFit, "b")
    opened.place("g", {"a": "n2"})
    after = scores(opened, ResourceStrategyFit, "b")
    assert before["n1"] == before["n2"] == after["n1"] == pytest.approx((0.75 + 2 * 0.25) / 3 * 1000)
    assert after["n2"] == pytest.approx((0.5 + 2 * 0.5) / 3 * 1000)


# -- retention ----------------------------------------------------------------------------------------------------

NODES = [
    node("node1", cpu="32", memory="64Gi"),
    node("node2", cpu="16", memory="32Gi", devices={T4: "10"}),
    node("node3", cpu="16", memory="32Gi", devices={T4: "5", A10: "10"}),
]
SEED_PODS = {"cpu-task-0": {}, "gpu-task-0": {T4: "2"}, "gpu-task-1": {T4: "1", A10: "2"}}


def retention(weight: int | None = 2, t4: int = 1, a10: int = 1) -> dict[str, Any]:
    parts = {T4: t4, A10: a10} if weight is None else {"weight": weight, T4: t4, A10: a10}
    return {
        "resourceStrategyFitWeight": 0,
        "sra": {"policy": "retention", "resources": f"{T4}, {A10}", "retention": parts},
    }


def retained(asked: Amounts, *nodes: Objects, arguments: Mapping[str, Any] | None = None) -> dict[str, float]:
    new = pod("new", group="g", devices={"cpu": "2", "memory": "4Gi", **asked})
    opened = session(*(nodes or NODES), new, arguments=arguments or retention())
    return scores(opened, ResourceStrategyFit, "new")


@pytest.mark.parametrize(
    ("task", "expected"), [("cpu-task-0", [200, 100, 0]), ("gpu-task-0", [0, 100, 0]), ("gpu-task-1", [0, 0, 0])]
)
def test_the_seeds_table_of_retention(task: str, expected: list[float]) -> None:
    assert retained(SEED_PODS[task]) == dict(zip(("node1", "node2", "node3"), expected, strict=True))


def test_resources_weigh_what_they_are_given() -> None:
    only_a10 = node("node4", cpu="16", devices={A10: "1"})
    expected = {"node1": 100, "node2": 25, "node3": 0, "node4": 75}
    assert retained({}, *NODES, only_a10, arguments=retention(1, t4=3)) == expected
    assert retained({}, *NODES, only_a10, arguments=retention(None, t4=3)) == expected, "a missing weight is 1"


def test_a_weight_of_0_switches_retention_off() -> None:
    assert retained({}, arguments=retention(0)) == {"node1": 0, "node2": 0, "node3": 0}


def test_one_scarce_resource_of_weight_10() -> None:
    arguments = {
        "resourceStrategyFitWeight": 0,
        "sra": {"policy": "retention", "resources": GPU, "retention": {"weight": 10, GPU: 1}},
    }
    nodes = [node("cpu", cpu="16"), node("gpu", cpu="16", devices={GPU: "8"})]
    assert retained({}, *nodes, arguments=arguments) == {"cpu": 1000, "gpu": 0}


def test_a_resource_that_no_node_has_is_absent_everywhere() -> None:
    assert retained({}, NODES[0], NODES[1]) == {"node1": 200, "node2": 100}
    assert retained({T4: "1"}, NODES[0], NODES[1]) == {"node1": 0, "node2": 100}


def test_what_a_node_has_counts_whether_or_not_it_is_free() -> None:
    taken = pod("old", on="node2", devices={T4: "10"})
    assert retained({}, *NODES, taken)["node2"] == 100


def test_having_some_is_enough_as_amounts_are_the_business_of_others() -> None:
    assert retained({T4: "12"})["node2"] == 100


def test_a_node_that_lacks_anything_else_that_is_asked_for_gets_nothing() -> None:
    assert retained({"example.com/fpga": "1"}) == {"node1": 0, "node2": 0, "node3": 0}
    no_pods = node("node4", cpu="16", pods="0")
    assert retained({}, *NODES, no_pods)["node4"] == 0


def test_the_best_practice_keeps_cpu_pods_off_empty_gpu_nodes() -> None:
    sra = {"policy": "retention", "resources": GPU, "retention": {"weight": 10, GPU: 1}}
    opened = session(
        node("cpu", cpu="32"),
        node("gpu", cpu="32", devices={GPU: "8"}),
        pod("old", on="cpu", cpu="16"),
        pod("c", group="g", cpu="4"),
        pod("g", group="g", cpu="4", devices={GPU: "2"}),
        arguments={**SEED_STRATEGY, "sra": sra},
    )
    assert scores(opened, ResourceStrategyFit, "c") == {"gpu": 875, "cpu": 1375}
    assert scores(opened, ResourceStrategyFit, "g") == pytest.approx(
        {"gpu": (0.875 + 2 * 0.25) / 3 * 1000, "cpu": 0.375 / 3 * 1000}
    )


# -- the formulas, one node at a time ------------------------------------------------------------------------------

DIMENSIONS = ["cpu", "memory", GPU]
vectors = st.tuples(st.integers(0, 64_000), st.integers(0, 2**38), st.integers(0, 16))
weights = st.tuples(*[st.integers(1, 5)] * 3)
gathered = st.tuples(*[st.booleans()] * 3)
Vector = tuple[int, ...]


def strategy_by_hand(asked: Vector, used: Vector, has: Vector, weight: Vector, gathers: tuple[bool, ...]) -> float:
    total, divisor = 0.0, 0
    for request, taken, capacity, share, gather in zip(asked, used, has, weight, gathers, strict=True):
        if not request:
            continue
        divisor += share
        if not capacity:
            continue
        if request + taken > capacity:
            return 0.0
        total += share * (request + taken if gather else capacity - request - taken) / capacity
    return total / divisor * 300 if divisor else 0.0


def retention_by_hand(asked: Vector, has: Vector, weight: Vector) -> float:
    if any(request and not capacity for request, capacity in zip(asked, has, strict=True)):
        return 0.0
    absent = sum(share for share, capacity in zip(weight, has, strict=True) if not capacity)
    return 200 * absent / sum(weight)


@settings(deadline=None)
@given(st.lists(st.tuples(vectors, vectors), min_size=1, max_size=5), vectors, weights, gathered)
def test_all_nodes_at_once_equal_one_node_after_the_other(
    cluster: list[tuple[Vector, Vector]], asked: Vector, weight: Vector, gathers: tuple[bool, ...]
) -> None:
    def quantities(vector: Vector) -> dict[str, str]:
        return {"cpu": f"{vector[0]}m", "memory": str(vector[1]), GPU: str(vector[2])}

    types = {True: "MostAllocated", False: "LeastAllocated"}
    arguments = {
        "resourceStrategyFitWeight": 3,
        "resources": {
            name: {"type": types[gather], "weight": share}
            for name, share, gather in zip(DIMENSIONS, weight, gathers, strict=True)
        },
        "sra": {"policy": "retention", "resources": ",".join(DIMENSIONS), "weight": 2}
        | {"resourceWeight": dict(zip(DIMENSIONS, weight, strict=True))},
    }
    nodes = [node(f"n{number}", devices=quantities(has)) for number, (has, _) in enumerate(cluster)]
    others = [
        pod(f"old{number}", on=f"n{number}", devices=quantities(used)) for number, (_, used) in enumerate(cluster)
    ]
    opened = session(*nodes, *others, pod("new", group="g", devices=quantities(asked)), arguments=arguments)
    expected = [
        strategy_by_hand(asked, used, has, weight, gathers) + retention_by_hand(asked, has, weight)
        for has, used in cluster
    ]
    assert list(scores(opened, ResourceStrategyFit, "new").values()) == pytest.approx(expected)


def test_one_node_asked_alone_scores_as_among_all() -> None:
    opened = session(*NODES, pod("new", group="g", cpu="2"), arguments={**SEED_STRATEGY, **retention(3)})
    plugin, task_class = opened.plugin(ResourceStrategyFit), class_of(opened, "new")
    rows = node_rows(opened)
    alone = [plugin.node_order(task_class, NodeView(opened.ssn.ledger.nodes, rows[[at]])) for at in range(len(rows))]
    together = plugin.node_order(task_class, NodeView(opened.ssn.ledger.nodes, rows))
    assert np.concatenate(alone).tolist() == together.tolist()
