"""Places on nodes for a whole job: the earliest that can be foreseen, or those that come closest to be free."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby

import msgspec
import numpy as np
from numpy.typing import NDArray

from volcano_py.framework.session import Session
from volcano_py.framework.topology.topology import WHOLE
from volcano_py.framework.views import Counts
from volcano_py.plugins.reservation.domains import Bounds
from volcano_py.plugins.reservation.need import Need
from volcano_py.plugins.reservation.outlook import Outlook
from volcano_py.state.table.axis import PODS, IntVector
from volcano_py.state.table.table import Rows

UNKNOWN = float("inf")


class Places(msgspec.Struct, frozen=True, eq=False):
    """What is held for a job.

    Attributes:
        start: when all of it will be free, as far as is declared (seconds since the epoch); infinite if not known.
        amounts: node name → [R] how much of it is the job's then.
        wanted: class, sub-group and number of the tasks that it is for.
        sub_groups: sub-group with a limit of its own → names of the nodes that its tasks are to have.
    """

    start: float
    amounts: Mapping[str, IntVector]
    wanted: tuple[tuple[bytes, int, int], ...]
    sub_groups: Mapping[int, frozenset[str]]

    @property
    def is_foreseen(self) -> bool:
        return self.start != UNKNOWN

    def are_for(self, needs: Sequence[Need]) -> bool:
        return self.wanted == _wanted(needs)


class Layout(msgspec.Struct, frozen=True, eq=False):
    """Where the tasks of each need would go.

    Attributes:
        amounts: [N, R] what they take of each node.
        nodes: of each need, [K] the node of each of its tasks.
    """

    amounts: NDArray[np.int64]
    nodes: tuple[Rows, ...]

    def as_places(self, ssn: Session, needs: Sequence[Need], start: float) -> Places:
        names = {row: ssn.snapshot.nodes[row].name for row in np.flatnonzero(self.amounts.any(axis=1)).tolist()}
        amounts = {name: self.amounts[row] for row, name in names.items()}
        sub_groups = dict[int, frozenset[str]]()
        for need, nodes in zip(needs, self.nodes, strict=True):
            if need.group != WHOLE:
                sub_groups[need.group] = sub_groups.get(need.group, frozenset()) | {
                    names[row] for row in nodes.tolist()
                }
        return Places(start, amounts, _wanted(needs), sub_groups)


def earliest(ssn: Session, needs: Sequence[Need], outlook: Outlook, bounds: Bounds) -> tuple[float, Layout] | None:
    """The first moment at which all of the job fits, and where. Of nodes that are free by then, those are taken that
    have the least free until then, so that little lies idle."""

    def pack(free: NDArray[np.int64]) -> Layout | None:
        def fill(inside: Sequence[Need], taken: NDArray[np.int64]) -> Layout | None:
            return _pack(ssn, inside, free - taken, outlook.free_now)

        return next(_layouts(bounds, needs, free, fill, _first), None)

    return outlook.first(pack)


def expected(ssn: Session, places: Places, needs: Sequence[Need], outlook: Outlook, bounds: Bounds) -> float | None:
    """When these places will be free, as things stand: infinite if that is not known. None: they will not do."""
    rows_of = ssn.nodes.rows
    if not places.amounts.keys() <= rows_of.keys():
        return None
    at = np.array([rows_of[name] for name in places.amounts], dtype=np.intp)
    of_groups = {
        group: np.array([rows_of[name] for name in names], dtype=np.intp) for group, names in places.sub_groups.items()
    }
    if not bounds.hold({WHOLE: at, **of_groups}):
        return None
    held = np.stack([_padded(amounts, ssn) for amounts in places.amounts.values()])
    willing = np.logical_or.reduce([need.most > 0 for need in needs])
    if not willing[at].all() or (held > outlook.most()[at]).any():
        return None
    found = outlook.first(lambda free: True if (held <= np.maximum(free[at], 0)).all() else None)
    return UNKNOWN if found is None else found[0]


def closest(ssn: Session, needs: Sequence[Need], outlook: Outlook, bounds: Bounds) -> Layout | None:
    """The nodes on which the least is missing, as pods of jobs end some time; None when the job is too large for all
    domains that it may use."""
    free, most = np.maximum(outlook.free_at(outlook.last), 0), outlook.most()

    def fill(inside: Sequence[Need], taken: NDArray[np.int64]) -> Layout | None:
        return _closest(ssn, inside, most - taken, np.maximum(free - taken, 0))

    def least_missing(layouts: Iterable[Layout], taken: NDArray[np.int64]) -> Layout | None:
        left = np.maximum(free - taken, 0)
        return min(layouts, key=lambda layout: _lacking(layout, left), default=None)

    return least_missing(_layouts(bounds, needs, most, fill, least_missing), np.zeros_like(free))


_Fill = Callable[[Sequence[Need], NDArray[np.int64]], Layout | None]
"""Where the needs would go if so much [N, R] were taken; None: they do not fit."""
_Choose = Callable[[Iterable[Layout], NDArray[np.int64]], Layout | None]
"""One of the layouts, if so much is taken."""


def _layouts(
    bounds: Bounds, needs: Sequence[Need], room_of: NDArray[np.int64], fill: _Fill, choose: _Choose
) -> Iterator[Layout]:
    """One for each domain in which all needs fit, where there is so much room [N, R] in all. Sub-groups with limits of
    their own are laid out one after the other, each in the domain of its own that is chosen."""
    for inside in bounds.inside(WHOLE, needs, room_of):
        amounts, nodes = np.zeros_like(room_of), list[Rows]()
        for group, part in groupby(inside, key=lambda need: need.group):
            of_group = list(part)
            tries = (of_group,) if group == WHOLE else bounds.inside(group, of_group, room_of - amounts)
            found = (fill(each, amounts) for each in tries)
            layout = choose((layout for layout in found if layout is not None), amounts)
            if layout is None:
                break
            amounts += layout.amounts
            nodes += layout.nodes
        else:
            yield Layout(amounts, tuple(nodes))


def _first(layouts: Iterable[Layout], _taken: NDArray[np.int64]) -> Layout | None:
    return next(iter(layouts), None)


def _lacking(layout: Layout, free: NDArray[np.int64]) -> float:
    """How much of what it takes is not free, of each resource as a part of all that it takes."""
    lacking = np.maximum(layout.amounts - free, 0).sum(axis=0)
    return float((lacking / np.maximum(layout.amounts.sum(axis=0), 1)).max())


def _closest(ssn: Session, needs: Sequence[Need], left: NDArray[np.int64], free: NDArray[np.int64]) -> Layout | None:
    amounts, chosen = np.zeros_like(left), list[Rows]()
    for need in needs:
        room = np.minimum(need.room(left), need.count)
        if room.sum() < need.count:
            return None
        nodes = _least_missing(ssn, need, room, free)
        taken = np.zeros_like(left)
        np.add.at(taken, nodes, need.task_class.request)
        amounts, left, free = amounts + taken, left - taken, np.maximum(free - taken, 0)
        chosen.append(nodes)
    return Layout(amounts, tuple(chosen))


def exceeds(layout: Layout, most: IntVector) -> bool:
    """Whether more than `most` [R] may lie idle: all that is held, until the last node gives back its part."""
    idle = layout.amounts.sum(axis=0) - layout.amounts.max(axis=0)
    idle[PODS] = 0
    return bool((idle > most).any())


def rows_and_amounts(ssn: Session, places: Places) -> tuple[Rows, NDArray[np.int64]]:
    """[K] the nodes that exist, and [K, R] what is held of them."""
    rows_of = ssn.nodes.rows
    known = {rows_of[name]: _padded(amounts, ssn) for name, amounts in places.amounts.items() if name in rows_of}
    amounts = np.array(list(known.values()), dtype=np.int64).reshape(len(known), len(ssn.axis))
    return np.array(list(known), dtype=np.intp), amounts


def _pack(ssn: Session, needs: Sequence[Need], free: NDArray[np.int64], free_now: NDArray[np.int64]) -> Layout | None:
    amounts, chosen = np.zeros_like(free), list[Rows]()
    for need in needs:
        room = need.room(free - amounts)
        if np.minimum(room, need.count).sum() < need.count:
            return None
        order = np.lexsort((ssn.nodes.name_rank, -room, need.room(free_now)))
        each = np.minimum(room[order], need.count)
        used = int(np.searchsorted(np.cumsum(each), need.count)) + 1
        nodes = np.repeat(order[:used], each[:used])[: need.count]
        np.add.at(amounts, nodes, need.task_class.request)
        chosen.append(nodes)
    return Layout(amounts, tuple(chosen))


def _least_missing(ssn: Session, need: Need, room: Counts, free: NDArray[np.int64]) -> Rows:
    """[K] nodes for the tasks of the need: those that lack the smallest part of what one more of them asks for."""
    nodes = np.repeat(np.arange(len(room)), room)
    nth = np.arange(len(nodes)) - np.repeat(np.cumsum(room) - room, room) + 1
    missing = np.zeros(len(nodes))
    for dim in need.task_class.requested.tolist():
        request = int(need.task_class.request[dim])
        lacking = np.clip((nth * request - free[nodes, dim]) / request, 0.0, 1.0)
        np.maximum(missing, lacking, out=missing)
    order = np.lexsort((nth, ssn.nodes.name_rank[nodes], missing))
    return nodes[order[: need.count]]


def _wanted(needs: Sequence[Need]) -> tuple[tuple[bytes, int, int], ...]:
    return tuple(sorted((need.task_class.key, need.group, need.count) for need in needs))


def _padded(amounts: IntVector, ssn: Session) -> IntVector:
    """The amounts on an axis that may have grown since."""
    return np.pad(amounts, (0, len(ssn.axis) - len(amounts)))
