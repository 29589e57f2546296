"""Samples from the entries of a record."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tests.unit.record.recording import record_night
from volcano_py.record.entries import Ended, Entry, Looked
from volcano_py.record.segments import in_order, segments
from volcano_py.ui.board.recorded import samples_of


async def test_the_shares_and_waits_of_a_night_are_those_of_its_cycles(tmp_path: Path) -> None:
    """One node of 4 CPUs: early gets three of them, late waits for its turn; then a node comes for it."""
    await record_night(tmp_path)
    samples = list(samples_of(in_order(segments(tmp_path))).values())
    assert [sample.at for sample in samples] == sorted(sample.at for sample in samples)
    waits = next(sample for sample in samples if sample.waiting)
    assert sum(waits.waiting.values()) == 1
    assert (waits.used["cpu"], waits.shares["default"]) == (0.75, 0.75)
    last = samples[-1]
    assert (last.waiting, last.used["cpu"]) == ({}, 0.625), "five of eight CPUs"
    assert last.cycle > waits.cycle > 0


async def test_another_process_begins_from_nothing(tmp_path: Path) -> None:
    """Its predecessor's waiting jobs are not waiting any more, as far as it has said."""
    await record_night(tmp_path)
    entries = list(in_order(segments(tmp_path)))
    until = next(number for number, entry in enumerate(entries) if isinstance(entry, Ended) and entry.pending)
    twice = [*entries[: until + 1], *entries[: until + 1]]
    samples = list(samples_of(twice).values())
    assert sum(samples[-1].waiting.values()) == 1


def test_a_long_record_has_a_thousand_samples_and_its_last_moment() -> None:
    def entries() -> Iterator[Entry]:
        for number in range(20_000):
            yield Looked(float(number * 10))
            yield Ended(number + 1, 0.0)

    samples = list(samples_of(entries()).values())
    assert 500 <= len(samples) <= 1000
    assert samples[-1].at == 199_990.0
