"""Volumes that claims of one kind may have: which nodes they can be used from, and which are still free in this cycle.

A claim takes the smallest volume that is large enough, the first by name among equals (kube-scheduler takes any of
them).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from volcano_py.plugins.predicates.volumes.places import reachable
from volcano_py.state.nodes.index import NodeIndex
from volcano_py.state.volumes.needs import OpenNeed
from volcano_py.state.volumes.storage import Volume


class Pool:
    """The volumes that suit a need, smallest first.

    Attributes:
        free: [N] how many of them a node could use.
        is_local: whether each of them can be used from one node only, so that what is taken concerns no other node.
    """

    def __init__(self, index: NodeIndex, volumes: Sequence[Volume], need: OpenNeed, taken: Collection[str]) -> None:
        """`volumes` are the free ones of the need's storage class, smallest first; `taken` those that are not."""
        self._volumes: list[Volume] = []
        self._nodes: list[NDArray[np.intp] | None] = []
        self._slots: dict[str, int] = {}
        self._of_node: dict[int, list[int]] = {}
        self._wide: list[tuple[int, frozenset[int] | None]] = []
        self._first_wide = 0  # those before it are taken
        self._taken: set[int] = set()
        self.free: NDArray[np.int64] = np.zeros(len(index.nodes), dtype=np.int64)
        for volume in volumes:
            if volume.is_for(need):
                self._add(index, volume)
        self.is_local = not self._wide
        for name in taken:
            self.take(name)

    def __len__(self) -> int:
        return len(self._volumes)

    def take(self, volume: str) -> None:
        """The volume was taken; nothing happens when it is not of this pool."""
        slot = self._slots.get(volume)
        if slot is not None and slot not in self._taken:
            self._taken.add(slot)
            self._count(slot, -1)

    def give_back(self, volume: str) -> None:
        """The volume is free again."""
        slot = self._slots.get(volume)
        if slot is not None and slot in self._taken:
            self._taken.discard(slot)
            self._count(slot, 1)
            self._first_wide = 0

    def smallest(self, node: int, excluding: Collection[str] = ()) -> str:
        """The volume that a claim gets on the node, none of those in `excluding`; "" when there is none."""
        first = self._first_local(node, excluding), self._first_wide_one(node, excluding)
        slots = [slot for slot in first if slot >= 0]
        return self._volumes[min(slots)].name if slots else ""

    def _add(self, index: NodeIndex, volume: Volume) -> None:
        rows = None if volume.affinity is None else reachable(index, volume.affinity)
        if rows is not None and not len(rows):
            return
        slot = len(self._volumes)
        self._volumes.append(volume)
        self._nodes.append(rows)
        self._slots[volume.name] = slot
        if rows is not None and len(rows) == 1:
            self._of_node.setdefault(int(rows[0]), []).append(slot)
        else:
            self._wide.append((slot, None if rows is None else frozenset(rows.tolist())))
        self._count(slot, 1)

    def _count(self, slot: int, change: int) -> None:
        rows = self._nodes[slot]
        self.free[slice(None) if rows is None else rows] += change

    def _first_local(self, node: int, excluding: Collection[str]) -> int:
        return next(self._open(self._of_node.get(node, ()), excluding), -1)

    def _first_wide_one(self, node: int, excluding: Collection[str]) -> int:
        while self._first_wide < len(self._wide) and self._wide[self._first_wide][0] in self._taken:
            self._first_wide += 1
        slots = (
            slot
            for slot, nodes in (self._wide[at] for at in range(self._first_wide, len(self._wide)))
            if nodes is None or node in nodes
        )
        return next(self._open(slots, excluding), -1)

    def _open(self, slots: Sequence[int] | Iterator[int], excluding: Collection[str]) -> Iterator[int]:
        return (slot for slot in slots if slot not in self._taken and self._volumes[slot].name not in excluding)
