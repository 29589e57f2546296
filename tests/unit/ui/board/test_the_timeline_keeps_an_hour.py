"""Samples of the last hour."""

from __future__ import annotations

import itertools

from msgspec.structs import replace

from tests.unit.ui.board.test_only_what_differs_is_sent import cluster
from volcano_py.ui.board.model import ClusterRow, JobRow, QueueRow
from volcano_py.ui.board.timeline import EVERY, LASTS, Timeline

QUEUES = {
    "root": QueueRow("root", 0, allocated={"cpu": 8}),
    "a": QueueRow("a", 1, "root", 1, allocated={"cpu": 2, "gpu": 4}),
    "b": QueueRow("b", 2, "a", 2, allocated={"cpu": 2}),
}
JOBS = [JobRow("n/a", "a", "Waiting", reason="NeverFits"), JobRow("n/b", "a", "Running")]


def at(moment: float) -> ClusterRow:
    return replace(cluster(moment), allocatable={"cpu": 8, "gpu": 4, "pods": 0}, used={"cpu": 6})


def test_a_sample_has_shares_below_root_waits_by_reason_and_use() -> None:
    timeline = Timeline()
    timeline.add(at(100), QUEUES, JOBS)
    (sample,) = timeline.rows.values()
    assert sample.shares == {"a": 1.0}, "its gpus; b is below it"
    assert sample.waiting == {"NeverFits": 1}
    assert sample.used == {"cpu": 0.75, "gpu": 0.0}


def test_samples_are_ten_seconds_apart_and_an_hour_old_at_most() -> None:
    timeline = Timeline()
    for moment in range(0, 7200, 3):
        timeline.add(at(moment), QUEUES, JOBS)
    moments = [sample.at for sample in timeline.rows.values()]
    assert all(later - earlier >= EVERY for earlier, later in itertools.pairwise(moments))
    assert moments[-1] - moments[0] < LASTS
    assert len(moments) > LASTS / EVERY * 0.7
