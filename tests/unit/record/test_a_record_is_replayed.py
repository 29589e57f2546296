"""Cycles are decided again: what is the same, what a difference names, and what another configuration would decide."""

from __future__ import annotations

import gzip
from pathlib import Path

import msgspec
from msgspec.structs import replace

from tests.support.sessions import gang, node, pod_group, queue
from tests.unit.daemon.cycling import REGISTRY
from tests.unit.record.recording import record_night, recorded
from volcano_py.api.effects import Evict, ObjectRef
from volcano_py.api.report import CycleReport
from volcano_py.config import default_configuration_text
from volcano_py.config.parse import parse_configuration
from volcano_py.record.comparison import Compared, Comparison, Eviction
from volcano_py.record.entries import Ended
from volcano_py.record.history import last_moment, of_pod_group, of_queue
from volcano_py.record.replay import Cycle, replay
from volcano_py.record.segments import Limits, segments


async def test_every_cycle_decides_the_same_again(tmp_path: Path) -> None:
    await record_night(tmp_path)
    cycles = [*replay(segments(tmp_path), REGISTRY)]
    assert [cycle.difference for cycle in cycles if cycle.difference] == []
    assert sum(cycle.report.binds for cycle in cycles) == 5


def edit(path: Path, old: bytes, new: bytes) -> None:
    text = gzip.decompress(path.read_bytes())
    assert old in text
    path.write_bytes(gzip.compress(text.replace(old, new)))


async def test_a_difference_names_the_cycle_and_the_first_effect(tmp_path: Path) -> None:
    await record_night(tmp_path)
    [path] = segments(tmp_path)
    early = b',"namespace":"team","name":"early-1"'
    edit(path, b'["Bind",{"pod":{"kind":"Pod"' + early, b'["Bind",{"pod":{"kind":"x"' + early)
    [cycle] = [each for each in replay([path], REGISTRY) if each.difference]
    assert cycle.number == 1
    assert not cycle.is_after_cut
    difference = cycle.difference
    assert difference is not None
    assert difference.recorded is not None
    assert difference.decided is not None
    assert b'"kind":"x"' in difference.recorded[1]
    assert b"early-1" in difference.decided[1]


async def test_after_a_cut_effects_may_come_in_another_order(tmp_path: Path) -> None:
    await record_night(tmp_path)
    cycle = next(each for each in replay(segments(tmp_path), REGISTRY) if len(each.decided) > 1)
    turned = replace(cycle, recorded=cycle.recorded[::-1])
    assert turned.difference is not None
    assert replace(turned, is_after_cut=True).difference is None
    assert replace(turned, is_after_cut=True, recorded=cycle.recorded[1:]).difference is not None


async def test_a_node_that_was_not_there_alters_decisions(tmp_path: Path) -> None:
    await record_night(tmp_path)
    [path] = segments(tmp_path)
    edit(path, b'"cpu":"4"', b'"cpu":"2"')
    assert any(cycle.difference for cycle in replay([path], REGISTRY))


def compared(folder: Path, configuration: str) -> Compared:
    """What would have been decided otherwise with this configuration."""
    other = parse_configuration(configuration, REGISTRY.catalogue()).config
    assert other is not None
    comparison = Comparison()
    for cycle in replay(segments(folder), REGISTRY, other):
        comparison.take(cycle)
    return comparison.found()


async def test_what_another_configuration_does_not_bind_waits_instead(tmp_path: Path) -> None:
    await record_night(tmp_path)
    found = compared(tmp_path, 'actions: "enqueue, backfill"\ntiers:\n- plugins: [{name: priority}, {name: gang}]\n')
    assert found.cycles == 3
    assert [(wait.pod_group, wait.recorded.bound, wait.other.bound) for wait in found.waits] == [
        ("team/early", 3, 0),
        ("team/late", 2, 0),
    ]
    assert all(wait.other.reason and not wait.recorded.reason for wait in found.waits)
    assert found.evicted == found.spared == ()


async def test_a_pod_that_another_configuration_binds_earlier_is_named(tmp_path: Path) -> None:
    """Without gang, late-0 need not wait for late-1."""
    await record_night(tmp_path)
    found = compared(tmp_path, 'actions: "enqueue, allocate"\ntiers:\n- plugins: [{name: predicates}]\n')
    [wait] = found.waits
    assert (wait.pod_group, wait.recorded.bound, wait.other.bound) == ("team/late", 2, 2)
    assert wait.recorded.first - wait.other.first == 60.0
    assert wait.recorded.last == wait.other.last  # late-1


async def test_shares_differ_where_another_plugin_owns_the_queues(tmp_path: Path) -> None:
    await record_night(tmp_path)
    [of_cpu, of_pods] = compared(tmp_path, CAPACITY).shares
    assert (of_cpu.queue, of_cpu.resource, of_cpu.recorded, of_cpu.other) == ("default", "cpu", 5000, 0)
    assert (of_pods.resource, of_pods.recorded, of_pods.other) == ("pods", 5, 0)


