"""Records cycles as the loop of the daemon runs them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from volcano_py.api.effects import Effect
from volcano_py.api.report import CycleReport
from volcano_py.config import SchedulerConfiguration
from volcano_py.record.entries import Failed
from volcano_py.record.news import CycleBegan, CycleEmitted, CycleEnded
from volcano_py.record.recorder import Recorder


class CycleWitness:
    """Implements `daemon.cycles.Witness`. `text` is the text of the configuration in force."""

    def __init__(self, recorder: Recorder, text: Callable[[], str]) -> None:
        self._record, self._turns, self._text = recorder.record, recorder.turns, text

    def forgets(self) -> bool:
        """What the scheduler remembers is not in the state with which the next segment begins."""
        return self._turns()

    def began(self, number: int, seed: int, configuration: SchedulerConfiguration, *, decide: bool) -> None:
        self._record(CycleBegan(number, seed, configuration.digest, self._text(), decide))

    def emitted(self, effects: Sequence[Effect]) -> None:
        self._record(CycleEmitted(effects))

    def ended(self, report: CycleReport) -> None:
        self._record(CycleEnded(report))

    def failed(self) -> None:
        self._record(Failed())
