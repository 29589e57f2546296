"""The next queue: queues side by side, or in the one tree that a plugin gives.

In a tree the next queue is found by descent: at each node the child with the smallest key among those that still have
work below them; of equal children, the one with the best below it. Serving a queue changes the keys of the nodes on its
path and of no others, so a turn takes O(depth × log children) comparisons, and the order is transitive. Before the
tree, queues are ranked by their `queue_order` keys (a priority, say): the tree only decides among queues of equal rank.
"""

from __future__ import annotations

import heapq
from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final, Protocol

from volcano_py.framework.ordering.heaps import Heap
from volcano_py.state.infos import QueueInfo

if TYPE_CHECKING:
    from volcano_py.framework.session import Session

Path = tuple[str, ...]
"""Names of the nodes from below the root down to the queue's own node."""

Entry = tuple[tuple[Any, ...], float, str, "_Node"]
"""A node's key and the keys on the way down to its best waiting queue, that queue's creation time and name, by which
nodes are compared, and the node."""

# How many levels below a node are compared when it equals a sibling. No sensible tree is deeper, and a turn in a deeper
# one must not cost the square of its depth.
_LEVELS: Final = 32


class QueueOrder(Protocol):
    """Queues that wait for their turn. A queue that was popped and has more to do is pushed back after its turn."""

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[QueueInfo]:
        """All of them, in no particular order; not while a queue that was popped may come back."""
        ...

    def push(self, queue: QueueInfo) -> None: ...

    def pop(self) -> QueueInfo: ...


def queue_order(ssn: Session, queues: Iterable[QueueInfo]) -> QueueOrder:
    """These queues in the order of this session's plugins."""
    order: QueueOrder = TreeOrder(ssn) if ssn.dispatch.calls("queue_paths") else Heap(ssn.ask.queue_key)
    for queue in queues:
        order.push(queue)
    return order


class _Node:
    """A node of the tree.

    Attributes:
        active: how many queues wait at and below it.
        order: the entries of its children below which any do, the first one first.
        entry: its own in its parent's order, while it is there.
    """

    __slots__ = ("active", "children", "entry", "key", "order", "path", "queues")

    def __init__(self, path: Path) -> None:
        self.path = path
        self.active = 0
        self.children: dict[str, _Node] = {}
        self.queues: list[tuple[float, str, QueueInfo]] = []
        self.order: list[Entry] = []
        self.key: Any = None
        self.entry: Entry | None = None

    def waiting(self) -> Iterator[QueueInfo]:
        """The queues that wait at and below it."""
        yield from (queue for _, _, queue in self.queues)
        for child in self.children.values():
            yield from child.waiting()

    def ranked(self) -> Entry:
        """Its entry as of now."""
        if self.queues:
            created, name, _ = self.queues[0]
            return (self.key,), created, name, self
        keys, created, name, _ = self.order[0]
        return (self.key, *keys[:_LEVELS]), created, name, self

    def remove(self, entry: Entry) -> None:
        """A child leaves the order."""
        order = self.order
        place = bisect_left(order, entry)
        if place == len(order) or order[place] is not entry:  # keys of a plugin that fails need not be in order
            place = next(place for place, each in enumerate(order) if each is entry)
        del order[place]


class TreeOrder:
    """Descent of the tree that `queue_paths` gives, one walk per rank."""

    def __init__(self, ssn: Session) -> None:
        self._ssn = ssn
        self._paths: dict[str, Path] = ssn.ask.queue_paths()
        self._walks: dict[Any, _Walk] = {}
        self._last: _Walk | None = None
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[QueueInfo]:
        for walk in self._walks.values():
            yield from walk.root.waiting()

    def push(self, queue: QueueInfo) -> None:
        self._size += 1
        rank = self._ssn.ask.queue_rank(queue)
        walk = self._walks.get(rank)
        if walk is None:
            walk = self._walks[rank] = _Walk(self._ssn)
        if walk.served is queue:
            walk.put_back()
        else:
            walk.push(self._paths.get(queue.name, (queue.name,)), queue)

    def pop(self) -> QueueInfo:
        if self._last is not None:
            self._last.take_out()
        walk = self._first()
        if self._last is not None and walk is not self._last:
            # A node may be in several walks: queues of other ranks that were served meanwhile changed its keys, too.
            walk.forget_keys()
        self._last = walk
        self._size -= 1
        return walk.pop()

    def _first(self) -> _Walk:
        """The walk of the best rank that has queues."""
        if len(self._walks) == 1:
            (walk,) = self._walks.values()
            return walk
        return self._walks[min([rank for rank, walk in self._walks.items() if walk.root.active])]


