"""The accounts of all queues: sums over jobs and tasks by queue, and the division of the cluster."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from volcano_py.framework.session import Session
from volcano_py.plugins.amounts.shares import saturated, sums_by_group
from volcano_py.plugins.proportion.account import QueueAccount
from volcano_py.plugins.proportion.water_filling import divide
from volcano_py.plugins.queues.guarantees import Amounts, Kept, by_age, keep
from volcano_py.plugins.queues.inqueue_requests import InqueueRequests
from volcano_py.plugins.queues.queue_amounts import allocated, leaving, pending, promised, surplus
from volcano_py.state.infos import QueueInfo


class Accounts(msgspec.Struct, frozen=True, eq=False):
    """The accounts of all queues.

    Attributes:
        by_name: every queue's.
        infos: None for the cluster, then every queue, as in the rows of `kept`.
        kept: what is kept of their guarantees.
    """

    by_name: dict[str, QueueAccount]
    infos: tuple[QueueInfo | None, ...]
    kept: Kept


def open_accounts(ssn: Session, promises: InqueueRequests) -> Accounts:
    """An account for every queue. Only queues that have jobs, or are charged for pods, take part in the division.

    What is divided is what queues can share. What a queue may have at most, and what is kept for others, goes by the
    whole cluster: the pods of other schedulers may leave.
    """
    names = list(ssn.queues)
    at = np.array([ssn.queues[name].slot for name in names], dtype=np.intp)
    size = len(ssn.snapshot.queue_names)
    own, beyond = allocated(ssn).sums(size)[at], surplus(ssn).sums(size)[at]
    going = leaving(ssn).sums(size)[at]
    used = saturated(own, going)
    request = saturated(used, pending(ssn).sums(size)[at])
    infos = (None, *ssn.queues.values())
    capability, kept, real_capability = _limits(infos, ssn.total)
    guarantee = kept.own[1:]
    deserved = np.zeros(own.shape)
    ceiling = np.zeros_like(own)
    busy = np.flatnonzero(np.isin(at, ssn.ledger.jobs.queue[ssn.job_rows()]) | used.any(axis=1))
    weights = [ssn.queues[names[position]].weight for position in busy.tolist()]
    division = divide(ssn.available, weights, guarantee[busy], np.minimum(request, real_capability)[busy])
    deserved[busy], ceiling[busy] = division.exact, division.whole
    columns = (
        own,
        used,
        going,
        request,
        capability,
        guarantee,
        real_capability,
        deserved,
        ceiling,
        used - beyond,
        beyond,
        promised(ssn, promises).sums(size)[at],
    )
    by_queue = zip(*(column.tolist() for column in columns), strict=True)
    by_name = {name: QueueAccount(ssn.queues[name], *amounts) for name, amounts in zip(names, by_queue, strict=True)}
    return Accounts(by_name, infos, kept)


def _limits(infos: Sequence[QueueInfo | None], total: Amounts) -> tuple[Amounts, Kept, Amounts]:
    """[Q, R] capabilities, what is kept of the guarantees (with a row for the cluster before), and capabilities within
    what the guarantees of others leave of the cluster."""
    queues = [info for info in infos if info is not None]
    ceilings = np.array([total, *(queue.capability for queue in queues)], dtype=np.int64)
    guarantee = np.array([np.zeros_like(total), *(queue.guarantee for queue in queues)], dtype=np.int64)
    up = np.zeros(len(infos), dtype=np.intp)
    up[0] = -1
    kept = keep(guarantee, _with_sum(guarantee), ceilings, up, lambda: by_age(infos))
    left = np.maximum(total - _with_sum(kept.own)[0], 0)
    capability = ceilings[1:]
    return capability, kept, np.minimum(left + kept.own[1:], capability)


def _with_sum(amounts: Amounts) -> Amounts:
    """The same with the sum of all in the first row."""
    together = amounts.copy()
    together[0] = sums_by_group(np.zeros(len(amounts), dtype=np.intp), amounts, 1)[0]
    return together
