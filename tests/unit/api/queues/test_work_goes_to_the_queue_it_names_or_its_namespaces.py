"""The queue of new work."""

from __future__ import annotations

import pytest

from volcano_py.api.names import QUEUE_NAME
from volcano_py.api.queues.choice import queue_for


@pytest.mark.parametrize(
    ("named", "of_namespace", "expected"),
    [
        ("mine", "team", "mine"),
        ("", "team", "team"),
        ("default", "team", "team"),
        ("", "", "lab"),
        ("default", "", "lab"),
    ],
)
def test_work_that_names_none_or_default_goes_where_its_namespace_says_else_to_the_default_queue(
    named: str, of_namespace: str, expected: str
) -> None:
    assert queue_for(named, {QUEUE_NAME: of_namespace}, "lab") == expected
    if not of_namespace:
        assert queue_for(named, {}, "lab") == expected
