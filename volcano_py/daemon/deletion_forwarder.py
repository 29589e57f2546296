"""Reports deletions to the writers, which then forget what they wrote to the objects."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from volcano_py.api.effects import ObjectRef
from volcano_py.api.objects import ApiObject, Pod, PodGroup


class DeletionForwarder:
    """A `Sink` that reports which pods and PodGroups were deleted: of other kinds there are few.

    What a list leaves out is not reported, because nothing depends on it: memories are bounded in time as well.
    """

    def __init__(self, forget: Callable[[ObjectRef], None]) -> None:
        self._forget = forget

    def replace(self, kind: str, objects: Sequence[ApiObject]) -> None:
        """What is missing from a list is not known here."""

    def upsert(self, kind: str, obj: ApiObject) -> None:
        """It exists: nothing to forget."""

    def delete(self, kind: str, obj: ApiObject) -> None:
        if isinstance(obj, Pod | PodGroup):
            meta = obj.metadata
            self._forget(ObjectRef(kind, meta.namespace, meta.name, meta.uid))
