"""What pods use of the cards, kept up to date within a cycle: as of now, and once terminating pods are gone."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from volcano_py.framework.cluster_copy import ClusterCopy
from volcano_py.plugins.deviceshare.apart import Apart, GroupKey, Rules
from volcano_py.plugins.deviceshare.choice import Shelf
from volcano_py.plugins.deviceshare.mig import NONE, MigShelf, bits
from volcano_py.plugins.deviceshare.node_cards import CardMask, NodeCards
from volcano_py.state.status import ON_NODE_STATUSES, TaskStatus
from volcano_py.state.table.table import NOWHERE, Rows

NOW: Final = ON_NODE_STATUSES.copy()
THEN: Final = NOW.copy()
"""[statuses] with which a pod uses its cards, now, and once terminating pods are gone and promised places are taken."""
THEN[TaskStatus.RELEASING], THEN[TaskStatus.PIPELINED] = False, True


class Parts(msgspec.Struct, frozen=True, eq=False):
    """The parts of cards [D] that a task holds on its node. `places` are positions of cards; one may occur twice.
    `slots` are instances of cards that are divided, else `mig.NONE`."""

    node: int
    places: NDArray[np.intp]
    memory: NDArray[np.int64]
    cores: NDArray[np.int64]
    slots: NDArray[np.int64]


class _Sums:
    """[N, C] what is in use of each card, and [N, C, S] how many parts are in each of its slots."""

    def __init__(self, cards: NodeCards) -> None:
        shape = cards.key.shape
        self.memory, self.cores, self.users = (np.zeros(shape, dtype=np.int64) for _ in range(3))
        self.slots = np.zeros((*shape, cards.slots), dtype=np.int64)

    def add(self, parts: Parts, sign: int) -> None:
        self.add_all(np.full_like(parts.places, parts.node), parts, sign)

    def add_all(self, nodes: NDArray[np.int64], parts: Parts, sign: int) -> None:
        """Parts that are on nodes [D]."""
        at = nodes, parts.places
        np.add.at(self.memory, at, sign * parts.memory)
        np.add.at(self.cores, at, sign * parts.cores)
        np.add.at(self.users, at, sign)
        if len(divided := np.flatnonzero(parts.slots != NONE)):
            np.add.at(self.slots, (nodes[divided], parts.places[divided], parts.slots[divided]), sign)


class _Users:
    """[N, C] how many parts pods of one group have of each card."""

    def __init__(self, cards: NodeCards) -> None:
        self.users = np.zeros_like(cards.key)

    def add(self, parts: Parts, sign: int) -> None:
        self.add_all(np.full_like(parts.places, parts.node), parts, sign)

    def add_all(self, nodes: NDArray[np.int64], parts: Parts, sign: int) -> None:
        """Parts that are on nodes [D]."""
        np.add.at(self.users, (nodes, parts.places), sign)


class CardUse:
    """Sums of whole numbers, so that what is undone leaves no trace. Devices of unknown cards count nowhere."""

    def __init__(self, cluster: ClusterCopy, cards: NodeCards, rules: Rules | None = None) -> None:
        self._cluster, self._cards, self._rules = cluster, cards, rules or Rules()
        self._now, self._then = _Sums(cards), _Sums(cards)
        self._groups: dict[GroupKey, tuple[_Users, _Users]] = {}
        """Pods that are kept apart → what they use."""
        self._chosen: dict[int, Parts] = {}
        """By task row, of tasks that were placed in this cycle."""
        self._counted: dict[int, tuple[bool, bool]] = {}
        """Task row → whether it is in the sums of now and then, for tasks that this cycle has moved."""
        self._held = _Held(cluster, cards)
        for sums, counts in ((self._now, NOW), (self._then, THEN)):
            self._held.add_to(sums, counts)

    def shelf(self, rows: Rows, wanted: CardMask, apart: Apart, *, released: bool) -> Shelf:
        """The cards of nodes `rows` [K] with `wanted` [K, C], for a pod that is kept apart from these."""
        sums = [self._then] if released else [self._now, self._then]
        memory, cores, users = (
            np.maximum.reduce([getattr(each, name)[rows] for each in sums]) for name in ("memory", "cores", "users")
        )
        mig = self._mig(rows, sums) if self._cards.slots else None
        total, most_users = self._cards.memory[rows], self._cards.users[rows]
        shunned, lonely = self._shunned(rows, apart, released=released)
        return Shelf(total, most_users, memory, cores, users, wanted, shunned, lonely, mig)

    def _shunned(self, rows: Rows, apart: Apart, *, released: bool) -> tuple[CardMask | None, CardMask | None]:
        """[K, C] cards with a pod that this one is kept apart from, and those on which it is; None if it shares any."""
        if not apart.keys:
            return None, None
        is_whole = self._cards.model[rows] == NONE
        lonely = is_whole if apart.job is None else np.ones_like(is_whole)
        shunned = np.zeros_like(is_whole)
        for key in apart.keys:
            now, then = self._group(key)
            there = (then.users[rows] > 0) if released else (now.users[rows] > 0) | (then.users[rows] > 0)
            shunned |= there if key[0] == "job" else there & is_whole
        return shunned, lonely

    def _mig(self, rows: Rows, sums: list[_Sums]) -> MigShelf | None:
        """Which instances are in use, where cards of these nodes are divided."""
        model = self._cards.model[rows]
        if not (model != NONE).any():
            return None
        taken = np.bitwise_or.reduce([bits(each.slots[rows]) for each in sums])
        return MigShelf(self._cards.models, model, taken)

    def on_node(self, row: int) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """[C] memory, cores and users of each card of the node now."""
        return self._now.memory[row], self._now.cores[row], self._now.users[row]

    def has(self, row: int) -> bool:
        """Whether cards were chosen for the task in this cycle."""
        return row in self._chosen

    def choose(self, row: int, parts: Parts) -> None:
        """The task, which is counted nowhere, is to get these; they count with `follow`."""
        self._chosen[row], self._counted[row] = parts, (False, False)

    def follow(self, row: int, job: int) -> None:
        """The task, of the job in that row, has another status. Chosen cards are forgotten with its place."""
        parts = self._parts(row)
        if parts is None:
            return
        status = int(self._cluster.ledger.tasks.status[row])
        before, after = self._is_counted(row), (bool(NOW[status]), bool(THEN[status]))
        sums: list[tuple[_Sums | _Users, _Sums | _Users]] = [(self._now, self._then)]
        if self._groups:
            keys = Apart(job, self._rules_of(row)).keys
            sums += [self._groups[key] for key in keys if key in self._groups]
        for pair in sums:
            for each, was, is_now in zip(pair, before, after, strict=True):
                if was != is_now:
                    each.add(parts, 1 if is_now else -1)
        self._counted[row] = after
        if status == TaskStatus.PENDING:
            self._chosen.pop(row, None)
            del self._counted[row]

    def _group(self, key: GroupKey) -> tuple[_Users, _Users]:
        """What these pods use."""
        found = self._groups.get(key)
        if found is None:
            found = self._groups[key] = _Users(self._cards), _Users(self._cards)
            members = self._members(key)
            for each, counts in zip(found, (NOW, THEN), strict=True):
                self._held.add_to(each, counts, [row for row in members if row not in self._counted])
            for row in self._counted.keys() & members:
                if (parts := self._parts(row)) is not None:
                    for each, counts_now in zip(found, self._counted[row], strict=True):
                        if counts_now:
                            each.add(parts, 1)
        return found

    def _members(self, key: GroupKey) -> set[int]:
        """Rows of the tasks, at least of those that have cards."""
        kind, number = key
        if kind == "job":
            return {*self._cluster.tasks_of_row(number).tolist()}
        return {row for row in (*self._held.tasks(), *self._chosen) if number in self._rules_of(row)}

    def _rules_of(self, row: int) -> tuple[int, ...]:
        info = self._cluster.snapshot.tasks[row] if len(self._rules) else None
        return () if info is None else self._rules.of(info.labels)

    def _parts(self, row: int) -> Parts | None:
        chosen = self._chosen.get(row)
        return self._held.of(row) if chosen is None else chosen

    def _is_counted(self, row: int) -> tuple[bool, bool]:
        known = self._counted.get(row)
        if known is not None:
            return known
        status = int(self._cluster.snapshot.ledger.tasks.status[row])
        return bool(NOW[status]), bool(THEN[status])


class _Held:
    """What tasks held as the cycle began, by task; devices of unknown cards are left out."""

    def __init__(self, cluster: ClusterCopy, cards: NodeCards) -> None:
        held, tasks = cluster.snapshot.cards, cluster.ledger.tasks
        self._status = cluster.snapshot.ledger.tasks.status
        rows = np.zeros(0, dtype=np.intp) if held is None else np.flatnonzero(held.task != NOWHERE)
        if held is None or not len(rows):
            self._tasks = self._nodes = self._memory = self._cores = self._slots = np.zeros(0, dtype=np.int64)
            self._places = np.zeros(0, dtype=np.intp)
            return
        rows = rows[np.argsort(held.task[rows], kind="stable")]
        rows = rows[tasks.node[held.task[rows]] != NOWHERE]
        nodes = tasks.node[held.task[rows]]
        is_card = cards.key[nodes] == held.card[rows, None]
        known = is_card.any(axis=1)
        self._tasks, self._nodes = held.task[rows][known].astype(np.int64), nodes[known].astype(np.int64)
        self._places = is_card[known].argmax(axis=1) if known.any() else np.zeros(0, dtype=np.intp)
        self._memory = np.minimum(held.memory[rows][known], cards.memory[self._nodes, self._places])
        self._cores = held.cores[rows][known]
        self._slots = _slots(cards, cards.model[self._nodes, self._places], held.instance[rows][known])

    def tasks(self) -> list[int]:
        """Their rows."""
        rows: list[int] = np.unique(self._tasks).tolist()
        return rows

    def add_to(self, sums: _Sums | _Users, counts: NDArray[np.bool_], tasks: Collection[int] | None = None) -> None:
        """Add what tasks in these statuses held then, of all or of those in these rows."""
        counted = counts[self._status[self._tasks]]
        if tasks is not None:
            counted &= np.isin(self._tasks, np.fromiter(tasks, dtype=np.int64))
        which = np.flatnonzero(counted)
        sums.add_all(self._nodes[which], self._picked(which), 1)

    def of(self, row: int) -> Parts | None:
        """What the task holds; None for nothing."""
        begin, end = np.searchsorted(self._tasks, (row, row + 1)).tolist()
        return None if begin == end else self._picked(np.arange(begin, end))

    def _picked(self, which: NDArray[np.intp]) -> Parts:
        """As if they were on one node: that of the first."""
        node = int(self._nodes[which[0]]) if len(which) else NOWHERE
        columns = (each[which] for each in (self._places, self._memory, self._cores, self._slots))
        return Parts(node, *columns)


def _slots(cards: NodeCards, model: NDArray[np.int64], instance: NDArray[np.int64]) -> NDArray[np.int64]:
    """[D] the slots with these names, of cards of these models. An unknown name is none."""
    found = np.full(len(model), NONE, dtype=np.int64)
    for at in np.flatnonzero((model != NONE) & (instance != NOWHERE)).tolist():
        found[at] = cards.models[int(model[at])].keys.get(int(instance[at]), NONE)
    return found


def parts_of(node: int, chosen: Iterable[tuple[int, int, int, int]]) -> Parts:
    """The parts of (place, memory, cores, slot) each."""
    places, memory, cores, slots = np.array([*chosen], dtype=np.int64).reshape(-1, 4).T
    return Parts(node, places.astype(np.intp), memory, cores, slots)
