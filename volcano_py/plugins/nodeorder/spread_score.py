"""Score of topology spread constraints that are wishes (ScheduleAnyway).

kube-scheduler's PodTopologySpread score: a node is worth the less, the more matching pods its domains have. Each
constraint counts with the logarithm of the number of its domains among the nodes that may take the pod, so that many
small domains weigh as much as few large ones; `maxSkew` - 1 waters differences down. The sum is rounded, then turned
round: the fewest pods get 100. Nodes that lack a topology key of the pod's own constraints get 0.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from volcano_py.plugins.node_capacity import HIGHEST
from volcano_py.state.ledger import Rows
from volcano_py.state.node_index import ABSENT

HOSTNAME: Final = "kubernetes.io/hostname"
"""Domains of this key are single nodes, counted one by one, whatever the constraint's node policies say."""

Counts = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Wish:
    """One constraint over all nodes.

    Attributes:
        codes: [N] the node's domain, ABSENT where it lacks the topology key.
        per_node: [N] matching pods on each node.
        per_domain: [D] matching pods of the counted nodes of each domain.
        of_nodes: the domains are single nodes (the key is HOSTNAME).
    """

    codes: NDArray[np.int32]
    per_node: NDArray[np.int32]
    per_domain: Counts
    max_skew: int
    of_nodes: bool


def spread_scores(wishes: Sequence[Wish], rows: Rows, *, all_keys: bool = True) -> Counts:
    """[K] from 0 to 100 for the nodes `rows` [K], which are all that may take the pod.

    `all_keys`: nodes that lack a topology key are out of it, as they are for a pod's own constraints; for constraints
    that stand in for missing ones they are only not counted.
    """
    codes = [wish.codes.take(rows) for wish in wishes]
    judged = np.ones(len(rows), dtype=np.bool_)
    if all_keys:
        for column in codes:
            judged &= column != ABSENT
    crowds = np.zeros(len(rows))
    for wish, column in zip(wishes, codes, strict=True):
        if wish.of_nodes:
            size, pods = int(judged.sum()), wish.per_node.take(rows).astype(np.int64)
        else:
            size, pods = len(np.unique(column[judged])), wish.per_domain.take(column, mode="clip")
        counted = pods * math.log(size + 2) + (wish.max_skew - 1)
        crowds += np.where(column == ABSENT, 0.0, counted)
    return _turned_round(_rounded(crowds), judged)


def _rounded(values: NDArray[np.float64]) -> Counts:
    """To the nearest integer, halves away from zero (Go's math.Round); nothing here is negative."""
    whole = np.floor(values)
    rounded: Counts = (whole + (values - whole >= 0.5)).astype(np.int64)
    return rounded


def _turned_round(crowds: Counts, judged: NDArray[np.bool_]) -> Counts:
    scores: Counts = np.zeros(len(crowds), dtype=np.int64)
    if not judged.any():
        return scores
    least, most = int(crowds[judged].min()), int(crowds[judged].max())
    scores[judged] = HIGHEST if most == 0 else HIGHEST * (most + least - crowds[judged]) // most
    return scores
