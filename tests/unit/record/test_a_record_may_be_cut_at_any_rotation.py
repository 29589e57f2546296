"""Whatever segments of a record are missing: the cycles of the others decide the same again."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from tests.support.placement.numa import pinned, places, topology
from tests.support.sessions import gang, node, pod, pod_group, queue
from tests.unit.daemon.cycling import REGISTRY
from tests.unit.record.recording import record_contest, record_night, recorded
from volcano_py.api.effects import PodGroupStatusUpdate
from volcano_py.config import default_configuration_text
from volcano_py.record.news import Seen
from volcano_py.record.recorder import Recorder
from volcano_py.record.replay import replay
from volcano_py.record.segments import Limits, segments
from volcano_py.state.table.change import Change

EACH_CYCLE = Limits(size=10**9, segments=10**9)


async def record_late_pods(directory: Path, *, limits: Limits) -> None:
    """A PodGroup is admitted whose pods come after two minutes; meanwhile nodes come, and so cycles."""
    async with recorded(directory, default_configuration_text(), limits) as (bench, _):
        bench.put(queue("default"), node("n1", cpu="4"), pod_group("late", min_member=2, phase="Pending"))
        for number in range(2, 8):
            await bench.after(20)
            bench.put(node(f"n{number}", cpu="4"))
        bench.put(*(pod(f"late-{number}", group="late", cpu="1") for number in range(2)))
        await bench.after(1)


async def record_silent_exporter(directory: Path, *, limits: Limits) -> None:
    """A pod waits for the CPUs of one that has left; after a minute it is not expected that they are shown as free."""
    text = "actions: allocate\ntiers: [{plugins: [{name: gang}, {name: predicates}, {name: numa-aware}]}]"
    async with recorded(directory, text, limits) as (bench, recorder):
        bench.put(queue("default"), node("n1", cpu="4"), topology("n1", places(4), "", shown={"gone": "0-3"}))
        bench.put(pod_group("late"), pinned("late", 2, group="late"))
        for number in range(2, 8):
            recorder._turned = 0.0  # long ago
            await bench.after(20)
            bench.put(node(f"n{number}", cpu="1"))
        await bench.after(1)


@pytest.mark.parametrize("record", [record_night, record_contest, record_late_pods, record_silent_exporter])
async def test_every_segment_alone_decides_the_same_again(
    record: Callable[..., Awaitable[None]], tmp_path: Path
) -> None:
    await record(tmp_path, limits=EACH_CYCLE)
    paths = segments(tmp_path)
    assert len(paths) > 2
    for path in paths:
        found = [*replay([path], REGISTRY)]
        assert [(path.name, cycle.number, cycle.difference) for cycle in found if cycle.difference] == []


async def test_a_segment_alone_knows_nothing_of_the_cycles_before_it(tmp_path: Path) -> None:
    """Since when a PodGroup has had no pods is not in the state: it counts from the segment's first cycle."""
    async with recorded(tmp_path, default_configuration_text(), Limits(age=8 * 3600.0)) as (bench, recorder):
        bench.put(queue("default"), node("n1", cpu="4"), pod_group("late", min_member=2, phase="Inqueue"))
        await bench.after(1)
        recorder._turned = 0.0  # long ago
        bench.put(node("n2", cpu="4"))
        await bench.after(1.5)
        assert not _lack_pods(bench.sent)
        await bench.after(1)
        assert _lack_pods(bench.sent)
    first, second = segments(tmp_path)
    assert [*replay([second], REGISTRY)]
    for cut in ([first, second], [second]):
        assert not [cycle.difference for cycle in replay(cut, REGISTRY) if cycle.difference]


async def test_the_first_cycle_of_a_segment_decides(tmp_path: Path) -> None:
    """Otherwise it would be unknown until the next change what waits, and when to look again."""
    async with recorded(tmp_path, default_configuration_text(), Limits(age=8 * 3600.0)) as (bench, recorder):
        bench.put(queue("default"), node("n1", cpu="1"), *gang("late", pods=2, cpu="1"))
        await bench.after(1)
        for turned in (recorder._turned, 0.0):
            recorder._turned = turned
            bench.wakeup.wake(Change.STATUS)  # only statuses have changed
            await bench.after(1)
    assert bench.decided()[-2:] == [False, True]
    assert [job.name for job in bench.reports[-1].pending] == ["team/late"]


def _lack_pods(sent: object) -> bool:
    assert isinstance(sent, list)
    updates = [effect for effect in sent if isinstance(effect, PodGroupStatusUpdate)]
    return any(condition.reason == "NotEnoughTasks" for update in updates for condition in update.conditions)


@pytest.mark.parametrize(("more", "is_full"), [(20, False), (2000, True)])
def test_a_segment_that_is_mostly_state_goes_on(more: int, is_full: bool, tmp_path: Path) -> None:
    """Of a cluster that is larger than a segment may be, half of what is written is states at most."""
    recorder = Recorder(tmp_path, scheduler_names=["volcano"], default_queue="default", limits=Limits(size=8))
    recorder.start()
    for number in range(500):
        recorder.record(Seen("Node", node(f"n{number}")))
    recorder._turned = 0.0  # long ago
    assert recorder.turns()
    for number in range(more):
        recorder.record(Seen("Node", node(f"more-{number}")))
    recorder.close()
    assert recorder.turns() is is_full
