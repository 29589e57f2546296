"""binpack prefers the nodes that are fullest."""

from __future__ import annotations

import functools
import operator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.placement.node_answers import scores
from tests.support.sessions import Opened, node, open_session, pod, pod_group
from volcano_py.api.objects import ApiObject
from volcano_py.config.fields.reading import read_arguments
from volcano_py.plugins.binpack import Binpack, BinpackArguments

GPU, FOO = "nvidia.com/gpu", "example.com/foo"


def session(*objects: ApiObject, **arguments: Any) -> Opened:
    entry = {"arguments": {f"binpack.{key}": value for key, value in arguments.items()}}
    return open_session(pod_group("g"), objects, tiers=[[(Binpack, entry)]])


def score(asked: dict[str, Any], used: dict[str, Any], has: dict[str, Any], **arguments: Any) -> float:
    """Of a pod that asks for `asked` for a node with `has`, of which another pod uses `used`."""
    pods = [pod("old", on="n1", **used), pod("new", group="g", **asked)]
    return scores(session(node("n1", **has), *pods, **arguments), Binpack, "new")["n1"]


HAS: dict[str, Any] = {"cpu": "8", "memory": "16Gi"}
USED: dict[str, Any] = {"cpu": "2", "memory": "6Gi"}
ASKED: dict[str, Any] = {"cpu": "2", "memory": "2Gi"}


def test_the_weighted_mean_of_what_would_be_in_use_times_100_times_the_weight() -> None:
    assert score(ASKED, USED, HAS, weight=10, cpu=5, memory=1) == 500
    assert score(ASKED, USED, HAS) == 50
    assert score({"cpu": "4"}, USED, HAS) == 75, "memory is not asked for and does not count"


def test_the_fuller_node_wins_and_what_is_placed_in_the_cycle_counts() -> None:
    opened = session(
        node("n1", **HAS),
        node("n2", **HAS),
        pod("old", on="n1", **USED),
        pod("a", group="g", **ASKED),
        pod("b", group="g", **ASKED),
    )
    before = scores(opened, Binpack, "b")
    assert before["n1"] > before["n2"]
    opened.place("g", {"a": "n2"})
    after = scores(opened, Binpack, "b")
    assert after["n2"] > before["n2"]
    assert after["n1"] == before["n1"]


def test_other_resources_count_when_they_are_listed_with_weight_1_by_default() -> None:
    has, asked, used = {**HAS, GPU: "8", FOO: "4"}, {"cpu": "4", GPU: "1", FOO: "2"}, {GPU: "1"}
    assert score(asked, used, has) == 50
    assert score(asked, used, has, resources=f"{GPU}, {FOO}") == pytest.approx((0.5 + 0.25 + 0.5) / 3 * 100)
    weights = {"resources": GPU, f"resources.{GPU}": 3}
    assert score(asked, used, has, **weights) == pytest.approx((0.5 + 3 * 0.25) / 4 * 100)


def test_a_resource_of_weight_0_counts_in_the_divisor_only() -> None:
    assert score(ASKED, USED, HAS, cpu=0, memory=1) == 50
    assert score({"cpu": "2", GPU: "4"}, {}, {**HAS, GPU: "8"}, cpu=0, resources=GPU) == 50
    assert score(ASKED, USED, HAS, cpu=0, memory=0) == 0
    assert score({"cpu": "9", "memory": "2Gi"}, USED, HAS, cpu=0) == 50, "nor does it matter that it is exceeded"


def test_a_resource_that_the_node_lacks_counts_in_the_divisor_only() -> None:
    assert score({"cpu": "4", GPU: "1"}, {}, HAS, resources=GPU) == 25


def test_a_node_that_would_be_exceeded_scores_0() -> None:
    assert score({"cpu": "6", "memory": "1Gi"}, USED, HAS) == 50 * (1 + 7 / 16)
    assert score({"cpu": "6001m", "memory": "1Gi"}, USED, HAS) == 0


def test_a_pod_that_asks_for_nothing_that_counts_scores_0() -> None:
    assert score({}, USED, HAS) == 0
    assert score({FOO: "1"}, USED, {**HAS, FOO: "1"}) == 0


def test_the_weight_0_switches_off() -> None:
    assert score(ASKED, USED, HAS, weight=0) == 0


def test_the_arguments_are_volcanos_and_negative_weights_count_as_1() -> None:
    arguments, problems = read_arguments(
        BinpackArguments,
        {
            "binpack.weight": 10,
            "binpack.cpu": -5,
            "binpack.memory": "2",
            "binpack.resources": f"{GPU}, {FOO}",
            f"binpack.resources.{GPU}": 7,
            "binpack.resources.example.com/bar": 3,
        },
    )
    assert arguments is not None
    assert arguments.weight == 10
    assert arguments.weights() == {"cpu": 1, "memory": 2, GPU: 7, FOO: 1}
    reported = [problem.message for problem in problems]
    assert "must be at least 0, found -5; 1 is used instead" in reported
    assert (
        "binpack.resources.example.com/bar has no effect: example.com/bar is not listed in binpack.resources"
        in reported
    )


# -- the formula, one node at a time -----------------------------------------------------------------------------------

DIMENSIONS = ["cpu", "memory", GPU]
vectors = st.tuples(st.integers(0, 64_000), st.integers(0, 2**38), st.integers(0, 16))
weights = st.tuples(*[st.integers(0, 5)] * 3)


def by_hand(request: tuple[int, ...], used: tuple[int, ...], has: tuple[int, ...], weight: tuple[int, ...]) -> float:
    parts: list[float] = []
    divisor = 0
    for asked, taken, capacity, share in zip(request, used, has, weight, strict=True):
        if not asked:
            continue
        divisor += share
        if capacity and share:
            if asked + taken > capacity:
                return 0.0
            parts.append((asked + taken) * share / capacity)
    return functools.reduce(operator.add, parts, 0.0) / divisor * 300 if divisor else 0.0


@settings(deadline=None)
@given(st.lists(st.tuples(vectors, vectors), min_size=1, max_size=5), vectors, weights)
def test_all_nodes_at_once_equal_one_node_after_the_other(
    cluster: list[tuple[tuple[int, ...], tuple[int, ...]]], asked: tuple[int, ...], weight: tuple[int, ...]
) -> None:
    def quantities(vector: tuple[int, ...]) -> dict[str, Any]:
        return {"cpu": f"{vector[0]}m", "memory": str(vector[1]), GPU: str(vector[2])}

    nodes = [node(f"n{number}", **quantities(has)) for number, (has, _) in enumerate(cluster)]
    others = [pod(f"old{number}", on=f"n{number}", **quantities(used)) for number, (_, used) in enumerate(cluster)]
    arguments = {"weight": 3, "cpu": weight[0], "memory": weight[1], "resources": GPU, f"resources.{GPU}": weight[2]}
    opened = session(*nodes, *others, pod("new", group="g", **quantities(asked)), **arguments)
    expected = [by_hand(asked, used, has, weight) for has, used in cluster]
    assert list(scores(opened, Binpack, "new").values()) == expected
