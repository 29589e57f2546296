"""Events on queues: rules they break, which stop their jobs, and limits that cannot all be kept."""

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
from volcano_py.plugins.capacity.account import QueueAccount
from volcano_py.plugins.capacity.accounts import Accounts
from volcano_py.plugins.capacity.messages import not_for_jobs
from volcano_py.plugins.queues.guarantees import not_kept
from volcano_py.state.infos import QueueInfo
from volcano_py.state.snapshot import Phase
from volcano_py.state.table.axis import UNLIMITED

EXCEEDS_PARENT: Final = "ExceedsParent"
"""Reason of the event about limits that do not fit below those of the queue above. It stops nothing."""
EXCEEDS_CAPABILITY: Final = "ExceedsCapability"
"""Reason of the event about what a queue deserves and may never have. It stops nothing."""


def queue_events(ssn: Session, accounts: Accounts) -> Iterator[Event]:
    """An event for each queue that breaks a rule, and for each limit that cannot be kept."""
    yield from not_kept([each.info for each in accounts.by_row], accounts.limits.kept, ssn.axis.names, ssn.total)
    if accounts.tree is not None:
        yield from _of_tree(ssn, accounts)


def _of_tree(ssn: Session, accounts: Accounts) -> Iterator[Event]:
    busy = _rows_with_jobs(ssn, accounts)
    for account in accounts.by_row:
        if account.info is None:
            continue
        if account.fault is not None:
            # Only here, where the remedy is; jobs of queues further down get the reason, too.
            if account.fault.source == account.name:
                yield _event(account.info, Reason.INVALID_QUEUE, account.fault.rule)
            continue
        if account.row in busy and (refusal := not_for_jobs(account)) is not None:
            yield Event(account.info.ref, "Warning", refusal.reason.value, refusal.message)
        parent = account.parent
        if parent is None:
            continue  # root's entitlements follow from those of the queues below it
        yield from _beyond_reach(ssn, accounts, account.info, account.row)
        if parent.parent is not None:
            yield from _above_parent(ssn.axis.names, accounts, account.info, parent)
        if account.children:
            yield from _beyond_own(ssn.axis.names, account.info, [ssn.queues[name] for name in account.children])


def _rows_with_jobs(ssn: Session, accounts: Accounts) -> frozenset[int]:
    """Rows of queues with jobs that are not finished."""
    jobs, rows = ssn.ledger.jobs, ssn.job_rows()
    slots = np.unique(jobs.queue[rows[jobs.phase[rows] != Phase.COMPLETED]])
    return frozenset(accounts.rows_of_slots[slots].tolist())


def _above_parent(names: Sequence[str], accounts: Accounts, info: QueueInfo, parent: QueueAccount) -> Iterator[Event]:
    """A capability above that of the queue above: the lower one holds."""
    limits = accounts.limits.capability[parent.row]
    for dim in np.flatnonzero((info.capability < UNLIMITED) & (info.capability > limits)).tolist():
        own, limit = amount(names[dim], int(info.capability[dim])), amount(names[dim], int(limits[dim]))
        text = f"spec.capability is {own}, but queue {parent.name} above it may have {limit} at most, which applies"
        yield _event(info, EXCEEDS_PARENT, f"{text}; lower the one or raise the other")


def _beyond_reach(ssn: Session, accounts: Accounts, info: QueueInfo, row: int) -> Iterator[Event]:
    """A queue deserves more than it, or any queue, may have: what it may have counts."""
    for dim in np.flatnonzero(accounts.limits.excessive[row]).tolist():
        resource, ceiling = ssn.axis.names[dim], int(info.capability[dim])
        found = f"spec.deserved[{resource}] is {info.as_written('deserved', resource)}"
        if ceiling < UNLIMITED:
            limit = amount(resource, ceiling)
            text = f"{found}, but spec.capability is {limit}, which applies; lower the one or raise the other"
        else:
            limit = amount(resource, int(ssn.total[dim]))
            text = f"{found}, which no cluster has: it counts as this cluster's {limit}; correct it"
        yield _event(info, EXCEEDS_CAPABILITY, text)


def _beyond_own(names: Sequence[str], info: QueueInfo, children: Sequence[QueueInfo]) -> Iterator[Event]:
    """Entitlements of the queues directly below that are more than the queue's own together."""
    for field in ("deserved", "guarantee"):
        limits = getattr(info, field)
        each = np.array([getattr(child, field) for child in children], dtype=np.int64)
        given = sums_by_group(np.zeros(len(each), dtype=np.intp), each, 1)[0]
        for dim in np.flatnonzero(given > limits).tolist():
            together, own = amount(names[dim], int(given[dim])), amount(names[dim], int(limits[dim]))
            parts = ((child.name, int(part)) for child, part in zip(children, each[:, dim], strict=True))
            # The edit that admission should have refused was made on one of these.
            whose = Holders(names[dim], parts).summary()
            text = f"spec.{field} is {own}, the queues below it have {together} together ({whose})"
            yield _event(info, EXCEEDS_PARENT, f"{text}; lower theirs or raise its own")


def _event(info: QueueInfo, reason: str, problem: str) -> Event:
    return Event(info.ref, "Warning", str(reason), invalid_queue(info.name, problem))
