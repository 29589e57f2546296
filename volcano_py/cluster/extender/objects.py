"""Pods and nodes as objects, for an extender: the scheduler itself keeps only what it reads of them.

They are kept while an extender is configured, and not otherwise: some kilobytes each.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from typing import Final

import msgspec
import structlog

from volcano_py.api.objects import ApiObject, metadata_of
from volcano_py.cluster.kubernetes.clock import SYSTEM_CLOCK, Clock, wait_at_most
from volcano_py.cluster.kubernetes.http.client import KubernetesClient
from volcano_py.cluster.kubernetes.http.errors import RequestError
from volcano_py.cluster.kubernetes.watching import kinds
from volcano_py.cluster.kubernetes.watching.decoding import Decoder

log = structlog.get_logger(__name__)

KINDS: Final = (kinds.POD, kinds.NODE)
_TRY_AGAIN: Final = 5.0
"""Seconds after which a list that failed is read again."""


class KeptObjects:
    """A sink for the `KINDS`. `wanted` says whether an extender is configured; it is asked after each `changed`.

    What came before that is listed once: informers bring only what has changed since.
    """

    def __init__(self, client: KubernetesClient, wanted: Callable[[], bool], clock: Clock = SYSTEM_CLOCK) -> None:
        self._client, self._wanted, self._clock = client, wanted, clock
        self._changed = asyncio.Event()
        self._keeps = False
        self._is_whole = True
        self._objects: dict[tuple[str, str], ApiObject] = {}
        self._gone: set[tuple[str, str]] = set()
        """What was deleted while a list is read, which may still have it."""

    def find(self, kind: str, key: str) -> ApiObject | None:
        """The object of this namespace/name, or name; None if it is not kept. From any thread."""
        return self._objects.get((kind, key))

    def begin(self) -> None:
        """Before the informers begin: they will bring all there is."""
        self._keeps = self._wanted()

    def changed(self) -> None:
        """Another configuration is in force."""
        self._changed.set()

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            self._changed.clear()
            await self.look()
            if self._is_whole:
                await self._changed.wait()
            else:
                await wait_at_most(self._clock, _TRY_AGAIN, self._changed)

    async def look(self) -> None:
        """Begin or end to keep objects, as the configuration says."""
        if (wanted := self._wanted()) != self._keeps:
            self._keeps, self._is_whole = wanted, not wanted
            if not wanted:
                self._objects = {}
        if not self._is_whole:
            with contextlib.suppress(RequestError):  # the informers report a server that does not answer
                await self._list()

    async def _list(self) -> None:
        self._gone.clear()
        for kind in KINDS:
            decoder = Decoder(kind)
            async with contextlib.aclosing(self._client.pages(kind.path, accept=kind.list_accept)) as pages:
                async for page in pages:
                    for item in page.items or ():
                        with contextlib.suppress(msgspec.MsgspecError):  # the informers report it
                            self._note_listed(kind.name, decoder.item(item))
                    await self._clock.sleep(0)
        self._is_whole = True
        log.info("objects kept for the extender", count=len(self._objects))

    def _note_listed(self, kind: str, obj: ApiObject) -> None:
        """What the informers have brought meanwhile is newer."""
        place = (kind, metadata_of(obj).key)
        if self._keeps and place not in self._gone:
            self._objects.setdefault(place, obj)

    # -- the sink ----------------------------------------------------------------------------------------------------

    def replace(self, kind: str, objects: Sequence[ApiObject]) -> None:
        self._objects = {place: obj for place, obj in self._objects.items() if place[0] != kind}
        self.upsert_all(kind, objects)

    def upsert(self, kind: str, obj: ApiObject) -> None:
        if self._keeps:
            self._objects[kind, metadata_of(obj).key] = obj

    def upsert_all(self, kind: str, objects: Sequence[ApiObject]) -> None:
        if self._keeps:
            self._objects.update(((kind, metadata_of(obj).key), obj) for obj in objects)

    def delete(self, kind: str, obj: ApiObject) -> None:
        if not self._keeps:
            return
        place = (kind, metadata_of(obj).key)
        known = self._objects.get(place)
        if known is None or metadata_of(known).uid == metadata_of(obj).uid:
            self._objects.pop(place, None)
            if not self._is_whole:
                self._gone.add(place)
