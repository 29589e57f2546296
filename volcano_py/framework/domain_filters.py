"""Domain filters: rules that close and open whole groups of nodes for a class as its pods are placed.

A spread over zones is one: after a pod in zone a, no node of zone a may take another until the other zones have caught
up. Two nodes are in one group when the rule treats them alike, now and after any number of pods of the class. So the
placer can look ahead by groups instead of nodes, and place a whole gang in one sweep (see placement/filtered_sweep.py).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import msgspec
import numpy as np
from numpy.typing import NDArray

from volcano_py.framework.views import Codes

_Mask = NDArray[np.bool_]


class DomainFilterAhead(Protocol):
    """A domain filter's private copy of its counts, on which placements are tried that have not been made."""

    def place(self, group: int) -> _Mask:
        """[G] which groups take one more task, after one has been placed in `group`."""


class DomainFilter(msgspec.Struct, frozen=True, eq=False):
    """A rule for one class at this moment: which groups of nodes are closed to its next task.

    Attributes:
        groups: [N] the group of each node.
        codes: [G] 0 where the group takes one more task, else a refusal id.
        ahead: starts looking ahead from here.
    """

    groups: NDArray[np.intp]
    codes: Codes
    ahead: Callable[[], DomainFilterAhead]


def closed_filter(nodes: int, code: int) -> DomainFilter:
    """A domain filter that closes every node, and keeps it closed."""

    class _Closed:
        def place(self, group: int) -> _Mask:  # noqa: ARG002
            return np.zeros(1, dtype=np.bool_)

    return DomainFilter(np.zeros(nodes, dtype=np.intp), np.array([code], dtype=np.int32), _Closed)
