"""The record of the daemon, where `--record` asks for one."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any, Final

import structlog

from volcano_py.api.effects import Bind, Evict
from volcano_py.api.extender.client import ExtenderClient
from volcano_py.daemon.options import DaemonOptions
from volcano_py.record.answers import RecordingExtender
from volcano_py.record.entries import Outcome
from volcano_py.record.recorded_state import RecordedState
from volcano_py.record.recorder import Recorder
from volcano_py.record.segments import Limits
from volcano_py.record.witness import CycleWitness
from volcano_py.state.cluster_state import ClusterState

log = structlog.get_logger(__name__)

_LOOK_EVERY: Final = 0.02  # seconds


class Recording:
    """Without `--record` all of it does nothing. `on_stop` is called when recording has ended because it failed."""

    def __init__(self, options: DaemonOptions, on_stop: Callable[[str], None]) -> None:
        self._options = options
        self._recorder = None
        if options.record is not None and options.scheduling:
            self._recorder = Recorder(
                options.record,
                scheduler_names=options.scheduler_names,
                default_queue=options.default_queue,
                sharding=options.sharding,
                limits=Limits(size=options.record_size, age=options.record_age),
                on_stop=on_stop,
            )

    def make_state(self) -> ClusterState:
        """The state of the daemon."""
        names, queue = self._options.scheduler_names, self._options.default_queue
        sharding = self._options.sharding
        if self._recorder is None:
            return ClusterState(scheduler_names=names, default_queue=queue, follows_jobs=True, sharding=sharding)
        return RecordedState(self._recorder.record, scheduler_names=names, default_queue=queue, sharding=sharding)

    def witness(self, text: Callable[[], str]) -> CycleWitness | None:
        """Sees the cycles; `text` is that of the configuration in force."""
        return None if self._recorder is None else CycleWitness(self._recorder, text)

    def extender(self, client: ExtenderClient) -> ExtenderClient:
        """The client, whose answers are recorded."""
        return client if self._recorder is None else RecordingExtender(client, self._recorder.record)

    def outcome(self, what: str, effect: Bind | Evict, error: str = "") -> None:
        """What became of an effect."""
        if self._recorder is not None:
            self._recorder.record(Outcome(time.time(), what, effect.pod.key, effect.pod.uid, error))

    def start(self) -> None:
        if self._recorder is not None:
            self._recorder.start()

    async def run(self) -> None:
        """Until cancelled; then what is left is written, unless this is cancelled again."""
        try:
            await asyncio.Event().wait()
        finally:
            if self._recorder is not None:
                await _written(self._recorder)

    def status(self) -> dict[str, Any] | None:
        """What /status shows; None without a record."""
        return None if self._recorder is None else self._recorder.status()


async def _written(recorder: Recorder) -> None:
    recorder.finish()
    try:
        while recorder.is_writing:  # noqa: ASYNC110 - a thread that may hang is looked at, not waited for
            await asyncio.sleep(_LOOK_EVERY)
    except asyncio.CancelledError:
        log.warning("the end of the record is not written", entries=recorder.waiting)
        raise
