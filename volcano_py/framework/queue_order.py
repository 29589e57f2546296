"""Which queue's turn it is: queues side by side, or in the one tree that a plugin lays over them.

In a tree the next queue is found by descent: at each node the child with the smallest key among those that still have
work below them. Serving a queue moves the keys of the nodes on its path and of no others, so a turn costs
O(depth × log children), and the order is transitive. Before the tree, queues are ranked by their `queue_order` keys
(a priority, say): the tree only decides among queues of equal rank.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Protocol

from volcano_py.framework.ordering import Heap
from volcano_py.state.infos import QueueInfo

if TYPE_CHECKING:
    from volcano_py.framework.session import Session

Path = tuple[str, ...]
"""Names of the nodes from below the root down to the queue's own node."""


class QueueOrder(Protocol):
    """Queues that wait for their turn. A queue that was popped and has more to do is pushed back after its turn."""

    def __len__(self) -> int: ...

    def push(self, queue: QueueInfo) -> None: ...

    def pop(self) -> QueueInfo: ...


def queue_order(ssn: Session, queues: Iterable[QueueInfo]) -> QueueOrder:
    """The order for this session's plugins, with these queues in it."""
    order: QueueOrder = TreeOrder(ssn) if ssn.dispatch.calls("queue_paths") else Heap(ssn.queue_key)
    for queue in queues:
        order.push(queue)
    return order


class _Node:
    """A node of the tree; `active` counts the waiting queues at and below it.

    Its entry in its parent's heap is the one with its `stamp`; `queued` tells whether that is still there.
    """

    __slots__ = ("active", "children", "heap", "key", "path", "queued", "queues", "stamp")

    def __init__(self, path: Path) -> None:
        self.path = path
        self.active = 0
        self.children: dict[str, _Node] = {}
        self.queues: list[tuple[Any, str, QueueInfo]] = []
        self.heap: list[tuple[Any, str, int]] = []
        self.key: Any = None
        self.stamp = 0
        self.queued = False


class TreeOrder:
    """Descent of the tree that `queue_paths` gives, one walk per rank."""

    def __init__(self, ssn: Session) -> None:
        self._ssn = ssn
        self._paths: dict[str, Path] = ssn.queue_paths()
        self._walks: dict[Any, _Walk] = {}
        self._last: _Walk | None = None
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def push(self, queue: QueueInfo) -> None:
        rank = self._ssn.queue_rank(queue)
        walk = self._walks.get(rank)
        if walk is None:
            walk = self._walks[rank] = _Walk(self._ssn)
        walk.push(self._paths.get(queue.name, (queue.name,)), queue)
        self._size += 1

    def pop(self) -> QueueInfo:
        walk = self._walks[min(rank for rank, walk in self._walks.items() if walk.root.active)]
        if self._last is not None and walk is not self._last:
            # Nodes may be in several walks: queues of other ranks, served meanwhile, have moved their keys here, too.
            walk.forget_keys()
        self._last = walk
        self._size -= 1
        return walk.pop()


class _Walk:
    def __init__(self, ssn: Session) -> None:
        self._ssn = ssn
        self._epoch: int | None = ssn.branch_epoch()
        self._moved: Path = ()
        self._placements = ssn.placements
        """How much had been placed when keys were taken last; they move with placements only."""
        self.root = _Node(())

    def push(self, path: Path, queue: QueueInfo) -> None:
        node = self.root
        node.active += 1
        nothing_moved = self._placements == self._ssn.placements
        for depth in range(len(path)):
            child = node.children.get(path[depth])
            if child is None:
                child = node.children[path[depth]] = _Node(path[: depth + 1])
            child.active += 1
            if not (nothing_moved and child.queued):
                self._key(node, child)
            node = child
        heapq.heappush(node.queues, (queue.created, queue.name, queue))
        if path == self._moved:
            self._moved = ()  # it was served before it was pushed back, and its keys are of now

    def pop(self) -> QueueInfo:
        self._refresh()
        node = self.root
        node.active -= 1
        # A node may hold queues of its own beside children (several queues may share a path).
        while not node.queues:
            node = self._first(node)
            node.active -= 1
        self._moved = node.path
        self._placements = self._ssn.placements
        return heapq.heappop(node.queues)[2]

    def forget_keys(self) -> None:
        """All keys may have moved."""
        self._epoch = None

    def _refresh(self) -> None:
        """Take the keys of the path that was served last, or of all nodes when everything may have moved."""
        epoch = self._ssn.branch_epoch()
        if epoch != self._epoch:
            self._epoch = epoch
            self._key_all()
            return
        node = self.root
        for name in self._moved:
            child = node.children[name]
            if child.active:
                self._key(node, child)
            node = child

    def _key_all(self) -> None:
        nodes = [self.root]
        for node in nodes:
            active = [child for child in node.children.values() if child.active]
            for child in active:
                self._key(node, child)
            nodes.extend(active)

    def _key(self, parent: _Node, child: _Node) -> None:
        """Put the child into its parent's heap with the key of this moment; older entries become void."""
        key = self._ssn.branch_key(child.path)
        if child.queued and key == child.key:
            return
        child.key, child.queued = key, True
        child.stamp += 1
        heapq.heappush(parent.heap, (key, child.path[-1], child.stamp))

    @staticmethod
    def _first(node: _Node) -> _Node:
        while True:
            _, name, stamp = node.heap[0]
            child = node.children[name]
            if child.active and stamp == child.stamp:
                return child
            heapq.heappop(node.heap)
            if stamp == child.stamp:
                child.queued = False
