"""Rows that are equal in all columns get one number; a new combination gets the next one."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from volcano_py.framework.placement.row_groups import RowGroups, compact, group_rows

ROWS = st.lists(st.tuples(st.integers(0, 3), st.sampled_from([0, 7, 5_000_000]), st.integers(0, 1)), max_size=12)


def test_numbers_are_compacted_in_their_order() -> None:
    for codes in ([5, 0, 5, 2], [5_000_000, 0, 5_000_000, 2]):
        numbers, first = compact(np.array(codes, dtype=np.intp))
        assert (numbers.tolist(), first.tolist()) == ([2, 0, 2, 1], [1, 3, 0])


def test_rows_are_in_one_group_when_all_columns_are_equal() -> None:
    groups, first = group_rows([np.array([1, 1, 0, 1]), np.array([7, 7, 7, 8])])
    assert (groups.tolist(), first.tolist()) == ([1, 1, 0, 2], [2, 0, 3])


@given(rows=ROWS)
def test_numbers_are_those_of_the_sorted_rows(rows: list[tuple[int, int, int]]) -> None:
    one, two, three = np.array(rows, dtype=np.int64).reshape(-1, 3).T
    numbers, first = group_rows([one, two, three.astype(np.bool_)])
    different = sorted(set(rows))
    assert [different[number] for number in numbers] == rows
    assert first.tolist() == [rows.index(row) for row in different]


@given(known=st.sets(st.tuples(st.integers(0, 3), st.integers(-2, 2)), min_size=1), asked=st.lists(st.integers(0, 3)))
def test_a_combination_keeps_its_number_and_a_new_one_gets_the_next(
    known: set[tuple[int, int]], asked: list[int]
) -> None:
    before = sorted(known)
    groups = RowGroups([np.array([one for one, _ in before]), np.array([other for _, other in before])])
    expected = list(before)
    for value in asked:
        pair = (value, 1)
        expected += [] if pair in expected else [pair]
        assert groups.number(*pair) == expected.index(pair)
    assert len(groups) == len(expected)
    assert list(zip(*(column.tolist() for column in groups.columns), strict=True)) == expected
