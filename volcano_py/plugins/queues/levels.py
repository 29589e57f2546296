"""Queues in rows, level by level: what sums up a tree of queues, or queues side by side below the cluster."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from volcano_py.api.names import ROOT_QUEUE
from volcano_py.framework.session import Session
from volcano_py.plugins.amounts.shares import saturated, sums_by_group
from volcano_py.state.infos import QueueInfo
from volcano_py.state.queues.queue_tree import Fault, QueueTree, lay

Amounts = NDArray[np.int64]

CLUSTER: Final = ""
"""Stands above queues that form no tree; no queue can be called so."""


class Levels(msgspec.Struct, frozen=True):
    """Queues in rows, each after the one above it; a level is a run of rows, and so are the queues below one queue.

    Attributes:
        names: [Q] row → queue.
        up: [Q] row of the queue above; -1 for the first.
        spans: first and last (exclusive) row of each level, the first level being the top alone.
    """

    names: tuple[str, ...]
    up: NDArray[np.intp]
    spans: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, names: Sequence[str], parents: Mapping[str, str]) -> Levels:
        """`names` begins with the top and has every other queue after its parent, level by level."""
        rows = {name: row for row, name in enumerate(names)}
        up = np.array([rows[parents[name]] if name in parents else -1 for name in names], dtype=np.intp)
        spans, first = [(0, 1)], 1
        while first < len(names):
            # Parents of a level are all in the one before; those of the next come after them.
            last = first + int(np.searchsorted(up[first:], spans[-1][1]))
            spans.append((first, last))
            first = last
        return cls(tuple(names), up, tuple(spans))

    @classmethod
    def in_tree(cls, tree: QueueTree) -> Levels:
        """What queues without a place in the tree hold counts as root's, so that it is not lent twice."""
        parents = {**tree.parents, **dict.fromkeys(tree.faults, ROOT_QUEUE)}
        return cls.of((ROOT_QUEUE, *sorted(tree.faults), *tree.order[1:]), parents)

    @classmethod
    def side_by_side(cls, names: Sequence[str]) -> Levels:
        """One level, below the cluster."""
        return cls.of((CLUSTER, *names), dict.fromkeys(names, CLUSTER))

    def add_up(self, amounts: Amounts) -> Amounts:
        """[Q, R] each queue's amounts and those of all queues below it."""
        total = amounts.copy()
        for first, last in reversed(self.spans[1:]):
            total = saturated(total, sums_by_group(self.up[first:last], total[first:last], len(total)))
        return total


class QueuePlace(NamedTuple):
    """One row: the queue (`info` is None for a top that is none), the row of the queue above it (-1 for the top), why
    it has no place in the tree, if so, and the queues directly below it."""

    name: str
    info: QueueInfo | None
    up: int
    fault: Fault | None
    children: tuple[str, ...]


class QueueRows(msgspec.Struct, frozen=True, eq=False):
    """The queues of a session in rows.

    Attributes:
        infos: by row; None for a top that is no queue: the cluster, or a root that does not exist.
        tree: None when queues stand side by side.
        of_slots: [slots] row of each queue slot; -1 for queues that do not exist.
    """

    levels: Levels
    infos: tuple[QueueInfo | None, ...]
    tree: QueueTree | None
    of_slots: NDArray[np.intp]

    @classmethod
    def of(cls, ssn: Session, *, hierarchy: bool) -> QueueRows:
        """In the tree by `spec.parent`, or side by side."""
        tree = lay({name: queue.parent for name, queue in ssn.queues.items()}) if hierarchy else None
        levels = Levels.in_tree(tree) if tree is not None else Levels.side_by_side(sorted(ssn.queues))
        infos = tuple(ssn.queues.get(name) for name in levels.names)
        of_slots = np.full(len(ssn.snapshot.queue_names), -1, dtype=np.intp)
        for row, info in enumerate(infos):
            if info is not None:
                of_slots[info.slot] = row
        return cls(levels, infos, tree, of_slots)

    def places(self) -> Iterator[QueuePlace]:
        """Row by row."""
        for name, info, up in zip(self.levels.names, self.infos, self.levels.up.tolist(), strict=True):
            fault = self.tree.faults.get(name) if self.tree is not None else None
            children = self.tree.children.get(name, ()) if self.tree is not None else ()
            yield QueuePlace(name, info, up, fault, children)

    def __len__(self) -> int:
        return len(self.infos)

    def alone(self, slots: NDArray[np.integer[Any]], amounts: Amounts) -> Amounts:
        """[Q, R] sums of `amounts` [K, R] by the row of the queue slots [K], of queues that exist."""
        rows = self.of_slots[slots]
        known = rows >= 0
        return sums_by_group(rows[known], amounts[known], len(self))

    def with_below(self, slots: NDArray[np.integer[Any]], amounts: Amounts) -> Amounts:
        """[Q, R] the same, with those of the queues below."""
        return self.levels.add_up(self.alone(slots, amounts))

    def column(self, field: str, size: int, fill: int = 0) -> Amounts:
        """[Q, R] a field of each queue, R being `size`; `fill` for what does not exist."""
        none = np.full(size, fill, dtype=np.int64)
        rows = [none if info is None else getattr(info, field) for info in self.infos]
        return np.array(rows, dtype=np.int64).reshape(len(rows), size)
