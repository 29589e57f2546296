"""Which cards the containers of a pod get, on many nodes at once; the tests and their order are HAMi's.

Containers are looked at one after the other: each sees what those before it take. A card is used once in a container.
"""

from __future__ import annotations

from enum import IntEnum, StrEnum
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from volcano_py.framework.views import Counts, Scores
from volcano_py.plugins.deviceshare.mig import NONE, MigShelf
from volcano_py.plugins.deviceshare.node_cards import CardMask, Grid
from volcano_py.state.cards.asked import WHOLE, CardsAsked, ContainerAsks

_MOST_AHEAD: Final = 512
"""Pods that one node is filled with at a time; a kubelet takes 110 unless it is configured otherwise."""
_LAST: Final = np.iinfo(np.int64).max


class Policy(StrEnum):
    """Which of the cards that will do are taken first; otherwise the last ones of the node."""

    BINPACK = "binpack"
    SPREAD = "spread"
    FIRST = "first"
    """The first ones of the node, where pods share GPUs by their numbers."""


SCORING: Final = frozenset({Policy.BINPACK, Policy.SPREAD})
"""Those that may be configured, and that score nodes."""


class Lack(IntEnum):
    """The first test that too few cards of a node pass."""

    NOTHING = 0
    USERS = 1
    APART = 2
    MEMORY = 3
    CORES = 4
    INSTANCE = 5


class Shelf(msgspec.Struct, eq=False):
    """The cards [K, C] of K nodes, and what is in use of them; `place` adds to that.

    `wanted` are those that will do whatever is free, `shunned` those with a pod that this one is kept apart from.
    `lonely` are those on which it is kept apart from others of its class. `mig`: where cards are divided.
    """

    total: Grid
    most_users: Grid
    memory: Grid
    cores: Grid
    users: Grid
    wanted: CardMask
    shunned: CardMask | None = None
    lonely: CardMask | None = None
    mig: MigShelf | None = None


class Taken(msgspec.Struct, frozen=True, eq=False):
    """What one more pod takes of each node.

    Attributes:
        lacks: [K] a `Lack`; the pod takes nothing of nodes that lack something.
        cards: [K, C] of each container, those it takes.
        slots: [K, C] of each container, the instance that it gets of a card; none where cards are not divided.
        score: [K] 0 to 100 for each card, rounded half up.
    """

    lacks: NDArray[np.int8]
    cards: list[CardMask]
    score: Scores
    slots: list[Grid]

    @property
    def fits(self) -> NDArray[np.bool_]:
        """[K]"""
        fits: NDArray[np.bool_] = self.lacks == Lack.NOTHING
        return fits


def place(shelf: Shelf, asked: CardsAsked, policy: Policy | None, among: NDArray[np.bool_] | None = None) -> Taken:
    """Place one pod on each node where it fits; `among` [K]: of these alone."""
    before = _in_use(shelf)
    lacks = np.zeros(len(shelf.total), dtype=np.int8)
    score, cards, slots = np.zeros(len(lacks)), list[CardMask](), list[Grid]()
    for container in asked.containers:
        needed = shelf.total if container.memory == 0 else np.full_like(shelf.total, container.memory)
        offered = None if shelf.mig is None else shelf.mig.offers(needed)
        able = _able(shelf, container, needed, lacks, None if offered is None else offered[0] != NONE)
        chosen = _first(able, _order(shelf, policy), container.cards) & (lacks == Lack.NOTHING)[:, None]
        if shelf.mig is not None and offered is not None:
            slot, size = offered
            is_divided = shelf.mig.model != NONE
            needed = np.where(is_divided, size, needed)
            shelf.mig.taken = shelf.mig.taken | np.where(chosen & is_divided, 1 << np.maximum(slot, 0), 0)
            slots.append(slot)
        score += _score(shelf, needed, chosen, policy)
        cards.append(chosen)
        shelf.memory = shelf.memory + needed * chosen
        shelf.cores = shelf.cores + container.cores * chosen
        shelf.users = shelf.users + chosen
    placed = lacks == Lack.NOTHING
    if among is not None:
        placed &= among
    _undo(shelf, before, ~placed)
    if shelf.shunned is not None and shelf.lonely is not None:
        shelf.shunned = shelf.shunned | (np.logical_or.reduce(cards) & placed[:, None] & shelf.lonely)
    return Taken(lacks, cards, np.floor(score + 0.5), slots)


