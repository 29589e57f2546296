"""Events on queues of a tree: rules they break, which stop their jobs, and limits that cannot all be kept."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from volcano_py.api.effects import Event
from volcano_py.api.reasons import Reason
from volcano_py.api.wording.amounts import amount
from volcano_py.api.wording.explain import invalid_queue
from volcano_py.api.wording.holders import Holders
from volcano_py.framework.session import Session
from volcano_py.plugins.amounts.shares import sums_by_group
from volcano_py.plugins.queues.base_account import BaseAccount
from volcano_py.plugins.queues.levels import QueueRows
from volcano_py.plugins.queues.tree_messages import not_for_jobs
from volcano_py.state.infos import QueueInfo
from volcano_py.state.snapshot import Phase
from volcano_py.state.table.axis import UNLIMITED

EXCEEDS_PARENT: Final = "ExceedsParent"
"""Reason of the event about limits that do not fit below those of the queue above. It stops nothing."""


def tree_events(
    ssn: Session, rows: QueueRows, accounts: Sequence[BaseAccount], entitlements: Sequence[str]
) -> Iterator[Event]:
    """An event for each queue that breaks a rule of the tree.

    `entitlements`: fields of which the queues directly below a queue should not have more together than the queue.
    """
    busy = _rows_with_jobs(ssn, rows)
    for account in accounts:
        if account.info is None:
            continue
        if account.fault is not None:
            # Only here, where the remedy is; jobs of queues further down get the reason, too.
            if account.fault.source == account.name:
                yield queue_event(account.info, Reason.INVALID_QUEUE, account.fault.rule)
            continue
        if account.row in busy and (refusal := not_for_jobs(account)) is not None:
            yield Event(account.info.ref, "Warning", refusal.reason.value, refusal.message)
        # (root's entitlements follow from those of the queues below it)
        if account.parent is not None:
            yield from _misfits(ssn, account, account.info, account.parent, entitlements)


def _misfits(
    ssn: Session, account: BaseAccount, info: QueueInfo, parent: BaseAccount, entitlements: Sequence[str]
) -> Iterator[Event]:
    """What does not fit between a queue, the one above it and those below it."""
    if parent.parent is not None:
        yield from _above_parent(ssn.axis.names, info, parent)
    if account.children:
        children = [ssn.queues[name] for name in account.children]
        for field in entitlements:
            yield from _beyond_own(ssn.axis.names, info, children, field)


def queue_event(info: QueueInfo, reason: str, problem: str) -> Event:
    """A warning about a queue; `problem` says what is wrong and what would fix it."""
    return Event(info.ref, "Warning", str(reason), invalid_queue(info.name, problem))


def _rows_with_jobs(ssn: Session, rows: QueueRows) -> frozenset[int]:
    """Rows of queues with jobs that are not finished."""
    jobs, known = ssn.ledger.jobs, ssn.job_rows()
    slots = np.unique(jobs.queue[known[jobs.phase[known] != Phase.COMPLETED]])
    return frozenset(rows.of_slots[slots].tolist())


def _above_parent(names: Sequence[str], info: QueueInfo, parent: BaseAccount) -> Iterator[Event]:
    """A capability above that of the queue above: the lower one holds."""
    limits = np.array(parent.capability)
    for dim in np.flatnonzero((info.capability < UNLIMITED) & (info.capability > limits)).tolist():
        own, limit = amount(names[dim], int(info.capability[dim])), amount(names[dim], int(limits[dim]))
        text = f"spec.capability is {own}, but queue {parent.name} above it may have {limit} at most, which applies"
        yield queue_event(info, EXCEEDS_PARENT, f"{text}; lower one or raise the other")


def _beyond_own(names: Sequence[str], info: QueueInfo, children: Sequence[QueueInfo], field: str) -> Iterator[Event]:
    """An entitlement of the queues directly below that is more than the queue's own together."""
    limits = getattr(info, field)
    each = np.array([getattr(child, field) for child in children], dtype=np.int64)
    given = sums_by_group(np.zeros(len(each), dtype=np.intp), each, 1)[0]
    for dim in np.flatnonzero(given > limits).tolist():
        together, own = amount(names[dim], int(given[dim])), amount(names[dim], int(limits[dim]))
        parts = ((child.name, int(part)) for child, part in zip(children, each[:, dim], strict=True))
        # The edit that admission should have refused was made on one of these.
        whose = Holders(names[dim], parts).summary()
        text = f"spec.{field} is {own}, the queues below it have {together} together ({whose})"
        yield queue_event(info, EXCEEDS_PARENT, f"{text}; lower theirs or raise its own")
