"""A small cluster whose history is recorded into a directory."""

from __future__ import annotations

import asyncio
from pathlib import Path
from random import Random

from tests.property.explaining.answering_cluster import AnsweringCluster
from tests.property.histories import History
from tests.unit.daemon.cycling import REGISTRY
from volcano_py.api.names import DEFAULT_QUEUE, DEFAULT_SCHEDULER_NAME
from volcano_py.config import parse_configuration
from volcano_py.record.recorded_state import RecordedState
from volcano_py.record.recorder import Recorder
from volcano_py.record.segments import Limits
from volcano_py.record.witness import CycleWitness

SEED = 1
"""That of the bench's loop: equal nodes are taken in a random order."""


async def record(directory: Path, rng: Random, text: str, *, steps: int, limits: Limits | None = None) -> int:
    """How many cycles were recorded."""
    configuration = parse_configuration(text, REGISTRY.catalogue()).config
    assert configuration is not None
    recorder = Recorder(directory, scheduler_names=[DEFAULT_SCHEDULER_NAME], default_queue=DEFAULT_QUEUE, limits=limits)
    recorder.start()
    state = RecordedState(recorder.record)
    witness = CycleWitness(recorder, lambda: text)
    cluster = AnsweringCluster(rng, configuration, state=state, witness=witness)
    cluster.loop._scheduler._seed = SEED
    history = History(rng, cluster)
    running = asyncio.create_task(cluster.loop.run())
    history.begin()
    for _ in range(steps):
        await history.go_on()
        await cluster.a_moment()
        if rng.random() < 0.1:
            await cluster.after(rng.choice([70.0, 400.0]))
    cluster.loop.stop()
    await cluster.clock.advance(2)
    await running
    recorder.close(within=60.0)
    assert not recorder.problem
    return len(cluster.reports)
