"""Passes what the informers see to several sinks."""

from __future__ import annotations

from collections.abc import Sequence

import structlog

from volcano_py.api.objects import ApiObject
from volcano_py.cluster.protocol import Sink

log = structlog.get_logger(__name__)


class FanOut:
    """A sink of sinks. One that fails on an object is logged and does not keep the object from the others."""

    def __init__(self, *sinks: Sink) -> None:
        self._sinks = sinks

    def replace(self, kind: str, objects: Sequence[ApiObject]) -> None:
        for sink in self._sinks:
            try:
                sink.replace(kind, objects)
            except Exception:
                log.exception("a list could not be taken in", kind=kind, sink=type(sink).__name__)

    def upsert(self, kind: str, obj: ApiObject) -> None:
        for sink in self._sinks:
            try:
                sink.upsert(kind, obj)
            except Exception:
                log.exception("an object could not be taken in", kind=kind, sink=type(sink).__name__)

    def delete(self, kind: str, obj: ApiObject) -> None:
        for sink in self._sinks:
            try:
                sink.delete(kind, obj)
            except Exception:
                log.exception("a deletion could not be taken in", kind=kind, sink=type(sink).__name__)


class OnlyKind:
    """Passes one kind on and leaves out the rest."""

    def __init__(self, kind: str, sink: Sink) -> None:
        self._kind, self._sink = kind, sink

    def replace(self, kind: str, objects: Sequence[ApiObject]) -> None:
        if kind == self._kind:
            self._sink.replace(kind, objects)

    def upsert(self, kind: str, obj: ApiObject) -> None:
        if kind == self._kind:
            self._sink.upsert(kind, obj)

    def delete(self, kind: str, obj: ApiObject) -> None:
        if kind == self._kind:
            self._sink.delete(kind, obj)
