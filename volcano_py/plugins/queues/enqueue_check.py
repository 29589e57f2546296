"""Whether a job may be admitted: within what its queue, and every queue above it, may have."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from volcano_py.plugins.queues.base_account import BaseAccount
from volcano_py.state.table.axis import PODS

A = TypeVar("A", bound=BaseAccount)


def first_exceeded(
    chain: Sequence[A],
    wanted: Sequence[int],
    *,
    inqueue: Callable[[A], Sequence[int]],
    deserved: Callable[[A], Sequence[int]],
) -> tuple[A, int] | None:
    """The first queue of `chain` (the job's own and those above that limit it) that cannot promise `wanted` [R] as
    well, and the resource.

    `inqueue` returns what counts of a queue's promises, `deserved` what it is entitled to.

    What jobs hold beyond their minResources does not count: it can be had back. Nor does a full queue above refuse a
    job as long as the queues below it stay within what they deserve: what fills it is then beyond what others deserve,
    and only an admitted job can reclaim it.
    """
    asked = [(dim, amount) for dim, amount in enumerate(wanted) if amount and dim != PODS]
    entitled: set[int] = set()
    for each in chain:
        promised = inqueue(each)
        exceeded = [
            dim
            for dim, amount in asked
            if dim not in entitled and each.firm[dim] + promised[dim] + amount > each.real_capability[dim]
        ]
        if exceeded:
            return each, exceeded[0]
        if each is chain[-1]:
            return None  # what it deserves matters to queues above only
        due = deserved(each)
        within = {dim for dim, more in asked if each.firm[dim] + each.surplus[dim] + promised[dim] + more <= due[dim]}
        entitled = within if each is chain[0] else entitled & within
    return None
