"""Explain why no node takes a class of tasks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence, Set
from typing import Final

import numpy as np
from numpy.typing import NDArray

from volcano_py.api.reasons import Reason
from volcano_py.api.wording.explain import cut
from volcano_py.api.wording.explain_nodes import (
    Shortage,
    held_for,
    insufficient_reason,
    never_fits,
    never_fits_together,
    nodes_refuse,
)
from volcano_py.framework.calls.dispatch import Call
from volcano_py.framework.cluster_copy import ClusterCopy
from volcano_py.framework.job import FitError
from volcano_py.framework.placement.refused import Refused, counted
from volcano_py.framework.views import FITS, Codes
from volcano_py.state.status import TaskStatus
from volcano_py.state.table.axis import PODS
from volcano_py.state.table.table import NOWHERE, Rows
from volcano_py.state.task_class import Refusal, TaskClass

# Characters of the plugins' advice: of one sentence, and of all together. With a summary of the usual length, the
# message then fits into the 1,024 characters of an Event.
_LONGEST_SENTENCE: Final = 320
_LONGEST_ADVICE: Final = 640
_MOST_LEFT_OUT: Final = 2  # sentences about devices that do not count
# Of tasks that have a place in this cycle, and are not bound.
_KEPT: Final = [TaskStatus.ALLOCATED, TaskStatus.PIPELINED]


def explain_misfit(
    cluster: ClusterCopy,
    advisers: Sequence[Call],
    task_class: TaskClass,
    codes: Codes,
    keepers: Set[int] = frozenset(),
) -> FitError:
    """Count the nodes per reason: the predicates' refusals, then the first resource of which there is too little.

    `keepers`: rows of jobs that keep places which they cannot use yet. A node that would have room without them is held
    for such a job.
    """
    nodes = cluster.ledger.nodes
    total, shard = int(nodes.present.sum()), cluster.snapshot.hard_shard
    refused = Refused(cluster, codes)
    counts = Counter({message: refused.count(message) for message in refused})
    willing = np.flatnonzero(nodes.present & (codes == FITS))
    holder = _holders(cluster, task_class, willing, keepers)
    counts.update(held_for(cluster.snapshot.job_keys[row]) for row in holder[holder != NOWHERE].tolist())
    free = nodes.future_idle()
    short = _count_short(cluster, task_class, free, willing[holder == NOWHERE], counts)
    # A node that refuses because of what is on it now may be the one that is large enough.
    hopeful = np.flatnonzero(nodes.present & cluster.resolvable(codes))
    advice = _advice(advisers, task_class, refused)
    reasons = {cluster.refusal_of(code).reason for code, _ in counted(codes) if code != FITS}
    if short and not _is_large_enough(cluster, task_class, hopeful, short):
        sentence = _even_when_empty(cluster, task_class, hopeful, short)
        refusal = Refusal(
            Reason.NEVER_FITS, nodes_refuse(total, counts, advice=[f"The pod {sentence}", *advice], shard=shard)
        )
    elif Reason.PLACES_HELD in reasons or (holder != NOWHERE).any():
        # That other nodes are full is not what the pod waits for.
        refusal = Refusal(Reason.PLACES_HELD, nodes_refuse(total, counts, advice=advice, shard=shard))
    else:
        dims = [dim for dim in short if dim != PODS]
        shortages = _shortages(cluster, task_class, free, willing, dims, total)
        refusal = Refusal(Reason.NODES_REFUSE, nodes_refuse(total, counts, shortages, advice, shard=shard))
    return FitError(total, dict(counts), refusal)


def explain_barred(cluster: ClusterCopy, advisers: Sequence[Call], task_class: TaskClass, codes: Codes) -> FitError:
    """The same for a class that each node refuses until nodes change (`codes`) or is too small for even when empty.

    What pods use at the moment is left out: it changes, and more room would not help.
    """
    nodes = cluster.ledger.nodes
    total, shard = int(nodes.present.sum()), cluster.snapshot.hard_shard
    refused = Refused(cluster, codes)
    counts = Counter({message: refused.count(message) for message in refused})
    willing = np.flatnonzero(nodes.present & (codes == FITS))
    short = _count_short(cluster, task_class, nodes.allocatable, willing, counts)
    advice = _advice(advisers, task_class, refused)
    if not short:
        message = nodes_refuse(total, counts, [], advice, shard=shard)
        return FitError(total, dict(counts), Refusal(Reason.NODES_REFUSE, message))
    sentence = _even_when_empty(cluster, task_class, willing, short)
    refusal = Refusal(
        Reason.NEVER_FITS, nodes_refuse(total, counts, advice=[f"The pod {sentence}", *advice], shard=shard)
    )
    return FitError(total, dict(counts), refusal)


def _holders(cluster: ClusterCopy, task_class: TaskClass, willing: Rows, keepers: Set[int]) -> Rows:
    """[K] of each willing node that would have room without the places that `keepers` keep there, the job that keeps
    the most pods there, the first of equals; NOWHERE for the others."""
    holder = np.full(len(willing), NOWHERE)
    tasks, nodes = cluster.ledger.tasks, cluster.ledger.nodes
    rows = np.flatnonzero(np.isin(tasks.status, _KEPT) & np.isin(tasks.job, list(keepers))) if keepers else ()
    if not len(rows):
        return holder
    kept = np.zeros_like(nodes.used)
    np.add.at(kept, tasks.node[rows], cluster.ledger.classes.request[tasks.task_class[rows]])
    free, asked = nodes.future_idle()[willing], task_class.requested
    fits = ((free + kept[willing])[:, asked] >= task_class.request[asked]).all(axis=1)
    for place in np.flatnonzero(fits & kept[willing].any(axis=1)).tolist():
        here = Counter(tasks.job[rows[tasks.node[rows] == willing[place]]].tolist())
        holder[place] = min(here, key=lambda row: (-here[row], cluster.snapshot.job_keys[row]))
    return holder


def _count_short(
    cluster: ClusterCopy, task_class: TaskClass, free: NDArray[np.int64], rows: Rows, counts: Counter[str]
) -> list[int]:
    """Count each of the nodes `rows` [K] by the first resource of which it has too little in `free` [N, R]; returns
    these resources."""
    short: list[int] = []
    for dim in task_class.requested.tolist():
        if not len(rows):
            break
        lacking = free[rows, dim] < task_class.request[dim]
        if count := int(np.count_nonzero(lacking)):
            short.append(dim)
            counts[insufficient_reason(cluster.axis.names[dim])] += count
            rows = rows[~lacking]
    return short


def _advice(advisers: Sequence[Call], task_class: TaskClass, refused: Refused) -> list[str]:
    """What would help other than more room, in the plugins' words, kept short."""
    if not len(refused):
        return []
    sentences: list[str] = []
    left = _LONGEST_ADVICE
    for call in advisers:
        for sentence in call(task_class, refused):
            text = cut(sentence, _LONGEST_SENTENCE)
            if (left := left - len(text)) < 0:
                return sentences
            sentences.append(text)
    return sentences


