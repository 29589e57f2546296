"""At its stop the daemon waits for the record, as long as it is not asked to hurry."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from tests.support.sessions import node
from volcano_py.daemon.observing.live_record import LiveRecord
from volcano_py.daemon.options import DaemonOptions
from volcano_py.record.entries import Entry, Upserted
from volcano_py.record.segments import SegmentWriter, read, segments

pytestmark = pytest.mark.real_time  # a thread writes
NEWS = 5


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Nothing is written before this is set."""
    go_on, write = threading.Event(), SegmentWriter.write

    def slow(self: SegmentWriter, entry: Entry) -> None:
        go_on.wait()
        write(self, entry)

    monkeypatch.setattr(SegmentWriter, "write", slow)
    return go_on


def record(directory: Path) -> tuple[LiveRecord, asyncio.Task[None]]:
    """A daemon's record with some news, which is being stopped."""
    recording = LiveRecord(DaemonOptions(), directory, on_stop=pytest.fail)
    recording.start()
    state = recording.make_state()
    for number in range(NEWS):
        state.upsert("Node", node(f"n{number}"))
    return recording, asyncio.create_task(recording.run())


async def turns() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


async def test_what_was_decided_before_a_stop_is_written_however_slow_the_disk_is(
    tmp_path: Path, disk: threading.Event
) -> None:
    _, task = record(tmp_path)
    await turns()
    task.cancel()
    await turns()
    assert not task.done()
    disk.set()
    await asyncio.wait((task,))
    [path] = segments(tmp_path)
    assert sum(isinstance(entry, Upserted) for entry in read(path)) == NEWS


async def test_who_does_not_wait_reads_that_the_end_is_missing(tmp_path: Path, disk: threading.Event) -> None:
    _, task = record(tmp_path)
    await turns()
    with capture_logs() as logs:
        for _ in range(2):
            task.cancel()
            await turns()
    assert task.done()
    assert [(each["event"], each["entries"]) for each in logs] == [("the end of the record is not written", NEWS + 1)]
    disk.set()
