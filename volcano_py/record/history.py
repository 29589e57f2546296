"""What a record has of one PodGroup or one queue, in its order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec
from msgspec.structs import replace

from volcano_py.api.effects import Bind, Evict
from volcano_py.api.names import GROUP_NAME
from volcano_py.api.objects import ObjectMeta, Pod, PodGroup
from volcano_py.api.report import PendingJob
from volcano_py.record.entries import Deleted, Emitted, Ended, Entry, Looked, Outcome, QueueFigures, Upserted
from volcano_py.record.segments import in_order


class Happening(msgspec.Struct, frozen=True):
    """`at`: seconds since the epoch."""

    at: float
    what: str
    text: str = ""


class Figures(msgspec.Struct, frozen=True):
    """A queue from `at` on, seconds since the epoch."""

    at: float
    figures: QueueFigures


def of_pod_group(paths: Iterable[Path], key: str) -> Iterator[Happening]:
    """The story of the PodGroup `namespace/name`.

    Raises:
        RecordError: a segment cannot be read.
    """
    story = _Story(key)
    for entry in in_order(paths):
        yield from story.take(entry)
    yield from story.end()


def group_of_job(paths: Iterable[Path], key: str) -> str:
    """namespace/name of the newest PodGroup that was created for the Job `namespace/name`; "" where there is none.

    Raises:
        RecordError: a segment cannot be read.
    """
    namespace, _, name = key.rpartition("/")
    newest: ObjectMeta | None = None
    for entry in in_order(paths):
        group = entry.value() if isinstance(entry, Upserted) and entry.kind == "PodGroup" else None
        if not isinstance(group, PodGroup):
            continue
        metadata, owner = group.metadata, group.metadata.controller
        is_its = owner is not None and (metadata.namespace, owner.kind, owner.name) == (namespace, "Job", name)
        if is_its and (newest is None or newest.created <= metadata.created):
            newest = metadata
    return newest.key if newest is not None else ""


def of_queue(paths: Iterable[Path], name: str) -> Iterator[Figures]:
    """The figures of the queue, whenever they changed.

    Raises:
        RecordError: a segment cannot be read.
    """
    now, known = 0.0, None
    for entry in in_order(paths):
        if isinstance(entry, Looked):
            now = entry.now
        elif isinstance(entry, Ended) and name in entry.queues and entry.queues[name] != known:
            known = entry.queues[name]
            yield Figures(now, known)


class PodCounts(msgspec.Struct, frozen=True):
    """The pods of a PodGroup from `at` on, seconds since the epoch; those that have ended are in neither."""

    at: float
    placed: int
    waiting: int


def pods_of(paths: Iterable[Path], key: str) -> tuple[list[PodCounts], frozenset[str]]:
    """How many pods of the PodGroup `namespace/name` have a node and how many wait, whenever a snapshot shows a change;
    and namespace/name of all that it ever had.

    Raises:
        RecordError: a segment cannot be read.
    """
    namespace, _, name = key.rpartition("/")
    pods: dict[str, bool] = {}  # UID → whether it has a node
    found, seen = list[PodCounts](), set[str]()
    for entry in in_order(paths, with_states=True):
        if isinstance(entry, Looked):
            placed = sum(pods.values())
            new = PodCounts(entry.now, placed, len(pods) - placed)
            if pods or found:
                found += [] if found and replace(new, at=found[-1].at) == found[-1] else [new]
        elif isinstance(entry, Upserted) and entry.kind == "Pod":
            pod = entry.value()
            if not isinstance(pod, Pod) or pod.metadata.namespace != namespace:
                continue
            pods.pop(pod.metadata.uid, None)
            if pod.metadata.annotations.get(GROUP_NAME) != name:
                continue
            seen.add(pod.metadata.key)
            if not isinstance(entry, Deleted) and pod.status.phase not in ("Succeeded", "Failed"):
                pods[pod.metadata.uid] = bool(pod.spec.node_name)
    return found, frozenset(seen)


def last_moment(paths: Iterable[Path]) -> float:
    """When the last snapshot was taken, in seconds since the epoch; 0 where there was none.

    Raises:
        RecordError: a segment cannot be read.
    """
    return max((entry.now for entry in in_order(paths) if isinstance(entry, Looked)), default=0.0)


class _Story:
    def __init__(self, key: str) -> None:
        self._key = key
        self._namespace, _, self._name = key.rpartition("/")
        self._now = 0.0
        self._group: PodGroup | None = None
        self._is_deleted = False
        """It is gone, and no moment after its end is known yet: changes of objects have no time of their own."""
        self._pods: set[str] = set()
        self._reason = ""

    def take(self, entry: Entry) -> Iterator[Happening]:
        match entry:
            case Looked():
                self._now = entry.now
                yield from self._deleted_by(self._now)
            case Upserted(kind="PodGroup") | Upserted(kind="Pod"):
                yield from self._object(entry)
            case Emitted():
                yield from self._effects(entry)
            case Outcome() if entry.uid in self._pods and entry.error:
                yield Happening(entry.at, entry.what, f"{entry.pod}: {entry.error}")
            case Ended():
                yield from self._waits(entry)

    def end(self) -> Iterator[Happening]:
        """What is left to say when the record ends."""
        if self._is_deleted:
            yield Happening(self._now, "deleted", "after this, the last cycle of the record")

    def _deleted_by(self, at: float) -> Iterator[Happening]:
        if self._is_deleted:
            self._is_deleted = False
            yield Happening(at, "deleted", "by then, since the cycle before")

    def _object(self, entry: Upserted) -> Iterator[Happening]:
        obj = entry.value()
        if isinstance(obj, Pod):
            metadata = obj.metadata
            if metadata.namespace == self._namespace and metadata.annotations.get(GROUP_NAME) == self._name:
                self._pods.add(metadata.uid)
        if not isinstance(obj, PodGroup) or obj.metadata.key != self._key:
            return
        if isinstance(entry, Deleted):
            self._group, self._is_deleted = None, True
            return
        yield from self._deleted_by(obj.metadata.created or self._now)
        before, self._group = self._group, obj
        if before is None:
            owner = obj.metadata.controller
            whose = f", for {owner.kind} {owner.name}" if owner is not None else ""
            text = f"queue {obj.spec.queue or 'default'}, minMember {obj.spec.min_member}{whose}"
            yield Happening(obj.metadata.created or self._now, "created", text)
        phase = obj.status.phase
        if phase and (before is None or before.status.phase != phase):
            yield Happening(self._now or obj.metadata.created, "phase", phase)

    def _effects(self, entry: Emitted) -> Iterator[Happening]:
        nodes: dict[str, list[str]] = {}
        for name, raw in entry.effects:
            if name == "Bind":
                bind = msgspec.json.decode(raw, type=Bind)
                if bind.job == self._key:
                    nodes.setdefault(bind.node, []).append(bind.pod.name)
            elif name == "Evict":
                evict = msgspec.json.decode(raw, type=Evict)
                if evict.group is not None and evict.group.key == self._key:
                    yield Happening(self._now, "evicted", f"{evict.pod.name} by {evict.action}: {evict.message}")
        for node, pods in nodes.items():
            yield Happening(self._now, "bound", f"{', '.join(pods)} to {node}")

    def _waits(self, ended: Ended) -> Iterator[Happening]:
        if self._key in ended.no_longer_pending:
            self._reason = ""
        for job in ended.pending:
            if job.name == self._key and (text := _why(job)) != self._reason:
                self._reason = text
                yield Happening(self._now, "waits", text)


def _why(job: PendingJob) -> str:
    return job.message or str(job.reason.value)
