"""How fast one namespace is bound while pods of other namespaces are bound, too.

The API server shows changes of pods one after the other. When it has much to do, it shows them late: up to seconds
after it has answered the binding. The new pods of every other namespace are then shown as late. So while namespaces
share the cluster, a binding counts as under way until the watch shows it, and each namespace may have a few under way:
the later the watch, the slower the bindings. One namespace alone is bound as fast as the API server answers.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import Final

from volcano_py.api.objects import ApiObject, Pod
from volcano_py.cluster.kubernetes.clock import Clock, wait_at_most
from volcano_py.cluster.kubernetes.writing.sharing import Sharing

WINDOW: Final = 8
"""Bindings of one namespace under way while it is not alone."""
PATIENCE: Final = 1.0
"""Seconds until a binding counts as shown in any case: the watch may have been opened again."""


class BindingPace:
    """A `Sink`: it has to get all pods that the watch shows."""

    def __init__(self, alone: int, clock: Clock) -> None:
        """`alone`: how many bindings of the only namespace may be under way."""
        self._alone, self._clock = alone, clock
        self._sharing = Sharing(clock)
        self._awaited: dict[str, asyncio.Event] = {}
        """By the UIDs of pods."""

    def decided(self, namespaces: Iterable[str]) -> None:
        """Bindings of pods in these namespaces have been decided."""
        self._sharing.note(namespaces)

    def limit(self) -> int:
        """How many bindings of one namespace may be under way now."""
        return min(WINDOW, self._alone) if self._sharing.is_shared() else self._alone

    def sent(self, uid: str) -> None:
        """The binding of this pod is about to be sent."""
        self._awaited[uid] = asyncio.Event()

    def failed(self, uid: str) -> None:
        """The pod is not bound."""
        self._awaited.pop(uid, None)

    async def shown(self, uid: str) -> None:
        """Return when the binding of the pod is no longer under way."""
        event = self._awaited.get(uid)
        if event is None:
            return
        try:
            if self._sharing.is_shared():
                await wait_at_most(self._clock, PATIENCE, event)
        finally:
            self._awaited.pop(uid, None)

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
        if (event := self._awaited.get(uid)) is not None:
            event.set()
