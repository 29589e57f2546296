"""Files of a record: what is in them, what is not, and what happens when they cannot be written."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.support.sessions import node
from tests.unit.capture.clusters import MARK, pod
from tests.unit.record.recording import METRICS, record_night
from volcano_py.api.effects import Bind, ObjectRef
from volcano_py.api.objects import Pod
from volcano_py.cluster.kubernetes.watching.decoding import Decoder
from volcano_py.cluster.kubernetes.watching.kinds import POD
from volcano_py.config import default_configuration_text
from volcano_py.record.entries import AssumedBound, Configured, Ended, Header, Upserted
from volcano_py.record.news import CycleEmitted, Seen
from volcano_py.record.recorder import Recorder, without_metrics
from volcano_py.record.segments import SUFFIX, Limits, RecordError, read, segments, tidy


async def test_nothing_of_secrets_and_environments_is_written(tmp_path: Path) -> None:
    import msgspec

    body = pod("secretive", "g")
    private = Decoder(POD).item(msgspec.Raw(msgspec.json.encode(body)))
    assert isinstance(private, Pod)
    await record_night(tmp_path, private)
    [path] = segments(tmp_path)
    text = gzip.decompress(path.read_bytes()).decode()
    assert "secretive" in text
    assert MARK not in text


async def test_credentials_of_the_configuration_are_not_written(tmp_path: Path) -> None:
    await record_night(tmp_path)
    [configured] = [entry for entry in read(segments(tmp_path)[0]) if isinstance(entry, Configured)]
    assert "metrics" not in configured.text
    assert "actions" in configured.text


def test_a_configuration_without_metrics_is_kept_as_it_is() -> None:
    text = default_configuration_text()
    assert without_metrics(text) == text
    assert "tell-no-one" not in without_metrics(text + METRICS)


async def test_a_segment_that_was_cut_off_is_read_up_to_its_end(tmp_path: Path) -> None:
    await record_night(tmp_path)
    [path] = segments(tmp_path)
    whole = [*read(path)]
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    part = [*read(path)]
    assert 1 < len(part) < len(whole)
    assert part == whole[: len(part)]


async def test_a_binding_that_is_assumed_as_it_was_emitted_is_written_once(tmp_path: Path) -> None:
    await record_night(tmp_path)
    [path] = segments(tmp_path)
    text = gzip.decompress(path.read_bytes())
    assert text.count(b'"AssumedEmitted"') == 2
    assert b'"AssumedBound"' not in text
    bound = [bind.pod.name for entry in read(path) if isinstance(entry, AssumedBound) for bind in entry.binds]
    assert sorted(bound) == ["early-0", "early-1", "early-2", "late-0", "late-1"]


def test_bindings_that_are_not_all_assumed_are_written_again(tmp_path: Path) -> None:
    first, second = (Bind(ObjectRef("Pod", "team", name, name), "n1", "team/g") for name in ("g-0", "g-1"))
    recording = recorder(tmp_path, [])
    for news in (CycleEmitted((first, second)), AssumedBound((first,)), AssumedBound((first, second))):
        recording.record(news)
    recording.start()
    recording.close()
    [path] = segments(tmp_path)
    assumed = [entry.binds for entry in read(path) if isinstance(entry, AssumedBound)]
    assert assumed == [(first,), (first, second)]


async def test_every_segment_begins_with_all_objects(tmp_path: Path) -> None:
    await record_night(tmp_path, limits=Limits(size=10**9, segments=10**9))
    *_, last = segments(tmp_path)
    header, *entries = read(last)
    assert isinstance(header, Header)
    assert header.sequence > 0
    objects = [entry.value() for entry in entries[: header.state] if isinstance(entry, Upserted)]
    assert {obj.metadata.name for obj in objects if isinstance(obj, Pod)} == {
        *(f"early-{number}" for number in range(3)),
        *(f"late-{number}" for number in range(2)),
    }


def test_the_oldest_segments_go_when_there_is_too_much(tmp_path: Path) -> None:
    for number in range(5):
        (tmp_path / f"{number}{SUFFIX}").write_bytes(b"x" * 100)
    tidy(tmp_path, Limits(size=400, segments=4), now=(tmp_path / f"0{SUFFIX}").stat().st_mtime)
    assert [path.name[0] for path in segments(tmp_path)] == ["2", "3", "4"]


def test_segments_that_are_too_old_go_but_for_the_newest(tmp_path: Path) -> None:
    for number in range(3):
        path = tmp_path / f"{number}{SUFFIX}"
        path.write_bytes(b"x")
        os.utime(path, (1000.0 * number, 1000.0 * number))
    tidy(tmp_path, Limits(age=1500.0), now=3000.0)
    assert [path.name[0] for path in segments(tmp_path)] == ["2"]


async def test_starts_that_follow_each_other_keep_the_limit(tmp_path: Path) -> None:
    """None of them lives long enough to fill a segment."""
    await record_night(tmp_path)
    [first] = segments(tmp_path)
    size = first.stat().st_size
    for _ in range(5):
        await record_night(tmp_path, limits=Limits(size=4 * size, segments=4))
    assert first not in segments(tmp_path)
    assert sum(path.stat().st_size for path in segments(tmp_path)) <= 4.5 * size


async def test_a_segment_that_is_old_enough_is_followed_by_another(tmp_path: Path) -> None:
    await record_night(tmp_path, limits=Limits(age=10_000, segments=10**9))
    assert len(segments(tmp_path)) > 1
    cycles = [entry.number for path in segments(tmp_path) for entry in read(path) if isinstance(entry, Ended)]
    assert cycles == [1, 2, 3]


def recorder(directory: Path, why: list[str], most_waiting: int = 100) -> Recorder:
    return Recorder(
        directory,
        scheduler_names=["volcano"],
        default_queue="default",
        on_stop=why.append,
        most_waiting=most_waiting,
    )


def test_a_disk_that_refuses_ends_the_record_and_nothing_else(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("no folder")
    why: list[str] = []
    recording = recorder(blocked / "record", why)
    recording.start()
    recording.close()
    recording.record(Seen("Node", node("n1")))
    assert len(why) == 1
    assert "Not a directory" in why[0]
    assert recording.status() == {
        "directory": str(blocked / "record"),
        "recording": False,
        "problem": why[0],
        "segment": -1,
        "bytes": 0,
        "cpuSeconds": 0.0,
    }


def test_a_full_disk_ends_the_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from volcano_py.record.segments import SegmentWriter

    def full(self: SegmentWriter, entry: object) -> None:
        raise OSError(28, "No space left on device", str(self.path))

    monkeypatch.setattr(SegmentWriter, "write", full)
    why: list[str] = []
    recording = recorder(tmp_path, why)
    recording.start()
    recording.close()
    assert len(why) == 1
    assert why[0].endswith("No space left on device")


def test_a_disk_that_fills_up_ends_the_record_and_keeps_what_it_has(tmp_path: Path) -> None:
    """In a process of its own, whose files may have so many bytes; what is written is random, so it does not shrink."""
    script = """
