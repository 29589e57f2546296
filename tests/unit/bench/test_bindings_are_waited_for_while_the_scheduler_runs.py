"""The benchmark waits for bindings while the scheduler runs, and a little longer for their lines in the log."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.unit.bench.test_figures_come_from_the_audit_log import entry
from volcano_py.bench.cluster import BenchCluster

_FOREVER = 1e6  # seconds
_BOUND = entry(100, "a", "binding")


@pytest.fixture
def waited(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses so far; time passes with nothing else."""
    pauses: list[float] = []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    monkeypatch.setattr(time, "monotonic", lambda: sum(pauses))
    return pauses


def bench_cluster(path: Path) -> BenchCluster:
    unused: Any = None
    plane: Any = SimpleNamespace(audit_log=path)
    return BenchCluster(plane, unused, unused)


async def test_what_is_bound_already_is_not_waited_for(tmp_path: Path, waited: list[float]) -> None:
    (tmp_path / "log").write_bytes(_BOUND)
    assert await bench_cluster(tmp_path / "log").wait_bound("ns", 1, _FOREVER, running=lambda: False)
    assert waited == []


async def test_a_scheduler_that_has_ended_is_not_waited_for(tmp_path: Path, waited: list[float]) -> None:
    assert not await bench_cluster(tmp_path / "log").wait_bound("ns", 1, _FOREVER, running=lambda: sum(waited) < 60)
    assert 60 <= sum(waited) < 70


async def test_a_binding_counts_that_is_logged_after_the_end(tmp_path: Path, waited: list[float]) -> None:
    def running() -> bool:
        if sum(waited) > 1:
            (tmp_path / "log").write_bytes(_BOUND)
        return False

    assert await bench_cluster(tmp_path / "log").wait_bound("ns", 1, _FOREVER, running=running)


async def test_one_that_runs_is_given_up_after_a_while(tmp_path: Path, waited: list[float]) -> None:
    assert not await bench_cluster(tmp_path / "log").wait_bound("ns", 1, 300)
    assert 300 <= sum(waited) < 301


async def test_pods_that_may_fit_nowhere_are_given_up_when_nothing_is_bound_for_a_while(
    tmp_path: Path, waited: list[float]
) -> None:
    def running() -> bool:
        if sum(waited) > 100:
            (tmp_path / "log").write_bytes(_BOUND)
        return True

    assert not await bench_cluster(tmp_path / "log").wait_bound("ns", 2, _FOREVER, running=running, quiet=30)
    assert 130 <= sum(waited) < 131
