"""Passes what the informers see to several sinks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import methodcaller

import structlog

from volcano_py.api.objects import ApiObject
from volcano_py.cluster.protocol import Sink, upsert_all

log = structlog.get_logger(__name__)


class FanOut:
    """Passes objects on to several sinks. If one fails, that is logged and the others still get the object; then the
    first error is raised, so that the caller knows which object failed."""

    def __init__(self, *sinks: Sink) -> None:
        self._sinks = sinks
        self._upsert_all = dict(zip(sinks, map(upsert_all, sinks), strict=True))

    def replace(self, kind: str, objects: Sequence[ApiObject]) -> None:
        self._pass_on(methodcaller("replace", kind, objects), "sink failed on a list", kind)

    def upsert(self, kind: str, obj: ApiObject) -> None:
        self._pass_on(methodcaller("upsert", kind, obj), "sink failed on an object", kind)

    def upsert_all(self, kind: str, objects: Sequence[ApiObject]) -> None:
        self._pass_on(lambda sink: self._upsert_all[sink](kind, objects), "sink failed on one of several objects", kind)

    def delete(self, kind: str, obj: ApiObject) -> None:
        self._pass_on(methodcaller("delete", kind, obj), "sink failed on a deletion", kind)

    def _pass_on(self, deliver: Callable[[Sink], None], failure_text: str, kind: str) -> None:
        failure: Exception | None = None
        for sink in self._sinks:
            try:
                deliver(sink)
            except Exception as error:
                log.exception(failure_text, kind=kind, sink=type(sink).__name__)
                failure = failure or error
        if failure is not None:
            raise failure


class OnlyKinds:
    """Passes some kinds on and leaves out the rest."""

    def __init__(self, sink: Sink, *kinds: str) -> None:
        self._sink, self._kinds = sink, frozenset(kinds)
        self._upsert_all = upsert_all(sink)

    def replace(self, kind: str, objects: Sequence[ApiObject]) -> None:
        if self._passes(kind):
            self._sink.replace(kind, objects)

    def upsert(self, kind: str, obj: ApiObject) -> None:
        if self._passes(kind):
            self._sink.upsert(kind, obj)

    def upsert_all(self, kind: str, objects: Sequence[ApiObject]) -> None:
        if self._passes(kind):
            self._upsert_all(kind, objects)

    def delete(self, kind: str, obj: ApiObject) -> None:
        if self._passes(kind):
            self._sink.delete(kind, obj)

    def _passes(self, kind: str) -> bool:
        return kind in self._kinds


class WithoutKinds(OnlyKinds):
    """Leaves some kinds out and passes on the rest."""

    def _passes(self, kind: str) -> bool:
        return not super()._passes(kind)
