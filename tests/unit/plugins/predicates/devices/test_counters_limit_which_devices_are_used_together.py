"""What is left of counters, by example: a card with a whole and parts, as GPUs with MIG are published.

slots   0 1 2 3
whole   x x x x
left    x x
right       x x
q0..q3  one each
"""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.placement.devices import consumes, counter_set, device
from tests.support.placement.free_devices import only_free
from volcano_py.api.devices.slices import CounterSet, SliceDevice
from volcano_py.plugins.predicates.devices.counting import Counting, can_be_used_together
from volcano_py.state.devices.counters import Counters, read_counters
from volcano_py.state.nodes.terms import Mask

_SLOTS = {"whole": "0123", "left": "01", "right": "23", "q0": "0", "q1": "1", "q2": "2", "q3": "3"}
_NAMES = list(_SLOTS)


def _card(name: str = "card", memory: int = 40) -> tuple[CounterSet, list[SliceDevice]]:
    """Each slot goes with ten of memory."""
    parts = [
        device(part, consumes_counters=[consumes(name, memory=10 * len(slots), **{f"s{slot}": 1 for slot in slots})])
        for part, slots in _SLOTS.items()
    ]
    return counter_set(name, memory=memory, **{f"s{slot}": 1 for slot in "0123"}), parts


def _read(*cards: tuple[CounterSet, list[SliceDevice]], others: int = 0) -> Counters:
    devices = [each for _, parts in cards for each in parts]
    return read_counters([each for each, _ in cards], [*devices, *(device(f"x{at}") for at in range(others))])


def _mask(size: int, *positions: int) -> Mask:
    return np.isin(np.arange(size), positions)


def _of(*names: str) -> Mask:
    return _mask(len(_NAMES), *map(_NAMES.index, names))


@pytest.mark.parametrize(
    ("used", "expected"),
    [
        ([], _NAMES),
        (["left"], ["right", "q2", "q3"]),
        (["q3"], ["left", "q0", "q1", "q2"]),
        (["whole"], []),
        (["q0", "q2"], ["q1", "q3"]),
    ],
    ids=["nothing", "a half", "a quarter", "the whole", "quarters of both halves"],
)
def test_a_part_that_is_in_use_rules_out_what_overlaps_it(used: list[str], expected: list[str]) -> None:
    free = Counting([(0, _read(_card()))], 7).affordable(only_free(~_of(*used)))
    assert [_NAMES[at] for at in np.flatnonzero(free)] == expected


def test_pools_of_the_same_name_and_the_same_set_have_nothing_in_common() -> None:
    """Two drivers may call a pool, and a set in it, by the same name."""
    counting = Counting([(0, _read(_card())), (8, _read(_card()))], 15)
    free = counting.affordable(only_free(~_mask(15, 0)))
    assert np.flatnonzero(free).tolist() == list(range(7, 15))
    assert not counting.budget(np.array([1]), only_free(~_mask(15, 0))).take(1)
    assert counting.budget(np.array([9]), only_free(~_mask(15, 0))).take(9)


def test_what_is_given_back_can_be_taken_again() -> None:
    budget = Counting([(0, _read(_card()))], 7).budget(np.arange(7), only_free(_of(*_NAMES)))
    whole, left, right = 0, 1, 2
    assert budget.take(left)
    assert not budget.take(whole)
    assert budget.take(right)
    budget.give_back(left)
    budget.give_back(right)
    assert budget.take(whole)


def test_devices_without_counters_cost_nothing() -> None:
    counting = Counting([(1, _read(_card(), others=1))], 10)
    budget = counting.budget(np.arange(10), only_free(np.ones(10, dtype=bool)))
    assert all(budget.take(device) for device in (0, 8, 9))
    assert budget.most(np.array([0, 8, 9])) == 3
    free = only_free(np.ones(3, dtype=bool))
    assert Counting((), 3).affordable(free) is free.devices
    assert Counting((), 3).budget(np.arange(3), free).take(0)


@pytest.mark.parametrize(
    ("candidates", "memory", "most", "is_exact"),
    [
        (("q0", "q1", "q2", "q3"), 40, 4, True),
        (("q0", "q1", "q2", "q3"), 25, 2, True),
        (("left", "right"), 40, 2, True),
        (("left", "right"), 30, 1, True),
        (("whole",), 40, 1, True),
        (("left", "right", "q0"), 40, 3, False),
        ((), 40, 0, True),
    ],
    ids=["quarters", "memory for two", "halves", "memory for one", "whole", "different parts", "none"],
)
def test_how_many_parts_can_be_used_together(
    candidates: tuple[str, ...], memory: int, most: int, is_exact: bool
) -> None:
    counters = _read(_card(memory=memory))
    found = can_be_used_together(counters, _of(*candidates), counters.value)
    assert (found.most.tolist(), found.is_exact.tolist()) == ([most], [is_exact])


def test_each_card_counts_for_itself() -> None:
    counters = _read(_card("a", memory=20), _card("b"))
    quarters = _mask(14, 3, 4, 5, 6, 10, 11, 12, 13)
    found = can_be_used_together(counters, quarters, counters.value)
    assert (found.most.tolist(), found.is_exact.tolist()) == ([2, 4], [True, True])


def test_a_device_of_two_cards_makes_both_inexact() -> None:
    sets = [counter_set("a", memory=20), counter_set("b", memory=20)]
    both = device("both", consumes_counters=[consumes("a", memory=20), consumes("b", memory=20)])
    counters = read_counters(sets, [both, device("half", consumes_counters=[consumes("b", memory=10)])])
    found = can_be_used_together(counters, np.ones(2, dtype=bool), counters.value)
    assert (found.most.tolist(), found.is_exact.tolist()) == ([1, 1], [False, False])


@pytest.mark.parametrize(
    ("asked", "devices", "counters"),
    [
        ([0, 9, 3], [0, 9, *range(1, 8)], [2]),
        ([10, 3, 11, 18], [18, *range(1, 8), *range(10, 17)], [1, 8]),
        ([0, 8], [0, 8], []),
    ],
    ids=["one pool", "two pools", "none"],
)
def test_of_some_devices_the_whole_pool_is_looked_at(asked: list[int], devices: list[int], counters: list[int]) -> None:
    """A pool at 1 to 7 and one at 10 to 16; `counters`: where what the pools have is found."""
    counting = Counting([(1, _read(_card())), (10, _read(_card()))], 19)
    found, part = counting.only(np.array(asked))
    assert found.tolist() == devices
    assert part.value.tolist() == [4, 1, 1, 1, 1] * len(counters)
    assert np.unique(part.device).tolist() == [at for first in counters for at in range(first, first + 7)]


def test_devices_of_different_nodes_that_share_counters_are_known() -> None:
    counting = Counting([(0, _read(_card("a"), _card("b")))], 15)
    nodes = np.array([0] * 7 + [0] + [1] * 6 + [2])
    assert np.flatnonzero(counting.spanning(nodes)).tolist() == list(range(7, 14))
