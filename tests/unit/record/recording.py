"""A record of a small cluster that is the same in every run but for the run's name."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Final

from tests.support.sessions import gang, node, queue
from tests.unit.daemon.cycling import Bench
from volcano_py.api.names import DEFAULT_QUEUE, DEFAULT_SCHEDULER_NAME
from volcano_py.api.objects import ApiObject
from volcano_py.config import default_configuration_text
from volcano_py.record.recorded_state import RecordedState
from volcano_py.record.recorder import Recorder
from volcano_py.record.segments import Limits
from volcano_py.record.witness import CycleWitness

METRICS: Final = "\nmetrics: {type: prometheus, address: http://user:tell-no-one@prometheus}\n"


async def record_night(directory: Path, *more: ApiObject, limits: Limits | None = None) -> None:
    """One node of 4 CPUs: `early` gets three of them, `late` waits for its turn; then a node comes for it."""
    recorder = Recorder(directory, scheduler_names=[DEFAULT_SCHEDULER_NAME], default_queue=DEFAULT_QUEUE, limits=limits)
    recorder.start()
    text = default_configuration_text() + METRICS
    bench = Bench(RecordedState(recorder.record), CycleWitness(recorder.record, lambda: text))
    running = asyncio.create_task(bench.loop.run())
    bench.put(queue("default"), node("n1", cpu="4"), *gang("early", pods=3, cpu="1"))
    await bench.after(1)
    bench.put(*gang("late", pods=2, cpu="1"), *more)
    await bench.after(60)
    bench.put(node("n2", cpu="4"))
    await bench.after(1)
    bench.loop.stop()
    await bench.clock.advance(2)
    await running
    recorder.close(within=60.0)
    assert not recorder.problem
