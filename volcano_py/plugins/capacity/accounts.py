"""The accounts of all queues: what each holds, asks for and was promised, summed up the tree, and its limits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from volcano_py.framework.devices.sums import Holders, holders
from volcano_py.framework.session import Session
from volcano_py.plugins.amounts.shares import saturated, sums_by_group
from volcano_py.plugins.capacity.account import QueueAccount
from volcano_py.plugins.capacity.limits import Amounts, Limits, limits_of
from volcano_py.plugins.queues.inqueue_requests import InqueueRequests
from volcano_py.plugins.queues.levels import Levels, QueueRows
from volcano_py.plugins.queues.queue_amounts import allocated, leaving, pending, promised, surplus, used
from volcano_py.state.queues.queue_tree import QueueTree
from volcano_py.state.status import ALLOCATED_STATUSES, LEAVING_STATUSES, ON_NODE_STATUSES
from volcano_py.state.table.axis import IntVector


class Accounts(msgspec.Struct, frozen=True, eq=False):
    """The accounts of all queues.

    Attributes:
        by_name: those of queues that exist.
        by_row: all, the top first: root, or the cluster as a whole.
        rows: the queues in rows; of one level when they stand side by side.
        limits: [Q, R] by row.
        request: [Q, R] by row, what each holds and what its pending tasks ask for, when the session opens.
    """

    by_name: dict[str, QueueAccount]
    by_row: list[QueueAccount]
    rows: QueueRows
    limits: Limits
    request: Amounts

    @property
    def tree(self) -> QueueTree | None:
        """None when queues stand side by side."""
        return self.rows.tree

    @property
    def rows_of_slots(self) -> NDArray[np.intp]:
        """[slots] row of each queue slot; -1 for queues that do not exist."""
        return self.rows.of_slots

    def sums(self, slots: NDArray[np.integer[Any]], amounts: Amounts) -> Amounts:
        """[Q, R] sums of `amounts` [K, R] by the row of the queue slots [K], with those of the queues below."""
        return self.rows.with_below(slots, amounts)


def open_accounts(
    ssn: Session, promises: InqueueRequests, total: IntVector, *, hierarchy: bool, has_devices: bool
) -> Accounts:
    """The accounts as of now, in a tree or side by side. `total` [R] is the cluster; `has_devices`: those of
    ResourceClaims count."""
    rows = QueueRows.of(ssn, hierarchy=hierarchy)
    levels, limits = rows.levels, limits_of(rows, total)
    own = rows.alone(*allocated(ssn))
    held, beyond = levels.add_up(own), rows.with_below(*surplus(ssn))
    going = rows.with_below(*leaving(ssn))
    columns = (
        held,
        np.zeros_like(held),
        limits.capability,
        limits.guarantee,
        limits.real_capability,
        saturated(held - beyond, going),
        beyond,
        rows.with_below(*promised(ssn, promises)),
        _kept(levels, own, limits.guarantee),
        limits.deserved,
        limits.has_deserved,
    )
    by_row = _accounts(rows, columns)
    if has_devices:
        _hold_devices(_with_devices(ssn, rows, by_row, ALLOCATED_STATUSES))
    request = saturated(saturated(held, going), rows.with_below(*pending(ssn)))
    return Accounts(_by_name(by_row), by_row, rows, limits, request)


def accounts_at_once(ssn: Session, accounts: Accounts, *, has_devices: bool) -> Accounts:
    """The accounts for bindings at once, as of this moment: with what leaving pods hold, without what is promised."""
    rows, limits = accounts.rows, accounts.limits
    own = rows.alone(*used(ssn))
    nothing = np.zeros_like(own)
    columns = (
        rows.levels.add_up(own),
        rows.with_below(*leaving(ssn)),
        limits.capability,
        limits.guarantee,
        limits.real_capability,
        nothing,
        nothing,
        nothing,
        _kept(rows.levels, own, limits.guarantee),
        limits.deserved,
        limits.has_deserved,
    )
    by_row = _accounts(rows, columns)
    if has_devices:
        _hold_devices(_with_devices(ssn, rows, by_row, ON_NODE_STATUSES))
        for account, each in _with_devices(ssn, rows, by_row, LEAVING_STATUSES):
            account.leave(each.request.own, each.tasks)
    return msgspec.structs.replace(accounts, by_name=_by_name(by_row), by_row=by_row)


def _hold_devices(tasks: Iterable[tuple[QueueAccount, Holders]]) -> None:
    for account, each in tasks:
        account.book(each.request.own, each.tasks)
        account.share_claims(each.request.shared, each.tasks)


def _with_devices(
    ssn: Session, rows: QueueRows, by_row: Sequence[QueueAccount], statuses: NDArray[np.bool_]
) -> Iterator[tuple[QueueAccount, Holders]]:
    """The tasks in these statuses [statuses] that hold devices, with the accounts of their queues."""
    for each in holders(ssn, statuses):
        row = rows.of_slots[each.slot]
        if row >= 0:
            yield by_row[row], each


def _by_name(accounts: Sequence[QueueAccount]) -> dict[str, QueueAccount]:
    return {account.name: account for account in accounts if account.info is not None}


def _accounts(rows: QueueRows, columns: Sequence[NDArray[Any]]) -> list[QueueAccount]:
    """By row, from [Q, R] columns. Parents come before their children, which need the parent's chain."""
    accounts: list[QueueAccount] = []
    for amounts, (row, place) in zip(
        zip(*(column.tolist() for column in columns), strict=True), enumerate(rows.places()), strict=True
    ):
        above = accounts[place.up].chain if place.up >= 0 else ()
        accounts.append(QueueAccount(place.name, place.info, row, place.fault, place.children, above, *amounts))
    return accounts


def _kept(levels: Levels, own: Amounts, guarantee: Amounts) -> Amounts:
    """[Q, R] what is kept below each queue: what the queues there are guaranteed beyond what their tasks hold."""
    needed = own.copy()
    for first, last in reversed(levels.spans[1:]):
        more = np.maximum(needed[first:last], guarantee[first:last])
        needed = saturated(needed, sums_by_group(levels.up[first:last], more, len(needed)))
    return needed - levels.add_up(own)
