"""Classes whose pods wait for other pods: which pods they go by, and whether any of those has moved.

A pod with required affinity, anti-affinity or topology spread goes by the pods that its terms select, and by those
whose own required anti-affinity selects it; one that asks for a host port, a disk or a volume by the pods that hold the
same thing (holdings.py). While none of these comes, goes or is promised a place, nodes refuse it as before.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import is_
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from volcano_py.framework.cluster_copy import ClusterCopy
from volcano_py.framework.placement.pod_counts import KIND_OF_STATUS, NOT_COUNTED
from volcano_py.framework.resting.holdings import DRIVER, USE, Thing, Things, changed_between, things_of
from volcano_py.state.status import TaskStatus
from volcano_py.state.table.table import Rows
from volcano_py.state.task_class import TaskClass
from volcano_py.state.terms.pod_terms import PodTerm
from volcano_py.state.terms.profiles import Profile
from volcano_py.state.terms.term_book import TermPicture
from volcano_py.state.volumes.storage import Storage

Terms = frozenset[PodTerm]


class Sight(msgspec.Struct, frozen=True):
    """What a class goes by.

    Attributes:
        joins: terms of its required affinity and topology spread: a pod that they select may open nodes by its coming.
        avoids: terms of its required anti-affinity.
        selected_by: all terms that select its pods.
        things: what its pods ask for that others may hold.
    """

    joins: Terms
    avoids: Terms
    selected_by: Terms
    things: Things

    def opened_by(self) -> frozenset[PodTerm | Thing]:
        """What makes a pod open nodes by its coming: a term that selects it, or its use of a device (`USE`). A pod that
        takes another thing only closes some."""
        return self.joins | (self.things & {USE})


def sight_of(cluster: ClusterCopy, task_class: TaskClass, *, by_use: bool) -> Sight:
    """`by_use`: nodes refuse the class by how much pods use of them, too."""
    required = [each for each in task_class.affinity_terms if each.required]
    spread = (each.term for each in task_class.spreads if each.required and each.term is not None)
    return Sight(
        joins=frozenset((*spread, *(each.term for each in required if not each.anti))),
        avoids=frozenset(each.term for each in required if each.anti),
        selected_by=terms_of_profile(cluster.snapshot.terms, task_class.profile),
        things=things_of(task_class, cluster.snapshot.storage) | ({USE} if by_use else frozenset()),
    )


def together(sights: Sequence[Sight]) -> Sight:
    """What all of these go by, and how much pods use of any node."""
    return Sight(
        joins=frozenset[PodTerm]().union(*(each.joins for each in sights)),
        avoids=frozenset[PodTerm]().union(*(each.avoids for each in sights)),
        selected_by=frozenset[PodTerm]().union(*(each.selected_by for each in sights)),
        things=frozenset[Thing]({USE}).union(*(each.things for each in sights)),
    )


def terms_of_profile(picture: TermPicture, profile: Profile) -> Terms:
    """All terms that select pods with this profile."""
    terms = (picture.terms[slot] for slot in profile)
    return frozenset(term for term in terms if term is not None)


def terms_selecting(picture: TermPicture, labels: NDArray[np.int32]) -> Iterator[PodTerm]:
    """The terms that select one of the pods with these labels [K] (slots of the term book)."""
    for number in np.unique(picture.profile_of[labels]).tolist():
        yield from terms_of_profile(picture, picture.profiles[number])


class Moves(msgspec.Struct, frozen=True):
    """Pods that came, went, or count in another way: the terms that select one, those of their own required
    anti-affinity, and what they hold; among `things` is also what there is more or less of."""

    selecting: Terms
    repelling: Terms
    things: Things

    def concern(self, sight: Sight) -> bool:
        return not (
            self.selecting.isdisjoint(sight.joins)
            and self.selecting.isdisjoint(sight.avoids)
            and self.repelling.isdisjoint(sight.selected_by)
            and self.things.isdisjoint(sight.things)
        )


class PodPlaces(msgspec.Struct, frozen=True, eq=False):
    """Where all pods are, by row of the task table, and what storage there is.

    Attributes:
        columns: [T] each: how the pod counts (pod_counts.py), its node, a hash of its name, its labels, whether this
            cycle has placed it, so that advice does not say yet where it is, and its class.
    """

    columns: tuple[NDArray[Any], ...]
    picture: TermPicture
    classes: list[TaskClass | None]
    storage: Storage

    @classmethod
    def of(cls, cluster: ClusterCopy) -> PodPlaces:
        tasks = cluster.ledger.tasks
        kind = np.where(tasks.node >= 0, KIND_OF_STATUS[tasks.status], np.int8(NOT_COUNTED))
        kept = [each.copy() for each in (tasks.node, tasks.tiebreak, tasks.labels)]
        is_new = tasks.status == TaskStatus.ALLOCATED
        columns = (kind, *kept, is_new, tasks.task_class.copy())
        snapshot = cluster.snapshot
        return cls(columns, snapshot.terms, snapshot.classes, snapshot.storage)

    def moves(self, now: PodPlaces) -> Moves:
        """What has moved since."""
        size = max(len(self.columns[0]), len(now.columns[0]))
        before, after = ([_padded(each, size) for each in places.columns] for places in (self, now))
        counts = (before[0] != NOT_COUNTED) | (after[0] != NOT_COUNTED)
        same = np.logical_and.reduce([old == new for old, new in zip(before[:5], after[:5], strict=True)])
        moved = np.flatnonzero(counts & ~same)
        then = [(places, moved[kinds[moved] != NOT_COUNTED]) for places, kinds in ((self, before[0]), (now, after[0]))]
        selecting = {term for places, rows in then for term in places.selecting(rows)}
        selecting.update(self._matched_differently(now, np.flatnonzero(counts & same)))
        repelling = {term for places, rows in then for term in places.repelling(rows)}
        things = {thing for places, rows in then for thing in places.held(rows)}
        things.update(self._held_differently(now, counts & same, before[5], after[5]))
        things.update(changed_between(self.storage, now.storage))
        return Moves(frozenset(selecting), frozenset(repelling), frozenset(things))

    def selecting(self, rows: Rows) -> Iterator[PodTerm]:
        """The terms that select one of these pods."""
        return terms_selecting(self.picture, self.columns[3][rows])

    def repelling(self, rows: Rows) -> Iterator[PodTerm]:
        """The terms of these pods' own required anti-affinity."""
        for row in np.unique(self.columns[5][rows]).tolist():
            task_class = self.classes[row]
            if task_class is not None:
                yield from (each.term for each in task_class.affinity_terms if each.required and each.anti)

    def held(self, rows: Rows) -> Iterator[Thing]:
        """What these pods hold. Volumes of a driver that attaches any number are of no interest."""
        for row in np.unique(self.columns[5][rows]).tolist():
            yield USE
            yield from self._things(row)

    def _things(self, row: int) -> Iterator[Thing]:
        """What a pod holds whose class is in that row."""
        if (task_class := self.classes[row]) is not None:
            things, limits = things_of(task_class, self.storage), self.storage.limits
            yield from (thing for thing in things if thing.kind != DRIVER or thing.name in limits)

    def _held_differently(self, now: PodPlaces, stay: NDArray[np.bool_], before: Rows, after: Rows) -> Iterator[Thing]:
        """What these pods [T], which have not moved, hold only then or only now: they were resized, or their claims
        mean something else. Their classes are in the rows `before` and `after` [T]."""
        replaced = np.zeros(max(len(self.classes), len(now.classes)), dtype=np.bool_)
        same = np.fromiter(map(is_, self.classes, now.classes), np.bool_)
        replaced[: len(same)] = ~same
        differ = np.flatnonzero(stay)
        differ = differ[(before[differ] != after[differ]) | replaced[before[differ]]]
        for then, later in {*zip(before[differ].tolist(), after[differ].tolist(), strict=True)}:
            yield USE
            yield from frozenset(self._things(then)) ^ frozenset(now._things(later))

    def _matched_differently(self, now: PodPlaces, rows: Rows) -> Iterator[PodTerm]:
        """The terms that select only then or only now one of these pods, which have not moved: their slot in the term
        book may have other labels by now, or their namespace."""
        then, picture = self.picture, now.picture
        if then is picture:
            return
        slots = np.unique(self.columns[3][rows])
        numbers = then.profile_of[slots]
        differ = (numbers != picture.profile_of[slots]) | _changed(then, picture)[numbers]
        for slot in slots[differ].tolist():
            before, after = (terms_of_profile(each, each.profiles[each.profile_of[slot]]) for each in (then, picture))
            yield from before ^ after


def _changed(then: TermPicture, now: TermPicture) -> NDArray[np.bool_]:
    """[P] which numbers of profiles may stand for other terms by now."""
    replaced = {slot for slot, (old, new) in enumerate(zip(then.terms, now.terms, strict=False)) if old is not new}
    pairs = enumerate(zip(then.profiles, now.profiles, strict=False))
    changed = np.ones(len(then.profiles), dtype=np.bool_)
    for number, (old, new) in pairs:
        changed[number] = old != new or not replaced.isdisjoint(old)
    return changed


def _padded(column: NDArray[Any], size: int) -> NDArray[Any]:
    """Rows that there are not yet are those of no pod: in the first column, `NOT_COUNTED`."""
    return np.pad(column, (0, size - len(column)), constant_values=NOT_COUNTED) if len(column) < size else column