def _shortages(
    cluster: ClusterCopy, task_class: TaskClass, free: NDArray[np.int64], willing: Rows, dims: list[int], total: int
) -> list[Shortage]:
    """For each missing resource in `dims`, how much the emptiest of the willing nodes has left of what is `free`
    [N, R]."""
    request = task_class.request
    shortages = []
    for dim in dims:
        emptiest = _most(cluster, willing, free[willing, dim])
        name = cluster.snapshot.nodes[willing[emptiest]].name
        most = int(free[willing[emptiest], dim])
        shortages.append(
            Shortage(cluster.axis.names[dim], int(request[dim]), most, name, others_refuse=len(willing) < total)
        )
    return shortages


def _is_large_enough(cluster: ClusterCopy, task_class: TaskClass, rows: Rows, dims: list[int]) -> bool:
    """Whether any of the nodes has enough of all these resources when it is empty."""
    for dim in dims:
        rows = rows[cluster.ledger.nodes.allocatable[rows, dim] >= task_class.request[dim]]
    return len(rows) > 0


def _even_when_empty(cluster: ClusterCopy, task_class: TaskClass, hopeful: Rows, short: list[int]) -> str:
    """Which of the `short` resources, alone or together, none of these nodes has enough of even when empty."""
    names, request, nodes = cluster.axis.names, task_class.request, cluster.ledger.nodes
    allocatable, anywhere = nodes.allocatable[hopeful], nodes.allocatable[nodes.present]
    dim = next((dim for dim in short if allocatable[:, dim].max() < request[dim]), None)
    if dim is None:
        refuse = bool((anywhere[:, short] >= request[short]).all(axis=1).any())
        return never_fits_together({names[dim]: int(request[dim]) for dim in short}, others_refuse=refuse)
    largest = _most(cluster, hopeful, allocatable[:, dim])
    node, most = cluster.snapshot.nodes[hopeful[largest]].name, int(allocatable[largest, dim])
    refuse = bool(anywhere[:, dim].max() > most)
    sentence = never_fits(
        names[dim], int(request[dim]), most, node=node, others_refuse=refuse, device_class=_class_of(cluster, dim)
    )
    left_out = cluster.stand_ins[dim].left_out if dim in cluster.stand_ins else ()
    return ". ".join([sentence, *(cut(each, _LONGEST_SENTENCE) for each in left_out[:_MOST_LEFT_OUT])])


def _class_of(cluster: ClusterCopy, dim: int) -> str:
    """The device class that offers the resource; "" if none does, or if devices are not given."""
    ask = cluster.snapshot.devices.offered.get(cluster.axis.names[dim])
    return ask.device_class if ask is not None and dim in cluster.stand_ins else ""


def _most(cluster: ClusterCopy, rows: Rows, amounts: NDArray[np.int64]) -> int:
    """Position of the node with the most; the first by name among equals, so that the sentence stays the same."""
    equals = np.flatnonzero(amounts == amounts.max())
    return int(equals[np.argmin(cluster.nodes.name_rank[rows[equals]])])
