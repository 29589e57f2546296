"""What a sink has of one kind, and what it gets next: each version once, never an older one after a newer one.

Lists, events of a watch and answers to writes overlap: here they become the upserts and deletions of `protocol.Sink`.
How an old version is recognized: see `versions.py`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from typing import Final, TypeVar

import structlog

from volcano_py.api.objects import ApiObject, ObjectMeta, metadata_of
from volcano_py.cluster.kubernetes.clock import Clock
from volcano_py.cluster.kubernetes.http.unreadable import Identity
from volcano_py.cluster.kubernetes.watching.decoding import Decoder
from volcano_py.cluster.kubernetes.watching.versions import Versions
from volcano_py.cluster.kubernetes.watching.write_echoes import WriteEchoes
from volcano_py.cluster.protocol import BadObjectHandler, Sink

log = structlog.get_logger(__name__)

T = TypeVar("T")

# What the event loop does of a list before others have their turn: so many objects at most, or so many seconds.
_SLICE_OBJECTS: Final = 200
_SLICE_SECONDS: Final = 0.01
_FIRST_OBJECTS: Final = 10  # of a first list, handed on as a whole


class SinkFeed:
    """Feeds one sink with the objects of one kind, called `kind`."""

    def __init__(self, kind: str, sink: Sink, decoder: Decoder, clock: Clock, on_bad_object: BadObjectHandler) -> None:
        self._kind, self._sink, self._decoder, self._clock = kind, sink, decoder, clock
        self._on_bad_object = on_bad_object
        self._versions = Versions()
        self._echoes = WriteEchoes()
        self._unreadable: dict[str, str] = {}

    def __len__(self) -> int:
        """How many objects the sink has."""
        return len(self._versions)

    @property
    def unreadable(self) -> int:
        """How many objects cannot be read, or not be taken by the sink."""
        return len(self._unreadable)

    @property
    def stale(self) -> int:
        """How many events brought an older version than the sink had."""
        return self._versions.stale

    def answered(self, obj: ApiObject) -> None:
        """The server has shown this object in an answer; lists and events that are older do not undo it."""
        meta = metadata_of(obj)
        if self._versions.is_new(meta.key, meta.resource_version):
            self._echoes.note(obj)
            self._hand_on(meta, meta.key, obj)

    async def listed(self, objects: list[ApiObject], bad: dict[str, str], version: str, *, is_first: bool) -> None:
        """Hand on what is new in a list, in slices: in a large cluster that takes seconds.

        The sink gets the beginning of a first list as a whole, and of everything else what a watch would have shown.
        What is gone comes last, so that no node ever seems emptier than it is. `bad`: key → UID of what cannot be read.
        """
        objects = self._echoes.with_newest(objects, version)
        again, self._unreadable = self._unreadable, bad
        before, still_there = list(self._versions.items()), dict(bad)
        if is_first and not before:
            self._begin(objects[:_FIRST_OBJECTS])
        async for obj in self._in_slices(objects):
            meta = metadata_of(obj)
            key = meta.key
            still_there[key] = meta.uid
            # What an answer has shown meanwhile is newer than the list.
            if key in again or not (self._versions.has(key, meta) or self._echoes.has(key)):
                self._hand_on(meta, key, obj)
        async for key, uid in self._in_slices(before):
            if still_there.get(key) != uid == self._versions.uid_of(key):
                self._versions.drop(key)
                self._give(self._sink.delete, self._tombstone(key, uid))
        self._versions.listed(version)

    def changed(self, change: str, obj: ApiObject) -> None:
        """An event of the watch: `change` is ADDED, MODIFIED or DELETED."""
        meta = metadata_of(obj)
        key, uid = meta.key, meta.uid
        if change == "DELETED":
            if self._unreadable.get(key) == uid:
                del self._unreadable[key]
            gone = self._versions.forget(key, uid, meta.resource_version)
            if gone is not None:
                self._give(self._sink.delete, obj if gone == uid else self._tombstone(key, gone))
        elif self._versions.is_new(key, meta.resource_version):
            self._hand_on(meta, key, obj)
        self._echoes.passed(key, meta)

    def changed_unreadably(self, identity: Identity, error: Exception) -> None:
        """An event of the watch has brought an object that cannot be read."""
        self._unreadable[identity.key] = identity.uid
        self.report(identity, error)

    def report(self, identity: Identity, error: Exception) -> None:
        """An object cannot be read."""
        log.warning("object unreadable", kind=self._kind, object=identity.key, error=str(error))
        self._on_bad_object(self._kind, identity.key, identity.uid, error)

    async def _in_slices(self, items: Iterable[T]) -> AsyncIterator[T]:
        """Each of them, with turns for others in between; objects differ in what they cost."""
        done, since = 0, self._clock.monotonic()
        for item in items:
            yield item
            done += 1
            if done == _SLICE_OBJECTS or self._clock.monotonic() > since + _SLICE_SECONDS:
                await asyncio.sleep(0)
                done, since = 0, self._clock.monotonic()

    def _begin(self, objects: list[ApiObject]) -> None:
        """Hand on the beginning of a first list: there may be objects, or none."""
        if not self._replaced(objects):
            for obj in objects:
                self._give(self._sink.upsert, obj)
        for meta in map(metadata_of, objects):
            self._versions.note(meta.key, meta.uid, meta.resource_version)

    def _replaced(self, objects: list[ApiObject]) -> bool:
        """Whether the sink has taken the list; if not, handing on one by one shows which object it cannot take."""
        try:
            self._sink.replace(self._kind, objects)
        except Exception:
            log.exception("part of a list could not be applied", kind=self._kind)
            return False
        return True

    def _hand_on(self, meta: ObjectMeta, key: str, obj: ApiObject) -> None:
        self._unreadable.pop(key, None)
        self._replace_namesake(meta)
        self._versions.note(key, meta.uid, meta.resource_version)
        self._give(self._sink.upsert, obj)

    def _replace_namesake(self, meta: ObjectMeta) -> None:
        """The deletion of a predecessor may have been lost, or may come late and then finds nothing."""
        before = self._versions.uid_of(meta.key)
        if before is not None and before != meta.uid:
            self._give(self._sink.delete, self._tombstone(meta.key, before))

    def _give(self, method: Callable[[str, ApiObject], None], obj: ApiObject) -> None:
        try:
            method(self._kind, obj)
        except Exception as error:
            # One object that the sink cannot take must stop neither the others nor the daemon.
            meta = metadata_of(obj)
            log.exception("object could not be applied", kind=self._kind, object=meta.key)
            self._unreadable[meta.key] = meta.uid
            self._on_bad_object(self._kind, meta.key, meta.uid, error)

    def _tombstone(self, key: str, uid: str) -> ApiObject:
        return self._decoder.bare(ObjectMeta.known_by(key, uid))
