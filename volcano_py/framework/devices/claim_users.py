"""Which tasks use which claims to devices, and which jobs wait until a claim has lost its devices."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np

from volcano_py.framework.cluster_copy import ClusterCopy
from volcano_py.state.devices.needs import GivenDevices, OpenDevices
from volcano_py.state.status import TaskStatus
from volcano_py.state.table.table import Rows

RELEASES: Final = "devices that are released"
"""The name of what is remembered: claims that are to lose their devices, by UID, and since when."""
SHOWS_WITHIN: Final = 30.0
"""Seconds after which the writer has given up, and the claim counts as it is shown."""


class ClaimUsers:
    """Of one cycle: `ssn.shared` has it. Claims that only one pod uses, which most are, are not looked at one by one:
    there may be many thousands."""

    def __init__(self, cluster: ClusterCopy) -> None:
        self._cluster = cluster
        self._sharers: dict[str, list[int]] = {}
        """Claim that several pods use → rows of the classes of these."""
        self.classes: list[int] = []
        """Rows of all classes with claims; `given`: of those with a claim that has its devices."""
        self.given: list[int] = []
        for each in cluster.snapshot.classes:
            if each is not None and each.devices:
                self.classes.append(each.row)
                if any(isinstance(need, GivenDevices) for need in each.devices):
                    self.given.append(each.row)
                for need in each.devices:
                    if isinstance(need, (OpenDevices, GivenDevices)) and need.claim:
                        self._sharers.setdefault(need.claim, []).append(each.row)

    def rows(self, claim: str, row: int) -> Rows:
        """Rows of the tasks that use the claim (namespace/name), as the task in `row` does."""
        sharers = self._sharers.get(claim)
        if sharers is None:
            return np.array([row], dtype=np.intp)
        tasks = self._cluster.ledger.tasks
        rows = np.flatnonzero(np.isin(tasks.task_class, sharers) & (tasks.status != TaskStatus.FREE))
        used = [at for at in rows.tolist() if claim in self._cluster.task_info(at).device_claims]
        return np.array(used, dtype=np.intp)


def jobs_awaiting_release(cluster: ClusterCopy, released: Mapping[str, float]) -> list[int]:
    """Rows of jobs with waiting pods whose claims are being released. They get no turn: a pod must not be bound with
    devices that its claim is about to lose."""
    if not released:
        return []
    tasks, claims, found = cluster.ledger.tasks, cluster.snapshot.devices.claims, set[int]()
    waiting = np.flatnonzero((tasks.status == TaskStatus.PENDING) & (tasks.job >= 0))
    for row in waiting[np.isin(tasks.task_class[waiting], ClaimUsers(cluster).classes)].tolist():
        for key in cluster.task_info(row).device_claims:
            claim = claims.get(key)
            if claim is None or not claim.is_given:
                continue
            if released.get(claim.uid, -SHOWS_WITHIN) + SHOWS_WITHIN > cluster.now:
                found.add(int(tasks.job[row]))
    return sorted(found)
