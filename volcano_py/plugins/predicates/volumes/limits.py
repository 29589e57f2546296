"""How many CSI volumes are attached to each node, against what its drivers can attach.

Semantics are kube-scheduler's NodeVolumeLimits: a volume counts once a node, however many pods there use it, from the
moment a pod has a place until it is gone. A driver's limit refuses only pods with a volume of it that is not attached
yet.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from volcano_py.framework.session import Session
from volcano_py.framework.views import Counts
from volcano_py.plugins.predicates.holders import Holders, Holds, places_of
from volcano_py.state.table.table import Rows
from volcano_py.state.task_class import TaskClass
from volcano_py.state.volumes.needs import BoundNeed, OpenNeed

MANY: Final = np.iinfo(np.int64).max // 4
"""No limit; sums of it do not overflow."""


class Attached(msgspec.Struct, frozen=True):
    """What a pod of a class attaches: of its own by driver, and claims that it shares, claim → driver."""

    own: Counter[str]
    shared: dict[str, str]

    @property
    def drivers(self) -> set[str]:
        return {*self.own, *self.shared.values()}


class VolumeLimits:
    """Counts are made when first asked for, and follow the placements from then on."""

    def __init__(self, ssn: Session, claims: Holders[str], holds: Holds) -> None:
        self._ssn = ssn
        self._holds = holds
        self._claims = claims
        self._reported = ssn.snapshot.storage.limits
        self._limits: dict[str, Counts] = {}
        self._attached: dict[int, Attached] = {}
        self._own_used: dict[str, Counts] = {}
        self._shared: dict[str, tuple[str, ...]] = {}
        """Driver → claims that several pods use."""

    def concerns(self, task_class: TaskClass) -> bool:
        """Whether any node limits what such a pod attaches."""
        attached = self._of(task_class)
        return bool(attached.own or attached.shared)

    def room(self, task_class: TaskClass, rows: Rows) -> Counts:
        """[K] how many pods of the class can still attach their volumes."""
        room = np.full(len(rows), MANY, dtype=np.int64)
        attached = self._of(task_class)
        for driver in attached.drivers:
            left = self._limit(driver)[rows] - self._used(driver, rows)
            brought = self._brought(attached, driver, rows)
            own = attached.own[driver]
            fit = (left - brought) // own if own else np.where((brought == 0) | (left >= brought), MANY, 0)
            np.minimum(room, fit, out=room)
        return np.maximum(room, 0)

    def full(self, task_class: TaskClass, rows: Rows) -> Iterator[tuple[str, int]]:
        """Drivers that attach no more volumes to some of these nodes [K], and how many at most."""
        attached = self._of(task_class)
        for driver in sorted(attached.drivers):
            limits = self._limit(driver)[rows]
            new = attached.own[driver] + self._brought(attached, driver, rows)
            short = (new > 0) & (limits < self._used(driver, rows) + new)
            if short.any():
                yield driver, int(limits[short].max())

    def update(self, task_class: TaskClass, before: NDArray[np.int32], after: NDArray[np.int32]) -> None:
        """Pods of the class have moved from nodes [K] to nodes [K]."""
        if not self._own_used:
            return
        for driver, count in self._of(task_class).own.items():
            used = self._own_used.get(driver)
            if used is not None:
                np.subtract.at(used, before[before >= 0], count)
                np.add.at(used, after[after >= 0], count)

    def _limit(self, driver: str) -> Counts:
        """[N] how many volumes the driver attaches."""
        limit = self._limits.get(driver)
        if limit is None:
            limit = self._limits[driver] = np.full(self._ssn.ledger.nodes.size, MANY, dtype=np.int64)
            for node, count in self._reported[driver].items():
                if (row := self._ssn.nodes.rows.get(node)) is not None:
                    limit[row] = count
        return limit

    def _used(self, driver: str, rows: Rows) -> Counts:
        """[K] volumes of the driver that are attached."""
        own = self._own_used.get(driver)
        if own is None:
            own = self._own_used[driver] = self._count_own(driver)
            attached = [self._of(each).shared.items() for each in self._all()]
            self._shared[driver] = tuple(sorted({claim for each in attached for claim, its in each if its == driver}))
        used = own[rows]
        for claim in self._shared[driver]:
            used = used + (self._claims.on(claim)[rows] > 0)
        return used

    def _brought(self, attached: Attached, driver: str, rows: Rows) -> Counts:
        """[K] shared volumes of the driver that such a pod would be the first to have there."""
        brought = np.zeros(len(rows), dtype=np.int64)
        for claim, its in attached.shared.items():
            if its == driver:
                brought += self._claims.on(claim)[rows] == 0
        return brought

    def _count_own(self, driver: str) -> Counts:
        per_class = np.zeros(self._ssn.ledger.classes.size, dtype=np.int64)
        for task_class in self._all():
            per_class[task_class.row] = self._of(task_class).own[driver]
        tasks = self._ssn.ledger.tasks
        rows = np.flatnonzero(per_class[tasks.task_class])
        nodes = places_of(self._ssn.ledger, rows, self._holds)
        held = nodes >= 0
        counted = np.bincount(
            nodes[held], weights=per_class[tasks.task_class[rows[held]]], minlength=self._ssn.ledger.nodes.size
        )
        return counted.astype(np.int64)

    def _all(self) -> list[TaskClass]:
        return [each for each in self._ssn.snapshot.classes if each is not None and each.volumes]

    def _of(self, task_class: TaskClass) -> Attached:
        found = self._attached.get(task_class.row)
        if found is None:
            found = self._attached[task_class.row] = self._read(task_class)
        return found

    def _read(self, task_class: TaskClass) -> Attached:
        attached = Attached(Counter(), {})
        for need in task_class.volumes:
            if not isinstance(need, BoundNeed | OpenNeed):
                continue
            driver = need.driver if isinstance(need, BoundNeed) else self._provisioner(need)
            if driver not in self._reported:
                continue
            if need.claim:
                attached.shared[need.claim] = driver
            else:
                attached.own[driver] += 1
        return attached

    def _provisioner(self, need: OpenNeed) -> str:
        found = self._ssn.snapshot.storage.classes.get(need.storage_class)
        return found.provisioner if found is not None else ""
