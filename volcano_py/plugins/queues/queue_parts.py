"""The part of what queues can share that each may hold while all queues with jobs use theirs, whichever plugin divides.

Level by level, among the queues that have jobs, or have queues with jobs below them: what a queue deserves by its spec;
where it says nothing, its weight's part of what the others leave; and at most its capability.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from volcano_py.api.names import ROOT_QUEUE
from volcano_py.framework.session import Session
from volcano_py.state.infos import QueueInfo
from volcano_py.state.queues.queue_tree import lay

_TOP = ""
"""Stands above all; no queue can be called so."""


def parts_of_queues(ssn: Session, slots: Sequence[int]) -> NDArray[np.float64]:
    """[K, R] the parts of the queues in these slots, which are those that have jobs."""
    names = {queue.slot: name for name, queue in ssn.queues.items()}
    below = _active_below(ssn, [names[slot] for slot in slots])
    parts = {_TOP: ssn.available.astype(np.float64)}
    unfinished = [_TOP]
    while unfinished:
        above = unfinished.pop()
        divided = _divide(parts[above], [ssn.queues[name] for name in below[above]])
        for name, part in zip(below[above], divided, strict=True):
            parts[name] = part
            if name in below:
                unfinished.append(name)
    return np.array([parts[names[slot]] for slot in slots]).reshape(len(slots), len(ssn.total))


def _active_below(ssn: Session, busy: Sequence[str]) -> dict[str, list[str]]:
    """Queue → those directly below it that have jobs in them, or below them. Queues below root, and those without a
    place in the tree, are below the top; so is root, should it have jobs."""
    tree = lay({name: queue.parent for name, queue in ssn.queues.items()})
    below: dict[str, list[str]] = {_TOP: []}
    seen: set[str] = set()
    for leaf in busy:
        name = leaf
        while name not in seen and name != _TOP:
            seen.add(name)
            above = tree.parents.get(name, ROOT_QUEUE)
            above = _TOP if above == ROOT_QUEUE else above
            below.setdefault(above, []).append(name)
            name = above
    return below


def _divide(total: NDArray[np.float64], queues: Sequence[QueueInfo]) -> NDArray[np.float64]:
    """[K, R] the parts that queues side by side have of `total` [R]."""
    says = np.array([queue.has_deserved > 0 for queue in queues])
    deserved = np.where(says, np.array([queue.deserved for queue in queues]), 0.0)
    weights = np.where(says, 0.0, np.array([[float(queue.weight)] for queue in queues]))
    left = np.maximum(total - deserved.sum(axis=0), 0.0)
    by_weight = left * weights / np.maximum(weights.sum(axis=0), 1.0)
    capability = np.minimum(np.array([queue.capability for queue in queues]), total)
    parts: NDArray[np.float64] = np.minimum(np.where(says, deserved, by_weight), capability)
    return parts
