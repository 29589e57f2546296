"""What a plugin says ahead of turns that place one task of the same class each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import msgspec
from numpy.typing import NDArray

from volcano_py.framework.views import Counts
from volcano_py.state.table.table import Rows


class Level(msgspec.Struct, frozen=True):
    """The turns of all queues that are so deep, as one level of the tree of queues sees them: those below a node are
    side by side, in their order. Without a tree there is one level, and the queues are its nodes.

    Attributes:
        nodes: [N] the paths of the nodes.
        of: [K] the node of each turn.
        placed: [K] how many tasks have been placed below the node before the turn.
        turns: [K] the number of each turn, by which it is known on all levels.
    """

    nodes: Sequence[tuple[str, ...]]
    of: Rows
    placed: Counts
    turns: Rows


class Outlook(Protocol):
    """What the keys and the room of queues will be, asked level by level, the deepest one first."""

    def keys(self, level: Level) -> Sequence[NDArray[Any]]:
        """Columns [K] of the keys that the nodes have at these turns: of `branch_order` or, without a tree, of
        `queue_order`. They are compared as the parts of the key are, the first one first, to the same result. An
        empty sequence: not known."""
        ...

    def most(self, path: tuple[str, ...]) -> int:
        """How many tasks may be placed one after the other, in whichever queues at and below this node of the tree,
        before `overused` or `allocatable` refuses one for what this node holds; `()` is above all queues. Without a
        tree, in the queue of this name. No more than is certain."""
        ...
