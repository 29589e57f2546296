"""Bundles of victims, from columns alone: which make room, and in which order they come."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from volcano_py.framework.eviction.planning.bundles import Bundle, Bundles, JobFacts, Stock, Wanted


class Pod(NamedTuple):
    """A candidate on a node; `spares`: how many pods its job can give alone; `whole`: the job may go whole."""

    job: int
    node: int
    cpu: int = 1
    spares: int = 0
    whole: bool = True
    rank: int = 0


def found(
    pods: list[Pod],
    *,
    need: int,
    count: int = 1,
    idle: tuple[int, ...] = (0, 0),
    priority: dict[int, int] | None = None,
) -> list[Bundle]:
    """The bundles for `count` tasks of `need` CPUs. Pods come by node, and there the first to go first."""
    order = sorted(range(len(pods)), key=lambda at: pods[at].node)
    jobs = 1 + max(pod.job for pod in pods)
    held = np.zeros((jobs, 1), dtype=np.int64)
    for pod in pods:
        held[pod.job] += pod.cpu
    stock = Stock(
        rows=np.array(order, dtype=np.intp),
        node=np.array([pods[at].node for at in order], dtype=np.intp),
        job=np.array([pods[at].job for at in order], dtype=np.intp),
        rank=np.array([pods[at].rank for at in order], dtype=np.intp),
        request=np.array([[pods[at].cpu] for at in order], dtype=np.int64),
        spare=np.array([pods[at].spares > 0 for at in order]),
        spares=np.array([pods[at].spares for at in order], dtype=np.int64),
        whole=np.array([pods[at].whole for at in order]),
        turn=np.array(order, dtype=np.int64),
    )
    facts = JobFacts(
        priority=np.array([(priority or {}).get(job, 0) for job in range(jobs)], dtype=np.int64),
        complete=np.ones(jobs, dtype=np.bool_),
        held=held,
    )
    wanted = Wanted(np.array([need]), count, np.array([[units] for units in idle], dtype=np.int64), np.ones(1))
    return list(Bundles(stock, wanted, facts))


def first(bundles: list[Bundle]) -> tuple[list[int], tuple[int, ...]]:
    """Pods that go alone, and jobs that go whole, of the first bundle."""
    return bundles[0].alone.tolist(), bundles[0].whole


def test_a_surplus_pod_that_is_large_enough_goes_alone() -> None:
    pods = [Pod(0, 0, cpu=1, spares=2, whole=False), Pod(0, 0, cpu=2, spares=2, whole=False)]
    assert first(found(pods, need=2)) == ([1], ())


def test_pods_of_one_node_go_together_and_none_that_is_not_needed() -> None:
    pods = [Pod(0, 0, spares=3, whole=False), Pod(0, 1, spares=3, whole=False), Pod(0, 1, spares=3, whole=False)]
    assert first(found(pods, need=2)) == ([1, 2], ())
    assert first(found([Pod(0, 0, cpu=units, spares=3, whole=False) for units in (1, 1, 2)], need=3)) == ([0, 2], ())


def test_a_gang_that_makes_room_on_two_nodes_goes_before_two_jobs_that_do() -> None:
    pods = [Pod(0, 0, cpu=2), Pod(1, 1, cpu=2), Pod(2, 0, cpu=2), Pod(2, 1, cpu=2)]
    assert first(found(pods, need=2, count=2)) == ([], (2,))
    assert first(found(pods, need=2, count=1)) == ([], (0,)), "for a single one less is freed"


def test_the_queue_that_loses_first_counts_more_than_priority_and_priority_more_than_fewer_jobs() -> None:
    by_queue = [Pod(0, 0, cpu=2, rank=1), Pod(1, 1, cpu=2, rank=0)]
    assert first(found(by_queue, need=2, priority={0: 1, 1: 9})) == ([], (1,))
    by_priority = [Pod(0, 0, cpu=2), Pod(1, 1, cpu=1), Pod(2, 1, cpu=1)]
    assert first(found(by_priority, need=2, priority={0: 9, 1: 1, 2: 1})) == ([], (1, 2))


def test_a_job_gives_alone_no_more_than_it_can_spare() -> None:
    pods = [Pod(0, 0, spares=1, whole=False), Pod(0, 0, spares=1, whole=False)]
    assert found(pods, need=2) == []
    assert first(found([pod._replace(whole=True) for pod in pods], need=2)) == ([], (0,)), "so it goes whole"


def test_pods_that_free_nothing_useful_are_in_no_bundle() -> None:
    assert found([Pod(0, 0, cpu=1, spares=1)], need=1, idle=(1, 1)) == []
    assert found([Pod(0, 0, cpu=0, spares=1)], need=1) == []


def test_of_equal_gangs_that_goes_whose_first_pod_is_the_first_to_go_whatever_the_order_of_nodes() -> None:
    """A record that is cut has its nodes in another order."""
    for one, other in ((0, 1), (1, 0)):
        pods = [Pod(0, one), Pod(1, other), Pod(1, one), Pod(0, other)]
        assert first(found(pods, need=1, count=2)) == ([], (0,))
