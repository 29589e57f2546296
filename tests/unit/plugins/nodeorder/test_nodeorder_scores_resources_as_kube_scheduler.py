"""Least allocated, most allocated and balanced: kube-scheduler's formulas, cut off at every division."""

from __future__ import annotations

import functools
import math
import operator
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.placement.node_answers import scores
from tests.support.sessions import Opened, node, open_session, pod, pod_group
from volcano_py.api.objects import ApiObject
from volcano_py.plugins.nodeorder import NodeOrder

OFF = {
    "leastrequested.weight": 0,
    "mostrequested.weight": 0,
    "balancedresource.weight": 0,
    "imagelocality.weight": 0,
}
GPU = "nvidia.com/gpu"


def session(*objects: ApiObject, **weights: int) -> Opened:
    """With only the scores whose weights are given."""
    arguments = {**OFF, **{f"{name}.weight": weight for name, weight in weights.items()}}
    return open_session(pod_group("g"), objects, tiers=[[(NodeOrder, {"arguments": arguments})]])


def score(asked: dict[str, Any], there: dict[str, Any], has: dict[str, Any], **weights: int) -> float:
    """Of a pod with requests `asked` for a node with `has`, on which a pod with `there` runs unless that is empty."""
    pods = [pod("new", group="g", **asked), *([pod("old", on="n1", **there)] if there else [])]
    return scores(session(node("n1", **has), *pods, **weights), NodeOrder, "new")["n1"]


HAS: dict[str, Any] = {"cpu": "4", "memory": "8Gi"}


def test_least_allocated_is_the_mean_percentage_that_stays_free() -> None:
    half = {"cpu": "1", "memory": "2Gi"}
    assert score(half, half, HAS, leastrequested=1) == 50


def test_every_division_is_cut_off() -> None:
    asked, has = {"cpu": "1", "memory": "1Gi"}, {"cpu": "3", "memory": "7Gi"}
    assert score(asked, {}, has, leastrequested=1) == (66 + 85) // 2
    assert score(asked, {}, has, mostrequested=1) == (33 + 14) // 2
    # fractions 1/3 and 1/7, so the deviation is 2/21 and the balance 90, after 100
    assert score(asked, {}, has, balancedresource=1) == 50 + (50 + 90 - 100) // 2


def test_most_allocated_is_the_mean_percentage_in_use() -> None:
    asked = {"cpu": "1", "memory": "3Gi"}
    assert score(asked, asked, HAS, mostrequested=1) == (50 + 75) // 2


def test_least_and_most_count_stand_ins_for_what_pods_do_not_ask_for() -> None:
    has = {"cpu": "1", "memory": "1000Mi"}
    assert score({}, {}, has, leastrequested=1) == (90 + 80) // 2
    assert score({"cpu": "500m"}, {}, has, leastrequested=1) == (50 + 80) // 2
    silent = {"phase": "Running"}
    assert score({}, silent, has, mostrequested=1) == (20 + 40) // 2


def test_what_stand_ins_exceed_is_full() -> None:
    has = {"cpu": "50m", "memory": "1000Mi"}
    assert score({}, {}, has, leastrequested=1) == (0 + 80) // 2
    assert score({}, {}, has, mostrequested=1) == (100 + 20) // 2


def test_a_resource_of_which_the_node_has_nothing_is_left_out() -> None:
    has = {"cpu": "4", "memory": "0"}
    assert score({"cpu": "1"}, {}, has, leastrequested=1) == 75
    assert score({"cpu": "1"}, {}, has, mostrequested=1) == 25
    assert score({"cpu": "1"}, {}, has, balancedresource=1) == 75
    nothing = {"cpu": "0", "memory": "0"}
    assert score({"cpu": "1"}, {}, nothing, leastrequested=1) == 0
    assert score({"cpu": "1"}, {}, nothing, mostrequested=1) == 0


def test_balanced_prefers_nodes_on_which_the_pod_evens_out_what_is_in_use() -> None:
    even = {"cpu": "1", "memory": "2Gi"}
    assert score(even, even, HAS, balancedresource=1) == 75
    # half the cpu and a quarter of the memory, after a quarter and an eighth
    uneven = {"cpu": "1", "memory": "1Gi"}
    assert score(uneven, uneven, HAS, balancedresource=1) == 50 + (50 + 87 - 93) // 2
    # half of both, after half the cpu and nothing of the memory
    assert score({"memory": "4Gi"}, {"cpu": "2"}, HAS, balancedresource=1) == 50 + (50 + 100 - 75) // 2


def test_balanced_counts_real_requests_and_skips_pods_that_ask_for_nothing_it_balances() -> None:
    assert score({"cpu": "2"}, {}, HAS, balancedresource=1) == 50 + 25 // 2
    assert score({}, {"cpu": "4"}, HAS, balancedresource=1) == 0