def _in_use(shelf: Shelf) -> list[Grid]:
    return [shelf.memory, shelf.cores, shelf.users, *([] if shelf.mig is None else [shelf.mig.taken])]


def _undo(shelf: Shelf, before: list[Grid], where: NDArray[np.bool_]) -> None:
    """Of nodes [K] `where`, what is in use becomes what it was before."""
    now = _in_use(shelf)
    shelf.memory, shelf.cores, shelf.users, *taken = (
        np.where(where[:, None], old, new) for old, new in zip(before, now, strict=True)
    )
    if shelf.mig is not None:
        (shelf.mig.taken,) = taken


def room(shelf: Shelf, asked: CardsAsked, policy: Policy | None) -> Counts:
    """[K] how many such pods, one after the other, find their cards on each node: all of one PodGroup if they are kept
    apart. Beyond `_MOST_AHEAD` they are not counted one by one."""
    if shelf.mig is None and [container.cards for container in asked.containers] == [1]:
        return _room_of_one(shelf, asked)
    found = np.zeros(len(shelf.total), dtype=np.int64)
    for _ in range(_MOST_AHEAD):
        fits = place(shelf, asked, policy).fits
        if not fits.any():
            break
        found += fits
    return found


def _room_of_one(shelf: Shelf, asked: CardsAsked) -> Counts:
    """The same for pods that get a single card: each card takes pods whatever the others do."""
    (container,) = asked.containers
    left = np.where(shelf.wanted, shelf.most_users - shelf.users, 0)
    needed = shelf.total if container.memory == 0 else container.memory
    np.minimum(left, np.where(needed == 0, left, (shelf.total - shelf.memory) // np.maximum(needed, 1)), out=left)
    if container.cores:
        np.minimum(left, (WHOLE - shelf.cores) // container.cores, out=left)
    if container.cores >= WHOLE:
        left[shelf.users > 0] = 0
    left[shelf.cores >= WHOLE] = 0
    if shelf.shunned is not None:
        np.minimum(left, 1, out=left)
        left[shelf.shunned] = 0
    found: Counts = np.maximum(left, 0).sum(axis=1)
    return found


def _able(
    shelf: Shelf, container: ContainerAsks, needed: Grid, lacks: NDArray[np.int8], has_slot: CardMask | None
) -> CardMask:
    """[K, C] cards that will do for the container; nodes with too few of them get their lack."""
    able = shelf.wanted
    tests = [(Lack.USERS, shelf.users < shelf.most_users)]
    if shelf.shunned is not None:
        tests.append((Lack.APART, ~shelf.shunned))
    is_free = (shelf.cores + container.cores <= WHOLE) & (shelf.cores < WHOLE)
    if container.cores == WHOLE:
        is_free &= shelf.users == 0
    tests += [(Lack.MEMORY, shelf.total - shelf.memory >= needed), (Lack.CORES, is_free)]
    if shelf.mig is not None and has_slot is not None:
        tests.append((Lack.INSTANCE, has_slot | (shelf.mig.model == NONE)))
    for lack, passes in tests:
        able = able & passes
        lacks[(lacks == Lack.NOTHING) & (able.sum(axis=1) < container.cards)] = lack
    return able


def _order(shelf: Shelf, policy: Policy | None) -> Grid:
    """[K, C] smaller goes first; the first of equals."""
    if policy is Policy.BINPACK:
        return -shelf.memory
    if policy is Policy.SPREAD:
        return shelf.users
    if policy is Policy.FIRST:
        return np.broadcast_to(np.arange(shelf.total.shape[1]), shelf.total.shape)
    return np.broadcast_to(-np.arange(shelf.total.shape[1]), shelf.total.shape)


def _first(able: CardMask, order: Grid, count: int) -> CardMask:
    """[K, C] the first `count` of the cards that are able, or as many as there are."""
    chosen = np.zeros_like(able)
    best = np.argsort(np.where(able, order, _LAST), axis=1, kind="stable")[:, :count]
    np.put_along_axis(chosen, best, values=True, axis=1)
    return chosen & able


def _score(shelf: Shelf, needed: Grid, chosen: CardMask, policy: Policy | None) -> Scores:
    """[K] of the cards of one container."""
    score: Scores = np.zeros(len(chosen))
    if policy is Policy.BINPACK:
        score = np.where(chosen, 100.0 * (shelf.memory + needed) / np.maximum(shelf.total, 1), 0.0).sum(axis=1)
    if policy is Policy.SPREAD:
        score = np.where(chosen & (shelf.users == 0), 100.0, 0.0).sum(axis=1)
    return score
