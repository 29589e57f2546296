"""The rule of topology spread constraints that must hold (DoNotSchedule), over groups of nodes that it treats alike.

Semantics are kube-scheduler's PodTopologySpread filter: with one pod more, a domain may have at most `maxSkew` matching
pods more than the domain that has fewest. With fewer than `minDomains` domains the fewest is taken for 0. Nodes without
the topology key never take the pod. The first constraint that says no is the reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from volcano_py.plugins.predicates.spread_domains import Layout
from volcano_py.state.nodes.index import ABSENT
from volcano_py.state.terms.spread import Spread

MISSING_LABEL: Final = 1
CROWDED: Final = 2

Verdicts = NDArray[np.int8]
"""Per group 0 for yes, MISSING_LABEL or CROWDED."""


class Limit(msgspec.Struct, frozen=True):
    """What one constraint allows.

    Attributes:
        own: 1 when its selector matches the pod itself, else 0.
        counted: pods of the class count once they are placed; not with an empty selector, which counts no pods.
    """

    max_skew: int
    min_domains: int
    own: int
    counted: bool

    @classmethod
    def of(cls, spread: Spread) -> Limit:
        return cls(spread.max_skew, spread.min_domains, int(spread.own), spread.own and spread.term is not None)


class Standing:
    """How the pods that count are spread, and what a pod of the class may do; it changes as pods are placed."""

    def __init__(self, layout: Layout, limits: Sequence[Limit], counts: Sequence[NDArray[np.int64]]) -> None:
        """`counts`: for each constraint [D] the matching pods in each domain; they are copied."""
        self._layout = layout
        self._limits = tuple(limits)
        self._counts = [count.copy() for count in counts]

    def copy(self) -> Standing:
        return Standing(self._layout, self._limits, self._counts)

    def verdicts(self) -> Verdicts:
        """[G] what each group says to one pod more."""
        said: Verdicts = np.zeros(self._layout.group_codes.shape[1], dtype=np.int8)
        for number, codes in enumerate(self._layout.group_codes):
            crowded = self.crowded(number).take(codes, mode="clip")
            verdict = np.where(codes == ABSENT, MISSING_LABEL, crowded * np.int8(CROWDED)).astype(np.int8)
            said = np.where(said == 0, verdict, said)
        return said

    def place(self, group: int) -> None:
        """A pod of the class goes to a node of the group."""
        for number, limit in enumerate(self._limits):
            if limit.counted and self._layout.group_counted[number, group]:
                self._counts[number][self._layout.group_codes[number, group]] += 1

    def crowded(self, number: int) -> NDArray[np.bool_]:
        """[D] of the constraint of this number, the domains in which one pod more would be too many."""
        counts, limit, live = self._counts[number], self._limits[number], self._layout.domains[number].live
        fewest = int(counts[live].min()) if np.count_nonzero(live) >= limit.min_domains else 0
        crowded: NDArray[np.bool_] = counts + limit.own - fewest > limit.max_skew
        return crowded
