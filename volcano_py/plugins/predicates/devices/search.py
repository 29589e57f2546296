"""The devices that the claims of one pod get on one node: the first solution in a fixed order, or that there is none.

The order is kube-scheduler's: claims as the pod names them, requests as the claim does, alternatives by preference, and
devices as they are published; in one request, devices are taken in that order only. Depth first with backtracking, over
all claims together. Unlike kube-scheduler's allocator (1.36), `distinctAttribute` holds for all pairs of devices, and
a combination that is impossible is passed over where that ends the search with an error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from volcano_py.api.devices.claims import MOST_DEVICES
from volcano_py.plugins.predicates.devices.counting import Budget, Counting
from volcano_py.plugins.predicates.devices.sharing import Takings
from volcano_py.plugins.predicates.devices.use import Free
from volcano_py.state.devices.device import Device, Value
from volcano_py.state.devices.needs import ALL, Ask, Constraint, OpenDevices, Request
from volcano_py.state.nodes.terms import Mask

STEPS: Final = 10_000
"""Devices that are tried on one node at most: some 30 ms."""
_LOOKS_A_STEP: Final = 32
"""Devices that are looked up in the time of one that is tried."""
_LACKS: Final = -1

Pick = tuple[Ask, int]
"""A device, by its position, for a request."""


class Why(StrEnum):
    """Why there is no solution."""

    TOO_FEW = "too few"
    """One request alone finds too few free devices."""
    NO_COMBINATION = "no combination"
    """Each request alone finds enough, as far as can be said without trying."""
    INCOMPLETE = "incomplete"
    """A request asks for all devices, and the node sees a pool that is incomplete."""
    TOO_MANY = "too many"
    """A claim needs more than `MOST_DEVICES`."""
    NOT_FOUND = "not found"
    """It was given up."""


class Chosen(msgspec.Struct, frozen=True):
    """For each claim its devices, in the order of its requests."""

    picks: tuple[tuple[Pick, ...], ...]


class NotChosen(msgspec.Struct, frozen=True):
    """`claim` and `request` are positions, -1 where the reason is none of a single one. `free`: of TOO_FEW, how many
    free devices the first alternative finds."""

    why: Why
    claim: int = -1
    request: int = -1
    free: int = 0


class _Rule(msgspec.Struct, frozen=True, eq=False):
    """A constraint. `values` [D]: devices with one number have the same value; `_LACKS` are those that have none."""

    number: int
    """Among all of the pod."""
    values: list[int]
    is_distinct: bool


class _Way(msgspec.Struct, frozen=True, eq=False):
    """One alternative of a request, whatever the node. `selectable` [D]; `takings` of shared devices."""

    ask: Ask
    selectable: Mask
    rules: tuple[_Rule, ...]
    takings: Takings


class _Slot(msgspec.Struct, frozen=True, eq=False):
    """One request of a claim, both by their positions."""

    claim: int
    request: int
    ways: tuple[_Way, ...]


class _Option(msgspec.Struct, frozen=True, eq=False):
    """A way on a node: how many of which devices."""

    ask: Ask
    count: int
    candidates: list[int]
    rules: tuple[_Rule, ...]
    takings: Takings


class Problem:
    """The claims of a pod, prepared for all nodes; good as long as the devices stay the same.

    Attributes:
        kinds: [D] a number that devices share if one can take the place of the other in every solution. Two nodes find
            the same if the kinds of their devices are the same one by one, and so are those that are free.
    """

    def __init__(
        self,
        claims: Sequence[OpenDevices],
        selectable: Callable[[Ask], Mask],
        devices: Sequence[Device],
        counting: Counting,
        takings: Callable[[Ask], Takings],
    ) -> None:
        """`selectable` gives a mask [D] over `devices`; `counting` is for them, and so are `takings`."""
        self._claims = len(claims)
        self._counting = counting
        self._slots: list[_Slot] = []
        rules: list[_Rule] = []
        for at, claim in enumerate(claims):
            different = dict.fromkeys(claim.constraints)
            known = {each: _rule(number, each, devices) for number, each in enumerate(different, start=len(rules))}
            rules += known.values()
            for number, request in enumerate(claim.requests):
                ways = [
                    _Way(
                        ask,
                        selectable(ask),
                        tuple(known[each] for each in known if _is_for(each, request, ask)),
                        takings(ask),
                    )
                    for ask in request.ways
                ]
                self._slots.append(_Slot(at, number, tuple(ways)))
        masks = [way.selectable for slot in self._slots for way in slot.ways]
        like = counting.whole.like.copy()
        shared = sorted({at for slot in self._slots for way in slot.ways for at in way.takings})
        like[shared] = like.max(initial=0) + 1 + np.arange(len(shared))
        self.kinds = _kinds(masks, rules, like)
        self._alike: list[int] = self.kinds.tolist()

    def solve(
        self, seen: NDArray[np.intp], free: Free, *, sees_incomplete: bool = False, steps: int = STEPS
    ) -> Chosen | NotChosen:
        """Search one node.

        Args:
            seen: positions of the devices that can be used from the node, ascending.
            free: what can be given.
            sees_incomplete: a pool that the node sees is incomplete.
            steps: how many devices are tried at most.
        """
        budget = self._counting.budget(seen, free)
        usable = budget.affordable()
        options = list[list[_Option]]()
        for slot in self._slots:
            found = [_option(way, seen, usable, budget, sees_incomplete) for way in slot.ways]
            possible = [each for each in found if isinstance(each, _Option)]
            if not possible:
                return _first_refusal(slot, found)
            options.append(possible)
        least = [0] * self._claims
        for slot, possible in zip(self._slots, options, strict=True):
            least[slot.claim] += min(option.count for option in possible)
        for claim, count in enumerate(least):
            if count > MOST_DEVICES:
                return NotChosen(Why.TOO_MANY, claim)
        return _Search(self._slots, options, least, self._alike, usable, budget, steps).run()


class _Search:
    """Depth first. Each request is an iterator: it takes devices, yields for the next request to try, and gives them
    back."""

    def __init__(
        self,
        slots: Sequence[_Slot],
        options: Sequence[Sequence[_Option]],
        least: Sequence[int],
        alike: Sequence[int],
        free: Mask,
        budget: Budget,
        steps: int,
    ) -> None:
        """`least` is the number of devices that each claim needs in any case."""
        self._budget = budget
        self._slots = slots
        self._options = options
        self._alike = alike
        self._free = free
        self._steps = steps
        self._taken: set[int] = set()
        """By requests without admin access, of all claims."""
        self._picks: list[list[Pick]] = [[] for _ in least]
        self._in_claim: list[set[int]] = [set() for _ in least]
        self._open = list(least)
        """What the requests that have nothing yet need at least, by claim."""
        self._values: dict[int, list[int]] = {}
        """By number of the rule: of the devices that are taken."""

    def run(self) -> Chosen | NotChosen:
        # Instead of recursion: a pod can have more requests than Python nests calls.
        levels, ahead = list[Iterator[None]](), True
        while ahead or levels:
            if not ahead:
                levels.pop()
            elif len(levels) == len(self._slots):
                return Chosen(tuple(map(tuple, self._picks)))
            else:
                levels.append(self._request(len(levels)))
            ahead = bool(levels) and next(levels[-1], self) is None
            if self._steps < 0:
                return NotChosen(Why.NOT_FOUND)
        return NotChosen(Why.NO_COMBINATION)

    def _request(self, at: int) -> Iterator[None]:
        """Yields whenever the request has what it needs, in another way each time."""
        claim = self._slots[at].claim
        least = min(option.count for option in self._options[at])
        self._open[claim] -= least
        for option in self._options[at]:
            if len(self._picks[claim]) + option.count + self._open[claim] <= MOST_DEVICES:
                yield from self._combinations(claim, option)
        self._open[claim] += least

    def _combinations(self, claim: int, option: _Option) -> Iterator[None]:
        """Devices in ascending order. Of those that are alike, one is tried in each place."""
        candidates, count = self._left_of(claim, option), option.count
        chosen, tried, at = list[int](), [set[tuple[int, bool]]()], 0
        while True:
            if len(chosen) == count:
                yield
            elif len(candidates) - at >= count - len(chosen):
                self._steps -= 1
                if self._steps < 0:
                    return
                device = candidates[at]
                kind = self._alike[device], not option.ask.is_admin or self._is_left(device)
                if kind not in tried[-1] and self._take(claim, option, device):
                    tried[-1].add(kind)
                    tried.append(set())
                    chosen.append(at)
                at += 1
                continue
            if not chosen:
                return
            at = chosen.pop() + 1
            tried.pop()
            self._give_back(claim, option)

    def _left_of(self, claim: int, option: _Option) -> list[int]:
        """Candidates that no other request of the pod has taken from this one."""
        self._steps -= len(option.candidates) // _LOOKS_A_STEP
        in_claim, taken = self._in_claim[claim], () if option.ask.is_admin else self._taken
        return [each for each in option.candidates if each not in in_claim and each not in taken]

    def _is_left(self, device: int) -> bool:
        """Whether a request without admin access could still get it."""
        return bool(self._free[device]) and device not in self._taken

    def _take(self, claim: int, option: _Option, device: int) -> bool:
        for rule in option.rules:
            value, others = rule.values[device], self._values.get(rule.number, ())
            if value == _LACKS or (value in others if rule.is_distinct else others and others[0] != value):
                return False
        if not option.ask.is_admin and not self._spend(option, device):
            return False
        for rule in option.rules:
            self._values.setdefault(rule.number, []).append(rule.values[device])
        if device not in option.takings:
            self._in_claim[claim].add(device)
            if not option.ask.is_admin:
                self._taken.add(device)
        self._picks[claim].append((option.ask, device))
        return True

    def _spend(self, option: _Option, device: int) -> bool:
        takings = option.takings.get(device)
        return self._budget.take(device) if takings is None else self._budget.share(device, takings)

    def _give_back(self, claim: int, option: _Option) -> None:
        """The last device that the claim took."""
        _, device = self._picks[claim].pop()
        takings = option.takings.get(device)
        if takings is None:
            self._in_claim[claim].remove(device)
            if not option.ask.is_admin:
                self._taken.remove(device)
                self._budget.give_back(device)
        elif not option.ask.is_admin:
            self._budget.give_back_share(device, takings)
        for rule in option.rules:
            self._values[rule.number].pop()


def _option(
    way: _Way, seen: NDArray[np.intp], free: Mask, budget: Budget, sees_incomplete: bool
) -> _Option | NotChosen:
    ask = way.ask
    matching = seen[way.selectable[seen]]
    usable = matching if ask.is_admin else matching[free[matching]]
    if way.takings and not ask.is_admin:
        usable = usable[[budget.has(way.takings.get(at, ())) for at in usable.tolist()]]
    if ask.count == ALL and sees_incomplete:
        return NotChosen(Why.INCOMPLETE)
    needed = max(len(matching), 1) if ask.count == ALL else ask.count
    most = len(usable) if ask.is_admin else budget.most(usable)
    if most < needed:
        return NotChosen(Why.TOO_FEW, free=most)
    if needed > MOST_DEVICES:
        return NotChosen(Why.TOO_MANY)
    return _Option(ask, needed, usable.tolist(), way.rules, way.takings)


def _first_refusal(slot: _Slot, found: Sequence[_Option | NotChosen]) -> NotChosen:
    """Why the most preferred alternative is not possible, of a request for which none is."""
    refusal = next(each for each in found if isinstance(each, NotChosen))
    return msgspec.structs.replace(refusal, claim=slot.claim, request=slot.request)


def _rule(number: int, constraint: Constraint, devices: Sequence[Device]) -> _Rule:
    numbers: dict[tuple[type, Value], int] = {}
    values = [
        _LACKS if value is None else numbers.setdefault((type(value), value), len(numbers))
        for value in (device.attributes.get(constraint.attribute) for device in devices)
    ]
    return _Rule(number, values, constraint.is_distinct)


def _is_for(constraint: Constraint, request: Request, ask: Ask) -> bool:
    return not constraint.requests or request.name in constraint.requests or ask.name in constraint.requests


def _kinds(masks: Sequence[Mask], rules: Sequence[_Rule], like: NDArray[np.intp]) -> NDArray[np.int64]:
    """[D] a number for each device, as `Problem.kinds`; those with one number in `like` [D] consume the same."""
    columns = [mask.astype(np.int64) for mask in masks]
    columns += [np.array(rule.values, dtype=np.int64) + 1 for rule in rules]
    numbers = like.astype(np.int64)
    for column in columns:
        numbers = np.unique(numbers * (len(like) + 1) + column, return_inverse=True)[1].astype(np.int64)
    return numbers
