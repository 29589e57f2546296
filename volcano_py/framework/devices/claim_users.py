"""Which tasks use which claims to devices, and which jobs wait until a claim has lost its devices."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np

from volcano_py.framework.cluster_copy import ClusterCopy
from volcano_py.state.table.table import Rows

RELEASES: Final = "devices that are released"
"""The name of what is remembered: claims that are to lose their devices, by UID, and since when."""
SHOWS_WITHIN: Final = 30.0
"""Seconds after which the writer has given up, and the claim counts as it is shown."""
_NO_ROWS: Final[Rows] = np.zeros(0, dtype=np.intp)


def rows_by_claim(cluster: ClusterCopy) -> dict[str, Rows]:
    """ResourceClaim (namespace/name) → rows of the tasks that use it."""
    with_devices = [each.row for each in cluster.snapshot.classes if each is not None and each.devices]
    found: dict[str, list[int]] = {}
    for row in np.flatnonzero(np.isin(cluster.ledger.tasks.task_class, with_devices)).tolist():
        info = cluster.snapshot.tasks[row]
        for claim in () if info is None else info.device_claims:
            found.setdefault(claim, []).append(row)
    return {claim: np.array(rows, dtype=np.intp) for claim, rows in found.items()}


def jobs_awaiting_release(cluster: ClusterCopy, released: Mapping[str, float]) -> list[int]:
    """Rows of jobs with pods whose claims are being released. They get no turn: a pod must not be bound with devices
    that its claim is about to lose."""
    if not released:
        return []
    by_claim, tasks = rows_by_claim(cluster), cluster.ledger.tasks
    awaited = [
        by_claim.get(key, _NO_ROWS)
        for key, claim in cluster.snapshot.devices.claims.items()
        if claim.is_given and released.get(claim.uid, -SHOWS_WITHIN) + SHOWS_WITHIN > cluster.now
    ]
    jobs = tasks.job[np.concatenate([_NO_ROWS, *awaited])]
    found: list[int] = np.unique(jobs[jobs >= 0]).tolist()
    return found
