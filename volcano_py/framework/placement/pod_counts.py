"""How many pods that terms select are on each node, or in each domain of a topology key, at this moment.

This is the one way in which plugins count pods by their labels: affinity and topology spread. Ask the session:

    counts = ssn.pod_counts
    term = PodTerm((namespace,), requirements_of(selector))       # held by the class, see Signature.pod_terms
    tally = counts.matching("topology.kubernetes.io/zone", (term,))
    per_domain = tally.standing                                   # [D] one number a domain, and one more
    per_node = tally.standing[tally.domain_of]                    # [N]
    own = counts.selects(task_class, term)                        # a pod of the class counts, too, once it is placed

- A *domain* is the set of nodes with one value of the topology key; `EACH_NODE` in place of a key makes every node a
  domain of its own. Nodes without the label are in no domain: their number is -1, which indexes the last element, where
  the pods on them are counted. Leave that element out of sums, minima and the like.
- A pod counts when it matches *all* the terms given (as kube-scheduler requires for required affinity).
- Terms are found by value. Some class of pods must hold them (`Signature.pod_terms`), so that the term book matches
  them with pods' labels as both come and go, and puts pods that a term distinguishes into different classes.
- Tallies are live: the session updates them with placements, evictions and everything that is undone, so that pods of
  one gang see each other. Ask again each time: when there are too many, the least recently used are dropped. Do not
  write to them.

Cost: matching is done before, once per distinct set of labels (state.term_book). A tally is counted from the task
columns when it is first asked for in a cycle, in as many steps as there are pods to count, and is then updated by the
placements that concern it. A cycle in which no plugin asks pays nothing.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Iterable, Sequence
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from volcano_py.framework.cluster_copy import ClusterCopy
from volcano_py.state.status import ON_NODE_STATUSES, STATUS_COUNT, TaskStatus
from volcano_py.state.table.table import Rows
from volcano_py.state.task_class import TaskClass
from volcano_py.state.terms.affinity import AffinityTerm
from volcano_py.state.terms.pod_terms import PodTerm

# For all tallies together, at 12 bytes each: two for each of 1,000 classes with anti-affinity on 5,000 nodes.
MOST_DOMAINS: Final = 10_000_000
EACH_NODE: Final = ""
"""In place of a topology key: every node is a domain."""

Numbers = NDArray[np.int32]

_Carriers = dict[tuple[AffinityTerm, int], list[int]]
"""An affinity term, and how often the class has carried it before → rows of classes."""

_HERE, _LEAVING, _PROMISED = range(3)
"""How a pod counts: it stands on its node; it stands there and is being released; it is promised a place there."""
NOT_COUNTED: Final = -1


def _kinds() -> NDArray[np.int8]:
    kinds = np.where(ON_NODE_STATUSES, _HERE, NOT_COUNTED).astype(np.int8)
    kinds[TaskStatus.RELEASING] = _LEAVING
    kinds[TaskStatus.PIPELINED] = _PROMISED
    assert len(kinds) == STATUS_COUNT
    return kinds


KIND_OF_STATUS: Final = _kinds()
"""By status; `NOT_COUNTED` for pods that have no place."""


class Tally:
    """Numbers of pods by domain, as of now.

    Attributes:
        domain_of: [N] the domain of each node, -1 for none.
        alone: every domain is a single node.
    """

    __slots__ = ("_counts", "alone", "domain_of")

    def __init__(self, domain_of: NDArray[np.int32], domains: int, *, alone: bool) -> None:
        self.domain_of = domain_of
        self.alone = alone
        self._counts: Numbers = np.zeros((3, domains + 1), dtype=np.int32)

    @property
    def standing(self) -> Numbers:
        """[D + 1] pods on nodes, with those that are being released: what kube-scheduler sees."""
        counts: Numbers = self._counts[_HERE] + self._counts[_LEAVING]
        return counts

    @property
    def taken(self) -> Numbers:
        """[D + 1] `standing`, and pods that are promised a place: what a new pod must not disturb."""
        counts: Numbers = self._counts.sum(axis=0, dtype=np.int32)
        return counts

    @property
    def staying(self) -> Numbers:
        """[D + 1] as it will be when terminating pods are gone and promised places are taken."""
        counts: Numbers = self._counts[_HERE] + self._counts[_PROMISED]
        return counts

    def __len__(self) -> int:
        return len(self._counts[_HERE])

    def add(self, kinds: NDArray[np.int8], nodes: Rows, sign: int) -> None:
        """Pods of these kinds come to (1) or leave (-1) these nodes [K]; for `PodCounts` only."""
        if len(nodes) == 1:
            if kinds[0] != NOT_COUNTED:
                self._counts[kinds[0], self.domain_of[nodes[0]]] += sign
            return
        counted = kinds != NOT_COUNTED
        np.add.at(self._counts, (kinds[counted], self.domain_of[nodes[counted]]), sign)


class _Kept(msgspec.Struct, frozen=True, eq=False):
    """A tally, and the lists to remove it from when it is dropped."""

    tally: Tally
    among: list[list[Tally]] = msgspec.field(default_factory=list)


class PodCounts:
    """See the module. The session creates it when it is first asked for."""

    def __init__(self, cluster: ClusterCopy) -> None:
        picture, tasks = cluster.snapshot.terms, cluster.ledger.tasks
        self._tasks, self._nodes = tasks, cluster.nodes
        self._classes = cluster.snapshot.classes
        self._profiles = picture.profiles
        self._slots = {term: slot for slot, term in enumerate(picture.terms) if term is not None}
        self._profile_of: NDArray[np.int32] = picture.profile_of[tasks.labels]
        """[T] number of the profile of each task."""
        self._kind, self._node = self._standing(np.arange(tasks.size))
        """[T] how each task counts, and on which node, as the tallies have it."""
        self._by_profile: _Groups | None = None
        self._by_class: _Groups | None = None
        self._kept: OrderedDict[tuple[str, frozenset[int] | tuple[int, ...]], _Kept] = OrderedDict()
        """By topology key and terms, or rows of classes; the longest unused first."""
        self._domains = 0
        self._of_profile: dict[int, list[Tally]] = {}
        """Number of a profile → tallies in which its pods count."""
        self._of_class: dict[int, list[Tally]] = {}
        self._with_term: dict[int, list[int]] | None = None
        """Slot of a term → numbers of the profiles with it."""
        self._carriers: dict[int, _Carriers] | None = None

    @property
    def any(self) -> bool:
        """Whether there is any term at all; if not, no pod's labels matter."""
        return bool(self._slots)

    def selects(self, task_class: TaskClass, term: PodTerm) -> bool:
        """Whether the term matches the pods of a class (whose pods are pending)."""
        return self._slots[term] in task_class.profile

    def matching(self, topology_key: str, terms: Sequence[PodTerm]) -> Tally:
        """Pods that match all the terms, by domain."""
        slots = frozenset(self._slots[term] for term in terms)
        kept = self._kept.get((topology_key, slots))
        if kept is None:
            if self._by_profile is None:
                self._by_profile = _Groups(self._profile_of)
            numbers = self._profiles_with(slots)
            kept = self._keep(topology_key, slots, self._by_profile, self._of_profile, numbers)
        else:
            self._kept.move_to_end((topology_key, slots))
        return kept.tally

    def carriers(self, task_class: TaskClass) -> Iterable[tuple[AffinityTerm, tuple[int, ...]]]:
        """The affinity terms that match the pods of `task_class`, each with the rows of the classes that carry it.

        A term that pods carry twice comes twice, the second time with the classes that do.
        """
        if self._carriers is None:
            self._carriers = self._all_carriers()
        for slot in task_class.profile:
            for (carried, _), rows in self._carriers.get(slot, {}).items():
                yield carried, tuple(rows)

    def carrying(self, topology_key: str, class_rows: tuple[int, ...]) -> Tally:
        """Pods of these classes, by domain."""
        kept = self._kept.get((topology_key, class_rows))
        if kept is None:
            if self._by_class is None:
                self._by_class = _Groups(self._tasks.task_class)
            kept = self._keep(topology_key, class_rows, self._by_class, self._of_class, class_rows)
        else:
            self._kept.move_to_end((topology_key, class_rows))
        return kept.tally

    def those_matching(self, terms: Sequence[PodTerm]) -> Rows:
        """Rows of the tasks with a place that `matching` counts, ascending."""
        if self._by_profile is None:
            self._by_profile = _Groups(self._profile_of)
        return self._placed(self._by_profile, self._profiles_with(frozenset(self._slots[term] for term in terms)))

    def those_carrying(self, class_rows: tuple[int, ...]) -> Rows:
        """Rows of the tasks with a place that `carrying` counts, ascending."""
        if self._by_class is None:
            self._by_class = _Groups(self._tasks.task_class)
        return self._placed(self._by_class, class_rows)

    def _placed(self, groups: _Groups, numbers: Iterable[int]) -> Rows:
        found = [groups.of(number) for number in numbers]
        rows: Rows = np.sort(np.concatenate(found)) if found else np.zeros(0, dtype=np.intp)
        placed: Rows = rows[self._kind[rows] != NOT_COUNTED]
        return placed

    def update(self, task_class: TaskClass, rows: Rows) -> None:
        """Tasks `rows` [K] of one class were placed, evicted or taken back; the ledger has their new state. For the
        session only."""
        kinds, nodes = self._kind[rows], self._node[rows]
        self._kind[rows], self._node[rows] = self._standing(rows)
        for tally in self._of_class.get(task_class.row, ()):
            self._move(tally, rows, kinds, nodes)
        profiles = self._profile_of[rows]
        first = int(profiles[0])
        if (profiles == first).all():
            for tally in self._of_profile.get(first, ()):
                self._move(tally, rows, kinds, nodes)
            return
        for number in np.unique(profiles).tolist():
            part = profiles == number
            for tally in self._of_profile.get(number, ()):
                self._move(tally, rows[part], kinds[part], nodes[part])

    def _keep(
        self,
        topology_key: str,
        pods: frozenset[int] | tuple[int, ...],
        groups: _Groups,
        followers: dict[int, list[Tally]],
        numbers: Iterable[int],
    ) -> _Kept:
        """A new tally of the pods in the groups of these numbers, which follows them from now on."""
        kept = _Kept(self._new(topology_key))
        for number in numbers:
            rows = groups.of(number)
            kept.tally.add(self._kind[rows], self._node[rows], 1)
            tallies = followers.setdefault(number, [])
            tallies.append(kept.tally)
            kept.among.append(tallies)
        self._kept[topology_key, pods] = kept
        self._domains += len(kept.tally)
        while self._domains > MOST_DOMAINS and len(self._kept) > 1:
            _, dropped = self._kept.popitem(last=False)
            self._domains -= len(dropped.tally)
            for tallies in dropped.among:
                tallies.remove(dropped.tally)
        return kept

    def _profiles_with(self, slots: frozenset[int]) -> list[int]:
        """Numbers of the profiles that have all the terms."""
        if self._with_term is None:
            self._with_term = {}
            for number, profile in enumerate(self._profiles):
                for slot in profile:
                    self._with_term.setdefault(slot, []).append(number)
        fewest = min((self._with_term.get(slot, []) for slot in slots), key=len, default=[])
        return [number for number in fewest if slots.issubset(self._profiles[number])]

    def _move(self, tally: Tally, rows: Rows, kinds: NDArray[np.int8], nodes: Rows) -> None:
        tally.add(kinds, nodes, -1)
        tally.add(self._kind[rows], self._node[rows], 1)

    def _standing(self, rows: Rows) -> tuple[NDArray[np.int8], Rows]:
        """[K] how tasks count by the ledger, and on which nodes."""
        nodes = self._tasks.node[rows]
        kinds = np.where(nodes >= 0, KIND_OF_STATUS[self._tasks.status[rows]], np.int8(NOT_COUNTED))
        return kinds.astype(np.int8), nodes.astype(np.intp)

    def _new(self, topology_key: str) -> Tally:
        if topology_key == EACH_NODE:
            nodes = len(self._nodes.nodes)
            return Tally(np.arange(nodes, dtype=np.int32), nodes, alone=True)
        column = self._nodes.label(topology_key)
        return Tally(column.codes, len(column.values), alone=column.distinct)

    def _all_carriers(self) -> dict[int, _Carriers]:
        """Slot of a term → the classes that carry it."""
        carriers: dict[int, _Carriers] = {}
        for task_class in self._classes:
            if task_class is None or not task_class.affinity_terms:
                continue
            for carried, times in Counter(task_class.affinity_terms).items():
                of_slot = carriers.setdefault(self._slots[carried.term], {})
                for before in range(times):
                    of_slot.setdefault((carried, before), []).append(task_class.row)
        return carriers


class _Groups:
    """Task rows by a small number each of them has."""

    def __init__(self, numbers: NDArray[np.int32]) -> None:
        self._rows = np.argsort(numbers, kind="stable")
        self._sorted = numbers[self._rows]

    def of(self, number: int) -> Rows:
        first, last = np.searchsorted(self._sorted, (number, number + 1))
        return self._rows[first:last]
