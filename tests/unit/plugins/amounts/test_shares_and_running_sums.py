"""The arithmetic that plugins share, against plain Python."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from volcano_py.plugins.amounts.shares import dominant_share, place_in_group, sums_by_group, sums_up_to
from volcano_py.state.table.axis import UNLIMITED

GROUPS = st.lists(st.integers(0, 3), max_size=12)


def test_the_dominant_share_is_that_of_the_scarcest_resource() -> None:
    cluster = np.array([10_000, 0, 20])  # 10 cpu, no memory, 20 GPU
    assert dominant_share(np.array([[2_000, 0, 6]]), cluster) == pytest.approx([0.3])


def test_a_resource_that_the_base_lacks_does_not_count() -> None:
    assert dominant_share(np.array([[5, 7]]), np.array([10, 0])).tolist() == [0.5]
    assert dominant_share(np.array([[5, 7]]), np.array([0, 0])).tolist() == [0.0]


def test_each_row_may_have_its_own_base() -> None:
    shares = dominant_share(np.array([[1, 1], [1, 1]]), np.array([[2, 4], [4, 0]]))
    assert shares.tolist() == [0.5, 0.25]


@given(GROUPS)
def test_places_count_what_came_before_in_the_group(groups: list[int]) -> None:
    seen: dict[int, int] = defaultdict(int)
    expected = []
    for group in groups:
        expected.append(seen[group])
        seen[group] += 1
    assert place_in_group(np.array(groups, dtype=np.int32)).tolist() == expected


@given(GROUPS, st.data())
def test_running_sums_include_the_element_itself(groups: list[int], data: st.DataObject) -> None:
    amounts = [[data.draw(st.integers(0, 99)), data.draw(st.integers(0, 99))] for _ in groups]
    held: dict[int, list[int]] = defaultdict(lambda: [0, 0])
    expected = []
    for group, amount in zip(groups, amounts, strict=True):
        held[group] = [mine + more for mine, more in zip(held[group], amount, strict=True)]
        expected.append(held[group])
    table = np.array(amounts, dtype=np.int64).reshape(len(groups), 2)
    array = np.array(groups, dtype=np.int32)
    assert sums_up_to(array, table).tolist() == expected
    assert sums_by_group(array, table, 4).tolist() == [held[group] for group in range(4)]


def test_sums_that_would_wrap_around_are_unlimited_instead() -> None:
    greedy = np.full((20_000, 1), 2**50, dtype=np.int64)
    modest = np.array([[3]], dtype=np.int64)
    groups = np.append(np.zeros(len(greedy), dtype=np.intp), 1)
    assert sums_by_group(groups, np.concatenate((greedy, modest)), 2).tolist() == [[int(UNLIMITED)], [3]]
