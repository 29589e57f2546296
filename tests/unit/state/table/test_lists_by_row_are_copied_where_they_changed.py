"""A copy of a list that is brought up to date has what a new one would have, whatever was written between the two."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from volcano_py.state.table.row_list import RowList

ROWS = st.integers(0, 5)


@given(st.lists(st.one_of(st.none(), st.tuples(st.sampled_from(["list", "copy"]), ROWS, st.integers()))))
def test_the_last_copy_becomes_the_next_one(steps: list[tuple[str, int, int] | None]) -> None:
    """None stands for another copy; rows that are not there yet are added."""
    values: RowList[int] = RowList()
    copy: list[int] | None = None
    for step in [*steps, None]:
        if step is None:
            before, copy = copy, values.next_copy(copy)
            assert copy == values
            assert before is None or copy is before
            continue
        where, row, value = step
        if where == "list" and row < len(values):
            values[row] = value
        elif where == "list":
            values.append(value)
        elif copy:
            copy[row % len(copy)] = value
            values.differs_in([row % len(copy)])


def test_a_copy_that_is_not_the_last_one_stays_as_it_is() -> None:
    values: RowList[str] = RowList()
    values.append("a")
    first = values.next_copy(None)
    second = values.next_copy(None)
    values[0] = "b"
    third = values.next_copy(first)
    assert (first, second, third) == (["a"], ["a"], ["b"])
