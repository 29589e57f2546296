"""How many times as fast as kube-scheduler: by the run of the same round, as the machine may change meanwhile."""

from __future__ import annotations

from dataclasses import replace

import pytest

from volcano_py.bench.figures import Run
from volcano_py.bench.run import Comparison


def run(scheduler: str, rate: float) -> Run:
    return Run(
        scheduler, pods=100, seconds=1.0, pods_per_second=rate,
        p50_seconds=0.0, p99_seconds=0.0, cpu_seconds=0.0, peak_rss_bytes=0,
    )  # fmt: skip


def test_each_is_compared_within_its_round() -> None:
    rounds = ("kube-scheduler", 100.0), ("volcano-py", 250.0), ("kube-scheduler", 200.0), ("volcano-py", 400.0)
    comparison = Comparison((), tuple(run(*each) for each in rounds))
    assert comparison.times_as_fast() == {"volcano-py": [2.5, 2.0]}
    assert comparison.as_json()["times_as_fast_as_kube_scheduler"] == {"volcano-py": [2.5, 2.0]}


def test_throughput_is_not_shown_when_the_load_sets_the_pace() -> None:
    assert Comparison((), (run("kube-scheduler", 200.0), run("volcano-py", 200.0)), paced=True).times_as_fast() == {}


@pytest.mark.parametrize("runs", [[], [("volcano-py", 250.0)], [("kube-scheduler", 0.0), ("volcano-py", 250.0)]])
def test_without_its_throughput_there_is_nothing_to_compare_with(runs: list[tuple[str, float]]) -> None:
    assert Comparison((), tuple(run(*each) for each in runs)).times_as_fast() == {}


def test_a_run_is_reported_in_one_line_and_without_the_throughput_that_it_does_not_have() -> None:
    assert str(run("volcano-py", 1234.0)) == "volcano-py, 100 pods in 1.0 s, 1,234/s, p50 0.00 s, p99 0.00 s"
    at_rest = replace(run("volcano-py", 0.0), seconds=0.0)
    assert str(at_rest) == "volcano-py, 100 pods, p50 0.00 s, p99 0.00 s"


def test_a_scheduler_that_bound_nothing_is_reported_with_the_end_of_its_log() -> None:
    idle = replace(run("peer", 0.0), pods=0, failure="peer bound no pods (peer.log):\nno kind HyperNode is registered")
    assert str(idle) == idle.failure
    assert idle.as_json()["failure"] == idle.failure
    assert "failure" not in run("peer", 100.0).as_json()
