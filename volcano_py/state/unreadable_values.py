"""Values that cannot be read: of objects in the rows of one table, and of those that have no row."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any, Final, Generic, TypeVar

import msgspec
import structlog

from volcano_py.api.annotations.reading import Unreadable
from volcano_py.api.effects import ObjectRef

log = structlog.get_logger(__name__)

K = TypeVar("K")


class UnreadableOf(msgspec.Struct, frozen=True):
    """What cannot be read of one object. `since`: the number of the change that brought it; they count from 1.
    `about`: the object, where it has no row."""

    since: int
    values: tuple[Unreadable, ...]
    about: ObjectRef | None = None


Picture = MappingProxyType[K, UnreadableOf]
"""By key: the row, or kind and name. The latest change comes last, so what is new since any of them is found without a
look at the others."""

NOTHING_UNREADABLE: Final[Picture[Any]] = MappingProxyType({})


class UnreadableValues(Generic[K]):
    """Follows objects by their keys."""

    def __init__(self) -> None:
        self._changes = 0
        self._by_key: dict[K, UnreadableOf] = {}
        self._picture: Picture[K] | None = NOTHING_UNREADABLE

    def put(self, key: K, values: tuple[Unreadable, ...], about: ObjectRef | None = None) -> None:
        """These are all of the object with this key."""
        known = self._by_key.get(key)
        if values == (() if known is None else known.values) and (known is None or known.about == about):
            return
        self.take(key)
        if values:
            self._changes, self._picture = self._changes + 1, None
            self._by_key[key] = UnreadableOf(self._changes, values, about)

    def take(self, key: K) -> None:
        """There is no object with this key any more."""
        if self._by_key.pop(key, None) is not None:
            self._picture = None

    def picture(self) -> Picture[K]:
        """As things stand; the same object until something changes."""
        if self._picture is None:
            self._picture = MappingProxyType(self._by_key.copy())
        return self._picture


class UnreadableOfObjects:
    """The same for objects of any kind. Administrators write these values, so they are logged as well."""

    def __init__(self) -> None:
        self._values: UnreadableValues[tuple[str, str]] = UnreadableValues()
        self.picture = self._values.picture

    def put(self, about: ObjectRef, values: tuple[Unreadable, ...]) -> None:
        """These are all of the object; what was known of one of the same name is forgotten."""
        key = (about.kind, about.key)
        known = self.picture().get(key)
        self._values.put(key, values, about)
        for value in values:
            if known is None or known.about != about or value not in known.values:
                log.warning("value ignored", kind=about.kind, object=about.key, problem=value.message)

    def take(self, kind: str, key: str) -> None:
        """The object is gone."""
        self._values.take((kind, key))
