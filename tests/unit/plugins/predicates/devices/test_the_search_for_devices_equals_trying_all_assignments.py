"""The search on one node, and the room on many, against an oracle that tries every assignment in order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from volcano_py.plugins.predicates.devices.rooms import NETWORK, is_simple, rooms_of
from volcano_py.plugins.predicates.devices.search import Chosen, NotChosen, Pick, Problem, Why
from volcano_py.state.devices.needs import ALL, Ask, Constraint, OpenDevices, Request
from volcano_py.state.devices.picture import Device, Value
from volcano_py.state.nodes.terms import Mask

_MOST = 6

Masks = dict[str, list[bool]]
"""Device class → which devices it selects; in these tests an ask has no expressions."""
Solution = tuple[tuple[Pick, ...], ...]

_names = st.sampled_from(["big", "small", "any"])
_counts = st.sampled_from([1, 1, 1, 2, 3, ALL])
_values: st.SearchStrategy[Value] = st.sampled_from([0, 1, True, "1"])
_attributes = st.dictionaries(st.sampled_from(["d/numa", "d/kind"]), _values, min_size=1, max_size=2)


@st.composite
def _asks(draw: st.DrawFn, name: str) -> Ask:
    return Ask(name, draw(_names), count=draw(_counts), is_admin=draw(st.sampled_from([False, False, False, True])))


@st.composite
def _claims(draw: st.DrawFn) -> OpenDevices:
    requests = list[Request]()
    for name in "rst"[: draw(st.integers(1, 3))]:
        ways = draw(st.integers(1, 2))
        asks = [draw(_asks(name if ways == 1 else f"{name}/{way}")) for way in range(ways)]
        requests.append(Request(name, tuple(asks)))
    constraint = st.builds(
        Constraint,
        st.sampled_from([(), ("r",), ("r", "s"), ("s/0", "r")]),
        st.sampled_from(["d/numa", "d/kind"]),
        st.booleans(),
    )
    return OpenDevices(requests=tuple(requests), constraints=tuple(draw(st.lists(constraint, max_size=2))))


_pods = st.lists(_claims(), min_size=1, max_size=2)
_devices = st.lists(_attributes.map(lambda attributes: Device("d", "p", "x", attributes)), max_size=_MOST)


@given(_pods, _devices, st.data())
@settings(max_examples=400, deadline=None)
def test_the_first_assignment_that_keeps_all_rules_is_found(
    claims: list[OpenDevices], devices: list[Device], data: st.DataObject
) -> None:
    some = st.lists(st.booleans(), min_size=len(devices), max_size=len(devices))
    masks: Masks = {name: data.draw(some) for name in ("big", "small")} | {"any": [True] * len(devices)}
    free, visible = np.array(data.draw(some), dtype=bool), np.array(data.draw(some), dtype=bool)
    is_incomplete = data.draw(st.sampled_from([False, False, True]))
    found = Problem(claims, lambda ask: np.array(masks[ask.device_class], dtype=bool), devices).solve(
        np.flatnonzero(visible), free, sees_incomplete=is_incomplete
    )
    expected = next(_solutions(claims, devices, masks, free, visible, is_incomplete), None)
    assert (found.picks if isinstance(found, Chosen) else None) == expected
    if isinstance(found, NotChosen):
        assert found.why is not Why.NOT_FOUND


def _solutions(
    claims: Sequence[OpenDevices],
    devices: Sequence[Device],
    masks: Masks,
    free: Mask,
    visible: Mask,
    is_incomplete: bool,
) -> Iterator[Solution]:
    """In order; what is said of rules is checked when everything is assigned."""

    def assign(left: list[tuple[int, Request]], picks: list[list[Pick]]) -> Iterator[Solution]:
        if not left:
            if _keeps_rules(claims, devices, masks, free, visible, picks):
                yield tuple(map(tuple, picks))
            return
        (claim, request), *rest = left
        for ask in request.ways:
            if ask.count == ALL and is_incomplete:
                continue
            selected = [at for at in range(len(devices)) if visible[at] and masks[ask.device_class][at]]
            for chosen in combinations(selected, ask.count) if ask.count != ALL else [tuple(selected)] * bool(selected):
                more = [[*each, *((ask, at) for at in chosen if claim == number)] for number, each in enumerate(picks)]
                yield from assign(rest, more)

    requests = [(at, request) for at, claim in enumerate(claims) for request in claim.requests]
    return assign(requests, [[] for _ in claims])


def _keeps_rules(
    claims: Sequence[OpenDevices],
    devices: Sequence[Device],
    masks: Masks,
    free: Mask,
    visible: Mask,
    picks: Sequence[Sequence[Pick]],
) -> bool:
    exclusive = [at for of_claim in picks for ask, at in of_claim if not ask.is_admin]
    if len(set(exclusive)) < len(exclusive) or not all(free[at] for at in exclusive):
        return False
    for claim, of_claim in zip(claims, picks, strict=True):
        if len({at for _, at in of_claim}) < len(of_claim):
            return False
        for constraint in claim.constraints:
            named = [
                devices[at].attributes.get(constraint.attribute)
                for ask, at in of_claim
                if not constraint.requests or {ask.name, ask.name.partition("/")[0]} & {*constraint.requests}
            ]
            different = {(type(value), value) for value in named}
            if None in named or (len(different) < len(named) if constraint.is_distinct else len(different) > 1):
                return False
    return True


@given(
    st.lists(st.tuples(st.lists(st.booleans(), min_size=8, max_size=8), st.integers(1, 3)), min_size=1, max_size=3),
    st.lists(st.booleans(), min_size=8, max_size=8),
    st.lists(st.sampled_from([NETWORK, 0, 0, 0, 1]), min_size=8, max_size=8),
)
@settings(max_examples=300, deadline=None)
def test_the_room_is_how_often_the_search_succeeds(
    asked: list[tuple[list[bool], int]], is_free: list[bool], nodes: list[int]
) -> None:
    requests = tuple(Request(str(at), (Ask(str(at), str(at), count=count),)) for at, (_, count) in enumerate(asked))
    claims = [OpenDevices(requests=requests)]
    assert is_simple(claims)
    masks = [np.array(mask, dtype=bool) for mask, _ in asked]
    devices = [Device("d", "p", str(at)) for at in range(8)]
    problem = Problem(claims, lambda ask: masks[int(ask.name)], devices)
    node_of, free = np.array(nodes, dtype=np.intp), np.array(is_free, dtype=bool)
    rooms = rooms_of([(mask, count) for mask, (_, count) in zip(masks, asked, strict=True)], free, node_of, 2)
    for node in (0, 1):
        seen = np.flatnonzero((node_of == node) | (node_of == NETWORK))
        pods = _pods_in_turn(problem, seen, free.copy())
        assert pods <= rooms.room[node]
        if rooms.is_exact[node]:
            assert pods == rooms.room[node]


def _pods_in_turn(problem: Problem, seen: np.ndarray[tuple[int], np.dtype[np.intp]], free: Mask) -> int:
    pods = 0
    while isinstance(found := problem.solve(seen, free), Chosen):
        pods += 1
        free[[at for of_claim in found.picks for _, at in of_claim]] = False
    return pods
