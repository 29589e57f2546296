"""A store that remembers of each object just what is read off it, so that equal readings are no change."""

from __future__ import annotations

from collections.abc import Callable, ItemsView, ValuesView
from typing import Generic, TypeVar

from volcano_py.api.objects import ApiObject, ObjectMeta, metadata_of
from volcano_py.state.table.change import Change

T = TypeVar("T", bound=ApiObject)
R = TypeVar("R")


class DerivedStore(Generic[T, R]):
    """Objects of one kind by key, as readings. `on_change` gets the key, the old and the new reading (None: none)."""

    def __init__(
        self, kind: type[T], read: Callable[[T], R], on_change: Callable[[str, R | None, R | None], Change]
    ) -> None:
        self._kind = kind
        self._read = read
        self._on_change = on_change
        self._uids: dict[str, str] = {}
        self._readings: dict[str, R] = {}

    def upsert(self, obj: T) -> Change:
        meta = metadata_of(obj)
        old, new = self._readings.get(meta.key), self._read(obj)
        if self._uids.get(meta.key) == meta.uid and old == new:
            return Change.NONE
        self._uids[meta.key], self._readings[meta.key] = meta.uid, new
        return self._on_change(meta.key, old, new)

    def delete(self, obj: T) -> Change:
        meta = metadata_of(obj)
        if self._uids.get(meta.key) != meta.uid:
            return Change.NONE
        del self._uids[meta.key]
        return self._on_change(meta.key, self._readings.pop(meta.key), None)

    def known(self) -> list[ApiObject]:
        return [self._kind(**{"metadata": ObjectMeta.known_by(key, uid)}) for key, uid in self._uids.items()]

    def get(self, key: str) -> R | None:
        return self._readings.get(key)

    def items(self) -> ItemsView[str, R]:
        return self._readings.items()

    def values(self) -> ValuesView[R]:
        return self._readings.values()
