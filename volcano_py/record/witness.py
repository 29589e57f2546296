"""Records cycles as the loop of the daemon runs them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from volcano_py.api.effects import Effect
from volcano_py.api.report import CycleReport
from volcano_py.config import SchedulerConfiguration
from volcano_py.record.entries import Failed
from volcano_py.record.news import CycleBegan, CycleEmitted, CycleEnded, News


class CycleWitness:
    """Implements `daemon.cycles.Witness`. `text` is the text of the configuration in force."""

    def __init__(self, record: Callable[[News], None], text: Callable[[], str]) -> None:
        self._record, self._text = record, text

    def began(self, number: int, seed: int, configuration: SchedulerConfiguration, *, decide: bool) -> None:
        self._record(CycleBegan(number, seed, configuration.digest, self._text(), decide))

    def emitted(self, effects: Sequence[Effect]) -> None:
        self._record(CycleEmitted(effects))

    def ended(self, report: CycleReport) -> None:
        self._record(CycleEnded(report))

    def failed(self) -> None:
        self._record(Failed())
