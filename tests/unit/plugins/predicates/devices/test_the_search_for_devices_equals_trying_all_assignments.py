"""The search on one node, and the room on many, against an oracle that tries every assignment in order.

Devices come in pools of four. In some pools, they share counters of two sets. Some devices are shared by claims as long
as a capacity lasts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass
from itertools import combinations
from random import Random

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.placement.devices import consumes, counter_set, device
from volcano_py.plugins.predicates.devices.counting import Counting
from volcano_py.plugins.predicates.devices.places import NETWORK
from volcano_py.plugins.predicates.devices.rooms import Wish, is_simple, rooms_of
from volcano_py.plugins.predicates.devices.search import Chosen, NotChosen, Pick, Problem, Why
from volcano_py.plugins.predicates.devices.sharing import UNBOUNDED, Takings
from volcano_py.plugins.predicates.devices.use import Free
from volcano_py.state.devices.counters import read_counters
from volcano_py.state.devices.device import Device, Value
from volcano_py.state.devices.needs import ALL, Ask, Constraint, OpenDevices, Request
from volcano_py.state.nodes.terms import Mask

Masks = dict[str, Mask]
"""Device class → which devices it selects; in these tests an ask has no expressions."""
Solution = tuple[tuple[Pick, ...], ...]
CounterKey = tuple[int, str, str]
"""First device of the pool, set and name."""

_POOL = 4
_ENOUGH = 50
"""Pods are not counted further, where nothing limits them."""
_CLASSES = ("big", "small", "any")
_VALUES: tuple[Value, ...] = (0, 1, True, "1", 2)
# Hypothesis would try simple cases again and again; of even chances, most pods have something to search for.
_chances = st.integers(0, 2**64 - 1).map(Random)


def _ask(chance: Random, name: str) -> Ask:
    count = chance.choice([1, 1, 1, 2, 2, 3, ALL])
    return Ask(name, chance.choice(_CLASSES), count=count, is_admin=chance.random() < 0.3)


def _request(chance: Random, name: str) -> Request:
    if chance.random() < 0.6:
        return Request(name, (_ask(chance, name),))
    return Request(name, tuple(_ask(chance, f"{name}/{way}") for way in range(2)))


def _claim(chance: Random) -> OpenDevices:
    constraints = [
        Constraint(
            chance.choice([(), (), ("r",), ("r", "s"), ("s/0", "r")]),
            chance.choice(["d/numa", "d/kind"]),
            chance.random() < 0.5,
        )
        for _ in range(chance.choice([0, 0, 1, 2]))
    ]
    requests = tuple(_request(chance, name) for name in "rst"[: chance.randint(1, 3)])
    return OpenDevices(requests=requests, constraints=tuple(constraints))


def _device(chance: Random) -> Device:
    attributes = {name: chance.choice(_VALUES) for name in ("d/numa", "d/kind") if chance.random() < 0.9}
    return Device("d", "p", "x", attributes)


@dataclass
class Shared:
    """Counters, and what each device consumes of them."""

    values: dict[CounterKey, int]
    consumed: list[dict[CounterKey, int]]

    def suffice(self, used: Iterable[int], wanted: Iterable[int]) -> bool:
        """Whether there is enough of what the wanted devices consume, beside those in use."""
        taken, taking = Counter[CounterKey](), {*wanted}
        for at in {*used} | taking:
            taken.update(self.consumed[at])
        return all(taken[key] <= self.values[key] for at in taking for key in self.consumed[at])

    def counting(self) -> Counting:
        pools = []
        for first in {first for first, _, _ in self.values}:
            sets = [
                counter_set(name, **{key[2]: value for key, value in self.values.items() if key[:2] == (first, name)})
                for name in ("s", "t")
            ]
            devices = [
                device(
                    str(at),
                    consumes_counters=[
                        consumes(name, **{key[2]: amount for key, amount in each.items() if key[1] == name})
                        for name in ("s", "t")
                        if any(key[1] == name for key in each)
                    ],
                )
                for at, each in enumerate(self.consumed[first : first + _POOL])
            ]
            pools.append((first, read_counters(sets, devices)))
        return Counting(pools, len(self.consumed))


def _shared(chance: Random, size: int) -> Shared:
    """Some pools have none, in some each device has a slot of its own, and in some anything goes."""
    found = Shared({}, [{} for _ in range(size)])
    for first in range(0, size, _POOL):
        kind = chance.choice(["none", "slots", "any"])
        if kind == "none":
            continue
        for name in "st":
            found.values[first, name, "memory"] = chance.randint(0, 6)
            found.values |= {(first, name, f"slot-{at}"): 1 for at in range(_POOL)}
        size_of_all = chance.randint(1, 3)
        for at, each in enumerate(found.consumed[first : first + _POOL]):
            if chance.random() < 0.1:
                continue
            name = chance.choice("st")
            each[first, name, "memory"] = size_of_all if kind == "slots" else chance.randint(0, 3)
            each[first, name, f"slot-{at if kind == 'slots' else chance.randrange(_POOL)}"] = 1
            if kind == "any" and chance.random() < 0.2:
                each[first, chance.choice("st"), "memory"] = 1
    return found


@dataclass
class Lent:
    """Devices that are shared: what is left of each, who uses them already, and what an ask of a device class takes."""

    left: dict[int, int]
    used: set[int]
    amounts: dict[str, int]

    def suffice(self, picks: Iterable[Pick]) -> bool:
        taken: Counter[int] = Counter()
        for ask, at in picks:
            taken[at] += self.amounts[ask.device_class]
        return all(taken[at] <= left for at, left in self.left.items())

    def free(self, exclusive: Mask) -> Free:
        """Of the devices that are not shared, these are free."""
        devices, used = exclusive.copy(), ~exclusive
        devices[[*self.left]] = True
        for at in self.left:
            used[at] = at in self.used
        return Free(devices, used, np.array([*self.left.values()], dtype=np.int64))

    def takings(self, device_class: str) -> Takings:
        return {at: [(column, self.amounts[device_class])] for column, at in enumerate(self.left)}


def _lent(chance: Random, size: int) -> Lent:
    shared = [at for at in range(size) if chance.random() < 0.25] if chance.random() < 0.6 else []
    used = {at for at in shared if chance.random() < 0.5}
    return Lent(
        {at: chance.randint(0, 4) for at in shared}, used, {name: chance.choice([0, 1, 1, 2, 3]) for name in _CLASSES}
    )


def _mask(chance: Random, size: int, share: float) -> Mask:
    return np.array([chance.random() < share for _ in range(size)], dtype=np.bool_)


@given(_chances)
@settings(max_examples=1000, deadline=None)
def test_the_first_assignment_that_keeps_all_rules_is_found(chance: Random) -> None:
    devices = [_device(chance) for _ in range(chance.randint(1, 6))]
    claims = [_claim(chance) for _ in range(chance.randint(1, 2))]
    masks = {name: _mask(chance, len(devices), 0.6) for name in _CLASSES} | {"any": _mask(chance, len(devices), 1)}
    free, visible = _mask(chance, len(devices), 0.8), _mask(chance, len(devices), 0.9)
    is_incomplete = chance.random() < 0.1
    shared = _shared(chance, len(devices))
    lent = _lent(chance, len(devices))
    problem = Problem(
        claims,
        lambda ask: masks[ask.device_class],
        devices,
        shared.counting(),
        lambda ask: lent.takings(ask.device_class),
    )
    found = problem.solve(np.flatnonzero(visible), lent.free(free), sees_incomplete=is_incomplete)
    expected = next(_solutions(claims, devices, masks, shared, lent, free, visible, is_incomplete), None)
    assert (found.picks if isinstance(found, Chosen) else None) == expected
    if isinstance(found, NotChosen):
        assert found.why is not Why.NOT_FOUND


def _solutions(
    claims: Sequence[OpenDevices],
    devices: Sequence[Device],
    masks: Masks,
    shared: Shared,
    lent: Lent,
    free: Mask,
    visible: Mask,
    is_incomplete: bool,
) -> Iterator[Solution]:
    """In order; what is said of rules is checked when everything is assigned."""

    def assign(left: list[tuple[int, Request]], picks: list[list[Pick]]) -> Iterator[Solution]:
        if not left:
            if _keeps_rules(claims, devices, shared, lent, free, picks):
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
    shared: Shared,
    lent: Lent,
    free: Mask,
    picks: Sequence[Sequence[Pick]],
) -> bool:
    taking = [(ask, at) for of_claim in picks for ask, at in of_claim if not ask.is_admin]
    exclusive = [at for _, at in taking if at not in lent.left]
    if len(set(exclusive)) < len(exclusive) or not all(free[at] for at in exclusive) or not lent.suffice(taking):
        return False
    used = {at for at in range(len(devices)) if (at in lent.used if at in lent.left else not free[at])}
    if not shared.suffice(used, {at for _, at in taking} - used):
        return False
    for claim, of_claim in zip(claims, picks, strict=True):
        alone = [at for _, at in of_claim if at not in lent.left]
        if len(set(alone)) < len(alone):
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


@given(_chances)
@settings(max_examples=1000, deadline=None)
def test_the_room_is_how_often_the_search_succeeds(chance: Random) -> None:
    devices = [Device("d", "p", str(at)) for at in range(8)]
    sets = [_mask(chance, len(devices), 0.7) for _ in range(2)]
    asked = [(chance.choice(sets), chance.choice([1, 1, 2])) for _ in range(chance.randint(1, 3))]
    requests = tuple(Request(str(at), (Ask(str(at), str(at), count=count),)) for at, (_, count) in enumerate(asked))
    claims = [OpenDevices(requests=requests)]
    assert is_simple(claims)
    shared = _shared(chance, len(devices))
    counting = shared.counting()
    lent = _lent(chance, len(devices))
    problem = Problem(
        claims,
        lambda ask: asked[int(ask.name)][0],
        devices,
        counting,
        lambda ask: lent.takings(_CLASSES[int(ask.name)]),
    )
    node_of = np.array([chance.choice([0, 0, 0, 0, 0, 1, NETWORK]) for _ in devices], dtype=np.intp)
    for first in {first for first, _, _ in shared.values}:
        node_of[first : first + _POOL] = node_of[first]
    free = _mask(chance, len(devices), 0.9)
    often = np.zeros((len(asked), len(devices)), dtype=np.int64) + 1
    for number, times in enumerate(often):
        for at, left in lent.left.items():
            amount = lent.amounts[_CLASSES[number]]
            times[at] = left // amount if amount else UNBOUNDED
    is_shared = np.isin(np.arange(len(devices)), [*lent.left])
    wanted = [Wish(mask, count, times, is_shared) for (mask, count), times in zip(asked, often, strict=True)]
    rooms = rooms_of(wanted, lent.free(free), node_of, 2, counting.whole)
    for node in (0, 1):
        seen = np.flatnonzero((node_of == node) | (node_of == NETWORK))
        pods = _pods_in_turn(problem, seen, free.copy(), deepcopy(lent))
        assert pods <= rooms.room[node]
        if rooms.is_exact[node]:
            assert pods == min(rooms.room[node], _ENOUGH)


def _pods_in_turn(problem: Problem, seen: np.ndarray[tuple[int], np.dtype[np.intp]], free: Mask, lent: Lent) -> int:
    pods = 0
    while pods < _ENOUGH and isinstance(found := problem.solve(seen, lent.free(free)), Chosen):
        pods += 1
        for ask, at in (pick for of_claim in found.picks for pick in of_claim):
            if at in lent.left:
                lent.left[at] -= lent.amounts[_CLASSES[int(ask.name)]]
                lent.used.add(at)
            else:
                free[at] = False
    return pods
