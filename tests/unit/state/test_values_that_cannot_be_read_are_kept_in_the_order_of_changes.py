"""What cannot be read of the objects of a table: a picture that stays the same object until something changes."""

from __future__ import annotations

from volcano_py.api.annotations.reading import Unreadable
from volcano_py.state.unreadable_values import UnreadableValues

ONE, OTHER = (Unreadable("annotation a", found, "write b", "it counts as absent") for found in ("1", "2"))


def test_the_latest_change_comes_last() -> None:
    values = UnreadableValues[int]()
    for row, value in ((3, ONE), (1, ONE), (3, OTHER)):
        values.put(row, (value,))
    assert [(row, each.since, each.values) for row, each in values.picture().items()] == [
        (1, 2, (ONE,)),
        (3, 3, (OTHER,)),
    ]


def test_what_was_known_is_no_change() -> None:
    values = UnreadableValues[int]()
    values.put(1, (ONE,))
    picture = values.picture()
    values.put(1, (ONE,))
    values.put(2, ())
    values.take(2)
    assert values.picture() is picture


def test_a_row_without_unreadable_values_leaves_the_picture() -> None:
    values = UnreadableValues[int]()
    for row in (1, 2):
        values.put(row, (ONE,))
    before = values.picture()
    values.put(1, ())
    values.take(2)
    assert dict(values.picture()) == {}
    assert sorted(before) == [1, 2], "of a cycle that has begun"


def test_the_next_object_of_a_row_is_new() -> None:
    values = UnreadableValues[int]()
    values.put(1, (ONE,))
    values.take(1)
    values.put(1, (ONE,))
    assert values.picture()[1].since == 2
