"""What devices consume of the counters that they share."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.placement.devices import consumes, counter_set, device
from volcano_py.api.quantity import QuantityError
from volcano_py.state.devices.counters import joined, read_counters


def _used(size: int, *positions: int) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    return np.isin(np.arange(size), positions)


def test_each_counter_is_counted_in_the_largest_unit_that_divides_what_is_consumed_of_it() -> None:
    found = read_counters(
        [counter_set("card", memory="40Gi", cores="3500m")],
        [
            device("whole", consumes_counters=[consumes("card", memory="40Gi", cores="3500m")]),
            device("half", consumes_counters=[consumes("card", memory="20Gi", cores="1.75")]),
            device("other"),
        ],
    )
    assert (found.value.tolist(), found.counter_set.tolist()) == ([2, 2], [0, 0])
    assert (found.device.tolist(), found.counter.tolist()) == ([0, 0, 1, 1], [0, 1, 0, 1])
    assert found.amount.tolist() == [2, 2, 1, 1]


def test_where_the_unit_is_too_small_what_is_consumed_is_rounded_up() -> None:
    found = read_counters(
        [counter_set("card", memory="8E")],
        [
            device("whole", consumes_counters=[consumes("card", memory="8E")]),
            device("some", consumes_counters=[consumes("card", memory="1n")]),
        ],
    )
    assert (found.value.tolist(), found.amount.tolist()) == ([2**40], [2**40, 1])


def test_more_than_there_is_counts_as_more_than_there_is() -> None:
    found = read_counters(
        [counter_set("card", memory=1, slots=0)],
        [device("huge", consumes_counters=[consumes("card", memory="7E", slots=1)])],
    )
    assert (found.value.tolist(), found.amount.tolist()) == ([1, 0], [2, 1])


def test_what_devices_in_use_consume_is_not_left() -> None:
    halves = [device(name, consumes_counters=[consumes("card", memory=20)]) for name in "ab"]
    found = read_counters([counter_set("card", memory=40)], halves)
    assert [found.left(_used(2, *used)).tolist() for used in ((), (0,), (0, 1))] == [[2], [1], [0]]


def test_devices_that_consume_the_same_are_alike() -> None:
    sets = [counter_set(name, memory=40, slots=2) for name in ("one", "other")]
    asked = [[], [consumes("one", memory=20)], [consumes("other", memory=20)], [consumes("one", memory=20)]]
    found = read_counters(sets, [device(str(at), consumes_counters=each) for at, each in enumerate(asked)])
    assert found.like.tolist() == [0, 1, 2, 1]
    assert found.counter_set.tolist() == [0, 0, 1, 1]


def test_pools_are_joined_without_having_anything_in_common() -> None:
    pool = read_counters(
        [counter_set("card", memory=40)], [device("whole", consumes_counters=[consumes("card", memory=40)])]
    )
    both = joined(((1, pool), (3, pool)), 5)
    assert (both.device.tolist(), both.counter.tolist(), both.like.tolist()) == ([1, 3], [0, 1], [0, 1, 0, 2, 0])
    assert both.counter_set.tolist() == [0, 1]
    assert both.left(_used(5, 3)).tolist() == [1, 0]
    assert joined((), 2).left(_used(2, 1)).tolist() == []


def test_a_value_that_is_no_quantity_is_an_error() -> None:
    with pytest.raises(QuantityError, match="'much' is not a quantity"):
        read_counters([counter_set("card", memory="much")], [])
