"""Which devices are in use, kept up to date within a cycle: as of now, and once terminating pods are gone."""

from __future__ import annotations

from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from volcano_py.framework.cluster_copy import ClusterCopy
from volcano_py.framework.devices.claim_users import rows_by_claim
from volcano_py.state.devices.picture import ClaimInfo
from volcano_py.state.status import ON_NODE_STATUSES, TaskStatus
from volcano_py.state.table.table import Rows

_NOW: Final = ON_NODE_STATUSES.copy()
_THEN: Final = _NOW.copy()
"""[statuses] with which a pod uses its devices, now, and once terminating pods are gone and promised places taken."""
_THEN[TaskStatus.RELEASING], _THEN[TaskStatus.PIPELINED] = False, True


class _Claim(msgspec.Struct, eq=False):
    """Devices that a claim has, or gets in this cycle, and rows of its tasks.

    `is_given`: it has them whether its pods are placed or not. `has_strangers`: it is reserved for others than pods
    that are known here.
    """

    devices: NDArray[np.intp]
    is_given: bool
    has_strangers: bool
    rows: Rows
    counted: tuple[bool, bool] = (False, False)


class DeviceUse:
    """Counts, so that what is undone leaves no trace."""

    def __init__(self, cluster: ClusterCopy) -> None:
        picture = cluster.snapshot.devices
        self._tasks = cluster.ledger.tasks
        self._now, self._then = (np.zeros(len(picture.devices), dtype=np.int32) for _ in range(2))
        self._claims: dict[str, _Claim] = {}
        self._rows = rows_by_claim(cluster)
        for key, info in picture.claims.items():
            if info.is_given and info.devices:
                rows, devices = self._rows_of(key), np.array(info.devices, dtype=np.intp)
                self._claims[key] = _Claim(devices, True, _has_strangers(cluster, info, rows), rows)
                self.follow(key)

    def free(self, *, released: bool) -> NDArray[np.bool_]:
        """[D] devices that nobody uses: neither now nor by a promise, or, if `released`, once terminating pods are
        gone."""
        used = self._then if released else self._now | self._then
        return np.asarray(used == 0)

    def choose(self, claim: str, devices: Rows) -> None:
        """The claim (namespace/name) gets these; they count as soon as a task of it has a place (`follow`)."""
        self._claims[claim] = _Claim(devices, False, False, self._rows_of(claim))

    def follow(self, claim: str) -> None:
        """Tasks of the claim have other statuses."""
        known = self._claims.get(claim)
        if known is None:
            return
        before, known.counted = known.counted, self._standing(known)
        for counts, was, now in zip((self._now, self._then), before, known.counted, strict=True):
            if was != now:
                counts[known.devices] += 1 if now else -1

    def forget(self, claim: str) -> None:
        """What was chosen for the claim, whose tasks have no places any more, is chosen no longer."""
        self.follow(claim)
        del self._claims[claim]

    def is_used(self, claim: str) -> bool:
        """Whether any task of the claim has a place, or the promise of one."""
        statuses = self._tasks.status[self._rows_of(claim)]
        return bool((_NOW[statuses] | _THEN[statuses]).any())

    def _standing(self, claim: _Claim) -> tuple[bool, bool]:
        """Whether its devices are in use now, and then."""
        statuses = self._tasks.status[claim.rows]
        if not claim.is_given:
            return bool(_NOW[statuses].any()), bool(_THEN[statuses].any())
        is_left = bool(_NOW[statuses].any()) and not _THEN[statuses].any() and not claim.has_strangers
        return True, not is_left

    def _rows_of(self, claim: str) -> Rows:
        return self._rows.get(claim, _NO_ROWS)


_NO_ROWS: Final[Rows] = np.zeros(0, dtype=np.intp)


def _has_strangers(cluster: ClusterCopy, claim: ClaimInfo, rows: Rows) -> bool:
    return not claim.users <= {cluster.task_info(row).ref.uid for row in rows.tolist()}
