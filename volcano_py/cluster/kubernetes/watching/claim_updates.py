"""The latest version of each claim that a binding waits for, from the watch or from an answer."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from volcano_py.api.effects import ClaimBinding
from volcano_py.api.objects import ApiObject
from volcano_py.api.volumes import PersistentVolumeClaim
from volcano_py.cluster.kubernetes.watching.versions import version_of

KIND = "PersistentVolumeClaim"


class LatestClaim:
    """One claim. Versions may come out of order, by the watch and as answers; the newest counts."""

    def __init__(self) -> None:
        self.claim: PersistentVolumeClaim | None = None
        self.is_gone = False
        self._changed = asyncio.Event()

    def take(self, claim: PersistentVolumeClaim) -> None:
        """A version of the claim, perhaps an older one."""
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
    """A sink that keeps the claims that a binding waits for and ignores all other objects."""

    def __init__(self) -> None:
        self._latest: dict[str, dict[object, LatestClaim]] = {}

    @contextmanager
    def listening(self, bindings: Sequence[ClaimBinding]) -> Iterator[list[LatestClaim]]:
        """The latest version of each of these claims, kept up to date while the block lasts."""
        listener = object()
        try:
            yield [self._latest.setdefault(each.claim.key, {}).setdefault(listener, LatestClaim()) for each in bindings]
        finally:
            for each in bindings:
                listeners = self._latest.get(each.claim.key, {})
                listeners.pop(listener, None)
                if not listeners:
                    self._latest.pop(each.claim.key, None)

    def replace(self, kind: str, objects: Sequence[ApiObject]) -> None:
        for obj in objects:
            self.upsert(kind, obj)

    def upsert(self, kind: str, obj: ApiObject) -> None:
        if kind == KIND and isinstance(obj, PersistentVolumeClaim):
            for latest in self._latest.get(obj.metadata.key, {}).values():
                latest.take(obj)

    def delete(self, kind: str, obj: ApiObject) -> None:
        if kind == KIND and isinstance(obj, PersistentVolumeClaim):
            for latest in self._latest.get(obj.metadata.key, {}).values():
                if latest.claim is None or latest.claim.metadata.uid == obj.metadata.uid:
                    latest.lose()