class _Walk:
    """The tree for the queues of one rank.

    A queue that is served stays where it is until the next one is asked for: most come back after their turn, and then
    only the keys on its path are computed again.
    """

    def __init__(self, ssn: Session) -> None:
        self._ssn = ssn
        self._keys = ssn.dispatch.calls("branch_order")
        self._epoch: int | None = ssn.ask.branch_epoch()
        self.served: QueueInfo | None = None
        """The queue that was popped last, while it has neither come back nor been taken out."""
        self._way: list[_Node] = []
        """The nodes from below the root down to its own."""
        self._moved: list[_Node] = []
        """Those of the last queue that did not come back, until their keys are computed again."""
        self._placements = ssn.moves.count
        """How much had been placed when keys were computed last; they change with placements only."""
        self.root = _Node(())

    def push(self, path: Path, queue: QueueInfo) -> None:
        self.take_out()
        node, way = self.root, []
        node.active += 1
        for depth in range(len(path)):
            child = node.children.get(path[depth])
            if child is None:
                child = node.children[path[depth]] = _Node(path[: depth + 1])
            child.active += 1
            way.append(child)
            node = child
        heapq.heappush(node.queues, (queue.created, queue.name, queue))
        self._place_way(way, keys_moved=self._placements != self._ssn.moves.count)

    def pop(self) -> QueueInfo:
        self.take_out()
        self._refresh()
        node = self.root
        self._way = []
        # A node may have both queues of its own and children (several queues may share a path).
        while not node.queues:
            node = node.order[0][3]
            self._way.append(node)
        self._placements = self._ssn.moves.count
        self.served = node.queues[0][2]
        return self.served

    def put_back(self) -> None:
        """The queue that was served waits again."""
        self.served = None
        if self._placements != self._ssn.moves.count:
            self._place_way(self._way)

    def take_out(self) -> None:
        """Remove the queue that was served, if it has not come back."""
        if self.served is None:
            return
        self.served = None
        self.root.active -= 1
        parent = self.root
        for node in self._way:
            node.active -= 1
            if not node.active and node.entry is not None:
                parent.remove(node.entry)
                node.entry = None
            parent = node
        heapq.heappop(parent.queues)
        self._moved = self._way

    def forget_keys(self) -> None:
        """Any key may have changed."""
        self._epoch = None

    def _refresh(self) -> None:
        """Compute the keys of the path that was served last, or of all nodes when any may have changed."""
        moved, self._moved = self._moved, []
        epoch = self._ssn.ask.branch_epoch()
        if epoch != self._epoch:
            self._epoch = epoch
            self._place_all()
        elif moved:
            self._place_way(moved)

    def _place_all(self) -> None:
        pairs = [(self.root, child) for child in self.root.children.values() if child.active]
        for _, node in pairs:
            pairs.extend((node, child) for child in node.children.values() if child.active)
        for parent, child in reversed(pairs):
            self._take_key(child)
            self._place(parent, child)

    def _place_way(self, way: list[_Node], *, keys_moved: bool = True) -> None:
        """Sort in the nodes on the way that have waiting queues at or below them, from the last one up."""
        for depth in range(len(way) - 1, -1, -1):
            child = way[depth]
            if not child.active:
                continue
            if keys_moved or child.entry is None:
                self._take_key(child)
            self._place(way[depth - 1] if depth else self.root, child)

    def _take_key(self, node: _Node) -> None:
        keys = self._keys
        node.key = keys[0](node.path) if len(keys) == 1 else tuple([call(node.path) for call in keys])

    @staticmethod
    def _place(parent: _Node, child: _Node) -> None:
        """Put the child where it belongs among its siblings now."""
        entry, before, order = child.ranked(), child.entry, parent.order
        if before is not None:
            if entry == before:
                return
            if order[0] is before:  # as after its turn
                del order[0]
            else:
                parent.remove(before)
        child.entry = entry
        insort(order, entry)
