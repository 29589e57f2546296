"""The accounts of all queues: what each holds, asks for and was promised, summed up the tree, and its limits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from volcano_py.api.names import ROOT_QUEUE
from volcano_py.framework.session import Session
from volcano_py.plugins.amounts.shares import saturated, sums_by_group
from volcano_py.plugins.capacity.account import QueueAccount
from volcano_py.plugins.capacity.limits import (
    Amounts,
    Levels,
    Limits,
    limits_in_tree,
    limits_side_by_side,
)
from volcano_py.plugins.queues.inqueue_requests import InqueueRequests
from volcano_py.plugins.queues.queue_amounts import allocated, leaving, pending, promised, surplus, used
from volcano_py.state.infos import QueueInfo
from volcano_py.state.queues.queue_tree import QueueTree, lay

CLUSTER: Final = ""
"""Stands above queues that form no tree; no queue can be called so."""


class Accounts(msgspec.Struct, frozen=True, eq=False):
    """The accounts of all queues.

    Attributes:
        by_name: those of queues that exist.
        by_row: all, the top first: root, or the cluster as a whole.
        levels: the rows as a tree; of one level when queues stand side by side.
        tree: None when queues stand side by side.
        limits: [Q, R] by row.
        request: [Q, R] by row, what each holds and what its pending tasks ask for, when the session opens.
        rows_of_slots: [slots] row of each queue slot; -1 for queues that do not exist.
    """

    by_name: dict[str, QueueAccount]
    by_row: list[QueueAccount]
    levels: Levels
    tree: QueueTree | None
    limits: Limits
    request: Amounts
    rows_of_slots: NDArray[np.intp]

    def sums(self, slots: NDArray[np.integer[Any]], amounts: Amounts) -> Amounts:
        """[Q, R] sums of `amounts` [K, R] by the row of the queue slots [K], with those of the queues below."""
        return self.levels.add_up(_by_row(self.rows_of_slots, len(self.by_row), slots, amounts))


def open_accounts(ssn: Session, promises: InqueueRequests, *, hierarchy: bool) -> Accounts:
    """The accounts as of now, in a tree or side by side."""
    tree = lay({name: queue.parent for name, queue in ssn.queues.items()}) if hierarchy else None
    levels = _levels_in_tree(tree) if tree is not None else _levels_side_by_side(sorted(ssn.queues))
    infos = [ssn.queues.get(name) for name in levels.names]
    limits = (
        limits_side_by_side(levels, infos, ssn.total)
        if tree is None
        else limits_in_tree(levels, infos, ssn.total, tree)
    )
    rows_of_slots = np.full(len(ssn.snapshot.queue_names), -1, dtype=np.intp)
    for row, info in enumerate(infos):
        if info is not None:
            rows_of_slots[info.slot] = row

    def alone(slots: NDArray[np.int32], amounts: Amounts) -> Amounts:
        return _by_row(rows_of_slots, len(infos), slots, amounts)

    own = alone(*allocated(ssn))
    held, beyond = levels.add_up(own), levels.add_up(alone(*surplus(ssn)))
    going = levels.add_up(alone(*leaving(ssn)))
    columns = (
        held,
        _needed(levels, own, limits.guarantee),
        limits.capability,
        limits.guarantee,
        limits.deserved,
        limits.has_deserved,
        limits.real_capability,
        saturated(held - beyond, going),
        beyond,
        levels.add_up(alone(*promised(ssn, promises))),
        np.zeros_like(held),
    )
    by_row = _accounts(levels, infos, tree, columns)
    request = saturated(saturated(held, going), levels.add_up(alone(*pending(ssn))))
    return Accounts(_by_name(by_row), by_row, levels, tree, limits, request, rows_of_slots)


def accounts_at_once(ssn: Session, accounts: Accounts) -> Accounts:
    """The accounts for bindings at once, as of this moment: with what leaving pods hold, without what is promised."""
    levels, limits = accounts.levels, accounts.limits

    def alone(slots: NDArray[np.int32], amounts: Amounts) -> Amounts:
        return _by_row(accounts.rows_of_slots, len(accounts.by_row), slots, amounts)

    own = alone(*used(ssn))
    nothing = np.zeros_like(own)
    columns = (
        levels.add_up(own),
        _needed(levels, own, limits.guarantee),
        limits.capability,
        limits.guarantee,
        limits.deserved,
        limits.has_deserved,
        limits.real_capability,
        nothing,
        nothing,
        nothing,
        levels.add_up(alone(*leaving(ssn))),
    )
    by_row = _accounts(levels, [each.info for each in accounts.by_row], accounts.tree, columns)
    return msgspec.structs.replace(accounts, by_name=_by_name(by_row), by_row=by_row)


def _by_name(accounts: Sequence[QueueAccount]) -> dict[str, QueueAccount]:
    return {account.name: account for account in accounts if account.info is not None}


def _by_row(rows_of_slots: NDArray[np.intp], size: int, slots: NDArray[np.integer[Any]], amounts: Amounts) -> Amounts:
    """[size, R] sums by the row of each slot, of queues that exist."""
    rows = rows_of_slots[slots]
    known = rows >= 0
    return sums_by_group(rows[known], amounts[known], size)


def _levels_in_tree(tree: QueueTree) -> Levels:
    """What queues without a place in the tree hold counts as root's, so that it is not lent twice."""
    parents = {**tree.parents, **dict.fromkeys(tree.faults, ROOT_QUEUE)}
    return Levels.of((ROOT_QUEUE, *sorted(tree.faults), *tree.order[1:]), parents)


def _levels_side_by_side(names: list[str]) -> Levels:
    return Levels.of((CLUSTER, *names), dict.fromkeys(names, CLUSTER))


def _accounts(
    levels: Levels, infos: Sequence[QueueInfo | None], tree: QueueTree | None, columns: Sequence[NDArray[Any]]
) -> list[QueueAccount]:
    """By row, from [Q, R] columns. Parents come before their children, which need the parent's chain."""
    accounts: list[QueueAccount] = []
    by_row = zip(*(column.tolist() for column in columns), strict=True)
    for row, (name, info, up, amounts) in enumerate(zip(levels.names, infos, levels.up.tolist(), by_row, strict=True)):
        fault = tree.faults.get(name) if tree is not None else None
        children = tree.children.get(name, ()) if tree is not None else ()
        account = QueueAccount(name, info, row, fault, children, *amounts)
        account.above = accounts[up].chain if up >= 0 else ()
        accounts.append(account)
    return accounts


def _needed(levels: Levels, own: Amounts, guarantee: Amounts) -> Amounts:
    """[Q, R] what each queue's own tasks hold, and what each queue directly below needs or is guaranteed."""
    needed = own.copy()
    for first, last in reversed(levels.spans[1:]):
        kept = np.maximum(needed[first:last], guarantee[first:last])
        needed = saturated(needed, sums_by_group(levels.up[first:last], kept, len(needed)))
    return needed
