"""The accounts of all queues: sums over jobs and tasks by queue, and the division of the cluster."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from volcano_py.framework.session import Session
from volcano_py.plugins.amounts.shares import saturated, sums_by_group
from volcano_py.plugins.proportion.account import QueueAccount
from volcano_py.plugins.proportion.division import Amounts, Claims, Flags, divide_levels
from volcano_py.plugins.proportion.water_filling import Division
from volcano_py.plugins.queues.inqueue_requests import InqueueRequests
from volcano_py.plugins.queues.levels import Levels, QueueRows
from volcano_py.plugins.queues.queue_amounts import allocated, leaving, pending, promised, startable, surplus
from volcano_py.plugins.queues.reach import Reach, reach


class Accounts(msgspec.Struct, frozen=True, eq=False):
    """The accounts of all queues.

    Attributes:
        by_name: those of queues that exist.
        by_row: all, the top first: root, or the cluster as a whole.
        rows: the queues in rows; of one level when they stand side by side.
        reach: [Q, R] by row, how far each may grow.
        claims: what the cluster was divided by.
    """

    by_name: dict[str, QueueAccount]
    by_row: list[QueueAccount]
    rows: QueueRows
    reach: Reach
    claims: Claims


def open_accounts(ssn: Session, promises: InqueueRequests, *, hierarchy: bool) -> Accounts:
    """An account for every queue. Only queues that have jobs, or are charged for pods, take part in the division.

    What is divided is what queues can share. What a queue may have at most, and what is kept for others, goes by the
    whole cluster: the pods of other schedulers may leave.
    """
    rows = QueueRows.of(ssn, hierarchy=hierarchy)
    levels, limits = rows.levels, reach(rows, ssn.total)
    own, going = rows.alone(*allocated(ssn)), rows.alone(*leaving(ssn))
    used, beyond = saturated(own, going), rows.alone(*surplus(ssn))
    request = saturated(used, rows.alone(*pending(ssn)))
    claims = _claims(ssn, rows, limits, used, saturated(used, rows.alone(*startable(ssn))))
    divided = divide_levels(levels, claims)
    division = _as_if_all_could_start(divided, levels, claims, _claims(ssn, rows, limits, used, request))
    reported = divided.whole.copy()
    reported[0] = np.rint(divided.exact[0])  # of what there is, all that is deserved
    columns = (
        levels.add_up(own),
        levels.add_up(going),
        limits.capability,
        limits.guarantee,
        limits.real_capability,
        levels.add_up(used - beyond),
        levels.add_up(beyond),
        rows.with_below(*promised(ssn, promises)),
        limits.written,
        levels.add_up(used),
        levels.add_up(request),
        division.exact,
        division.whole,
        reported,
    )
    by_row = _accounts(rows, columns, ssn.total.tolist())
    by_name = {account.name: account for account in by_row if account.info is not None}
    return Accounts(by_name, by_row, rows, limits, claims)


def _claims(ssn: Session, rows: QueueRows, limits: Reach, used: Amounts, request: Amounts) -> Claims:
    """In queues with others below them, and in those without a place in the tree, no job starts: what is held there is
    all they claim."""
    weights = np.array([1 if info is None else info.weight for info in rows.infos], dtype=np.int64)
    is_used: Flags = np.any(used, axis=1)
    is_busy = is_used.copy()
    with_jobs = rows.of_slots[ssn.ledger.jobs.queue[ssn.job_rows()]]
    is_busy[with_jobs[with_jobs >= 0]] = True
    stuck, lost = _stuck(rows), np.array([place.fault is not None for place in rows.places()], dtype=np.bool_)
    is_busy[stuck] = is_used[stuck] & ~lost[stuck]
    fixed = np.where(stuck[:, None], used, 0)
    # What queues without a place hold counts as root's.
    fixed[0] = saturated(fixed[0], sums_by_group(np.zeros(int(lost.sum()), dtype=np.intp), fixed[lost], 1)[0])
    fixed[lost] = 0
    asked = np.where(stuck[:, None], 0, request)
    most = limits.real_capability.copy()
    most[0] = np.minimum(most[0], ssn.available)
    return Claims(weights, asked, fixed, limits.guarantee, most, stuck, is_busy)


def _as_if_all_could_start(divided: Division, levels: Levels, claims: Claims, all_claims: Claims) -> Division:
    """What the jobs of each queue are held to. Pods that could start nowhere claim nothing from other queues, where it
    would lie idle, but are not held to less than they would deserve otherwise: they wait for reasons of their own."""
    if (claims.request == all_claims.request).all():
        return divided
    by_all = divide_levels(levels, all_claims)
    return Division(np.maximum(divided.exact, by_all.exact), np.maximum(divided.whole, by_all.whole))


def _stuck(rows: QueueRows) -> Flags:
    """[Q] queues where no job starts as the tree stands."""
    return np.array([bool(place.children) or place.fault is not None for place in rows.places()], dtype=np.bool_)


def _accounts(rows: QueueRows, columns: Sequence[NDArray[Any]], total: list[int]) -> list[QueueAccount]:
    """By row, from [Q, R] columns. Parents come before their children, which need the parent's chain."""
    accounts: list[QueueAccount] = []
    by_row = zip(*(column.tolist() for column in columns), strict=True)
    for row, (place, amounts) in enumerate(zip(rows.places(), by_row, strict=True)):
        above = accounts[place.up].chain if place.up >= 0 else ()
        account = QueueAccount(place.name, place.info, row, place.fault, place.children, above, *amounts)
        account.limited_by = above[:-1] if above and above[-1].real_capability == total else above
        accounts.append(account)
    return accounts
