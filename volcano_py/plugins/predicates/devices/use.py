"""Which devices are in use, kept up to date within a cycle: as of now, and once terminating pods are gone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from volcano_py.framework.devices.claim_users import ClaimUsers
from volcano_py.framework.session import Session
from volcano_py.state.devices.counters import Amounts
from volcano_py.state.devices.picture import ClaimInfo, DevicePicture
from volcano_py.state.nodes.terms import Mask
from volcano_py.state.status import ON_NODE_STATUSES, TaskStatus
from volcano_py.state.table.table import Rows

_NOW: Final = ON_NODE_STATUSES.copy()
_THEN: Final = _NOW.copy()
"""[statuses] with which a pod uses its devices, now, and once terminating pods are gone and promised places taken."""
_THEN[TaskStatus.RELEASING], _THEN[TaskStatus.PIPELINED] = False, True


class Free(msgspec.Struct, frozen=True, eq=False):
    """What of devices can be given.

    Attributes:
        devices: [D] nobody uses them, or they are shared.
        used: [D] somebody uses them.
        left: [K] of the capacity of devices that are shared.
    """

    devices: Mask
    used: Mask
    left: Amounts


def all_free(picture: DevicePicture) -> Free:
    """What could be given if nobody used anything."""
    nothing = np.zeros(len(picture.devices), dtype=np.bool_)
    return Free(~nothing, nothing, picture.shares.value)


class _Claim(msgspec.Struct, eq=False):
    """Devices that a claim has, or gets in this cycle, what it takes of shared ones, and rows of its tasks.

    `is_given`: it has them whether its pods are placed or not. `has_strangers`: it is reserved for others than pods
    that are known here. `counted`: whether they are in the sums of now, and of then.
    """

    devices: NDArray[np.intp]
    columns: NDArray[np.intp]
    amounts: Amounts
    is_given: bool
    has_strangers: bool
    rows: Rows
    counted: tuple[bool, bool]


class DeviceUse:
    """Counts, so that what is undone leaves no trace. Of the claims that have devices, only those are looked at one by
    one whose pods leave or are moved in the cycle: there may be many thousands."""

    def __init__(self, ssn: Session) -> None:
        self._ssn, self._tasks = ssn, ssn.ledger.tasks
        picture = self._picture = ssn.snapshot.devices
        self._now, self._then = picture.held.copy(), picture.held - picture.going
        self._taken_now, self._taken_then = picture.taken.copy(), picture.taken - picture.going_taken
        self._shared = np.zeros(len(picture.devices), dtype=np.bool_)
        self._shared[picture.shares.positions] = True
        self._claims: dict[str, _Claim] = {}
        if picture.claims:
            leaving = np.flatnonzero(self._tasks.status == TaskStatus.RELEASING)
            for row in leaving[np.isin(self._tasks.task_class[leaving], ssn.shared(ClaimUsers).classes)].tolist():
                self.follow(row)

    def free(self, *, released: bool) -> Free:
        """What nobody uses: neither now nor by a promise, or, if `released`, once terminating pods are gone."""
        used = np.asarray((self._then if released else self._now | self._then) > 0)
        taken = self._taken_then if released else np.maximum(self._taken_now, self._taken_then)
        return Free(self._shared | ~used, used, self._picture.shares.value - taken)

    def choose(self, claim: str, row: int, devices: Sequence[int], taken: Mapping[int, int]) -> None:
        """The claim (namespace/name) of that task gets these devices, each once, and so much of the shared ones, by
        column. That counts as soon as a task of it has a place (`follow`)."""
        self._claims[claim] = _claim(devices, taken, self._ssn.shared(ClaimUsers).rows(claim, row))

    def follow(self, row: int) -> None:
        """The task has another status."""
        for claim in self._ssn.task_info(row).device_claims:
            if (known := self._claims.get(claim) or self._given(claim, row)) is not None:
                self._claims[claim] = known
                self._count(known)

    def forget(self, claim: str) -> None:
        """What was chosen for the claim, whose tasks have no places any more, is chosen no longer."""
        self._count(self._claims.pop(claim))

    def _count(self, claim: _Claim) -> None:
        before, claim.counted = claim.counted, self._standing(claim)
        sums = ((self._now, self._taken_now), (self._then, self._taken_then))
        for (counts, taken), was, now in zip(sums, before, claim.counted, strict=True):
            if was != now:
                counts[claim.devices] += 1 if now else -1
                taken[claim.columns] += claim.amounts if now else -claim.amounts

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
        rows = self._ssn.shared(ClaimUsers).rows(claim, row)
        found = _claim(info.devices, info.taken, rows)
        found.is_given, found.has_strangers, found.counted = True, self._has_strangers(info, rows), (True, True)
        return found

    def _has_strangers(self, claim: ClaimInfo, rows: Rows) -> bool:
        return not claim.users <= {self._ssn.task_info(row).ref.uid for row in rows.tolist()}


def _claim(devices: Sequence[int], taken: Mapping[int, int], rows: Rows) -> _Claim:
    """One that gets these in this cycle."""
    return _Claim(
        devices=np.array(devices, dtype=np.intp),
        columns=np.array([*taken], dtype=np.intp),
        amounts=np.array([*taken.values()], dtype=np.int64),
        is_given=False,
        has_strangers=False,
        rows=rows,
        counted=(False, False),
    )
