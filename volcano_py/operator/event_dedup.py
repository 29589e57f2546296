"""Events of controllers that look at an object again and again: each piece of news once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from volcano_py.api.effects import Event, ObjectRef
from volcano_py.api.objects import ObjectMeta
from volcano_py.jobs.told import Told
from volcano_py.operator.kube_api import Record

# Of one object. When it has more news than this, what was told first may be told again.
_REMEMBERED: Final = 64


class Teller:
    """Tells what is new about objects of one kind, as long as they are there: who told of one that is gone would
    remember it for ever."""

    def __init__(self, kind: str, record: Record, is_there: Callable[[ObjectMeta], bool]) -> None:
        self._kind, self._record, self._is_there = kind, record, is_there
        self._told: dict[str, set[tuple[str, str]]] = {}  # UID → (reason, about)

    def tell(self, metadata: ObjectMeta, *news: Told) -> None:
        """Record events; not again what has been told about the same."""
        if not self._is_there(metadata):
            return
        told = self._told.setdefault(metadata.uid, set())
        for each in news:
            if each.about:
                if (each.reason, each.about) in told:
                    continue
                if len(told) >= _REMEMBERED:
                    told.clear()
                told.add((each.reason, each.about))
            about = ObjectRef(self._kind, metadata.namespace, metadata.name, metadata.uid)
            self._record(Event(about, each.type, each.reason, each.message))

    def forget(self, uid: str) -> None:
        """The object is gone."""
        self._told.pop(uid, None)
