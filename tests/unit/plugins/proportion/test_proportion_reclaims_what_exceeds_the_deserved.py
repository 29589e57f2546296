"""proportion between queues: who may take, and what may be taken."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.support.policies import Ruthless
from tests.support.sessions import Objects, Opened, gang, node, open_session, pod, pod_group, queue
from volcano_py.framework.plugin import Plugin
from volcano_py.plugins.conformance import Conformance
from volcano_py.plugins.gang import Gang
from volcano_py.plugins.proportion import Proportion


def opened(*objects: Objects, tiers: Any = ((Proportion,),), **fields: Any) -> Opened:
    return open_session(node("n1", **{"cpu": "10", **fields}), *objects, tiers=tiers)


def running(name: str, pods: int, queue: str, **fields: Any) -> Objects:
    return gang(name, pods=pods, min_member=1, queue=queue, running_on=["n1"] * pods, **{"cpu": "1", **fields})


def test_a_queue_gives_up_what_it_holds_beyond_its_deserved() -> None:
    session = opened(queue("q1"), queue("q2"), running("rich", 9, "q1"), gang("poor", pods=9, queue="q2", cpu="1"))
    assert len(session.victims("reclaimable", "poor-0", session.running("rich"))) == 4  # 9 → 5


def test_the_least_important_go() -> None:
    session = opened(
        queue("q1"),
        queue("q2"),
        running("rich-job", 5, "q1", priority=10),
        running("rich-spare", 1, "q1"),
        gang("poor", pods=9, queue="q2", cpu="1"),
    )
    candidates = session.running("rich-job", "rich-spare")
    assert session.victims("reclaimable", "poor-0", candidates) == ["rich-spare-0"]


def test_a_queue_within_its_deserved_gives_nothing() -> None:
    session = opened(queue("q1"), queue("q2"), running("even", 5, "q1"), gang("poor", pods=9, queue="q2", cpu="1"))
    assert session.victims("reclaimable", "poor-0", session.running("even")) == []


def test_a_large_pod_may_leave_its_queue_below_the_deserved() -> None:
    session = opened(
        queue("q1"), queue("q2"), running("rich", 2, "q1", cpu="3"), gang("poor", pods=9, queue="q2", cpu="1")
    )
    assert len(session.victims("reclaimable", "poor-0", session.running("rich"))) == 1  # 6 → 3 of 5


def test_queues_are_counted_one_by_one_whatever_the_order_of_candidates() -> None:
    session = opened(
        queue("q1"),
        queue("q2"),
        queue("q3"),
        running("one-a", 4, "q1"),
        running("two-b", 6, "q2"),
        gang("poor", pods=9, queue="q3", cpu="1"),
    )
    candidates = session.running("one-a", "two-b")  # 10/3 each
    for order in (candidates, candidates[::-1], np.roll(candidates, 3)):
        victims = session.victims("reclaimable", "poor-0", order)
        assert victims == ["one-a-3", "two-b-3", "two-b-4", "two-b-5"], "4 → 3 and 6 → 3"


def test_what_was_evicted_before_counts() -> None:
    session = opened(queue("q1"), queue("q2"), running("rich", 7, "q1"), gang("poor", pods=9, queue="q2", cpu="1"))
    session.evict("rich-0")
    assert len(session.victims("reclaimable", "poor-0", session.running("rich"))) == 1


@pytest.mark.parametrize(
    "tiers",
    [[[Ruthless], [Proportion]], [[Gang, Conformance], [Proportion]], [[Proportion], [Ruthless]]],
    ids=["a ruthless tier before", "the default tiers", "a ruthless tier behind"],
)
def test_no_other_tier_can_take_what_a_queue_deserves(tiers: list[list[type[Plugin]]]) -> None:
    session = opened(
        queue("q1"), queue("q2"), running("rich", 9, "q1"), gang("poor", pods=9, queue="q2", cpu="1"), tiers=tiers
    )
    assert len(session.victims("reclaimable", "poor-0", session.running("rich"))) == 4


def test_only_pods_go_that_hold_some_of_what_their_queue_has_too_much_of() -> None:
    session = opened(
        queue("q1", guarantee={"cpu": "2"}),
        queue("q2"),
        running("cores", 2, "q1"),
        running("memory", 2, "q1", cpu="0", memory="30Gi"),
        gang("poor", pods=9, min_member=1, queue="q2", cpu="1", memory="10Gi"),
        memory="64Gi",
    )
    candidates = session.running("cores", "memory")
    assert session.victims("reclaimable", "poor-0", candidates) == ["memory-1"], "60 → 30 of 32"
    possible = session.ssn.ask.possible_victims("reclaimable", session.task("poor-0"), candidates)
    assert session.names(possible) == ["memory-0", "memory-1"]


def test_no_queue_goes_below_a_guarantee_and_pods_kept_for_it_do_not_count_as_gone() -> None:
    session = opened(
        queue("q1", guarantee={"cpu": "4"}),
        queue("q2", weight=9),
        running("first", 1, "q1"),
        running("large", 1, "q1", cpu="3", priority=5),
        running("last", 3, "q1", priority=10),
        gang("poor", pods=9, queue="q2", cpu="1"),
    )
    candidates = session.running("first", "large", "last")
    victims = session.victims("reclaimable", "poor-0", candidates)
    assert victims == ["first-0", "last-1", "last-2"], "7 → 4; without large-0 it would be 3"


def test_pods_of_a_queue_that_is_gone_are_spared() -> None:
    session = opened(queue("q2"), running("lost", 9, "vanished"), gang("poor", pods=9, queue="q2", cpu="1"))
    rows = session.rows(*(f"lost-{index}" for index in range(9)))
    assert session.victims("reclaimable", "poor-0", rows) == []


# -- who may take -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("held", "may"), [(3, True), (4, True), (5, False)])
def test_only_a_queue_that_stays_within_its_deserved_may_take(held: int, may: bool) -> None:
    session = opened(
        queue("q1"), queue("q2"), running("rich", 10 - held, "q1"), gang("more", pods=9, queue="q1", cpu="1"),
        gang("poor", pods=9, min_member=1, queue="q2", cpu="1", running_on=["n1"] * held),
    )  # fmt: skip
    assert session.ssn.ask.preemptive(session.ssn.queues["q2"], session.rows("poor-8")) is may


def test_tasks_together_must_stay_within_the_deserved() -> None:
    session = opened(queue("q1"), queue("q2"), running("rich", 10, "q1"), gang("poor", pods=9, queue="q2", cpu="1"))
    rows = session.ssn.tasks_of(session.job("poor"))
    q2 = session.ssn.queues["q2"]
    assert session.ssn.ask.preemptive(q2, rows[:5])
    assert not session.ssn.ask.preemptive(q2, rows[:6])


def test_resources_that_the_tasks_do_not_ask_for_do_not_matter() -> None:
    session = opened(
        queue("q1", capability={"memory": "1Gi"}),
        pod_group("job", queue="q1"),
        pod("holds", group="job", cpu="1", memory="2Gi", on="n1"),
        pod("asks-cpu", group="job", cpu="1"),
        pod("asks-both", group="job", cpu="1", memory="1Mi"),
    )
    q1 = session.ssn.queues["q1"]
    assert session.ssn.ask.preemptive(q1, session.rows("asks-cpu"))
    assert not session.ssn.ask.preemptive(q1, session.rows("asks-both"))


@pytest.mark.parametrize("state", ["Closed", "Closing", "Unknown"])
def test_a_queue_that_is_not_open_takes_nothing(state: str) -> None:
    session = opened(queue("q1", state=state), gang("poor", pods=2, queue="q1", cpu="1"))
    assert not session.ssn.ask.preemptive(session.ssn.queues["q1"], session.rows("poor-0"))
