"""What pods hold on their nodes, now and once terminating pods are gone."""

from __future__ import annotations

import numpy as np

from volcano_py.framework.job import Placement
from volcano_py.framework.session import Session
from volcano_py.plugins.predicates.holders import NOW, THEN, Holders, Holds, places_of
from volcano_py.plugins.predicates.host_ports import held_ports
from volcano_py.plugins.predicates.volumes.limits import VolumeLimits
from volcano_py.state.task_class import TaskClass
from volcano_py.state.volumes.disks import Disk
from volcano_py.state.volumes.needs import Shareable


class NodeUsage:
    """What pods hold, as of one of the two."""

    def __init__(self, ssn: Session, holds: Holds) -> None:
        self.ports = Holders(ssn, held_ports, holds)
        self.disks = Holders(ssn, _disks, holds)
        self.claims = Holders(ssn, _shared_claims, holds)
        self.limits = VolumeLimits(ssn, self.claims, holds)
        self._ledger = ssn.ledger
        self._holds = holds
        self._held_at = places_of(ssn.ledger, np.arange(ssn.ledger.tasks.size), holds)
        """[T] where a task holds what it asks for."""

    def update(self, placement: Placement) -> None:
        """Tasks were placed, evicted or taken back; where they are now, the ledger says."""
        task_class, rows = placement.task_class, placement.rows
        before, after = self._held_at[rows], places_of(self._ledger, rows, self._holds)
        self._held_at[rows] = after
        self.ports.update(task_class, before, after)
        self.disks.update(task_class, before, after)
        self.limits.update(task_class, before, after)
        self.claims.update(task_class, before, after)


class NodeUsages:
    """Both; each is made when it is first asked for, and follows the placements from then on."""

    def __init__(self, ssn: Session) -> None:
        self._ssn = ssn
        self._made: dict[bool, NodeUsage] = {}

    def at(self, *, released: bool = False) -> NodeUsage:
        """As of now, or once terminating pods are gone."""
        usage = self._made.get(released)
        if usage is None:
            usage = self._made[released] = NodeUsage(self._ssn, THEN if released else NOW)
        return usage

    def update(self, placement: Placement) -> None:
        """See `NodeUsage.update`."""
        for usage in self._made.values():
            usage.update(placement)


def _disks(task_class: TaskClass) -> tuple[Disk, ...]:
    return task_class.disks


def _shared_claims(task_class: TaskClass) -> frozenset[str]:
    return frozenset(need.claim for need in task_class.volumes if isinstance(need, Shareable) and need.claim)
