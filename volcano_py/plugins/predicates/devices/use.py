"""Which devices are in use, kept up to date within a cycle: as of now, and once terminating pods are gone."""

from __future__ import annotations

from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from volcano_py.framework.cluster_copy import ClusterCopy
from volcano_py.framework.devices.claim_users import ClaimUsers
from volcano_py.state.devices.picture import ClaimInfo
from volcano_py.state.nodes.terms import Mask
from volcano_py.state.status import ON_NODE_STATUSES, TaskStatus
from volcano_py.state.table.table import Rows

_NOW: Final = ON_NODE_STATUSES.copy()
_THEN: Final = _NOW.copy()
"""[statuses] with which a pod uses its devices, now, and once terminating pods are gone and promised places taken."""
_THEN[TaskStatus.RELEASING], _THEN[TaskStatus.PIPELINED] = False, True


class _Claim(msgspec.Struct, eq=False):
    """Devices that a claim has, or gets in this cycle, and rows of its tasks.

    `is_given`: it has them whether its pods are placed or not. `has_strangers`: it is reserved for others than pods
    that are known here. `counted`: whether they are in the sums of now, and of then.
    """

    devices: NDArray[np.intp]
    is_given: bool
    has_strangers: bool
    rows: Rows
    counted: tuple[bool, bool]


class DeviceUse:
    """Counts, so that what is undone leaves no trace. Of the claims that have devices, only those are looked at one by
    one whose pods leave or are moved in the cycle: there may be many thousands."""

    def __init__(self, cluster: ClusterCopy) -> None:
        self._cluster, self._tasks = cluster, cluster.ledger.tasks
        self._picture = cluster.snapshot.devices
        self._now, self._then = self._picture.held.copy(), self._picture.held - self._picture.going
        self._claims: dict[str, _Claim] = {}
        self._users = ClaimUsers(cluster)
        if self._users.classes:
            leaving = np.flatnonzero(self._tasks.status == TaskStatus.RELEASING)
            for row in leaving[np.isin(self._tasks.task_class[leaving], self._users.classes)].tolist():
                self.follow(row)

    def free(self, *, released: bool) -> Mask:
        """[D] devices that nobody uses: neither now nor by a promise, or, if `released`, once terminating pods are
        gone."""
        used = self._then if released else self._now | self._then
        return np.asarray(used == 0)

    def choose(self, claim: str, row: int, devices: Rows) -> None:
        """The claim (namespace/name) of that task gets these; they count as soon as a task of it has a place
        (`follow`)."""
        self._claims[claim] = _Claim(devices, False, False, self._users.rows(claim, row), (False, False))

    def follow(self, row: int) -> None:
        """The task has another status."""
        for claim in self._cluster.task_info(row).device_claims:
            if (known := self._claims.get(claim) or self._given(claim, row)) is not None:
                self._claims[claim] = known
                self._count(known)

    def forget(self, claim: str) -> None:
        """What was chosen for the claim, whose tasks have no places any more, is chosen no longer."""
        self._count(self._claims.pop(claim))

    def _count(self, claim: _Claim) -> None:
        before, claim.counted = claim.counted, self._standing(claim)
        for counts, was, now in zip((self._now, self._then), before, claim.counted, strict=True):
            if was != now:
                counts[claim.devices] += 1 if now else -1

    def _standing(self, claim: _Claim) -> tuple[bool, bool]:
        """Whether its devices are in use now, and then."""
        statuses = self._tasks.status[claim.rows]
        if not claim.is_given:
            return bool(_NOW[statuses].any()), bool(_THEN[statuses].any())
        is_left = bool(_NOW[statuses].any()) and not _THEN[statuses].any() and not claim.has_strangers
        return True, not is_left

    def _given(self, claim: str, row: int) -> _Claim | None:
        """The claim of that task, if it had devices when the cycle began: they are in the sums."""
        info = self._picture.claims.get(claim)
        if info is None or not info.is_given:
            return None
        rows = self._users.rows(claim, row)
        return _Claim(np.array(info.devices, dtype=np.intp), True, self._has_strangers(info, rows), rows, (True, True))

    def _has_strangers(self, claim: ClaimInfo, rows: Rows) -> bool:
        return not claim.users <= {self._cluster.task_info(row).ref.uid for row in rows.tolist()}
