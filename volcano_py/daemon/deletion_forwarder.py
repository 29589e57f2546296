"""Passes deletions on to the writers, which then forget what they wrote to the object."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from volcano_py.api.effects import ObjectRef
from volcano_py.api.objects import ApiObject, Pod, PodGroup


class DeletionForwarder:
    """A `Sink` that calls `forget` for deleted pods and PodGroups. Objects of other kinds are few.

    What a list leaves out is not passed on. Nothing depends on it: what the writers remember is bounded in time, too.
    """

    def __init__(self, forget: Callable[[ObjectRef], None]) -> None:
        self._forget = forget

    def replace(self, kind: str, objects: Sequence[ApiObject]) -> None:
        """Ignored; see above."""

    def upsert(self, kind: str, obj: ApiObject) -> None:
        """Ignored: the object exists."""

    def delete(self, kind: str, obj: ApiObject) -> None:
        if isinstance(obj, Pod | PodGroup):
            meta = obj.metadata
            self._forget(ObjectRef(kind, meta.namespace, meta.name, meta.uid))
