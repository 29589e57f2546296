"""Labels, taints and images as columns, and what is kept next to them."""

from __future__ import annotations

import numpy as np
import pytest

from volcano_py.api.objects import Taint
from volcano_py.state.infos import NodeInfo
from volcano_py.state.nodes.index import ABSENT, Kept, NodeIndex

NODES = [
    NodeInfo("b", {"zone": "1"}, (Taint(key="k", effect="NoSchedule"),), images={"nginx:1": 10}),
    NodeInfo("a", {"zone": "2", "gpu": ""}, (), unschedulable=True),
    NodeInfo("", {}),
    NodeInfo("c", {"zone": "1"}, (Taint(key="k", effect="NoSchedule"),)),
]


@pytest.fixture
def index() -> NodeIndex:
    return NodeIndex(NODES, version=7)


def test_a_label_column_points_into_its_distinct_values(index: NodeIndex) -> None:
    column = index.label("zone")
    assert column.values == ["1", "2"]
    assert column.codes.tolist() == [0, 1, ABSENT, 0]
    assert column.present.tolist() == [True, True, False, True]
    assert column.among(["2", "nowhere"]).tolist() == [False, True, False, False]
    assert column.where(np.array([True, False])).tolist() == [True, False, False, True]


def test_labels_that_no_node_has_share_one_empty_column(index: NodeIndex) -> None:
    column = index.label("unheard-of")
    assert column is index.label("as-unknown")
    assert not column.present.any()
    assert not column.among(["", "x"]).any()
    assert index.label("gpu").among([""]).tolist() == [False, True, False, False]


def test_nodes_with_the_same_taints_share_a_set(index: NodeIndex) -> None:
    assert index.taint_codes.tolist() == [0, 1, 1, 0]
    assert index.taint_sets == [NODES[0].taints, ()]
    assert index.taint_effects == {"NoSchedule"}


def test_images_and_names(index: NodeIndex) -> None:
    assert index.image_sizes("nginx:1").tolist() == [10, 0, 0, 0]
    assert index.unschedulable.tolist() == [False, True, False, False]
    assert index.rows == {"b": 0, "a": 1, "c": 3}
    assert index.name_rank.tolist() == [2, 1, 0, 3]


def test_an_index_of_no_nodes_answers() -> None:
    empty = NodeIndex([], version=0)
    assert len(empty.label("zone").present) == 0
    assert len(empty.label("zone").among(["a"])) == 0
    assert len(empty.image_sizes("nginx")) == 0


def mask() -> np.ndarray:
    return np.zeros(10_000, dtype=np.bool_)


def test_a_result_is_created_once() -> None:
    kept, results = Kept(), [mask(), mask()]
    made = iter(results)
    for _ in range(3):
        result = kept.keep(("mask", "a"), lambda: next(made))
        assert result is results[0]
    assert result is kept.keep(("mask", "a"), mask)
    assert result is not kept.keep(("mask", b"a"), mask)


def test_the_longest_unused_results_go_when_there_is_no_room() -> None:
    kept = Kept(most=35_000)
    first = kept.keep(("first",), mask)
    second = kept.keep(("second",), mask)
    kept.keep(("third",), mask)
    assert kept.keep(("first",), mask) is first
    kept.keep(("fourth",), mask)
    assert len(kept) == 3
    assert kept.keep(("first",), mask) is first
    assert kept.keep(("second",), mask) is not second


def test_keys_take_room_too_and_the_newest_result_always_stays() -> None:
    kept = Kept(most=1000)
    for number in range(100):
        kept.keep(("nothing", b"%03d" % number), lambda: np.zeros(0))
    assert len(kept) < 10
    large = kept.keep(("large", b"x" * 5000), mask)
    assert len(kept) == 1
    assert kept.keep(("large", b"x" * 5000), mask) is large


def test_what_no_cycle_has_used_for_long_is_dropped() -> None:
    kept = Kept()
    first = kept.keep(("first",), mask)
    second = kept.keep(("second",), mask)
    for _ in range(100):
        kept.next_cycle()
        assert kept.keep(("second",), mask) is second
    assert len(kept) == 2

    kept.next_cycle()

    assert len(kept) == 1
    assert kept.keep(("first",), mask) is not first
