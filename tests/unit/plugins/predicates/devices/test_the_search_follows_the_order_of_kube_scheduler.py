"""The search on one node, by example."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.placement.devices import consumes, counter_set, device
from tests.support.placement.free_devices import only_free
from volcano_py.plugins.predicates.devices.counting import Counting
from volcano_py.plugins.predicates.devices.search import STEPS, Chosen, NotChosen, Problem, Why
from volcano_py.state.devices.counters import read_counters
from volcano_py.state.devices.device import Device, Value, Version
from volcano_py.state.devices.needs import ALL, Ask, Constraint, OpenDevices, Request

_N = "numa.example.com/node"


def _request(name: str, *classes: str, count: int = 1, is_admin: bool = False) -> Request:
    if len(classes) == 1:
        return Request(name, (Ask(name, classes[0], count=count, is_admin=is_admin),))
    return Request(name, tuple(Ask(f"{name}/{each}", each, count=count) for each in classes))


def _claim(*requests: Request, constraints: tuple[Constraint, ...] = ()) -> OpenDevices:
    return OpenDevices(requests=requests, constraints=constraints)


def _device(kind: str, numa: Value | None = None) -> Device:
    return Device("d", "p", "x", {"d/kind": kind} | ({} if numa is None else {_N: numa}))


def _solve(
    claims: list[OpenDevices],
    devices: list[Device],
    *,
    in_use: tuple[int, ...] = (),
    sees_incomplete: bool = False,
    steps: int = STEPS,
    counting: Counting | None = None,
) -> list[list[tuple[str, int]]] | NotChosen:
    """A class selects devices by their kind, and `any` selects all; the result has names of asks."""
    problem = Problem(
        claims,
        lambda ask: np.array([ask.device_class in ("any", each.attributes["d/kind"]) for each in devices], dtype=bool),
        devices,
        counting or Counting((), len(devices)),
        lambda _: {},
    )
    free = np.ones(len(devices), dtype=bool)
    free[list(in_use)] = False
    found = problem.solve(np.arange(len(devices)), only_free(free), sees_incomplete=sees_incomplete, steps=steps)
    if isinstance(found, NotChosen):
        return found
    return [[(ask.name, at) for ask, at in of_claim] for of_claim in found.picks]


def test_an_earlier_claim_gives_way_when_a_later_one_finds_nothing_else() -> None:
    claims = [_claim(_request("a", "big", "small")), _claim(_request("b", "big"))]
    devices = [_device("big"), _device("small"), _device("small")]
    assert _solve(claims, devices) == [[("a/small", 1)], [("b", 0)]]


def test_the_first_alternative_is_taken_while_the_rest_finds_devices() -> None:
    assert _solve([_claim(_request("a", "big", "small"))], [_device("small"), _device("big")]) == [[("a/big", 1)]]


def test_all_takes_every_device_and_fails_if_one_is_in_use() -> None:
    devices = [_device("big"), _device("small"), _device("big")]
    every = [_claim(_request("a", "big", count=ALL))]
    assert _solve(every, devices) == [[("a", 0), ("a", 2)]]
    assert _solve(every, devices, in_use=(2,)) == NotChosen(Why.TOO_FEW, 0, 0, free=1)
    assert _solve(every, [_device("small")]) == NotChosen(Why.TOO_FEW, 0, 0)


def test_all_fails_where_a_pool_is_incomplete_unless_there_is_an_alternative() -> None:
    all_or_one = Request("a", (Ask("a/all", "big", count=ALL), Ask("a/one", "big")))
    devices = [_device("big")] * 2
    assert _solve([_claim(_request("a", "big", count=ALL))], devices, sees_incomplete=True) == NotChosen(
        Why.INCOMPLETE, 0, 0
    )
    assert _solve([_claim(all_or_one)], devices, sees_incomplete=True) == [[("a/one", 0)]]


def test_admin_access_sees_devices_in_use_and_takes_nothing_away() -> None:
    devices = [_device("big"), _device("big")]
    watch = _claim(_request("watch", "big", count=ALL, is_admin=True))
    assert _solve([watch, _claim(_request("a", "big"))], devices, in_use=(0,)) == [
        [("watch", 0), ("watch", 1)],
        [("a", 1)],
    ]


def test_no_device_is_twice_in_one_claim_even_with_admin_access() -> None:
    both = _claim(_request("watch", "big", is_admin=True), _request("a", "big"))
    assert _solve([both], [_device("big")]) == NotChosen(Why.NO_COMBINATION)
    assert _solve([both], [_device("big")] * 2) == [[("watch", 0), ("a", 1)]]


def test_admin_access_leaves_a_free_device_to_a_request_that_needs_one() -> None:
    both = _claim(_request("watch", "big", is_admin=True), _request("a", "big"))
    devices = [_device("big")] * 2
    assert _solve([both], devices, in_use=(1,)) == [[("watch", 1), ("a", 0)]]
    assert _solve([both, both], devices) == [[("watch", 0), ("a", 1)], [("watch", 1), ("a", 0)]]


def test_a_matched_attribute_has_one_type_and_value() -> None:
    pair = [_claim(_request("a", "any", count=2), constraints=(Constraint((), _N),))]
    assert _solve(pair, [_device("x", 0), _device("x", 1), _device("x", 1)]) == [[("a", 1), ("a", 2)]]
    for one, other in ((1, True), (1, "1"), ("1.0.0", Version("1.0.0")), (1, None)):
        assert _solve(pair, [_device("x", one), _device("x", other)]) == NotChosen(Why.NO_COMBINATION)
    assert _solve(pair, [_device("x"), _device("x")]) == NotChosen(Why.NO_COMBINATION)


def test_a_distinct_attribute_differs_in_all_pairs_not_only_from_the_last_device() -> None:
    three = [_claim(_request("a", "any", count=3), constraints=(Constraint((), _N, is_distinct=True),))]
    assert _solve(three, [_device("x", 0), _device("x", 1), _device("x", 0)]) == NotChosen(Why.NO_COMBINATION)
    assert _solve(three, [_device("x", each) for each in (0, 1, 0, 2)]) == [[("a", 0), ("a", 1), ("a", 3)]]


def test_a_constraint_binds_the_requests_that_it_names() -> None:
    devices = [_device("gpu", 0), _device("nic", 1), _device("disk", 5)]
    requests = (_request("g", "gpu"), _request("n", "nic"), _request("d", "disk"))
    assert _solve([_claim(*requests, constraints=(Constraint(("g", "n"), _N),))], devices) == NotChosen(
        Why.NO_COMBINATION
    )
    assert isinstance(_solve([_claim(*requests, constraints=(Constraint(("g",), _N),))], devices), list)


def test_a_constraint_may_name_one_alternative() -> None:
    devices = [_device("gpu", 0), _device("nic", 1), _device("slow", 1)]
    claim = _claim(_request("g", "gpu"), _request("n", "nic", "slow"), constraints=(Constraint(("g", "n/nic"), _N),))
    assert _solve([claim], devices) == [[("g", 0), ("n/slow", 2)]]


def test_constraints_of_different_claims_do_not_meet() -> None:
    twice = (Constraint((), _N), Constraint((), _N))
    claims = [_claim(_request("a", "x"), constraints=twice), _claim(_request("b", "x"), constraints=twice)]
    assert _solve(claims, [_device("x", 0), _device("x", 1)]) == [[("a", 0)], [("b", 1)]]


_HALVES = [_device("whole"), _device("half"), _device("half")]
_CARD = Counting(
    [
        (
            0,
            read_counters(
                [counter_set("card", memory=40)],
                [
                    device(str(at), consumes_counters=[consumes("card", memory=size)])
                    for at, size in enumerate((40, 20, 20))
                ],
            ),
        )
    ],
    3,
)


def test_after_one_half_the_whole_is_not_there_but_the_other_half_is() -> None:
    whole, half = [_claim(_request("a", "whole"))], [_claim(_request("a", "half"))]
    assert _solve(whole, _HALVES, counting=_CARD) == [[("a", 0)]]
    assert _solve(whole, _HALVES, counting=_CARD, in_use=(1,)) == NotChosen(Why.TOO_FEW, 0, 0)
    assert _solve(half, _HALVES, counting=_CARD, in_use=(1,)) == [[("a", 2)]]
    assert _solve(half, _HALVES, counting=_CARD, in_use=(0,)) == NotChosen(Why.TOO_FEW, 0, 0)


def test_a_whole_gives_way_to_a_half_when_a_later_claim_needs_the_other_half() -> None:
    claims = [_claim(_request("a", "whole", "half")), _claim(_request("b", "half"))]
    assert _solve(claims, _HALVES, counting=_CARD) == [[("a/half", 1)], [("b", 2)]]
    claims.append(_claim(_request("c", "half")))
    assert _solve(claims, _HALVES, counting=_CARD) == NotChosen(Why.NO_COMBINATION)


def test_all_of_what_cannot_be_used_together_is_never_there() -> None:
    assert _solve([_claim(_request("a", "any", count=ALL))], _HALVES, counting=_CARD) == NotChosen(
        Why.TOO_FEW, 0, 0, free=2
    )
    assert _solve([_claim(_request("a", "half", count=ALL))], _HALVES, counting=_CARD) == [[("a", 1), ("a", 2)]]


def test_admin_access_consumes_no_counters() -> None:
    watch = _claim(_request("watch", "any", count=ALL, is_admin=True))
    assert _solve([watch, _claim(_request("a", "whole"))], _HALVES, counting=_CARD) == [
        [("watch", 0), ("watch", 1), ("watch", 2)],
        [("a", 0)],
    ]


@pytest.mark.parametrize("count", [33, ALL])
def test_a_claim_gets_32_devices_at_most(count: int) -> None:
    devices = [_device("x")] * 40
    assert _solve([_claim(_request("a", "x", count=count))], devices) == NotChosen(Why.TOO_MANY, 0, 0)
    either = Request("a", (Ask("a/many", "x", count=count), Ask("a/one", "x")))
    assert _solve([_claim(either)], devices) == [[("a/one", 0)]]


def test_the_requests_of_a_claim_get_32_devices_together() -> None:
    devices = [_device("x")] * 50
    assert _solve([_claim(_request("a", "x", count=20), _request("b", "x", count=13))], devices) == NotChosen(
        Why.TOO_MANY, 0
    )
    either = Request("b", (Ask("b/many", "x", count=13), Ask("b/few", "x", count=12)))
    found = _solve([_claim(_request("a", "x", count=20), either)], devices)
    assert isinstance(found, list)
    assert found[0][-1] == ("b/few", 31)


def test_a_search_that_would_take_too_long_is_given_up() -> None:
    distinct = (Constraint((), _N, is_distinct=True),)
    # Twenty devices, in pairs of one value: no eleven of them are distinct.
    devices = [_device("x", at // 2) for at in range(20)]
    claim = _claim(_request("a", "x", count=6), _request("b", "x", count=5), constraints=distinct)
    assert _solve([claim], devices, steps=1000) == NotChosen(Why.NOT_FOUND)


def test_devices_that_are_alike_are_not_tried_in_turn() -> None:
    claims = [_claim(_request(f"r{number}", "x", count=8)) for number in range(4)]
    claims.append(_claim(_request("last", "x", count=9)))
    assert _solve(claims, [_device("x")] * 40, steps=2000) == NotChosen(Why.NO_COMBINATION)


def test_a_pod_with_more_requests_than_python_nests_calls_is_served() -> None:
    claims = [_claim(*(_request(f"r{number}", "x") for number in range(32))) for _ in range(40)]
    found = _solve(claims, [_device("x")] * 1280, steps=100_000)
    assert isinstance(found, list)
    assert [at for of_claim in found for _, at in of_claim] == list(range(1280))


def test_claims_without_requests_get_nothing() -> None:
    assert Problem([_claim(), _claim()], lambda _: np.zeros(0, dtype=bool), [], Counting((), 0), lambda _: {}).solve(
        np.zeros(0, dtype=np.intp), only_free(np.zeros(0, dtype=bool))
    ) == Chosen(((), ()))
