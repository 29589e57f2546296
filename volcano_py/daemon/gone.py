"""Objects that are gone are forgotten by whoever remembers what was written to them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from volcano_py.api.effects import ObjectRef
from volcano_py.api.objects import ApiObject, Pod, PodGroup


class Gone:
    """A `Sink` that passes on which pods and PodGroups were deleted: of the others there are few.

    What a list leaves out is not told, because nothing depends on it: memories are bounded in time as well.
    """

    def __init__(self, forget: Callable[[ObjectRef], None]) -> None:
        self._forget = forget

    def replace(self, kind: str, objects: Sequence[ApiObject]) -> None:
        """Who is in no list any more is not known here."""

    def upsert(self, kind: str, obj: ApiObject) -> None:
        """It is there."""

    def delete(self, kind: str, obj: ApiObject) -> None:
        if isinstance(obj, Pod | PodGroup):
            meta = obj.metadata
            self._forget(ObjectRef(kind, meta.namespace, meta.name, meta.uid))
