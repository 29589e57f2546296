"""A job that needs several domains is divided evenly, in as few of them as will do."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.placement.hyper_nodes import hyper_node, tree_of
from volcano_py.framework.topology.balance import shares
from volcano_py.state.topology.tree import ROOT, Tree


def tree_with(rooms: list[int]) -> tuple[Tree, np.ndarray]:
    """Racks of one node below the root, and the room of all domains."""
    racks = [hyper_node(f"r{number}", 1, nodes=[f"n{number}"]) for number in range(len(rooms))]
    tree = tree_of(racks, [f"n{number}" for number in range(len(rooms))])
    return tree, tree.sums(np.array(rooms, dtype=np.int64))


@pytest.mark.parametrize(
    ("rooms", "count", "expected"),
    [
        ([10, 10], 12, [6, 6]),
        ([10, 10, 10], 12, [6, 6]),
        ([10, 3], 12, [9, 3]),
        ([5, 5, 5], 14, [4, 5, 5]),
        ([12, 10], 12, []),
        ([5, 5], 12, []),
    ],
)
def test_shares_are_equal_where_room_allows(rooms: list[int], count: int, expected: list[int]) -> None:
    tree, room = tree_with(rooms)
    assert sorted(share for _, share in shares(tree, room, ROOT, count)) == sorted(expected)


@given(st.lists(st.integers(0, 20), min_size=1, max_size=6), st.integers(1, 60))
def test_no_share_is_above_its_room_and_no_two_differ_without_need(rooms: list[int], count: int) -> None:
    tree, room = tree_with(rooms)
    found = shares(tree, room, ROOT, count)
    if not found:
        assert max(rooms) >= count or sum(rooms) < count
        return
    assert sum(share for _, share in found) == count
    assert all(share <= room[domain] for domain, share in found)
    most = max(share for _, share in found)
    assert all(share >= most - 1 or share == room[domain] for domain, share in found)
    largest = sorted(rooms, reverse=True)
    assert sum(largest[: len(found) - 1]) < count, "fewer domains would have done"