import resource, signal, sys, uuid
from pathlib import Path
from volcano_py.record.entries import AssumedEvicted
from volcano_py.record.recorder import Recorder

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
why = []
recorder = Recorder(Path(sys.argv[1]), scheduler_names=["volcano"], default_queue="default", on_stop=why.append)
recorder.start()
for _ in range(20_000):
    recorder.record(AssumedEvicted(str(uuid.uuid4())))
recorder.close()
recorder.record(AssumedEvicted("later"))
print(recorder.status()["recording"], recorder.waiting < 20_000, *why)
"""
    ended = subprocess.run([sys.executable, "-c", script, tmp_path], capture_output=True, text=True, check=True)
    assert ended.stdout.splitlines()[-1] == f"False True {tmp_path}: File too large"
    [path] = segments(tmp_path)
    assert path.stat().st_size <= 200_000
    assert len([*read(path)]) > 1_000


def test_what_was_written_and_what_it_took_is_reported(tmp_path: Path) -> None:
    recording = recorder(tmp_path, [], most_waiting=10_000)
    recording.start()
    for number in range(2000):
        recording.record(Seen("Node", node(f"n{number}")))
    recording.close()
    status = recording.status()
    assert status["bytes"] == segments(tmp_path)[0].stat().st_size
    assert status["cpuSeconds"] > 0


def test_a_disk_that_is_too_slow_ends_the_record_and_nobody_waits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from volcano_py.record.segments import SegmentWriter

    go_on = threading.Event()
    monkeypatch.setattr(SegmentWriter, "write", lambda self, entry: go_on.wait())
    why: list[str] = []
    recording = recorder(tmp_path, why, most_waiting=3)
    recording.start()
    for _ in range(5):
        recording.record(Seen("Node", node("n1")))
    assert why == ["the disk is too slow: 3 entries wait to be written"]
    assert recording.status()["recording"] is False
    go_on.set()
    recording.close()


def test_a_folder_without_a_record_is_reported(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="no record here"):
        segments(tmp_path)


def test_a_file_that_is_no_segment_is_reported(tmp_path: Path) -> None:
    path = tmp_path / f"x{SUFFIX}"
    path.write_bytes(gzip.compress(b'{"a": 1}\n'))
    with pytest.raises(RecordError, match="use the version of volcano-py that wrote it"):
        [*read(path)]
    path.write_bytes(b"text")
    with pytest.raises(RecordError, match="not a segment of a record"):
        [*read(path)]
