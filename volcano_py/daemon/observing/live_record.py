"""The record that `--record` asks for, while the daemon runs."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import structlog

from volcano_py.api.effects import Bind, Evict
from volcano_py.api.extender.client import ExtenderClient
from volcano_py.daemon.observing.recording import Recording
from volcano_py.daemon.options import DaemonOptions
from volcano_py.record.answers import RecordingExtender
from volcano_py.record.entries import Outcome
from volcano_py.record.recorded_state import RecordedState
from volcano_py.record.recorder import Recorder
from volcano_py.record.segments import Limits
from volcano_py.record.witness import CycleWitness

log = structlog.get_logger(__name__)

_LOOK_EVERY: Final = 0.02  # seconds


class LiveRecord(Recording):
    """Writes to the folder. `on_stop` is called when it has ended because it failed."""

    def __init__(self, options: DaemonOptions, folder: Path, on_stop: Callable[[str], None]) -> None:
        super().__init__(options)
        self._recorder = Recorder(
            folder,
            scheduler_names=options.scheduler_names,
            default_queue=options.default_queue,
            sharding=options.sharding,
            limits=Limits(size=options.record_size, age=options.record_age),
            on_stop=on_stop,
        )

    def make_state(self) -> RecordedState:
        options = self.options
        return RecordedState(
            self._recorder.record,
            scheduler_names=options.scheduler_names,
            default_queue=options.default_queue,
            sharding=options.sharding,
        )

    def witness(self, text: Callable[[], str]) -> CycleWitness:
        return CycleWitness(self._recorder, text)

    def extender(self, client: ExtenderClient) -> ExtenderClient:
        return RecordingExtender(client, self._recorder.record)

    def outcome(self, what: str, effect: Bind | Evict, error: str = "") -> None:
        self._recorder.record(Outcome(time.time(), what, effect.pod.key, effect.pod.uid, error))

    def start(self) -> None:
        self._recorder.start()

    async def run(self) -> None:
        try:
            await super().run()
        finally:
            await _written(self._recorder)

    def status(self) -> dict[str, Any]:
        return self._recorder.status()


async def _written(recorder: Recorder) -> None:
    recorder.finish()
    try:
        while recorder.is_writing:  # noqa: ASYNC110 - a thread that may hang is looked at, not waited for
            await asyncio.sleep(_LOOK_EVERY)
    except asyncio.CancelledError:
        log.warning("the end of the record is not written", entries=recorder.waiting)
        raise
