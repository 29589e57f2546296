"""What a record has of evictions: who went, for which pod, why, and whether the API server let them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import msgspec

from volcano_py.api.effects import Evict, ObjectRef
from volcano_py.api.names import GROUP_NAME
from volcano_py.api.objects import Pod, PodGroup
from volcano_py.record.entries import Emitted, Entry, Looked, Outcome, Upserted
from volcano_py.record.segments import in_order


class Eviction(msgspec.Struct, frozen=True, rename="camel"):
    """Pods and PodGroups are namespace/name, and "" where there is none. `at`: seconds since the epoch."""

    at: float
    pod: str
    pod_group: str
    queue: str
    action: str
    claimant: str
    """The pod that it goes for."""
    claimant_queue: str
    why: str
    outcome: str = ""
    """`evicted`, or `failed: …`; "" while the API server has not answered."""


def of_evictions(paths: Iterable[Path]) -> list[Eviction]:
    """All of them, in their order.

    Raises:
        RecordError: a segment cannot be read.
    """
    reading = _Reading()
    for entry in in_order(paths, with_states=True):
        reading.take(entry)
    return reading.found


class _Reading:
    def __init__(self) -> None:
        self.found: list[Eviction] = []
        self._now = 0.0
        self._groups: dict[str, str] = {}
        """Pod → its PodGroup."""
        self._queues: dict[str, str] = {}
        """PodGroup → its queue."""
        self._open: dict[str, int] = {}
        """UID → place in `found` of the pod's last eviction."""

    def take(self, entry: Entry) -> None:
        match entry:
            case Looked():
                self._now = entry.now
            case Upserted(kind="Pod") | Upserted(kind="PodGroup"):
                self._object(entry.value())
            case Emitted():
                for name, raw in entry.effects:
                    if name == "Evict":
                        self._evict(msgspec.json.decode(raw, type=Evict))
            case Outcome(what="evicted") | Outcome(what="evict failed") if entry.uid in self._open:
                place = self._open.pop(entry.uid)
                outcome = f"failed: {entry.error}" if entry.error else "evicted"
                self.found[place] = msgspec.structs.replace(self.found[place], outcome=outcome)

    def _object(self, obj: object) -> None:
        if isinstance(obj, Pod):
            if group := obj.metadata.annotations.get(GROUP_NAME):
                self._groups[obj.metadata.key] = f"{obj.metadata.namespace}/{group}"
        elif isinstance(obj, PodGroup):
            self._queues[obj.metadata.key] = obj.spec.queue

    def _evict(self, evict: Evict) -> None:
        group = evict.group.key if evict.group is not None else ""
        claimant = evict.claimant
        self._open[evict.pod.uid] = len(self.found)
        self.found.append(
            Eviction(
                at=self._now,
                pod=evict.pod.key,
                pod_group=group,
                queue=self._queues.get(group, ""),
                action=evict.action,
                claimant="" if claimant is None else claimant.key,
                claimant_queue="" if claimant is None else self._queue_of(claimant),
                why=evict.message,
            )
        )

    def _queue_of(self, pod: ObjectRef) -> str:
        return self._queues.get(self._groups.get(pod.key, ""), "")
