"""Records of small clusters that are the same in every run but for the run's name."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from tests.support.sessions import gang, node, pod, queue
from tests.unit.daemon.cycling import REGISTRY, Bench
from volcano_py.api.effects import Evict
from volcano_py.api.extender.client import ExtenderClient
from volcano_py.api.names import DEFAULT_QUEUE, DEFAULT_SCHEDULER_NAME
from volcano_py.api.objects import ApiObject
from volcano_py.config import default_configuration_text, parse_configuration
from volcano_py.record.answers import RecordingExtender
from volcano_py.record.entries import Outcome
from volcano_py.record.recorded_state import RecordedState
from volcano_py.record.recorder import Recorder
from volcano_py.record.segments import Limits
from volcano_py.record.witness import CycleWitness

METRICS: Final = "\nmetrics: {type: prometheus, address: http://user:tell-no-one@prometheus}\n"
RECLAIMING: Final = """
actions: "enqueue, allocate, reclaim, backfill"
tiers:
- plugins: [{name: priority}, {name: gang}, {name: conformance}]
- plugins: [{name: drf}, {name: predicates}, {name: proportion}, {name: nodeorder}]
"""
MINUTE: Final = 60.0


@asynccontextmanager
async def recorded(
    directory: Path, text: str, limits: Limits | None = None, extender: ExtenderClient | None = None
) -> AsyncIterator[tuple[Bench, Recorder]]:
    """What happens to the bench inside the block is recorded."""
    recorder = Recorder(directory, scheduler_names=[DEFAULT_SCHEDULER_NAME], default_queue=DEFAULT_QUEUE, limits=limits)
    recorder.start()
    asked = None if extender is None else RecordingExtender(extender, recorder.record)
    bench = Bench(RecordedState(recorder.record), CycleWitness(recorder, lambda: text), asked)
    bench.configuration = parse_configuration(text, REGISTRY.catalogue()).config
    running = asyncio.create_task(bench.loop.run())
    yield bench, recorder
    bench.loop.stop()
    await bench.clock.advance(2)
    await running
    recorder.close(within=60.0)
    assert not recorder.problem


async def record_night(directory: Path, *more: ApiObject, limits: Limits | None = None, tiers: str = "") -> None:
    """One node of 4 CPUs: `early` gets three of them, `late` waits for its turn; then a node comes for it."""
    async with recorded(directory, default_configuration_text().rstrip() + "\n" + tiers + METRICS, limits) as (
        bench,
        _,
    ):
        bench.put(queue("default"), node("n1", cpu="4"), *gang("early", pods=3, cpu="1"))
        await bench.after(1)
        bench.put(*gang("late", pods=2, cpu="1"), *more)
        await bench.after(60)
        bench.put(node("n2", cpu="4"))
        await bench.after(1)


async def record_contest(directory: Path, limits: Limits | None = None) -> None:
    """Two queues share 16 CPUs equally. `sweep` of research holds 12 of them, until `train` of vision needs 6: two pods
    go, and come again. `eval` waits until `train` has ended, because vision would hold more than it deserves."""
    async with recorded(directory, RECLAIMING, limits) as (bench, recorder):
        bench.put(queue("research"), queue("vision"), *(node(f"n{number}", cpu="8") for number in (1, 2)))
        bench.put(*gang("sweep", pods=12, min_member=2, queue="research", cpu="1"))
        await bench.after(1)
        _run(bench)
        await bench.after(30 * MINUTE - 1)
        bench.put(*gang("train", pods=6, queue="vision", cpu="1"))
        await bench.after(1)
        evicted = [effect for effect in bench.sent if isinstance(effect, Evict)]
        for effect in evicted:
            recorder.record(Outcome(bench.now, "evicted", effect.pod.key, effect.pod.uid))
            bench.state.delete("Pod", pod(effect.pod.name, group="sweep", cpu="1"))
        bench.put(*(pod(f"sweep-{12 + number}", group="sweep", cpu="1") for number in range(len(evicted))))
        await bench.after(1)
        _run(bench)
        await bench.after(15 * MINUTE - 2)
        bench.put(*gang("eval", pods=4, queue="vision", cpu="1"))
        await bench.after(75 * MINUTE)
        _end(bench, *gang("train", pods=6, queue="vision", cpu="1"))
        await bench.after(1)
        _run(bench)
        await bench.after(60 * MINUTE)
        _end(bench, *gang("eval", pods=4, queue="vision", cpu="1"))
        await bench.after(30 * MINUTE)
        bench.put(*gang("tune", pods=2, queue="research", cpu="1"))
        await bench.after(1)


def _run(bench: Bench) -> None:
    """What is bound runs."""
    for bind in bench.bound:
        bench.put(pod(bind.pod.name, group=bind.job.partition("/")[2], cpu="1", on=bind.node))
    bench.bound.clear()


def _end(bench: Bench, *objects: ApiObject) -> None:
    for obj in reversed(objects):
        bench.state.delete(type(obj).__name__, obj)
