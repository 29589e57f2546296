"""Decides every cycle of a record again, with the scheduler's own code, and compares effects one by one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from volcano_py.api.effects import Effect
from volcano_py.api.objects import OwnerReference, metadata_of
from volcano_py.api.report import CycleReport
from volcano_py.config import SchedulerConfiguration, parse_configuration
from volcano_py.framework.registry import Registry
from volcano_py.record.answers import RecordedExtender
from volcano_py.record.entries import (
    Answered,
    Began,
    Configured,
    Emitted,
    Ended,
    Entry,
    Failed,
    Header,
    Looked,
    Upserted,
)
from volcano_py.record.segments import RecordError, read
from volcano_py.scheduler import Scheduler
from volcano_py.state.cluster_state import ClusterState
from volcano_py.state.snapshot import Snapshot

Encoded = tuple[str, bytes]
"""The name of an effect's type, and the effect as JSON."""


class Difference(msgspec.Struct, frozen=True):
    """The first effect in which a cycle differs; None where one side has no more."""

    place: int
    recorded: Encoded | None
    decided: Encoded | None


class Cycle(msgspec.Struct, frozen=True):
    """A cycle that was decided again."""

    number: int
    now: float
    recorded: Sequence[Encoded]
    decided: Sequence[Encoded]
    report: CycleReport
    ended: Ended
    """What was recorded at its end."""
    is_after_cut: bool
    """Whether cycles before it are missing."""
    unanswered: int = 0
    """Questions to an extender that have no answer in the record."""
    owners: Mapping[str, OwnerReference] = {}
    """PodGroup (namespace/name) → its controlling owner, of all that there have been; only with another
    configuration."""

    @property
    def difference(self) -> Difference | None:
        """None when all effects are the same, in the same order. After a cut any order will do: among equals it follows
        from their rows in the tables, which are not known then."""
        if self.is_after_cut and sorted(self.recorded) == sorted(self.decided):
            return None
        for place in range(max(len(self.recorded), len(self.decided))):
            recorded = self.recorded[place] if place < len(self.recorded) else None
            decided = self.decided[place] if place < len(self.decided) else None
            if recorded != decided:
                return Difference(place, recorded, decided)
        return None


def replay(paths: Iterable[Path], registry: Registry, other: SchedulerConfiguration | None = None) -> Iterator[Cycle]:
    """The cycles of these segments, in their order. With `other`, each is decided by that configuration, on the state
    that the recorded configuration had led to.

    Raises:
        RecordError: a segment cannot be read, or a recorded configuration is not valid in this version.
    """
    replaying = Replaying(registry, other)
    for path in paths:
        entries = read(path)
        header = next(entries, None)
        if not isinstance(header, Header):
            continue  # nothing was written of it
        skipped = replaying.begin(header)
        for number, entry in enumerate(entries):
            if number < header.state and skipped:
                continue
            cycle = replaying.take(entry, str(path))
            if cycle is not None:
                yield cycle


class Replaying:
    """The state and the scheduler between two entries. `state` may be looked at, not changed."""

    def __init__(self, registry: Registry, other: SchedulerConfiguration | None = None) -> None:
        self.state = ClusterState()
        self.snapshot: Snapshot | None = None
        self.configuration: SchedulerConfiguration | None = None
        self._registry, self._other = registry, other
        self._header: Header | None = None
        self._configurations: dict[str, SchedulerConfiguration] = {}
        self._scheduler: Scheduler | None = None
        self._effects: list[Effect] = []
        self._recorded: list[Encoded] = []
        self._extender: RecordedExtender | None = None
        self._began: tuple[Began, Snapshot] | None = None
        self._answers: list[Answered] = []
        """Of the cycle that has begun."""
        self._is_after_cut = False
        self._owners: dict[str, OwnerReference] = {}

    def begin(self, header: Header) -> bool:
        """A segment begins. Whether it goes on from the one before, so that its first state is known."""
        before, self._header = self._header, header
        if before is not None and (before.run, before.sequence + 1) == (header.run, header.sequence):
            if self._scheduler is not None:
                self._scheduler.forget()
            return True
        self.state = ClusterState(
            scheduler_names=header.scheduler_names,
            default_queue=header.default_queue,
            follows_jobs=header.follows_jobs,
            sharding=header.sharding,
        )
        self._scheduler, self._began, self.snapshot = None, None, None
        self._extender = RecordedExtender() if header.has_answers else None
        self._is_after_cut = header.sequence > 0
        return False

    def take(self, entry: Entry, where: str) -> Cycle | None:
        """The next entry; a cycle when one has ended with it.

        Raises:
            RecordError: the entry cannot be used.
        """
        match entry:
            case Looked():
                self.state.status_waits = frozenset(entry.waits).__contains__
                self.snapshot = self.state.copy(entry.now)
            case Configured():
                self._configurations[entry.digest] = _parsed(entry, self._registry, where)
            case Began():
                self._begin(entry)
            case Answered():
                self._answers.append(entry)
            case Emitted():
                self._recorded.extend((name, bytes(raw)) for name, raw in entry.effects)
            case Failed():
                self._decide()
            case Ended():
                return self._end(entry)
            case _:
                try:
                    entry.apply(self.state)
                    self._note_owner(entry)
                except (KeyError, msgspec.MsgspecError) as error:
                    raise RecordError(f"{where}: {error}; use the version of volcano-py that wrote it") from error
        return None

    def _note_owner(self, entry: Entry) -> None:
        if self._other is not None and isinstance(entry, Upserted) and entry.kind == "PodGroup":
            metadata = metadata_of(entry.value())
            if metadata.controller is not None:
                self._owners[metadata.key] = metadata.controller

    def _begin(self, began: Began) -> None:
        """It is decided when it has ended: until then, answers and effects come."""
        self._answers.clear()
        self._recorded.clear()
        if self.snapshot is not None:
            self.configuration = self._other or self._configurations[began.digest]
            self._began = began, self.snapshot

    def _decide(self) -> CycleReport | None:
        """Decide the cycle that has begun, on what it began with; None without one."""
        if self._began is None or self.configuration is None:
            return None
        (began, snapshot), self._began = self._began, None
        if self._scheduler is None:
            self._scheduler = Scheduler(
                self._registry,
                self._effects.extend,
                seed=began.seed,
                cycles_before=began.number - 1,
                extender=self._extender,
            )
        if self._extender is not None:
            self._extender.begin(self._answers)
        self._effects.clear()
        return self._scheduler.run_cycle(snapshot.with_classes_split(), self.configuration, decide=began.decide)

    def _end(self, ended: Ended) -> Cycle | None:
        report = self._decide()
        if report is None:
            return None
        decided = [(type(each).__name__, msgspec.json.encode(each)) for each in self._effects]
        return Cycle(
            number=ended.number,
            now=report.started,
            recorded=tuple(self._recorded),
            decided=decided,
            report=report,
            ended=ended,
            is_after_cut=self._is_after_cut,
            unanswered=0 if self._extender is None else self._extender.missing,
            owners=self._owners,
        )


def _parsed(entry: Configured, registry: Registry, where: str) -> SchedulerConfiguration:
    parsed = parse_configuration(entry.text, registry.catalogue(), source=where)
    if parsed.config is None:
        raise RecordError(f"{where}: the recorded configuration is not valid here: {parsed.errors[0]}")
    return parsed.config
