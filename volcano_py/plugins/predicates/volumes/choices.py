"""Volumes for claims that wait for a node: which nodes can give them, and which volume each claim gets in this cycle.

Semantics are kube-scheduler's VolumeBinding: on each node the claims of a pod, the smallest first, take the smallest
volumes that suit them; for those that find none it must be possible to provision one there. What a placement takes is
not offered to others until the placement is taken back, so two pods of one gang never get the same volume.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec
import numpy as np

from volcano_py.api.effects import ClaimBinding, ObjectRef
from volcano_py.framework.plugin import Reach
from volcano_py.framework.session import Session
from volcano_py.framework.views import Counts
from volcano_py.plugins.predicates.volumes.advice import no_space as no_space_for
from volcano_py.plugins.predicates.volumes.advice import not_given
from volcano_py.plugins.predicates.volumes.limits import MANY
from volcano_py.plugins.predicates.volumes.places import capacity_mask, reachable, topology_mask
from volcano_py.plugins.predicates.volumes.pools import Pool
from volcano_py.state.nodes.terms import Mask
from volcano_py.state.table.table import Rows
from volcano_py.state.task_class import TaskClass
from volcano_py.state.volumes.needs import OpenNeed
from volcano_py.state.volumes.storage import Volume

_encode = msgspec.msgpack.Encoder().encode

NO_VOLUME: Final = "node(s) didn't find available persistent volumes to bind"
NO_SPACE: Final = "node(s) did not have enough free storage"


class Making(msgspec.Struct, frozen=True, eq=False):
    """[N] whether volumes of a class are made for a node at all, and whether there is room for one of this size."""

    possible: Mask
    spacious: Mask

    @property
    def both(self) -> Mask:
        return self.possible & self.spacious


class _Shared(msgspec.Struct, eq=False):
    """What was chosen in this cycle for a claim that several pods use, and for how many."""

    volume: str
    node: int
    users: set[int] = msgspec.field(default_factory=set)


class VolumeChoices:
    """Pools of volumes are made when they are first asked for, and follow the placements from then on."""

    def __init__(self, ssn: Session, bind_within: float) -> None:
        """`bind_within` is how long binding may take, in seconds."""
        self._ssn = ssn
        self._storage = ssn.snapshot.storage
        self._index = ssn.nodes
        self._bind_within = bind_within
        self._pools: dict[bytes, Pool] = {}
        self._making: dict[tuple[str, int], Making] = {}
        self._taken: dict[str, str] = {}
        """Volume → claim that takes it in this cycle."""
        self._shared: dict[str, _Shared] = {}
        self._chosen: dict[int, tuple[ClaimBinding, ...]] = {}
        """By task row."""

    # -- what nodes say ------------------------------------------------------------------------------------------------

    def refused(self, task_class: TaskClass, rows: Rows) -> tuple[Mask, Mask]:
        """[K] nodes that have no volume for one of the claims, and of the others those without the space for one."""
        no_volume, no_space = np.zeros(len(rows), dtype=np.bool_), np.zeros(len(rows), dtype=np.bool_)
        needs = _open(task_class)
        for need in needs:
            given, makeable = self._given(need), self._makeable(need)
            possible = given | makeable.possible
            no_volume |= ~possible[rows]
            no_space |= (possible & ~given & ~makeable.spacious)[rows]
        if self._compete(needs):
            good = np.flatnonzero(~(no_volume | no_space))
            for at in good.tolist():
                no_volume[at] = self._choose(needs, int(rows[at])) is None
        return no_volume, no_space & ~no_volume

    def advice(self, task_class: TaskClass, no_volume: Rows, no_space: Rows) -> Iterator[str]:
        """What would help on nodes that have no volume [K], and on nodes without the space for one [L]."""
        for need in _open(task_class):
            given, making = self._given(need), self._makeable(need)
            if not (given | making.possible)[no_volume].all():
                yield not_given(self._ssn, need, self._storage.classes.get(need.storage_class))
            elif (making.possible & ~given & ~making.spacious)[no_space].any():
                yield no_space_for(need)

    def reach(self, task_class: TaskClass) -> Reach:
        """How far a placement moves the answers."""
        reach = Reach.STATIC
        for need in _open(task_class):
            if need.claim:
                return Reach.DOMAIN
            if need.node or self._kept(need) is not None:
                continue
            pool = self._pool(need)
            if not pool.is_local:
                return Reach.DOMAIN
            if len(pool):
                reach = Reach.ROW
        return reach

    def room(self, task_class: TaskClass, rows: Rows) -> Counts | None:
        """[K] how many pods of the class, one after the other, get their volumes; None when each has to be tried."""
        needs = _open(task_class)
        if self._compete(needs):
            return None
        room = np.full(len(rows), MANY, dtype=np.int64)
        for need in needs:
            if not need.node and self._kept(need) is None:
                possible = self._makeable(need).both[rows]
                np.minimum(room, np.where(possible, MANY, self._pool(need).free[rows]), out=room)
        return room

    # -- what pods take ------------------------------------------------------------------------------------------------

    def take(self, task_class: TaskClass, row: int, node: int) -> None:
        """The task gets a place on the node, and its claims get their volumes there.

        Raises:
            LookupError: the node cannot give them; no pod should have been placed there.
        """
        claims = self._ssn.task_info(row).claims
        needs = zip(claims, task_class.volumes, strict=True)
        waiting = [(claim, need) for claim, need in needs if isinstance(need, OpenNeed)]
        volumes = self._choose([need for _, need in waiting], node)
        if volumes is None:
            raise LookupError(f"{self._ssn.task_info(row).key}: no volumes on node {self._index.names[node]}")
        bindings: list[ClaimBinding] = []
        for (claim, need), volume in zip(waiting, volumes, strict=True):
            if need.claim:
                self._shared.setdefault(claim, _Shared(volume, node)).users.add(row)
            if volume and self._taken.setdefault(volume, claim) == claim:
                for pool in self._pools.values():
                    pool.take(volume)
            namespace, _, name = claim.partition("/")
            uid = self._storage.claims.get(claim, "")
            bindings.append(ClaimBinding(ObjectRef("PersistentVolumeClaim", namespace, name, uid), volume))
        self._chosen[row] = tuple(bindings)
        self._ssn.findings.bind_claims(row, tuple(bindings), self._bind_within)

    def give_back(self, row: int) -> None:
        """The task has no place any more."""
        self._ssn.findings.unbind_claims(row)
        for binding in self._chosen.pop(row, ()):
            claim = binding.claim.key
            shared = self._shared.get(claim)
            if shared is not None:
                shared.users.discard(row)
                if shared.users:
                    continue
                del self._shared[claim]
            if self._taken.get(binding.volume) == claim:
                del self._taken[binding.volume]
                for pool in self._pools.values():
                    pool.give_back(binding.volume)

    # -- one claim -----------------------------------------------------------------------------------------------------

    def _given(self, need: OpenNeed) -> Mask:
        """[N] nodes with a volume for the claim that exists already."""
        shared = self._shared.get(need.claim) if need.claim else None
        if shared is not None and not shared.volume:
            return self._only(shared.node)
        if need.node:
            return self._none()
        volume = self._kept(need, shared)
        if volume is not None:
            return self._from(volume)
        return self._pool(need).free > 0

    def _makeable(self, need: OpenNeed) -> Making:
        """[N] nodes for which a volume can be made for the claim."""
        shared = self._shared.get(need.claim) if need.claim else None
        if shared is not None or (not need.node and self._kept(need) is not None):
            return Making(self._none(), self._none())
        making = self._making_of(need)
        if need.node:
            only = self._only(self._index.rows.get(need.node, -1))
            return Making(making.possible & only, making.spacious)
        return making

    def _making_of(self, need: OpenNeed) -> Making:
        key = (need.storage_class, need.size)
        making = self._making.get(key)
        if making is None:
            storage_class = self._storage.classes.get(need.storage_class)
            if storage_class is None or not storage_class.provisions:
                making = Making(self._none(), self._none())
            else:
                spacious = np.ones(len(self._index.nodes), dtype=np.bool_)
                if storage_class.provisioner in self._storage.tracked and need.size:
                    rooms = self._storage.capacities.get(need.storage_class, ())
                    spacious = capacity_mask(self._index, rooms, need.size)
                making = Making(topology_mask(self._index, storage_class.allowed_topologies), spacious)
            self._making[key] = making
        return making

    def _kept(self, need: OpenNeed, shared: _Shared | None = None) -> Volume | None:
        """The volume that is kept for the claim, or was chosen for it in this cycle."""
        name = shared.volume if shared is not None else need.reserved
        volume = self._storage.kept.get(name)
        if volume is None and shared is not None:
            free = self._storage.free.get(need.storage_class, ())
            volume = next((each for each in free if each.name == name), None)
        return volume if volume is not None and volume.suits(need) else None

    def _pool(self, need: OpenNeed) -> Pool:
        kind = msgspec.structs.replace(need, claim="", exclusive=False, node="", reserved="")
        key = _encode(kind)
        pool = self._pools.get(key)
        if pool is None:
            volumes = self._storage.free.get(need.storage_class, ())
            pool = self._pools[key] = Pool(self._index, volumes, kind, self._taken)
        return pool

    # -- the claims of a pod together ----------------------------------------------------------------------------------

    def _compete(self, needs: list[OpenNeed]) -> bool:
        """Whether claims of one pod could want the same volume."""
        if len(needs) < 2:
            return False
        plain = [need for need in needs if not need.node and self._kept(need) is None]
        classes = [need.storage_class for need in plain if len(self._pool(need))]
        return len(set(classes)) < len(classes)

    def _choose(self, needs: list[OpenNeed], node: int) -> list[str] | None:
        """A volume for each claim on the node, "" where one is to be made; None when the node cannot give them."""
        chosen = [""] * len(needs)
        for at in sorted(range(len(needs)), key=lambda at: needs[at].size):
            need = needs[at]
            shared = self._shared.get(need.claim) if need.claim else None
            if shared is not None:
                if not self._given(need)[node]:
                    return None
                chosen[at] = shared.volume
                continue
            if not need.node:
                kept = self._kept(need)
                if kept is not None:
                    if not self._from(kept)[node]:
                        return None
                    chosen[at] = kept.name
                    continue
                chosen[at] = self._pool(need).smallest(node, chosen)
            if not chosen[at] and not self._makeable(need).both[node]:
                return None
        return chosen

    # -- masks ---------------------------------------------------------------------------------------------------------

    def _from(self, volume: Volume) -> Mask:
        if volume.affinity is None:
            return np.ones(len(self._index.nodes), dtype=np.bool_)
        mask = self._none()
        mask[reachable(self._index, volume.affinity)] = True
        return mask

    def _only(self, node: int) -> Mask:
        mask = self._none()
        if node >= 0:
            mask[node] = True
        return mask

    def _none(self) -> Mask:
        return np.zeros(len(self._index.nodes), dtype=np.bool_)


def _open(task_class: TaskClass) -> list[OpenNeed]:
    return [need for need in task_class.volumes if isinstance(need, OpenNeed)]