def test_balanced_counts_gpus_for_pods_that_ask_for_them() -> None:
    has = {**HAS, GPU: "8"}
    with_gpu = score({"cpu": "2", "memory": "4Gi", GPU: "1"}, {}, has, balancedresource=1)
    # fractions 1/2, 1/2, 1/8: mean 3/8, variance (1/64 + 1/64 + 4/64) / 3 = 1/32
    assert math.floor((1 - math.sqrt(1 / 32)) * 100) == 82
    assert with_gpu == 50 + (50 + 82 - 100) // 2
    assert score({"cpu": "2", "memory": "4Gi"}, {GPU: "8"}, has, balancedresource=1) == 75
    # without cpu two fractions are left, 1/2 and 1/8
    assert score({"memory": "4Gi", GPU: "1"}, {}, {**has, "cpu": "0"}, balancedresource=1) == 50 + (50 + 81 - 100) // 2


# -- the formulas, one node at a time, in whole numbers ---------------------------------------------------------------

amounts = st.integers(0, 2**42)
nodes = st.lists(st.tuples(amounts, amounts, st.integers(0, 16)), min_size=1, max_size=5)
requests = st.tuples(st.integers(0, 2**40), st.integers(0, 2**40), st.integers(0, 8))


def least(used: list[int], capacity: list[int]) -> int:
    return mean([0 if u > c else (c - u) * 100 // c for u, c in zip(used, capacity, strict=True) if c])


def most(used: list[int], capacity: list[int]) -> int:
    return mean([min(u, c) * 100 // c for u, c in zip(used, capacity, strict=True) if c])


def mean(percentages: list[int]) -> int:
    return sum(percentages) // len(percentages) if percentages else 0


def balance(used: list[int], capacity: list[int]) -> int:
    fractions = [min(u / c, 1.0) for u, c in zip(used, capacity, strict=True) if c]
    deviation = 0.0
    if len(fractions) == 2:
        deviation = abs((fractions[0] - fractions[1]) / 2)
    elif len(fractions) > 2:
        average = added(fractions) / len(fractions)
        deviation = math.sqrt(added([(each - average) * (each - average) for each in fractions]) / len(fractions))
    return int((1 - deviation) * 100)


def improvement(before: list[tuple[int, int, int]], asked: tuple[int, int, int], capacity: list[int]) -> int:
    dims = [dim for dim in range(3) if dim < 2 or asked[2]]
    has = [capacity[dim] for dim in dims]
    without = [sum(each[dim] for each in before) for dim in dims]
    with_it = [amount + asked[dim] for amount, dim in zip(without, dims, strict=True)]
    return 50 + (50 + balance(with_it, has) - balance(without, has)) // 2


def added(values: list[float]) -> float:
    """In order, each sum rounded; newer versions of Python's own `sum` are more exact than kube-scheduler."""
    return functools.reduce(operator.add, values)


@settings(deadline=None)
@given(nodes, requests, st.lists(requests, max_size=3))
def test_the_columns_equal_the_formulas(
    capacities: list[tuple[int, int, int]], asked: tuple[int, int, int], running: list[tuple[int, int, int]]
) -> None:
    def quantities(milli_cpu: int, memory: int, gpu: int) -> dict[str, Any]:
        return {"cpu": f"{milli_cpu}m", "memory": str(memory), GPU: str(gpu)}

    cluster = [node(f"n{number}", **quantities(*has)) for number, has in enumerate(capacities)]
    others = [pod(f"old{number}", on="n0", **quantities(*there)) for number, there in enumerate(running)]
    opened = session(
        *cluster,
        *others,
        pod("new", group="g", **quantities(*asked)),
        leastrequested=1_000_000,
        mostrequested=1_000,
        balancedresource=1,
    )
    for number, (name, found) in enumerate(scores(opened, NodeOrder, "new").items()):
        before = running if number == 0 else []
        # Requests of 0 are requests, for which nothing stands in.
        used = [sum(each[dim] for each in (*before, asked)) for dim in range(2)]
        capacity = list(capacities[number])
        expected = 1_000_000 * least(used, capacity[:2]) + 1_000 * most(used, capacity[:2])
        expected += improvement(before, asked, capacity) if any(asked) else 0
        assert (name, found) == (f"n{number}", expected)


def test_what_is_placed_in_the_cycle_counts() -> None:
    opened = session(
        node("n1", **HAS),
        node("n2", **HAS),
        pod("a", group="g", cpu="1", memory="2Gi"),
        pod("b", group="g", cpu="1", memory="2Gi"),
        leastrequested=1,
    )
    assert scores(opened, NodeOrder, "b") == {"n1": 75, "n2": 75}
    opened.place("g", {"a": "n1"})
    assert scores(opened, NodeOrder, "b") == {"n1": 50, "n2": 75}
