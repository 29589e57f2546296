"""Cycles are decided again: what is the same, what a difference names, and what another configuration would decide."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

from tests.unit.daemon.cycling import REGISTRY
from tests.unit.record.recording import record_night
from volcano_py.config.parse import parse_configuration
from volcano_py.record.comparison import Comparison
from volcano_py.record.history import of_pod_group, of_queue
from volcano_py.record.replay import replay
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
    edit(path, b'["Bind",{"pod":{"kind":"Pod","namespace":"team","name":"early-1"', b'["Bind",{"pod":{"kind":"x"')
    [cycle] = [each for each in replay([path], REGISTRY) if each.difference]
    assert cycle.number == 1
    assert not cycle.is_after_cut
    difference = cycle.difference
    assert difference is not None
    assert difference.recorded is not None
    assert difference.decided is not None
    assert b'"kind":"x"' in difference.recorded[1]
    assert b"early-1" in difference.decided[1]


async def test_a_node_that_was_not_there_alters_decisions(tmp_path: Path) -> None:
    await record_night(tmp_path)
    [path] = segments(tmp_path)
    edit(path, b'"cpu":"4"', b'"cpu":"2"')
    assert any(cycle.difference for cycle in replay([path], REGISTRY))


def compared(folder: Path, configuration: str) -> dict[str, Any]:
    """What would have been decided otherwise with this configuration."""
    other = parse_configuration(configuration, REGISTRY.catalogue()).config
    assert other is not None
    comparison = Comparison()
    for cycle in replay(segments(folder), REGISTRY, other):
        comparison.take(cycle)
    return comparison.found()


async def test_another_configuration_is_compared(tmp_path: Path) -> None:
    await record_night(tmp_path)
    text = 'actions: "enqueue, backfill"\ntiers:\n- plugins: [{name: priority}, {name: gang}]\n'
    found = compared(tmp_path, text)
    assert [*found["notBound"]] == ["team/early-0", "team/early-1", "team/early-2", *LATE]
    assert found["boundToo"] == found["evictedToo"] == found["notEvicted"] == {}


async def test_a_pod_that_another_configuration_binds_earlier_is_named(tmp_path: Path) -> None:
    await record_night(tmp_path)
    text = 'actions: "enqueue, allocate"\ntiers:\n- plugins: [{name: priority}, {name: predicates}]\n'
    [(pod, (recorded, decided))] = compared(tmp_path, text)["boundAtAnotherTime"].items()
    assert pod == "team/late-0"
    assert recorded - decided == 60.0


LATE = ("team/late-0", "team/late-1")


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
