"""Events on queues: rules they break, which stop their jobs, and limits that cannot all be kept."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from volcano_py.api.effects import Event
from volcano_py.api.wording.amounts import amount
from volcano_py.framework.session import Session
from volcano_py.plugins.capacity.accounts import Accounts
from volcano_py.plugins.queues.guarantees import not_kept
from volcano_py.plugins.queues.tree_events import queue_event, tree_events
from volcano_py.state.infos import QueueInfo
from volcano_py.state.table.axis import UNLIMITED

EXCEEDS_CAPABILITY: Final = "ExceedsCapability"
"""Reason of the event about what a queue deserves and may never have. It stops nothing."""
_ENTITLEMENTS: Final = ("deserved", "guarantee")


def queue_events(ssn: Session, accounts: Accounts) -> Iterator[Event]:
    """An event for each queue that breaks a rule, and for each limit that cannot be kept."""
    yield from not_kept(accounts.rows.infos, accounts.limits.kept, ssn.axis.names, ssn.total)
    if accounts.tree is None:
        return
    yield from tree_events(ssn, accounts.rows, accounts.by_row, _ENTITLEMENTS)
    for account in accounts.by_row[1:]:
        if account.info is not None and account.fault is None:
            yield from _beyond_reach(ssn, accounts, account.info, account.row)


def _beyond_reach(ssn: Session, accounts: Accounts, info: QueueInfo, row: int) -> Iterator[Event]:
    """A queue deserves more than it, or any queue, may have: what it may have counts."""
    for dim in np.flatnonzero(accounts.limits.excessive[row]).tolist():
        resource, ceiling = ssn.axis.names[dim], int(info.capability[dim])
        found = f"spec.deserved[{resource}] is {info.as_written('deserved', resource)}"
        if ceiling < UNLIMITED:
            limit = amount(resource, ceiling)
            text = f"{found}, but spec.capability is {limit}, which applies; lower one or raise the other"
        else:
            limit = amount(resource, int(ssn.total[dim]))
            text = f"{found}, which no cluster has: it counts as this cluster's {limit}; correct it"
        yield queue_event(info, EXCEEDS_CAPABILITY, text)
