"""What becomes of claims that somebody waits for: the latest picture of each, whoever brings it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from volcano_py.api.effects import ClaimBinding
from volcano_py.api.objects import ApiObject
from volcano_py.api.volumes import PersistentVolumeClaim
from volcano_py.cluster.kubernetes.watching.versions import version_of

KIND = "PersistentVolumeClaim"


class News:
    """One claim. Pictures may come out of order, by a watch and as answers; the newest counts."""

    def __init__(self) -> None:
        self.claim: PersistentVolumeClaim | None = None
        self.is_gone = False
        self._changed = asyncio.Event()

    def take(self, claim: PersistentVolumeClaim) -> None:
        """The claim looks like this, or did."""
        known = self.claim
        if known is None or version_of(claim.metadata.resource_version) >= version_of(known.metadata.resource_version):
            self.claim = claim
            self._changed.set()

    def lose(self) -> None:
        """The claim does not exist any more."""
        self.is_gone = True
        self._changed.set()

    async def next(self) -> None:
        """Return when there is something new since the last call."""
        await self._changed.wait()
        self._changed.clear()


class ClaimUpdates:
    """A sink that keeps the claims that are listened for; other objects pass by."""

    def __init__(self) -> None:
        self._news: dict[str, dict[object, News]] = {}

    @contextmanager
    def listening(self, bindings: Sequence[ClaimBinding]) -> Iterator[list[News]]:
        """News of these claims, for as long as the block lasts."""
        listener = object()
        try:
            yield [self._news.setdefault(each.claim.key, {}).setdefault(listener, News()) for each in bindings]
        finally:
            for each in bindings:
                listeners = self._news.get(each.claim.key, {})
                listeners.pop(listener, None)
                if not listeners:
                    self._news.pop(each.claim.key, None)

    def replace(self, kind: str, objects: Sequence[ApiObject]) -> None:
        for obj in objects:
            self.upsert(kind, obj)

    def upsert(self, kind: str, obj: ApiObject) -> None:
        if kind == KIND and isinstance(obj, PersistentVolumeClaim):
            for news in self._news.get(obj.metadata.key, {}).values():
                news.take(obj)

    def delete(self, kind: str, obj: ApiObject) -> None:
        if kind == KIND and isinstance(obj, PersistentVolumeClaim):
            for news in self._news.get(obj.metadata.key, {}).values():
                if news.claim is None or news.claim.metadata.uid == obj.metadata.uid:
                    news.lose()