async def test_the_same_configuration_differs_in_nothing(tmp_path: Path) -> None:
    await record_night(tmp_path)
    assert compared(tmp_path, default_configuration_text()) == Compared(3, (), (), (), ())


CAPACITY = """
actions: "enqueue, allocate, backfill"
tiers:
- plugins: [{name: priority}, {name: gang}]
- plugins: [{name: drf}, {name: predicates}, {name: capacity}, {name: nodeorder}]
"""


async def test_the_story_of_a_podgroup_has_why_it_waited_and_when_it_was_bound(tmp_path: Path) -> None:
    await record_night(tmp_path)
    story = [*of_pod_group(segments(tmp_path), "team/late")]
    assert [each.what for each in story if each.what != "phase"] == ["created", "waits", "bound"]
    [waits] = [each for each in story if each.what == "waits"]
    [bound] = [each for each in story if each.what == "bound"]
    assert "Insufficient cpu" in waits.text
    assert bound.text == "late-0, late-1 to n2"
    assert bound.at - waits.at >= 60


async def test_a_story_is_the_same_whatever_segments_it_is_in(tmp_path: Path) -> None:
    await record_night(tmp_path / "one")
    await record_night(tmp_path / "many", limits=Limits(size=10**9, segments=10**9))
    assert len(segments(tmp_path / "many")) > 1
    stories = [[*of_pod_group(segments(tmp_path / name), "team/late")] for name in ("one", "many")]
    assert stories[0] == stories[1] != []


async def test_the_figures_of_a_queue_follow_what_it_holds(tmp_path: Path) -> None:
    await record_night(tmp_path)
    figures = [each.figures for each in of_queue(segments(tmp_path), "default")]
    assert [each.allocated.get("cpu") for each in figures][-1] == 5000
    assert max(each.waiting for each in figures) == 1
    assert figures[-1].waiting == 0


def test_evictions_of_one_side_alone_are_listed_with_their_reason() -> None:
    def evict(name: str) -> tuple[str, bytes]:
        effect = Evict(ObjectRef("Pod", "team", name, name), None, "reclaim", f"{name} for a pod of queue b")
        return "Evict", msgspec.json.encode(effect)

    def cycle(now: float, recorded: list[str], decided: list[str]) -> Cycle:
        sides = [*map(evict, recorded)], [*map(evict, decided)]
        return Cycle(1, now, *sides, CycleReport("", 1, now, 0.0), Ended(1, 0.0), False)

    comparison = Comparison()
    comparison.take(cycle(1.0, ["both"], ["both", "other"]))
    comparison.take(cycle(2.0, ["record"], ["other"]))
    found = comparison.found()
    assert found.evicted == (Eviction("team/other", 1.0, "reclaim", "other for a pod of queue b"),)
    assert found.spared == (Eviction("team/record", 2.0, "reclaim", "record for a pod of queue b"),)


async def test_a_deletion_is_dated_by_the_cycle_after_it(tmp_path: Path) -> None:
    group, *pods = gang("late", cpu="1")
    async with recorded(tmp_path, default_configuration_text()) as (bench, _):
        bench.put(queue("default"), node("n1", cpu="4"), group, *pods)
        await bench.after(600)
        deleted = bench.now
        for pod in pods:
            bench.state.delete("Pod", pod)
        bench.state.delete("PodGroup", group)
        await bench.after(1)
    *_, last = of_pod_group(segments(tmp_path), "team/late")
    assert (last.what, last.text) == ("deleted", "by then, since the cycle before")
    assert deleted <= last.at <= deleted + 1


async def test_a_deletion_after_the_last_cycle_says_so(tmp_path: Path) -> None:
    group = pod_group("late")
    async with recorded(tmp_path, default_configuration_text()) as (bench, _):
        bench.put(queue("default"), group)
        await bench.after(1)
        bench.loop.stop()
        await bench.after(1)
        bench.state.delete("PodGroup", group)
    *_, last = of_pod_group(segments(tmp_path), "team/late")
    assert (last.what, last.text) == ("deleted", "after this, the last cycle of the record")
    assert last.at == last_moment(segments(tmp_path))


async def test_a_podgroup_is_gone_before_another_one_of_its_name_is_created(tmp_path: Path) -> None:
    group = pod_group("late")
    async with recorded(tmp_path, default_configuration_text()) as (bench, _):
        bench.put(queue("default"), group)
        await bench.after(600)
        bench.state.delete("PodGroup", group)
        bench.put(replace(group, metadata=replace(group.metadata, creation_timestamp=bench.clock.now())))
        await bench.after(1)
    story = [*of_pod_group(segments(tmp_path), "team/late")]
    first, deleted, second = (each for each in story if each.what in ("created", "deleted"))
    assert (first.what, deleted.what, second.what) == ("created", "deleted", "created")
    assert first.at < deleted.at == second.at
