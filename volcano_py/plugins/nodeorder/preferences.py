"""Scores of preferred node affinity and of PreferNoSchedule taints.

Both count per node, then stretch the counts of the nodes that may take the pod to 0..100 by the highest among them, as
kube-scheduler's DefaultNormalizeScore does.
"""

from __future__ import annotations

from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from volcano_py.api.objects import PreferredSchedulingTerm, Toleration
from volcano_py.plugins.amounts.node_capacity import HIGHEST
from volcano_py.plugins.predicates.taints import PREFER_NO_SCHEDULE, unwelcome
from volcano_py.state.nodes.index import Key, NodeIndex
from volcano_py.state.nodes.terms import term_mask

# The API takes weights from 1 to 100.
_HEAVIEST: Final = 100
_encode = msgspec.msgpack.Encoder().encode

Counts = NDArray[np.int64]


def affinity_key(terms: list[PreferredSchedulingTerm]) -> Key | None:
    """Under which the counts of these terms are kept; None when there is nothing to count."""
    return ("preferred node affinity", _encode(terms)) if terms else None


def affinity_counts(index: NodeIndex, terms: list[PreferredSchedulingTerm]) -> Counts:
    """[N] the weights of the terms that each node matches."""
    counts: Counts = np.zeros(len(index.nodes), dtype=np.int64)
    for term in terms:
        weight = min(term.weight, _HEAVIEST)
        if weight > 0:
            counts[term_mask(index, term.preference)] += weight
    return counts


def taint_key(index: NodeIndex, tolerations: tuple[Toleration, ...]) -> Key | None:
    """Under which the counts for these tolerations are kept; None when no node has such a taint."""
    if PREFER_NO_SCHEDULE not in index.taint_effects:
        return None
    return ("unwelcome", _encode(tolerations))


def taint_counts(index: NodeIndex, tolerations: tuple[Toleration, ...]) -> Counts:
    """[N] PreferNoSchedule taints of each node that are not tolerated."""
    per_set = np.array([unwelcome(taints, tolerations) for taints in index.taint_sets], dtype=np.int64)
    counts: Counts = per_set[index.taint_codes]
    return counts


def normalised(counts: Counts) -> NDArray[np.int64] | None:
    """[K] counts as 0..100 of the highest, cut off; None when they are all the same and so decide nothing."""
    highest = int(counts.max(initial=0))
    if not highest or int(counts.min()) == highest:
        return None
    return HIGHEST * counts // highest
