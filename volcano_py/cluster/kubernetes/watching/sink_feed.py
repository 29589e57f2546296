"""What a sink has of one kind, and what it gets next: each version once, never an older one after a newer one.

Lists, events of a watch and answers to writes overlap: here they become the upserts and deletions of `protocol.Sink`.
How an old version is recognized: see `versions.py`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from itertools import chain, islice
from typing import Final, TypeVar

import structlog

from volcano_py.api.objects import ApiObject, ObjectMeta, metadata_of
from volcano_py.cluster.kubernetes.clock import Clock
from volcano_py.cluster.kubernetes.http.unreadable import Identity
from volcano_py.cluster.kubernetes.watching.decoding import Decoder
from volcano_py.cluster.kubernetes.watching.listing import Listing
from volcano_py.cluster.kubernetes.watching.versions import Versions
from volcano_py.cluster.kubernetes.watching.write_echoes import WriteEchoes
from volcano_py.cluster.protocol import BadObjectHandler, Sink, upsert_all

log = structlog.get_logger(__name__)

T = TypeVar("T")

# What the event loop does of a list before others have their turn: so many objects at most, and fewer where these take
# longer than so many seconds.
_SLICE_OBJECTS: Final = 200
_SLICE_SECONDS: Final = 0.01
_FIRST_OBJECTS: Final = 10  # of a first list, handed on as a whole
# Objects at the beginning of a list that wait for the rest of it. All pods of a cluster would take 3 kB each.
_HELD: Final = 1_000


class SinkFeed:
    """Feeds one sink with the objects of one kind, called `kind`."""

    def __init__(self, kind: str, sink: Sink, decoder: Decoder, clock: Clock, on_bad_object: BadObjectHandler) -> None:
        self._kind, self._sink, self._decoder, self._clock = kind, sink, decoder, clock
        self._upsert_all = upsert_all(sink)
        self._on_bad_object = on_bad_object
        self._versions = Versions()
        self._echoes = WriteEchoes()
        self._unreadable: dict[str, str] = {}
        self._list: Listing | None = None
        self._held: list[list[ApiObject]] = []
        """Of the list that is being read: the parts that have not been handed on yet."""
        self._waits = True
        """Whether nothing of the list has been handed on yet."""
        self._is_first = False
        """Whether nothing of a first list has been handed on yet."""
        self._slice = 1
        """Objects that are handed on before others have their turn."""

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
            if self._list is not None:
                self._list.answered(meta.key, meta.uid, meta.resource_version)
            self._hand_on(meta, meta.key, obj)

    def begin_list(self, version: str, *, is_first: bool) -> None:
        """A list of this version is being read; `is_first`: none has been read to its end before."""
        self._list = Listing(version, self._versions, self._echoes, self._unreadable)
        self._held, self._waits = [], True
        self._is_first = is_first and not len(self._versions)

    async def take_listed(self, objects: list[ApiObject], bad: Mapping[str, str]) -> None:
        """A part of the list. `bad`: key → UID of what cannot be read.

        What is new is handed on part by part: in a large cluster all of it takes seconds. The first objects wait, so
        that a short list is handed on once it is whole, and a list that breaks off early has no effect.
        """
        assert self._list is not None, "a part of no list"
        for key, uid in bad.items():
            self._list.unreadable(key, uid)
            self._unreadable[key] = uid
        self._held.append(objects)
        if not self._waits or sum(map(len, self._held)) > _HELD:
            self._waits = False
            await self._hand_on_held(self._list)

    async def end_list(self) -> None:
        """All of the list has been taken.

        The sink gets the beginning of a first list as a whole, and of everything else what a watch would have shown.
        What is gone comes last, so that no node ever seems emptier than it is.
        """
        listing = self._list
        assert listing is not None, "the end of no list"
        await self._hand_on_held(listing)
        async for some in self._in_slices(listing.gone()):
            for key, uid in some:
                if self._versions.uid_of(key) == uid:
                    self._versions.drop(key)
                    self._give(self._sink.delete, self._tombstone(key, uid))
        for key in listing.no_longer_unreadable():
            self._unreadable.pop(key, None)
        self._versions.listed(listing.version)
        self._list = None

    async def _hand_on_held(self, listing: Listing) -> None:
        parts, self._held = self._held, []
        if self._is_first:
            self._is_first = False
            self._begin([*islice(chain.from_iterable(parts), _FIRST_OBJECTS)])
        for part in parts:  # (no slice of several parts: the bytes of each are bounded)
            async for some in self._in_slices(part):
                self._hand_on_all([new for obj in some if (new := listing.new(obj)) is not None])

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

    async def _in_slices(self, items: Sequence[T]) -> AsyncIterator[Sequence[T]]:
        """All of them, with turns for others in between; objects differ in what they cost."""
        done = 0
        while done < len(items):
            some, since = items[done : done + self._slice], self._clock.monotonic()
            yield some
            done += len(some)
            is_long = self._clock.monotonic() > since + _SLICE_SECONDS
            self._slice = max(1, self._slice // 2) if is_long else min(2 * self._slice, _SLICE_OBJECTS)
            await asyncio.sleep(0)

    def _begin(self, objects: list[ApiObject]) -> None:
        """Hand on the beginning of a first list: there may be objects, or none."""
        for meta in map(metadata_of, objects):
            self._versions.note(meta.key, meta.uid, meta.resource_version)
        self._give_all(self._sink.replace, objects)

    def _hand_on_all(self, objects: list[ApiObject]) -> None:
        for meta in map(metadata_of, objects):
            key = meta.key
            self._unreadable.pop(key, None)
            self._replace_namesake(key, meta.uid)
            self._versions.note(key, meta.uid, meta.resource_version)
        if objects:
            self._give_all(self._upsert_all, objects)

    def _give_all(self, method: Callable[[str, list[ApiObject]], None], objects: list[ApiObject]) -> None:
        try:
            method(self._kind, objects)
            return
        except Exception:
            log.exception("part of a list could not be applied", kind=self._kind)
        for obj in objects:  # one by one, which shows the object that the sink cannot take
            self._give(self._sink.upsert, obj)

    def _hand_on(self, meta: ObjectMeta, key: str, obj: ApiObject) -> None:
        self._unreadable.pop(key, None)
        self._replace_namesake(key, meta.uid)
        self._versions.note(key, meta.uid, meta.resource_version)
        self._give(self._sink.upsert, obj)

    def _replace_namesake(self, key: str, uid: str) -> None:
        """The deletion of a predecessor may have been lost, or may come late and then finds nothing."""
        before = self._versions.uid_of(key)
        if before is not None and before != uid:
            self._give(self._sink.delete, self._tombstone(key, before))

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
