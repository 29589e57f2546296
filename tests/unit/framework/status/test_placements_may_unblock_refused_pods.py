"""A cycle requests another one when it placed something that may unblock a pod which it had refused before."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from tests.support.cycles import Cycles
from tests.support.sessions import Objects, Opened, PluginChoice, gang, node, open_session, priority_class, queue
from volcano_py.actions.allocate import Allocate
from volcano_py.actions.eviction_arguments import EvictionArguments
from volcano_py.actions.preempt import Preempt
from volcano_py.api.objects import (
    Affinity,
    LabelSelector,
    Node,
    PodAffinity,
    PodAffinityTerm,
    TopologySpreadConstraint,
)
from volcano_py.framework.status.requeue import requeue_if_unblocked
from volcano_py.plugins.capacity import Capacity
from volcano_py.plugins.gang import Gang
from volcano_py.plugins.predicates import Predicates
from volcano_py.plugins.priority import Priority
from volcano_py.plugins.proportion import Proportion

GPU = "nvidia.com/gpu"
KEEPS_8_CPU = {
    "predicate.ProportionalEnable": True,
    "predicate.resources": GPU,
    f"predicate.resources.{GPU}.cpu": 8,
    f"predicate.resources.{GPU}.memory": 0,
}
WANTS_COMPANY = Affinity(
    pod_affinity=PodAffinity(
        required=[PodAffinityTerm(label_selector=LabelSelector(match_labels={"app": "db"}), topology_key="host")]
    )
)
EVENLY = TopologySpreadConstraint(
    max_skew=1,
    topology_key="host",
    when_unsatisfiable="DoNotSchedule",
    label_selector=LabelSelector(match_labels={"app": "web"}),
    node_affinity_policy="Ignore",
)


def allocated(*objects: Objects, arguments: dict[str, object] | None = None) -> Opened:
    """A session in which the older jobs have had their turns before the younger."""
    tiers: list[list[PluginChoice]] = [[Gang, (Predicates, {"arguments": arguments or {}})]]
    session = open_session(*objects, tiers=tiers, actions=[Allocate])
    Allocate(None).execute(session.ssn)
    requeue_if_unblocked(session.ssn)
    return session


def nodes(*names: str) -> Sequence[Node]:
    return [node(name, cpu="12", devices={GPU: "1"}, labels={"host": name}) for name in names]


def web(name: str, **fields: Any) -> Objects:
    return gang(name, cpu="1", labels={"app": "web"}, **fields)


def looks_again(session: Opened) -> bool:
    recheck_at, now = session.ssn.wakeups.next_recheck, session.ssn.now
    return now < recheck_at < now + 0.1


def test_a_pod_whose_affinity_is_met_after_its_turn_is_requeued() -> None:
    company = gang("db", cpu="1", labels={"app": "db"})
    session = allocated(nodes("n1"), gang("waits", cpu="1", affinity=WANTS_COMPANY, age=9), company)
    assert (session.binds, looks_again(session)) == ({"db-0": "n1"}, True)


def test_a_pod_for_which_cores_are_no_longer_kept_is_requeued() -> None:
    train = gang("train", cpu="1", devices={GPU: "1"})
    session = allocated(nodes("n1"), gang("waits", cpu="8", age=9), train, arguments=KEEPS_8_CPU)
    assert (session.binds, looks_again(session)) == ({"train-0": "n1"}, True)


def test_a_pod_that_a_spread_allows_after_its_turn_is_requeued() -> None:
    session = allocated(
        nodes("n1", "n2"),
        web("there", running_on=["n1"]),
        web("waits", spread=[EVENLY], node_selector={"host": "n1"}, age=9),
        web("other", node_selector={"host": "n2"}),
    )
    assert (session.binds, looks_again(session)) == ({"other-0": "n2"}, True)


def test_a_pod_to_which_preempt_promises_a_free_place_is_requeued() -> None:
    """No eviction makes this place, so no event follows."""
    tiers: list[list[PluginChoice]] = [[Priority, Gang, (Predicates, {"arguments": KEEPS_8_CPU})]]
    waits, train = gang("waits", cpu="8", age=9), gang("train", cpu="1", devices={GPU: "1"})
    session = open_session(nodes("n1"), waits, train, tiers=tiers, actions=[Allocate, Preempt])
    for action in (Allocate, Preempt):
        action(action.arguments_type()).execute(session.ssn)
    requeue_if_unblocked(session.ssn)
    assert (session.binds, looks_again(session)) == ({"train-0": "n1"}, True)


@pytest.mark.parametrize(
    "waits",
    [
        gang("waits", cpu="13", age=9),
        gang("waits", cpu="12", affinity=WANTS_COMPANY, age=9),
        gang("waits", cpu="1", node_selector={"host": "n9"}, affinity=WANTS_COMPANY, age=9),
    ],
)
def test_a_pod_that_still_has_no_place_is_not_requeued(waits: Objects) -> None:
    session = allocated(nodes("n1"), waits, gang("db", cpu="1", labels={"app": "db"}))
    assert (session.binds, looks_again(session)) == ({"db-0": "n1"}, False)


def test_where_nothing_was_placed_nothing_is_requeued() -> None:
    """A gang that gave its places back leaves the same room: another cycle would find the same."""
    waits = gang("waits", pods=13, cpu="1", affinity=WANTS_COMPANY)
    session = allocated(nodes("n1"), gang("db", cpu="1", labels={"app": "db"}, running_on=["n1"]), waits)
    assert (session.binds, looks_again(session)) == ({}, False)


def test_the_report_says_when_the_next_cycle_is_due() -> None:
    company = gang("db", cpu="1", labels={"app": "db"})
    cycles = Cycles(
        nodes("n1"), gang("waits", cpu="1", affinity=WANTS_COMPANY, age=9), company, plugins=(Gang, Predicates)
    )
    report = cycles.run()
    assert (cycles.binds, report.recheck_at > report.started) == ({"db-0": "n1"}, True)


def test_a_pod_bound_after_victims_were_sought_may_be_a_victim_in_the_next_cycle() -> None:
    session = open_session(
        node("n1", cpu="8"),
        queue("q", capability={"cpu": "1"}),
        priority_class("high", 10),
        gang("large", cpu="2", queue="q", priority_class="high"),
        gang("small", cpu="1", queue="q"),
        tiers=[[Priority, (Gang, {"enablePreemptable": False}), Predicates, Capacity]],
        actions=[Preempt, Allocate],
    )
    Preempt(EvictionArguments()).execute(session.ssn)
    Allocate(None).execute(session.ssn)
    assert sorted(session.binds) == ["small-0"]
    requeue_if_unblocked(session.ssn)
    assert session.ssn.wakeups.next_recheck == session.ssn.now + 1.0


@pytest.mark.parametrize("waits_first", [True, False])
def test_a_gang_that_was_told_of_room_that_others_took_is_looked_at_again_within_a_second(*, waits_first: bool) -> None:
    waits, other = gang("waits", pods=3, cpu="12", age=9 * waits_first), gang("other", cpu="12", age=5)
    session = allocated(nodes("n1", "n2"), waits, other)
    assert (list(session.binds), session.ssn.wakeups.next_recheck) == (["other-0"], session.ssn.now + 1.0)


def test_after_a_placement_that_leaves_nothing_waiting_no_other_cycle_follows() -> None:
    session = allocated(nodes("n1", "n2"), gang("done", cpu="12"))
    assert (list(session.binds), session.ssn.wakeups.next_recheck) == (["done-0"], 0.0)


def test_a_job_that_was_told_what_is_promised_to_others_is_looked_at_again_once_they_hold_it() -> None:
    """Pods of the other job come after its admission, and enqueue has its turn before they are bound."""
    waits = gang("waits", pods=2, cpu="10", min_resources={"cpu": "20"}, group_phase="Pending")
    admitted = gang("admitted", cpu="8", min_resources={"cpu": "8"}, age=9)
    cycles = Cycles(nodes("n1", "n2"), waits, admitted, plugins=(Gang, Predicates, Proportion))
    report = cycles.run()
    assert cycles.binds == {"admitted-0": "n1"}
    (waiting,) = report.pending
    assert "0 cpu allocated + 8 promised + 20 asked > 24" in waiting.message
    assert report.recheck_at == report.started + 1.0
