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
            the node, whose CPUs will be free when the object follows. Nodes whose objects show none are left out.
        has_any_left: whether there is such a pod.
    """

    version: int = 0
    nodes: Mapping[str, NumaInfo] = _NONE
    holders: Mapping[str, tuple[int, ...]] = _NOTHING
    has_any_left: bool = False


NO_NUMA: Final = NumaPicture()


class Numatopologies:
    """Store of that kind. `row_on(node, uid, key)` is the task row of the pod of this UID or, if that is "", of this
    namespace and name, if it is on the node; else `NOWHERE`."""

    def __init__(self, row_on: Callable[[str, str, str], int], unreadable: UnreadableOfObjects) -> None:
        self._row_on, self._unreadable = row_on, unreadable
        self._infos: DerivedStore[Numatopology, NumaInfo] = DerivedStore(Numatopology, read_topology, self._changed)
        self.upsert, self.delete, self.known = self._infos.upsert, self._infos.delete, self._infos.known
        self._version = 0
        self._nodes: Mapping[str, NumaInfo] | None = _NONE

    def picture(self) -> NumaPicture:
        """For a snapshot."""
        if self._nodes is None:
            self._nodes = MappingProxyType(dict(self._infos.items()))
        holders = {
            name: tuple([self._row_on(name, each.uid, each.key) for each in info.shown])
            for name, info in self._nodes.items()
            if info.shown
        }
        has_any_left = any(NOWHERE in rows for rows in holders.values())
        return NumaPicture(self._version, self._nodes, holders, has_any_left)

    def _changed(self, key: str, _old: NumaInfo | None, new: NumaInfo | None) -> Change:
        self._version += 1
        self._nodes = None
        if new is None:
            self._unreadable.take(NUMATOPOLOGY, key)
        else:
            self._unreadable.put(new.ref, new.unreadable)
        return Change.DECISION
