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
    freed: Sequence[int] = (),
) -> tuple[A, int] | None:
    """The first queue of `chain` (the job's own and those above that limit it) that cannot promise `wanted` [R] as
    well, and the resource.

    `inqueue` returns what counts of a queue's promises, `deserved` what it is entitled to. `freed` [R] is what
    the job's own queue could have back.

    What jobs hold beyond their minResources does not count: it can be had back. Nor does a full queue above refuse a
    job as long as the queues below it stay within what they deserve: what fills it is then beyond what others deserve,
    and only an admitted job can reclaim it.
    """
    freed = freed or [0] * len(wanted)
    asked = [(dim, amount) for dim, amount in enumerate(wanted) if amount and dim != PODS]

    def is_within(each: A, dim: int, amount: int) -> bool:
        return each.firm[dim] + each.surplus[dim] + inqueue(each)[dim] + amount <= deserved(each)[dim]

    for place, each in enumerate(chain):
        promised = inqueue(each)
        for dim, amount in asked:
            if each.firm[dim] + promised[dim] + amount - freed[dim] <= each.real_capability[dim]:
                continue
            if not place or not all(is_within(below, dim, amount) for below in chain[:place]):
                return each, dim
    return None
