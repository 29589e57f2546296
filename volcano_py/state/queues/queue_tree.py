"""The tree that queues form by `spec.parent`, and which of them have no place in it.

Nothing here raises and nothing recurses: parents come from users who may create queues, so they may be missing, lead
in circles, or form a chain of thousands.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

from volcano_py.api.names import ROOT_QUEUE

# Names of a cycle that a message lists; a cycle of thousands would make a condition of as many words.
_MOST_NAMES: Final = 5


class Fault(msgspec.Struct, frozen=True):
    """Why a queue has no place in the tree: `rule` is the broken rule, `source` the queue that breaks it."""

    source: str
    rule: str

    def problem(self, queue: str) -> str:
        """The message for `queue`, which is the source or is below it."""
        return self.rule if queue == self.source else f"is below queue {self.source}, which is invalid: {self.rule}"


class QueueTree(msgspec.Struct, frozen=True):
    """Queues below root.

    Attributes:
        order: root, then every queue after the one above it, level by level, by name among siblings.
        parents: queue → the queue above it; root has none.
        children: queue → the queues directly below it, by name; queues without any are missing.
        faults: the queues that have no place in the tree, and why.
    """

    order: tuple[str, ...]
    parents: Mapping[str, str]
    children: Mapping[str, tuple[str, ...]]
    faults: Mapping[str, Fault]

    def is_leaf(self, queue: str) -> bool:
        """Whether no queue is below it. Only leaves run jobs."""
        return queue not in self.children

    def above(self, queue: str) -> Iterator[str]:
        """Its ancestors, nearest first, root last."""
        while (parent := self.parents.get(queue)) is not None:
            yield parent
            queue = parent

    def paths(self) -> dict[str, tuple[str, ...]]:
        """Queue → names from below root down to its own, for all but root."""
        paths: dict[str, tuple[str, ...]] = {ROOT_QUEUE: ()}
        for name in self.order[1:]:
            paths[name] = (*paths[self.parents[name]], name)
        del paths[ROOT_QUEUE]
        return paths


def lay(parents: Mapping[str, str]) -> QueueTree:
    """The tree of queues, from queue → `spec.parent` (empty for root).

    Root is part of it even when no such queue exists, and stands above all whatever its own parent is said to be.
    """
    below: defaultdict[str, list[str]] = defaultdict(list)
    for name in sorted(parents):
        if name != ROOT_QUEUE:
            below[parents[name] or ROOT_QUEUE].append(name)
    order = [ROOT_QUEUE]
    for name in order:
        order.extend(below.get(name, ()))
    placed = set(order)
    return QueueTree(
        order=tuple(order),
        parents={name: parents[name] or ROOT_QUEUE for name in order[1:]},
        children={name: tuple(names) for name, names in below.items() if name in placed},
        faults=_faults(parents, placed),
    )


def _faults(parents: Mapping[str, str], placed: set[str]) -> dict[str, Fault]:
    """Why each queue that is not placed is not: its way up ends at a missing queue or in a circle."""
    faults: dict[str, Fault] = {}
    for start in sorted(parents.keys() - placed):
        way: list[str] = []
        at: dict[str, int] = {}
        name = start
        while name in parents and name not in faults and name not in at:
            at[name] = len(way)
            way.append(name)
            name = parents[name]
        if name in at:
            circle, way = way[at[name] :], way[: at[name]]
            faults.update((each, _circle(each, circle)) for each in circle)
        elif name not in parents:
            last = way.pop()
            faults[last] = Fault(last, f"spec.parent is {name}, which does not exist; create it or name another queue")
        for each in reversed(way):
            faults[each] = faults[parents[each]]
    return faults


def _circle(name: str, circle: list[str]) -> Fault:
    """The same cycle is listed for each of its queues, beginning with that queue."""
    if len(circle) == 1:
        return Fault(name, "spec.parent is the queue itself; name another queue, or leave it out for root")
    first = circle.index(name)
    names = [*circle[first:], *circle[:first], name]
    if len(names) > _MOST_NAMES:
        names = [*names[: _MOST_NAMES - 2], "…", name]
    return Fault(name, f"spec.parent leads back to this queue ({' → '.join(names)}); name another queue in one of them")
