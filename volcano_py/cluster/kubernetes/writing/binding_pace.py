"""How fast one namespace is bound while pods of other namespaces are bound, too.

The API server shows changes of pods one after the other. When it has much to do, it shows them late: up to seconds
after it has answered the binding. The new pods of every other namespace are then shown as late. So while namespaces
share the cluster, a binding counts as under way until the watch shows it, and each namespace may have a few under way:
fewer and fewer as long as that is late. One namespace alone is bound as fast as the API server answers.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from volcano_py.api.objects import ApiObject, Pod
from volcano_py.cluster.kubernetes.clock import Clock, wait_at_most
from volcano_py.cluster.kubernetes.writing.sharing import Sharing

NARROWEST: Final = 3
WINDOW: Final = 8
"""The fewest, and the most, bindings of one namespace under way while it is not alone."""
SOON: Final = 0.05
"""Seconds within which an API server that is not busy shows a binding; one that is always slow, within `_SLOWER` times
as long as the fastest binding took."""
PATIENCE: Final = 1.0
"""Seconds until a binding counts as shown in any case: the watch may have been opened again."""

_SLOWER: Final = 3.0
_STEP: Final = 1 / 4
"""By how much one binding makes the window wider, or narrower if it was late."""


@dataclass(frozen=True, slots=True)
class _UnderWay:
    """A binding that was sent at that moment, by the monotonic clock; `shown` is set once the watch shows it."""

    since: float
    shown: asyncio.Event = field(default_factory=asyncio.Event)


class BindingPace:
    """A `Sink`: it has to get all pods that the watch shows."""

    def __init__(self, alone: int, clock: Clock) -> None:
        """`alone`: how many bindings of the only namespace may be under way."""
        self._alone, self._clock = alone, clock
        self._sharing = Sharing(clock)
        self._under_way: dict[str, _UnderWay] = {}
        """By the UIDs of pods."""
        self._window = float(WINDOW)
        self._fastest = math.inf
        """Seconds that the fastest binding was under way."""

    def decided(self, namespaces: Iterable[str]) -> None:
        """Bindings of pods in these namespaces have been decided."""
        self._sharing.note(namespaces)

    def limit(self) -> int:
        """How many bindings of one namespace may be under way now."""
        return min(int(self._window), self._alone) if self._sharing.is_shared() else self._alone

    def sent(self, uid: str) -> None:
        """The binding of this pod is about to be sent."""
        self._under_way[uid] = _UnderWay(self._clock.monotonic())

    def failed(self, uid: str) -> None:
        """The pod is not bound."""
        self._under_way.pop(uid, None)

    async def shown(self, uid: str) -> None:
        """Return when the binding of the pod is no longer under way."""
        binding = self._under_way.get(uid)
        if binding is None:
            return
        try:
            if self._sharing.is_shared():
                await wait_at_most(self._clock, PATIENCE, binding.shown)
                self._adapt(self._clock.monotonic() - binding.since)
        finally:
            self._under_way.pop(uid, None)

    def _adapt(self, seconds: float) -> None:
        """A binding was under way for so long."""
        self._fastest = min(self._fastest, seconds)
        is_soon = seconds <= max(SOON, _SLOWER * self._fastest)
        self._window = min(max(self._window + (_STEP if is_soon else -_STEP), NARROWEST), WINDOW)

    def replace(self, kind: str, objects: Sequence[ApiObject]) -> None:
        for obj in objects:
            self.upsert(kind, obj)

    def upsert(self, _kind: str, obj: ApiObject) -> None:
        if isinstance(obj, Pod) and obj.spec.node_name:
            self._show(obj.metadata.uid)

    def delete(self, _kind: str, obj: ApiObject) -> None:
        if isinstance(obj, Pod):
            self._show(obj.metadata.uid)

    def _show(self, uid: str) -> None:
        if (binding := self._under_way.get(uid)) is not None:
            binding.shown.set()
