"""Whether a queue gives up a unit: pods that go together or not at all."""

from __future__ import annotations

from collections.abc import Sequence

from volcano_py.framework.eviction.units import Verdict
from volcano_py.plugins.capacity.account import QueueAccount
from volcano_py.plugins.capacity.reclaim import ReclaimRight
from volcano_py.state.table.axis import PODS


def judge(
    right: ReclaimRight,
    account: QueueAccount,
    request: Sequence[int],
    core: Sequence[int],
    lacking: Sequence[bool],
) -> Verdict:
    """Whether the queue may lose pods that hold `request` [R] together, for a job that lacks some resources [R].

    When all but their `core` [R] is gone, it and the queues above that have a say still hold more than they deserve of
    one of these resources; and they keep all that they are guaranteed. If one of them then holds less than it deserves
    of anything, only as a last resort.
    """
    held = [(dim, units) for dim, units in enumerate(request) if units and dim != PODS]
    judged = (account, *right.judged(account))
    if right.spares(account) or (right.deserves_none and right.are_kin(account) and not _deserves_any(account, held)):
        return Verdict.NO
    if not all(_exceeds(each, held, core, lacking, in_all=right.goes_beyond) for each in judged):
        return Verdict.NO
    if not all(each.keeps_guarantee(request) for each in (account, *right.kept(account))):
        return Verdict.NO
    return Verdict.LAST_RESORT if any(_falls_short(each, held) for each in judged) else Verdict.YES


def _deserves_any(account: QueueAccount, held: Sequence[tuple[int, int]]) -> bool:
    return any(account.has_deserved[dim] for dim, _ in held)


def _exceeds(
    account: QueueAccount,
    held: Sequence[tuple[int, int]],
    core: Sequence[int],
    lacking: Sequence[bool],
    *,
    in_all: bool,
) -> bool:
    """Before the core goes, the queue holds more than it deserves of something that is lacking and would be freed, or
    deserves none of it; `in_all`: of everything that would be freed."""
    beyond = {dim: account.held[dim] - units + core[dim] > account.deserved[dim] for dim, units in held if core[dim]}
    freed = [dim for dim in beyond if lacking[dim]]
    deserving = [dim for dim in freed if account.has_deserved[dim]]
    if not freed or (deserving and not any(beyond[dim] for dim in deserving)):
        return False
    return not in_all or all(beyond.values())


def _falls_short(account: QueueAccount, held: Sequence[tuple[int, int]]) -> bool:
    """The queue is left with less than it deserves of something of which it has that much now."""
    return any(
        account.held[dim] - units < account.deserved[dim] <= account.held[dim]
        for dim, units in held
        if account.has_deserved[dim]
    )
