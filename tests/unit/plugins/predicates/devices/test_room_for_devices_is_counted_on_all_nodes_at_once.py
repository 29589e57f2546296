from __future__ import annotations

import numpy as np
import pytest

from tests.support.placement.devices import consumes, counter_set, device
from tests.support.placement.free_devices import only_free, wishes
from volcano_py.plugins.predicates.devices.places import NETWORK
from volcano_py.plugins.predicates.devices.rooms import Rooms, is_simple, rooms_of
from volcano_py.state.devices.counters import Counters, joined, read_counters
from volcano_py.state.devices.needs import ALL, Ask, Constraint, OpenDevices, Request
from volcano_py.state.nodes.terms import Mask

_NODES = np.array([0, 0, 0, 0, 1, 1], dtype=np.intp)
_ALL_FREE = np.ones(6, dtype=bool)
_NONE = joined((), 6)


def _rooms(
    asked: list[tuple[Mask, int]], free: Mask, nodes: np.ndarray[tuple[int], np.dtype[np.intp]], size: int, of: Counters
) -> Rooms:
    return rooms_of(wishes(asked), only_free(free), nodes, size, of)


def _mask(*positions: int) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    return np.isin(np.arange(6), positions)


def test_a_node_takes_as_many_pods_as_it_has_devices_for() -> None:
    rooms = _rooms([(_ALL_FREE, 2)], _mask(0, 1, 2, 4, 5), _NODES, 3, _NONE)
    assert rooms.room.tolist() == [1, 1, 0]
    assert rooms.is_exact.all()


def test_requests_with_the_same_devices_share_them_and_others_do_not() -> None:
    assert _rooms([(_ALL_FREE, 1), (_ALL_FREE, 1)], _ALL_FREE, _NODES, 2, _NONE).room.tolist() == [2, 1]
    assert _rooms([(_mask(0, 1), 1), (_mask(2, 3), 2)], _ALL_FREE, _NODES, 2, _NONE).room.tolist() == [1, 0]


def test_where_requests_overlap_the_room_is_an_upper_bound() -> None:
    rooms = _rooms([(_mask(0, 1), 1), (_mask(0, 1, 2, 4, 5), 1)], _ALL_FREE, _NODES, 2, _NONE)
    assert rooms.room.tolist() == [1, 0]
    assert rooms.is_exact.tolist() == [False, True]


def test_devices_of_the_network_can_be_used_from_all_nodes() -> None:
    nodes = np.array([NETWORK, NETWORK, NETWORK, 0, 1, 1], dtype=np.intp)
    assert _rooms([(_ALL_FREE, 2)], _ALL_FREE, nodes, 3, _NONE).room.tolist() == [2, 2, 1]


def test_many_different_requests_have_a_bound_too() -> None:
    asked = [(_mask(at, (at + 1) % 6), 1) for at in range(6)] + [(_ALL_FREE, 1)]
    assert _rooms(asked, _ALL_FREE, np.zeros(6, dtype=np.intp), 1, _NONE).room.tolist() == [0]


def test_parts_of_a_card_are_counted_by_what_is_left_of_it() -> None:
    """Node 0 has a card of four quarters, of which one is in use, and a half; node 1 has two devices of their own."""
    quarters = [device(str(at), consumes_counters=[consumes("card", memory=10)]) for at in range(4)]
    half = device("half", consumes_counters=[consumes("card", memory=20)])
    pool = read_counters([counter_set("card", memory=40)], [*quarters, half])
    nodes, free = np.array([0, 0, 0, 0, 0, 1, 1], dtype=np.intp), np.arange(7) > 0
    of_quarters, of_half, of_all = np.arange(7) < 4, np.arange(7) == 4, np.arange(7) >= 0
    rooms = [
        _rooms(asked, free, nodes, 2, joined(((0, pool),), 7))
        for asked in ([(of_quarters, 1)], [(of_quarters, 2)], [(of_quarters, 1), (of_half, 1)], [(of_all, 1)])
    ]
    assert [each.room.tolist() for each in rooms] == [[3, 0], [1, 0], [1, 0], [3, 2]]
    assert [each.is_exact.tolist() for each in rooms] == [[True, True], [True, True], [False, True], [False, True]]


@pytest.mark.parametrize(
    ("claim", "expected"),
    [
        (OpenDevices(requests=(Request("a", (Ask("a", "x", count=2),)),)), True),
        (OpenDevices(requests=(Request("a", (Ask("a", "x", count=33),)),)), False),
        (OpenDevices(requests=(Request("a", (Ask("a", "x", count=ALL),)),)), False),
        (OpenDevices(requests=(Request("a", (Ask("a", "x", is_admin=True),)),)), False),
        (OpenDevices(requests=(Request("a", (Ask("a/b", "x"), Ask("a/c", "x"))),)), False),
        (OpenDevices(requests=(Request("a", (Ask("a", "x"),)),), constraints=(Constraint((), "d/n"),)), False),
    ],
    ids=["a number", "too many", "all", "admin access", "alternatives", "constraint"],
)
def test_room_is_counted_for_claims_that_ask_for_a_number_of_devices(claim: OpenDevices, expected: bool) -> None:
    assert is_simple([claim]) is expected
