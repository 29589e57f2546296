"""Numatopologies as the state knows them, and the picture of them that a cycle gets."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

import msgspec

from volcano_py.api.numa.topologies import NUMATOPOLOGY, Numatopology
from volcano_py.state.numa.info import NumaInfo, read_topology
from volcano_py.state.table.change import Change
from volcano_py.state.table.stores import DerivedStore
from volcano_py.state.table.table import NOWHERE
from volcano_py.state.unreadable_values import UnreadableOfObjects

_NONE: Final[Mapping[str, NumaInfo]] = MappingProxyType({})
_NOTHING: Final[Mapping[str, tuple[int, ...]]] = MappingProxyType({})


class NumaPicture(msgspec.Struct, frozen=True, eq=False):
    """The maker never changes any of it afterwards.

    Attributes:
        version: another number whenever one of the objects has changed.
        nodes: by name.
        holders: node → the task rows of the pods that its object shows, in their order; `NOWHERE` for one that has left
            the node, whose CPUs will be free when the object follows; `LOST` for one that left so long ago that the
            object is not expected to. Nodes whose objects show none are left out.
        awaited_until: when the first of those that have left will count as lost (seconds since the epoch); 0 where none
            has left.
    """

    version: int = 0
    nodes: Mapping[str, NumaInfo] = _NONE
    holders: Mapping[str, tuple[int, ...]] = _NOTHING
    awaited_until: float = 0.0


NO_NUMA: Final = NumaPicture()

LOST: Final = NOWHERE - 1
AWAITED_FOR: Final = 60.0
"""Seconds for which an object may be late to show that a pod has left. Exporters look every three seconds; one that has
ended never does."""


class Numatopologies:
    """Store of that kind. `row_on(node, uid, key)` is the task row of the pod of this UID or, if that is "", of this
    namespace and name, if it is on the node; else `NOWHERE`."""

    def __init__(self, row_on: Callable[[str, str, str], int], unreadable: UnreadableOfObjects) -> None:
        self._row_on, self._unreadable = row_on, unreadable
        self._infos: DerivedStore[Numatopology, NumaInfo] = DerivedStore(Numatopology, read_topology, self._changed)
        self.upsert, self.delete, self.known = self._infos.upsert, self._infos.delete, self._infos.known
        self._version = 0
        self._nodes: Mapping[str, NumaInfo] | None = _NONE
        self._left: dict[tuple[str, str, str], float] = {}
        """Node, UID and name of pods that objects show and that have left → since when that is known."""

    def picture(self, now: float) -> NumaPicture:
        """For a snapshot at `now` (seconds since the epoch)."""
        if self._nodes is None:
            self._nodes = MappingProxyType(dict(self._infos.items()))
        before, self._left = self._left, {}
        holders = {name: self._holders(name, info, before, now) for name, info in self._nodes.items() if info.shown}
        awaited = [since + AWAITED_FOR for since in self._left.values() if since > now - AWAITED_FOR]
        return NumaPicture(self._version, self._nodes, holders, min(awaited, default=0.0))

    def _holders(
        self, node: str, info: NumaInfo, left: Mapping[tuple[str, str, str], float], now: float
    ) -> tuple[int, ...]:
        rows = [self._row_on(node, each.uid, each.key) for each in info.shown]
        for place, each in enumerate(info.shown):
            if rows[place] == NOWHERE:
                key = node, each.uid, each.key
                since = self._left[key] = min(left.get(key, now), now)
                rows[place] = NOWHERE if since > now - AWAITED_FOR else LOST
        return tuple(rows)

    def _changed(self, key: str, _old: NumaInfo | None, new: NumaInfo | None) -> Change:
        self._version += 1
        self._nodes = None
        if new is None:
            self._unreadable.take(NUMATOPOLOGY, key)
        else:
            self._unreadable.put(new.ref, new.unreadable)
        return Change.DECISION
