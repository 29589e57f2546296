"""All choices of victims, from columns alone: which there are, and in which order they come."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import pytest

from volcano_py.framework.eviction.planning.bundles import Stock
from volcano_py.framework.eviction.planning.choices import Atoms, Choices, Found, choices_of

NONE: Final = np.zeros(0, dtype=np.intp)


class Pod(NamedTuple):
    """A candidate on a node; `spares`: how many pods its job can give alone; `whole`: the job may go whole."""

    job: int
    node: int = 0
    cpu: int = 1
    spares: int = 0
    whole: bool = False


def stock_of(pods: list[Pod]) -> Stock:
    return Stock(
        rows=np.arange(len(pods)),
        node=np.array([pod.node for pod in pods], dtype=np.intp),
        job=np.array([pod.job for pod in pods], dtype=np.intp),
        rank=np.zeros(len(pods), dtype=np.intp),
        request=np.array([[pod.cpu] for pod in pods], dtype=np.int64),
        spare=np.array([pod.spares > 0 for pod in pods]),
        spares=np.array([pod.spares for pod in pods], dtype=np.int64),
        whole=np.array([pod.whole for pod in pods]),
        turn=np.arange(len(pods)),
    )


def found(pods: list[Pod]) -> list[set[str]]:
    """Pods by their positions, and jobs that go whole."""
    sets = choices_of(stock_of(pods), NONE)
    assert sets.are_all
    return named(sets, pods)


def named(sets: Found, pods: list[Pod]) -> list[set[str]]:
    names = [f"job {pods[at].job}" if whole else str(at) for at, whole in zip(sets.at, sets.whole, strict=True)]
    return [{names[atom] for atom in np.flatnonzero(each).tolist()} for each in sets.chosen]


def test_of_pods_that_are_alike_the_first_go_first() -> None:
    pods = [Pod(0, spares=2), Pod(0, spares=2), Pod(0, spares=2, cpu=2)]
    assert found(pods) == [set(), {"2"}, {"0"}, {"0", "2"}, {"0", "1"}]


def test_a_job_gives_its_surplus_or_everything() -> None:
    pods = [Pod(0, node=node, spares=1, whole=True) for node in (0, 1)]
    assert found(pods) == [set(), {"1"}, {"0"}, {"job 0"}]


def test_what_jobs_give_is_combined_in_all_ways() -> None:
    pods = [Pod(0, whole=True), Pod(1, whole=True)]
    assert found(pods) == [set(), {"job 1"}, {"job 0"}, {"job 0", "job 1"}]


def test_jobs_come_in_the_order_of_their_pods_not_of_their_rows() -> None:
    """A record that is cut has its jobs in another order."""
    assert found([Pod(1, whole=True), Pod(0, whole=True)]) == [set(), {"job 0"}, {"job 1"}, {"job 0", "job 1"}]


@pytest.mark.parametrize(
    "pods", [[Pod(job, whole=True) for job in range(5)], [Pod(0, node, spares=5) for node in range(5)]]
)
def test_too_many_are_not_counted(pods: list[Pod]) -> None:
    sets = choices_of(stock_of(pods), NONE, 31)
    assert not sets.are_all
    assert len(sets.chosen) <= 31


def test_of_too_many_jobs_some_are_left_out_but_none_that_is_asked_for() -> None:
    pods = [Pod(job, whole=True) for job in range(5)]
    sets = choices_of(stock_of(pods), np.array([4]), 4)
    assert named(sets, pods) == [set(), {"job 0"}, {"job 4"}, {"job 0", "job 4"}]


def test_the_cheapest_comes_first_and_what_was_refused_comes_no_more() -> None:
    whole = np.array([False, False, True])
    atoms = Atoms(
        row=np.arange(3),
        job=np.array([0, 0, 1]),
        whole=whole,
        complete=whole,
        rank=np.zeros(3, dtype=np.intp),
        priority=np.array([5, 5, 1]),
        size=np.array([0.2, 0.1, 0.1]),
        turn=np.arange(3),
        freed=np.zeros((3, 1, 1), dtype=np.int64),
    )
    chosen = np.array([[1, 0, 0], [0, 1, 0], [1, 1, 0], [0, 0, 1], [0, 1, 1]], dtype=np.bool_)
    surplus_first = Choices(atoms, chosen, surplus_first=True)
    assert [each.tolist() for each, _ in surplus_first] == [[1], [0], [0, 1], [2], [1, 2]]
    by_priority = Choices(atoms, chosen, surplus_first=False)
    seen = []
    for each, _ in by_priority:
        seen.append(each.tolist())
        by_priority.leave_out(np.array([1]))
    assert seen == [[2], [0]]


@pytest.mark.parametrize(("most", "jobs"), [(11, 1), (12, 2), (23, 2), (24, 3)])
def test_a_job_is_left_out_only_if_its_choices_are_too_many_with_those_of_others(most: int, jobs: int) -> None:
    """The first can give one of two pods or everything: 4 choices. The second can give one of two: 3; the third all."""
    pods = [Pod(0, node=node, spares=1, whole=True) for node in (0, 1)]
    pods += [Pod(1, node=node, spares=1) for node in (0, 1)] + [Pod(2, whole=True)]
    sets = choices_of(stock_of(pods), NONE, most)
    assert sets.are_all is (jobs == 3)
    assert len(sets.chosen) == {1: 8, 2: 12, 3: 24}[jobs]
