"""The timeline of a record of the daemon (`run --record`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final

from volcano_py.api.names import ROOT_QUEUE
from volcano_py.api.objects import Node, Queue
from volcano_py.api.quantity import QuantityError, Rounding, parse_quantity
from volcano_py.api.report import Amounts
from volcano_py.record.entries import Deleted, Ended, Entry, Header, Looked, QueueFigures, Upserted
from volcano_py.state.table.units import whole_units
from volcano_py.ui.board.model import Sample
from volcano_py.ui.board.timeline import EVERY, parts, shares

_MOST: Final = 1000
"""Samples."""


def samples_of(entries: Iterable[Entry]) -> dict[str, Sample]:
    """Moment → sample: of each ten seconds the last one, or of longer spans, so that they are at most so many.
    `entries` are those of a whole record."""
    heard, every = _Heard(), EVERY
    found: dict[int, Sample] = {}
    for entry in entries:
        is_other_process = isinstance(entry, Header)
        is_later = isinstance(entry, Looked) and int(entry.now / every) > int(heard.now / every)
        if heard.has_cycle and (is_other_process or is_later):
            found[int(heard.now / every)] = heard.sample()
        if len(found) > _MOST:
            every *= 2
            found = {int(each.at / every): each for each in found.values()}
        heard = _Heard() if is_other_process else heard
        heard.take(entry)
    if heard.has_cycle:
        found[int(heard.now / every)] = heard.sample()
    return {f"{sample.at:.3f}": sample for sample in found.values()}


class _Heard:
    """What the entries so far have said of nodes, queues and what waits."""

    def __init__(self) -> None:
        self.now = 0.0
        self._cycle = 0
        self._nodes: dict[str, Amounts] = {}
        self._nodes_differ = False
        self._total: Amounts = {}
        """Of the nodes, when a snapshot was taken."""
        self._parents: dict[str, str] = {}
        self._figures: dict[str, QueueFigures] = {}
        self._reasons: dict[str, str] = {}

    @property
    def has_cycle(self) -> bool:
        """Whether one has ended."""
        return self._cycle > 0

    def take(self, entry: Entry) -> None:
        """One more."""
        match entry:
            case Looked():
                self.now = entry.now
                if self._nodes_differ:
                    self._total, self._nodes_differ = _sum(self._nodes.values()), False
            case Upserted(kind="Node") | Upserted(kind="Queue"):
                self._object(entry)
            case Ended():
                self._cycle = entry.number
                self._figures |= entry.queues
                self._reasons |= {job.name: str(job.reason.value) for job in entry.pending}
                for name in entry.no_longer_pending:
                    self._reasons.pop(name, None)

    def _object(self, entry: Upserted) -> None:
        obj, is_gone = entry.value(), isinstance(entry, Deleted)
        if isinstance(obj, Node):
            self._nodes_differ = True
            self._nodes.pop(obj.metadata.name, None)
            if not is_gone:
                self._nodes[obj.metadata.name] = _units(obj.status.allocatable)
        elif isinstance(obj, Queue):
            self._parents[obj.metadata.name] = obj.spec.parent or ROOT_QUEUE
            if is_gone:
                self._figures.pop(obj.metadata.name, None)

    def sample(self) -> Sample:
        """The moment of the last cycle."""
        held = {name: figures.allocated for name, figures in self._figures.items() if name != ROOT_QUEUE}
        top = {name: amounts for name, amounts in held.items() if self._parents.get(name, ROOT_QUEUE) == ROOT_QUEUE}
        return Sample(
            at=self.now,
            cycle=self._cycle,
            shares=shares(top, self._total),
            waiting=dict(sorted(Counter(self._reasons.values()).items())),
            used=parts(_sum(top.values()), self._total),
        )


def _sum(many: Iterable[Amounts]) -> Amounts:
    total = Counter[str]()
    for amounts in many:
        total.update(amounts)
    return total


def _units(amounts: Mapping[str, str | int | float]) -> Amounts:
    """What cannot be read counts as nothing, as for the scheduler."""
    try:
        units, _ = whole_units({name: parse_quantity(text) for name, text in amounts.items()}, Rounding.DOWN)
    except QuantityError:
        return {}
    return units
