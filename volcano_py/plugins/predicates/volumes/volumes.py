"""Pods with volumes: claims that they wait for, and nodes on which their volumes and disks can be used.

The semantics are those of kube-scheduler's filters VolumeRestrictions, NodeVolumeLimits, VolumeZone and VolumeBinding,
in its words.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec
import numpy as np

from volcano_py.api.reasons import Reason
from volcano_py.framework.job import Placement
from volcano_py.framework.placement.refused import Refused
from volcano_py.framework.plugin import Reach
from volcano_py.framework.session import Session
from volcano_py.framework.views import FITS, Codes, Counts, NodeView
from volcano_py.plugins.predicates.arguments import PredicatesArguments
from volcano_py.plugins.predicates.node_usage import NodeUsages
from volcano_py.plugins.predicates.volumes.advice import attached, each_once, in_use, reach, zones
from volcano_py.plugins.predicates.volumes.choices import NO_SPACE, NO_VOLUME, VolumeChoices
from volcano_py.plugins.predicates.volumes.disks import disks_in_use, rival_disks
from volcano_py.plugins.predicates.volumes.places import reachable, zone_mask
from volcano_py.state.nodes.terms import Mask
from volcano_py.state.status import TaskStatus
from volcano_py.state.table.table import NOWHERE
from volcano_py.state.task_class import Refusal, TaskClass
from volcano_py.state.volumes.needs import BoundNeed, OpenNeed, Shareable, Trouble

OUT_OF_REACH: Final = "node(s) didn't match PersistentVolume's node affinity"
NO_DISK: Final = "node(s) had no available disk"
OTHER_ZONE: Final = "node(s) had no available volume zone"
TOO_MANY: Final = "node(s) exceed max volume count"
IN_USE: Final = (
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod"
)

_WIDTHS: Final = {reach: width for width, reach in enumerate(Reach)}
_PLACED: Final = (TaskStatus.ALLOCATED, TaskStatus.PIPELINED)


class _Lasting(msgspec.Struct, frozen=True):
    """[N] what follows from bound volumes alone, for a class."""

    out_of_reach: Mask | None
    other_zone: Mask | None


class Volumes:
    """Costs nothing for classes without claims and disks; made with the session, updated with every placement."""

    def __init__(self, ssn: Session, arguments: PredicatesArguments, usages: NodeUsages) -> None:
        self._ssn = ssn
        self._arguments = arguments
        self._usages = usages
        self._choices = VolumeChoices(ssn, float(arguments.volume_binding_seconds))
        self._lasting: dict[int, _Lasting] = {}

    def fault(self, task_class: TaskClass) -> Refusal | None:
        """What is wrong with a claim, so that no node will do."""
        if not task_class.volumes or not self._arguments.volume_binding:
            return None
        trouble = next((need for need in task_class.volumes if isinstance(need, Trouble)), None)
        return None if trouble is None else Refusal(Reason.VOLUME_NOT_READY, trouble.message)

    def refuse(self, task_class: TaskClass, view: NodeView, codes: Codes) -> None:
        """Write the refusals of nodes that say yes so far into `codes` [K]."""
        if not task_class.volumes and not task_class.disks:
            return
        rows, usage = view.rows, self._usages.at(released=view.released)
        if self._mounts_disks(task_class):
            self._write(codes, usage.disks.any_on(rival_disks(task_class.disks), rows), NO_DISK, resolvable=True)
        if self._arguments.volume_binding and any(usage.claims.on(claim).any() for claim in _exclusive(task_class)):
            self._write(codes, np.ones(len(rows), dtype=np.bool_), IN_USE, resolvable=True)
        if self._is_limited(task_class):
            self._write(codes, usage.limits.room(task_class, rows) < 1, TOO_MANY, resolvable=True)
        lasting = self._lasting_of(task_class)
        if lasting.other_zone is not None:
            self._write(codes, lasting.other_zone[rows], OTHER_ZONE)
        if lasting.out_of_reach is not None:
            self._write(codes, lasting.out_of_reach[rows], OUT_OF_REACH)
        if self._chooses(task_class):
            no_volume, no_space = self._choices.refused(task_class, rows)
            self._write(codes, no_volume, NO_VOLUME)
            self._write(codes, no_space, NO_SPACE)

    def advice(self, task_class: TaskClass, refused: Refused) -> list[str]:
        """What would help a class that these nodes refuse."""
        return each_once(self._advice(task_class, refused)) if task_class.volumes or task_class.disks else []

    def _advice(self, task_class: TaskClass, refused: Refused) -> Iterator[str]:
        ssn, usage = self._ssn, self._usages.at()
        bound = [need for need in task_class.volumes if isinstance(need, BoundNeed)]
        if NO_DISK in refused:
            yield disks_in_use(ssn, usage.disks, task_class.disks, refused.rows(NO_DISK))
        if IN_USE in refused:
            for claim in _exclusive(task_class):
                if len(users := usage.claims.rows([claim])):
                    yield in_use(ssn, claim, users)
        if TOO_MANY in refused:
            yield from (attached(*each) for each in usage.limits.full(task_class, refused.rows(TOO_MANY)))
        if OTHER_ZONE in refused:
            yield from (zones(need) for need in bound if need.zones)
        if OUT_OF_REACH in refused:
            yield from (reach(ssn, need) for need in bound)
        if self._chooses(task_class) and (NO_VOLUME in refused or NO_SPACE in refused):
            yield from self._choices.advice(task_class, refused.rows(NO_VOLUME), refused.rows(NO_SPACE))

    def reach(self, task_class: TaskClass) -> Reach:
        """How far a placement moves the answers."""
        if self._arguments.volume_binding and _exclusive(task_class):
            return Reach.DOMAIN
        moves = self._mounts_disks(task_class) or self._is_limited(task_class)
        reach = Reach.ROW if moves else Reach.STATIC
        if self._chooses(task_class):
            reach = max(reach, self._choices.reach(task_class), key=lambda each: _WIDTHS[each])
        return reach

    def room(self, task_class: TaskClass, view: NodeView) -> Counts | None:
        """[K] how many pods of the class each node takes; None when they have to be tried one by one."""
        room: Counts | None = np.full(len(view), np.iinfo(np.int64).max, dtype=np.int64)
        if self._chooses(task_class):
            room = self._choices.room(task_class, view.rows)
        if room is not None and self._is_limited(task_class):
            limits = self._usages.at(released=view.released).limits
            room = np.minimum(room, limits.room(task_class, view.rows))
        if room is not None and self._mounts_disks(task_class) and not all(disk.reading for disk in task_class.disks):
            room = np.minimum(room, 1)  # a second one would want the same disk
        return room

    def update(self, placement: Placement) -> None:
        """Tasks were placed, evicted or taken back: so are the volumes that were chosen for them."""
        task_class, rows, ledger = placement.task_class, placement.rows, self._ssn.ledger
        if self._chooses(task_class):
            for row, node in zip(rows.tolist(), ledger.tasks.node[rows].tolist(), strict=True):
                if ledger.tasks.status[row] in _PLACED and node != NOWHERE:
                    self._choices.take(task_class, row, node)
                else:
                    self._choices.give_back(row)

    def _write(self, codes: Codes, refused: Mask, message: str, *, resolvable: bool = False) -> None:
        """Refusals on account of other pods are `resolvable`: they pass when those are gone."""
        if refused.any():
            code = self._ssn.refusal(Reason.NODES_REFUSE, message, resolvable=resolvable, transient=resolvable)
            codes[refused & (codes == FITS)] = code

    def _mounts_disks(self, task_class: TaskClass) -> bool:
        on: bool = self._arguments.volume_binding
        return on and bool(task_class.disks)

    def _is_limited(self, task_class: TaskClass) -> bool:
        on: bool = self._arguments.volume_limits
        return on and bool(task_class.volumes) and self._usages.at().limits.concerns(task_class)

    def _chooses(self, task_class: TaskClass) -> bool:
        if not task_class.volumes:
            return False  # by far the most frequent case, for every placement
        on: bool = self._arguments.volume_binding
        return on and any(isinstance(need, OpenNeed) for need in task_class.volumes)

    def _lasting_of(self, task_class: TaskClass) -> _Lasting:
        found = self._lasting.get(task_class.row)
        if found is None:
            bound = [need for need in task_class.volumes if isinstance(need, BoundNeed)]
            found = self._lasting[task_class.row] = _Lasting(self._out_of_reach(bound), self._other_zone(bound))
        return found

    def _out_of_reach(self, needs: list[BoundNeed]) -> Mask | None:
        if not self._arguments.volume_binding:
            return None
        mask: Mask | None = None
        for need in needs:
            if need.affinity is not None:
                outside = np.ones(len(self._ssn.nodes.nodes), dtype=np.bool_)
                outside[reachable(self._ssn.nodes, need.affinity)] = False
                mask = outside if mask is None else mask | outside
        return mask

    def _other_zone(self, needs: list[BoundNeed]) -> Mask | None:
        if not self._arguments.volume_zone:
            return None
        mask: Mask | None = None
        for need in needs:
            if need.zones:
                outside = ~zone_mask(self._ssn.nodes, need.zones)
                mask = outside if mask is None else mask | outside
        return mask


def _exclusive(task_class: TaskClass) -> list[str]:
    """Claims that another pod uses, too, although only one may at a time."""
    return [need.claim for need in task_class.volumes if isinstance(need, Shareable) and need.exclusive]
