"""Whatever happens to a cluster: a record of it leads to the same effects, one by one."""

from __future__ import annotations

import asyncio
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.property.explaining.recorded_history import record
from tests.property.resting.test_at_rest_another_cycle_changes_nothing import CONFIGURATIONS, FEW
from tests.unit.daemon.cycling import REGISTRY
from volcano_py.api.effects import JsonObject
from volcano_py.daemon.observing.dump import dump_state
from volcano_py.record.entries import Header
from volcano_py.record.replay import Replaying, replay
from volcano_py.record.segments import Limits, read, segments


@pytest.mark.parametrize("name", CONFIGURATIONS)
@FEW
@given(rng=st.randoms(use_true_random=True))
def test_a_record_is_decided_again_without_a_difference(name: str, rng: Random) -> None:
    with TemporaryDirectory() as directory:
        cycles = asyncio.run(record(Path(directory), rng, CONFIGURATIONS[name], steps=30))
        found = [*replay(segments(Path(directory)), REGISTRY)]
        assert len(found) == cycles > 0
        assert [(each.number, each.difference) for each in found if each.difference] == []
        assert any(each.decided for each in found)


SEGMENT_FOR_EACH_CYCLE = Limits(size=1_000_000_000, segments=1_000_000_000)
SEGMENT_FOR_SOME_CYCLES = Limits(size=8 * 25_000, segments=8)


@pytest.mark.parametrize("name", CONFIGURATIONS)
@FEW
@given(rng=st.randoms(use_true_random=True))
def test_a_segment_goes_on_from_the_one_before_it(name: str, rng: Random) -> None:
    with TemporaryDirectory() as directory:
        cycles = asyncio.run(
            record(Path(directory), rng, CONFIGURATIONS[name], steps=15, limits=SEGMENT_FOR_EACH_CYCLE)
        )
        paths = segments(Path(directory))
        assert len(paths) > cycles / 2
        found = [*replay(paths, REGISTRY)]
        assert len(found) == cycles
        assert [(each.number, each.difference) for each in found if each.difference] == []


@pytest.mark.parametrize("name", CONFIGURATIONS)
@FEW
@given(rng=st.randoms(use_true_random=True), limits=st.sampled_from([SEGMENT_FOR_EACH_CYCLE, SEGMENT_FOR_SOME_CYCLES]))
def test_a_record_may_be_cut_between_any_two_segments(name: str, rng: Random, limits: Limits) -> None:
    with TemporaryDirectory() as directory:
        asyncio.run(record(Path(directory), rng, CONFIGURATIONS[name], steps=30, limits=limits))
        paths = segments(Path(directory))
        for cut in (*([path] for path in paths), paths[len(paths) // 2 :]):
            found = [*replay(cut, REGISTRY)]
            assert [(cut[0], each.number, each.difference) for each in found if each.difference] == []


@pytest.mark.parametrize("name", CONFIGURATIONS)
@FEW
@given(rng=st.randoms(use_true_random=True))
def test_every_segment_alone_leads_to_the_same_cluster(name: str, rng: Random) -> None:
    with TemporaryDirectory() as directory:
        asyncio.run(record(Path(directory), rng, CONFIGURATIONS[name], steps=30, limits=SEGMENT_FOR_EACH_CYCLE))
        whole, ended = Replaying(REGISTRY), 0
        for path in segments(Path(directory)):
            alone = Replaying(REGISTRY)
            ended += sum(_read(path, replaying) for replaying in (whole, alone))
            assert _cluster(alone) == _cluster(whole), path
        assert ended > 0


def _read(path: Path, replaying: Replaying) -> int:
    """How many cycles have ended in it."""
    header, *entries = read(path)
    assert isinstance(header, Header)
    known = header.state if replaying.begin(header) else 0
    return sum(replaying.take(entry, str(path)) is not None for entry in entries[known:])


def _cluster(replaying: Replaying) -> JsonObject:
    now = 0.0 if replaying.snapshot is None else replaying.snapshot.now
    dump = dump_state(replaying.state.copy(now), None, 0)
    del dump["time"]
    del dump["resources"]  # in the order in which they came
    return dump
