"""Events on queues of a tree: rules they break, which stop their jobs, and limits that cannot all be kept."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

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

Dims = Mapping[int, Sequence[int]]
"""Row of a queue → positions of resources on the axis."""


def tree_events(
    ssn: Session, rows: QueueRows, accounts: Sequence[BaseAccount], entitlements: Sequence[str]
) -> Iterator[Event]:
    """An event for each queue that breaks a rule of the tree.

    `entitlements`: fields of which the queues directly below a queue should not have more together than the queue.
    """
    busy = _rows_with_jobs(ssn, rows)
    above_parent = _above_parent(ssn, rows, accounts)
    beyond_own = [(field, _beyond_own(ssn, rows, field)) for field in entitlements]
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
        for dim in above_parent.get(account.row, ()):
            yield _says_above_parent(ssn.axis.names[dim], dim, account.info, account.above[0])
        # (root's entitlements follow from those of the queues below it)
        if account.parent is not None:
            for field, found in beyond_own:
                for dim in found.get(account.row, ()):
                    yield _says_beyond_own(ssn, dim, account, account.info, field)


def queue_event(info: QueueInfo, reason: str, problem: str) -> Event:
    """A warning about a queue; `problem` says what is wrong and what would fix it."""
    return Event(info.ref, "Warning", str(reason), invalid_queue(info.name, problem))


def _rows_with_jobs(ssn: Session, rows: QueueRows) -> frozenset[int]:
    """Rows of queues with jobs that are not finished."""
    jobs, known = ssn.ledger.jobs, ssn.job_rows()
    slots = np.unique(jobs.queue[known[jobs.phase[known] != Phase.COMPLETED]])
    return frozenset(rows.of_slots[slots].tolist())


def _above_parent(ssn: Session, rows: QueueRows, accounts: Sequence[BaseAccount]) -> Dims:
    """A capability above that of the queue above: the lower one holds. Any is below the cluster's."""
    own = rows.column("capability", len(ssn.axis), int(UNLIMITED))
    limits = np.array([account.capability for account in accounts])[rows.levels.up]
    return _dims((own < UNLIMITED) & (own > limits) & (rows.levels.up > 0)[:, None])


def _beyond_own(ssn: Session, rows: QueueRows, field: str) -> Dims:
    """An entitlement of the queues directly below that is more than the queue's own together."""
    own = rows.column(field, len(ssn.axis))
    return _dims(sums_by_group(rows.levels.up[1:], own[1:], len(own)) > own)


def _dims(flags: NDArray[np.bool_]) -> Dims:
    """Of flags [Q, R]."""
    found: dict[int, list[int]] = {}
    for row, dim in np.argwhere(flags).tolist():
        found.setdefault(row, []).append(dim)
    return found


def _says_above_parent(resource: str, dim: int, info: QueueInfo, parent: BaseAccount) -> Event:
    own, limit = amount(resource, int(info.capability[dim])), amount(resource, parent.capability[dim])
    text = f"spec.capability is {own}, but queue {parent.name} above it may have {limit} at most, which applies"
    return queue_event(info, EXCEEDS_PARENT, f"{text}; lower one or raise the other")


def _says_beyond_own(ssn: Session, dim: int, account: BaseAccount, info: QueueInfo, field: str) -> Event:
    resource = ssn.axis.names[dim]
    parts = [(name, int(getattr(ssn.queues[name], field)[dim])) for name in account.children]
    together = min(sum(units for _, units in parts), int(UNLIMITED))
    # The edit that admission should have refused was made on one of these.
    whose = Holders(resource, parts).summary()
    own, given = amount(resource, int(getattr(info, field)[dim])), amount(resource, together)
    text = f"spec.{field} is {own}, the queues below it have {given} together ({whose})"
    return queue_event(info, EXCEEDS_PARENT, f"{text}; lower theirs or raise its own")
