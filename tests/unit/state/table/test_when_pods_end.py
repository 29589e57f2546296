"""When pods leave their nodes, as far as that is declared."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from tests.support.sessions import node
from tests.support.timeline import BEGINNING, job, moment
from volcano_py.api.objects import ApiObject, Pod, metadata_of
from volcano_py.state.cluster_state import ClusterState
from volcano_py.state.table.runtimes import ends, on_nodes, runtimes


def state_of(*objects: ApiObject) -> ClusterState:
    state = ClusterState()
    for each in (node("n1"), *objects):
        state.upsert(type(each).__name__, each)
    return state


def end(now: float, *objects: ApiObject) -> float:
    """Seconds after the beginning at which the only pod on a node ends, as seen at `now`."""
    ledger = state_of(*objects).ledger
    (found,) = ends(ledger, on_nodes(ledger), BEGINNING.timestamp() + now)
    return float(found) - BEGINNING.timestamp()


@pytest.mark.parametrize(
    ("declared", "at", "expected"),
    [
        ({}, 10, float("inf")),
        ({"runs": 600}, 110, 700),
        ({"estimate": "5m"}, 110, 400),
        ({"runs": 600, "estimate": "5m"}, 110, 400),
        ({"runs": 200, "estimate": "5m"}, 110, 300),
        ({"estimate": "nonsense"}, 110, float("inf")),
        ({"estimate": "-5m"}, 110, float("inf")),
    ],
)
def test_the_shortest_of_what_is_declared_counts(declared: dict[str, Any], at: float, expected: float) -> None:
    assert end(at, *job("a", on=["n1"], at=100, **declared)) == pytest.approx(expected)


@pytest.mark.parametrize(("now", "expected"), [(399, 400), (401, 402), (430, 460), (4000, 7600)])
def test_a_pod_that_is_late_runs_as_long_again(now: float, expected: float) -> None:
    assert end(now, *job("a", on=["n1"], at=100, estimate="5m")) == pytest.approx(expected)


def test_however_late_it_is_its_deadline_ends_it() -> None:
    assert end(430, *job("a", on=["n1"], at=100, estimate="5m", runs=340)) == pytest.approx(440)
    assert end(500, *job("a", on=["n1"], at=100, estimate="5m", runs=340)) == pytest.approx(500)


def test_a_terminating_pod_leaves_when_it_is_killed() -> None:
    group, made = job("a", on=["n1"], at=100, runs=600)
    leaving = replace(made, metadata=replace(metadata_of(made), deletion_timestamp=moment(150)))
    assert end(120, group, leaving) == pytest.approx(150)


def test_pods_of_no_job_end_by_their_own_deadline() -> None:
    (_, made) = job("a", on=["n1"], at=100, runs=60)
    assert isinstance(made, Pod)
    foreign = replace(made, spec=replace(made.spec, scheduler_name="default-scheduler"))
    assert end(110, foreign) == pytest.approx(160)


def test_pods_that_wait_run_for_what_they_declare() -> None:
    ledger = state_of(*job("a", runs=60), *job("b", estimate="2m"), *job("c")).ledger
    rows = np.arange(ledger.tasks.size)
    assert runtimes(ledger, rows).tolist() == [60, 120, float("inf")]
