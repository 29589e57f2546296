"""Stores of API objects by kind: whole, or only what is derived from them."""

from __future__ import annotations

from collections.abc import Callable, ItemsView, ValuesView
from typing import Any, Generic, Protocol, TypeVar

from volcano_py.api.objects import ApiObject, ObjectMeta, metadata_of
from volcano_py.state.table.change import Change

T = TypeVar("T", bound=ApiObject)
R = TypeVar("R")


class Store(Protocol):
    """Holds the objects of one kind."""

    def upsert(self, obj: Any) -> Change:
        """The object is new or has changed."""

    def delete(self, obj: Any) -> Change:
        """The object was deleted; one of the same name with another UID stays."""

    def known(self) -> list[ApiObject]:
        """All stored objects, with at least their names and UIDs."""


class ObjectStore(Generic[T]):
    """Objects by key. A new object of the same name replaces the old one, whose late deletion then changes nothing."""

    def __init__(self) -> None:
        self._objects: dict[str, T] = {}

    def put(self, obj: T) -> T | None:
        """Store the object; returns its previous version, None when it is new (also when it has another UID)."""
        meta = metadata_of(obj)
        old = self._objects.get(meta.key)
        self._objects[meta.key] = obj
        return old if old is not None and metadata_of(old).uid == meta.uid else None

    def take(self, obj: T) -> T | None:
        """Remove and return the object; None when it, with its UID, is not stored."""
        meta = metadata_of(obj)
        known = self._objects.get(meta.key)
        if known is None or metadata_of(known).uid != meta.uid:
            return None
        return self._objects.pop(meta.key)

    def get(self, key: str) -> T | None:
        return self._objects.get(key)

    def all(self) -> list[T]:
        return list(self._objects.values())


class DerivedStore(Generic[T, R]):
    """What `read` derives from each object of one kind, by key; an update that leaves it equal is no change.

    `on_change` gets the key, the old and the new value; None where there is none.
    """

    def __init__(
        self, kind: type[T], read: Callable[[T], R], on_change: Callable[[str, R | None, R | None], Change]
    ) -> None:
        self._kind = kind
        self._read = read
        self._on_change = on_change
        self._uids: dict[str, str] = {}
        self._values: dict[str, R] = {}

    def upsert(self, obj: T) -> Change:
        meta = metadata_of(obj)
        old, new = self._values.get(meta.key), self._read(obj)
        if self._uids.get(meta.key) == meta.uid and old == new:
            return Change.NONE
        self._uids[meta.key], self._values[meta.key] = meta.uid, new
        return self._on_change(meta.key, old, new)

    def delete(self, obj: T) -> Change:
        meta = metadata_of(obj)
        if self._uids.get(meta.key) != meta.uid:
            return Change.NONE
        del self._uids[meta.key]
        return self._on_change(meta.key, self._values.pop(meta.key), None)

    def known(self) -> list[ApiObject]:
        return [self._kind(**{"metadata": ObjectMeta.known_by(key, uid)}) for key, uid in self._uids.items()]

    def get(self, key: str) -> R | None:
        return self._values.get(key)

    def items(self) -> ItemsView[str, R]:
        return self._values.items()

    def values(self) -> ValuesView[R]:
        return self._values.values()
