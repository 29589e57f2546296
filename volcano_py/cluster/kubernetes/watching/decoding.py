"""Objects of one kind, from the bytes that the server sends, or made up where no more than their names is known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import msgspec

from volcano_py.api.json_values import read_without_nulls
from volcano_py.api.objects import ApiObject, ObjectMeta
from volcano_py.cluster.kubernetes.watching.kinds import Kind


class Decoder:
    """Both methods that read raise `msgspec.MsgspecError` for what is no such object.

    A null where there should be a list, say, is no reason to.
    """

    def __init__(self, kind: Kind) -> None:
        self._kind = kind
        self._object: Callable[[Any], Any] = msgspec.json.Decoder(kind.type).decode
        event_type = msgspec.defstruct("WatchEvent", [("type", str), ("object", kind.type)], frozen=True, gc=False)
        self._event: Callable[[bytes], Any] = msgspec.json.Decoder(event_type).decode
        self._names_kind = "kind" in kind.type.__struct_fields__

    def items(self, items: Sequence[msgspec.Raw]) -> list[ApiObject]:
        """Items of a list."""
        objects = [*map(self._object, items)]
        return [*map(self._named, objects)] if self._names_kind else objects

    def item(self, item: msgspec.Raw) -> ApiObject:
        """An item of a list, which may have nulls."""
        return self._named(read_without_nulls(self._object, item))

    def event(self, line: bytes) -> tuple[str, ApiObject]:
        """What an event of a watch says has happened, and to which object."""
        event = read_without_nulls(self._event, line)
        return event.type, self._named(event.object)

    def bare(self, metadata: ObjectMeta) -> ApiObject:
        """An object of which nothing else is known."""
        return self._kind.type(**{"metadata": metadata})

    def _named(self, obj: Any) -> ApiObject:
        """Items of lists do not say their kind, and bare metadata says another."""
        if self._names_kind and obj.kind != self._kind.name:
            obj = msgspec.structs.replace(obj, kind=self._kind.name)
        return cast(ApiObject, obj)
