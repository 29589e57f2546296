"""What a new picture of an object means for the scheduler, and the part that all stores of objects play."""

from __future__ import annotations

from enum import IntEnum
from typing import Any, Generic, Protocol, TypeVar

from volcano_py.api.objects import ApiObject, metadata_of

T = TypeVar("T", bound=ApiObject)


class Change(IntEnum):
    """The larger one holds when several come together."""

    NONE = 0
    """Nothing that a cycle looks at, or nothing that is worth one."""
    STATUS = 1
    """Statuses have to be written; no decision can come out differently."""
    DECISION = 2
    """A decision may come out differently."""


class Store(Protocol):
    """Keeps the objects of one kind."""

    def upsert(self, obj: Any) -> Change:
        """The object is new or has changed."""

    def delete(self, obj: Any) -> Change:
        """The object is gone; a namesake with another UID stays."""

    def known(self) -> list[ApiObject]:
        """All objects kept, with at least their names and UIDs."""


class ObjectStore(Generic[T]):
    """Objects by key. A namesake with another UID takes the place of its predecessor and outlives it."""

    def __init__(self) -> None:
        self._objects: dict[str, T] = {}

    def put(self, obj: T) -> T | None:
        """Keep the object; returns its last picture, None when it is new (as a namesake of another UID is)."""
        meta = metadata_of(obj)
        old = self._objects.get(meta.key)
        self._objects[meta.key] = obj
        return old if old is not None and metadata_of(old).uid == meta.uid else None

    def take(self, obj: T) -> T | None:
        """Give the object up; None when it is not here, though a namesake may be."""
        meta = metadata_of(obj)
        known = self._objects.get(meta.key)
        if known is None or metadata_of(known).uid != meta.uid:
            return None
        return self._objects.pop(meta.key)

    def get(self, key: str) -> T | None:
        return self._objects.get(key)

    def all(self) -> list[T]:
        return list(self._objects.values())
