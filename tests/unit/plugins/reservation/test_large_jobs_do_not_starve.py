"""The turn: who gets it, what is held, and for how long."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.sessions import node, priority_class, queue
from tests.support.timeline import Timeline, job

NODES = [node(name, cpu="4") for name in ("n1", "n2")]
# Each runs for 20 minutes, from the beginning.
BUSY = [*job("a", cpu="4", on=["n1"], runs=1200), *job("b", cpu="4", on=["n2"], runs=1800)]


def test_a_job_that_has_waited_for_long_has_places_held_until_declared_runtimes_are_over() -> None:
    timeline = Timeline(*NODES, *BUSY, *job("large", pods=2, cpu="4", at=10))
    timeline.at(300)
    assert timeline.holders == [], "it has waited for less than five minutes"
    timeline.at(311)
    message = "2 nodes held (n1, n2); the job is expected to start by 2026-11-02 12:30 UTC"
    assert timeline.condition("large") == ("True", "Held", message)


def test_when_it_has_waited_long_enough_a_cycle_is_due() -> None:
    report = Timeline(*NODES, *BUSY, *job("large", pods=2, cpu="4", at=10)).at(20)
    due = report.recheck_at - report.started
    assert due == pytest.approx(290, abs=1)


def test_what_becomes_free_is_kept_for_it() -> None:
    timeline = Timeline(*NODES, *BUSY, *job("large", pods=2, cpu="4", at=10))
    timeline.at(311)
    timeline.finish("a-0")
    timeline.add(*job("small", cpu="1", at=320))
    timeline.at(321)
    assert timeline.placed == {"b-0": "n2"}
    timeline.finish("b-0")
    timeline.at(322)
    assert timeline.placed == {"large-0": "n1", "large-1": "n2"}
    assert timeline.condition("large") == ("False", "Started", "the job has started")


def test_without_it_a_small_job_takes_what_becomes_free() -> None:
    tiers = [["priority", "gang"], ["predicates", "nodeorder"]]
    timeline = Timeline(*NODES, *BUSY, *job("large", pods=2, cpu="4", at=10), tiers=tiers)
    timeline.at(311)
    timeline.finish("a-0")
    timeline.add(*job("small", cpu="1", at=320))
    timeline.at(321)
    assert timeline.placed == {"b-0": "n2", "small-0": "n1"}


def test_the_others_are_reported_for_which_job_the_nodes_are_held() -> None:
    timeline = Timeline(*NODES, *BUSY, *job("large", pods=2, cpu="4", at=10))
    timeline.at(311)
    timeline.add(*job("small", cpu="1", at=312))
    timeline.at(313)
    reported = timeline.reported("small-0")
    assert reported.startswith(
        "PlacesHeld: 0/2 nodes are unavailable: 2 node(s) were held for team/large, which is expected to start by "
        "2026-11-02 "
        "12:30 UTC."
    )
    assert "volcano.sh/running-estimate" in reported
    assert "cpu free" not in reported
    timeline.at(400)
    assert timeline.reported("small-0") == reported, "it changes with the facts only"


@pytest.mark.parametrize(
    ("declared", "takes"),
    [
        ({"runs": 600}, True),
        ({"estimate": "10m"}, True),
        ({"runs": 3000}, False),
        ({"estimate": "1h"}, False),
        ({}, False),
    ],
)
def test_held_nodes_take_what_ends_before_it_starts(declared: dict[str, Any], takes: bool) -> None:
    timeline = Timeline(*NODES, *BUSY, *job("large", pods=2, cpu="4", at=10))
    timeline.at(311)
    timeline.finish("a-0")
    timeline.add(*job("small", pods=2, cpu="2", at=320, **declared))
    timeline.at(321)
    assert ("small-0" in timeline.placed) is takes


def test_held_nodes_take_what_fits_next_to() -> None:
    timeline = Timeline(*NODES, *BUSY, *job("large", pods=2, cpu="3", at=10))
    timeline.at(311)
    timeline.finish("a-0")
    timeline.add(*job("small", pods=2, cpu="1", min_member=1, at=320))
    timeline.at(321)
    assert sorted(timeline.placed.values()) == ["n1", "n2"], "one beside large-0, which needs 3 of 4 cpu"


def test_nodes_that_are_not_part_of_it_are_open() -> None:
    timeline = Timeline(*NODES, node("n3", cpu="2"), *BUSY, *job("large", pods=2, cpu="4", at=10))
    timeline.at(311)
    timeline.add(*job("small", cpu="2", at=320))
    timeline.at(321)
    assert timeline.node_of("small-0") == "n3"


def test_of_two_jobs_that_wait_the_first_in_job_order_has_its_place_held() -> None:
    timeline = Timeline(
        *NODES,
        *BUSY,
        priority_class("high", 100),
        *job("older", pods=2, cpu="4", at=5),
        *job("urgent", pods=2, cpu="4", at=10, priority_class="high", priority=100),
    )
    timeline.at(311)
    assert timeline.holders == ["urgent"]


def test_a_job_of_a_higher_priority_goes_before_it() -> None:
    timeline = Timeline(*NODES, *BUSY, priority_class("high", 100), *job("large", pods=2, cpu="4", at=10))
    timeline.at(311)
    timeline.finish("a-0")
    timeline.add(*job("urgent", cpu="4", at=320, priority_class="high", priority=100))
    timeline.at(321)
    assert timeline.node_of("urgent-0") == "n1"


def test_a_job_that_no_set_of_nodes_could_take_gets_no_place_and_the_next_one_does() -> None:
    timeline = Timeline(*NODES, *BUSY, *job("giant", pods=3, cpu="4", at=5), *job("large", pods=2, cpu="4", at=10))
    timeline.at(311)
    assert timeline.holders == ["large"]


def test_a_job_whose_queue_may_not_take_it_gets_no_place() -> None:
    timeline = Timeline(
        *NODES,
        *BUSY,
        queue("small", capability={"cpu": "4"}),
        *job("large", pods=2, cpu="4", at=10, queue="small"),
        *job("next", cpu="4", at=11),
        tiers=[["priority", "gang", "reservation"], ["predicates", "capacity"]],
    )
    timeline.at(312)
    assert timeline.holders == ["next"]


def test_a_job_that_overcommit_keeps_out_is_admitted_when_its_turn_comes() -> None:
    large = job("large", pods=2, cpu="4", at=10, min_resources={"cpu": "8"}, group_phase="Pending")
    tiers = [["priority", "gang", "reservation"], ["predicates", "overcommit"]]
    timeline = Timeline(*NODES, *BUSY, *large, tiers=tiers)
    timeline.at(100)
    assert timeline.reported("large-0").startswith("ClusterOvercommitted")
    timeline.at(311)
    timeline.at(312)
    assert timeline.reported("large-0").startswith("NodesRefuse")
    timeline.finish("a-0", "b-0")
    timeline.at(313)
    assert timeline.placed == {"large-0": "n1", "large-1": "n2"}


def test_a_job_without_pods_is_admitted_so_that_its_controller_makes_them() -> None:
    group, *pods = job("large", pods=2, cpu="4", at=10, min_resources={"cpu": "8"}, group_phase="Pending")
    tiers = [["priority", "gang", "reservation"], ["predicates", "overcommit"]]
    timeline = Timeline(*NODES, *BUSY, group, tiers=tiers)
    timeline.at(311)
    assert timeline.condition("large") == ("True", "Held", "the job is admitted next, although the cluster is full")
    timeline.at(312)
    timeline.add(*pods)
    timeline.at(313)
    status, reason, message = timeline.condition("large") or ("", "", "")
    assert (status, reason) == ("True", "Held")
    assert message.startswith("2 nodes held")


def test_a_job_of_which_more_would_lie_idle_than_may_is_not_admitted_either() -> None:
    """Else overcommit would keep others out for its sake, and their nodes would lie idle."""
    busy = [*job("a", cpu="4", on=["n1"]), *job("b", cpu="4", on=["n2"])]
    group, *_ = job("large", pods=2, cpu="4", at=10, min_resources={"cpu": "8"}, group_phase="Pending")
    tiers = [["priority", "gang", "reservation"], ["predicates", "overcommit"]]
    timeline = Timeline(*NODES, *busy, group, tiers=tiers)
    timeline.at(311)
    assert timeline.holders == []


@pytest.mark.parametrize("voters", [["overcommit"], ["proportion"], ["overcommit", "capacity"]])
def test_others_are_kept_from_the_nodes_and_not_out_of_the_cluster(voters: list[str]) -> None:
    """Twice 8 cpu in use and 8 promised are more than 9.6; but what ends in time may use a node while it is held."""
    large = job("large", pods=2, cpu="4", at=10, min_resources={"cpu": "8"}, group_phase="Pending")
    timeline = Timeline(*NODES, *BUSY, *large, tiers=[["priority", "gang", "reservation"], ["predicates", *voters]])
    timeline.at(311)
    timeline.at(312)
    timeline.finish("a-0")
    small: dict[str, Any] = {"cpu": "1", "min_resources": {"cpu": "1"}, "group_phase": "Pending"}
    timeline.add(*job("short", at=313, runs=60, **small), *job("long", at=314, **small))
    timeline.at(315)
    assert timeline.node_of("short-0") == "n1"
    assert timeline.reported("long-0").startswith("PlacesHeld")


def test_a_job_that_is_not_admitted_is_reported_for_which_job_nodes_are_held() -> None:
    """It has no pods, so no node refuses it: only the message of its PodGroup can say so."""
    tiers = [["priority", "gang", "reservation"], ["predicates", "overcommit"]]
    urgent: dict[str, Any] = {
        "priority_class": "high",
        "priority": 100,
        "min_resources": {"cpu": "4"},
        "group_phase": "Pending",
    }
    classes = priority_class("high", 100)
    timeline = Timeline(*NODES, *BUSY, classes, *job("large", pods=2, cpu="4", at=10), tiers=tiers)
    timeline.at(311)
    small, _ = job("small", cpu="4", at=312, min_resources={"cpu": "4"}, group_phase="Pending")
    first, _ = job("urgent", cpu="4", at=312, **urgent)
    timeline.add(small, first)
    timeline.at(320)
    assert timeline.group_reported("small") == (
        "ClusterOvercommitted: 1/1 tasks in gang unschedulable: cluster: 8 cpu used + 0 promised + 4 asked > 9.6 (8 "
        "allocatable x overcommit-factor 1.2); wait until jobs finish, add nodes or raise the factor. Nodes are held "
        "for team/large, which is expected to start by 2026-11-02 12:30 UTC."
    )
    assert "held" not in timeline.group_reported("urgent"), "a higher priority goes first"
    timeline.at(400)
    assert timeline.group_reported("small").endswith("12:30 UTC."), "it changes with the facts only"


@pytest.mark.parametrize(("queue_of_large", "is_reported"), [("q", True), ("default", False)])
def test_a_job_that_its_queue_keeps_out_is_reported_that_only_for_a_job_of_the_queue(
    queue_of_large: str, is_reported: bool
) -> None:
    large = job("large", pods=2, cpu="4", at=10, min_resources={"cpu": "8"}, queue=queue_of_large)
    others = [
        *job("c", cpu="4", on=["n3"], runs=3600, queue="q", min_resources={"cpu": "4"}),
        *job("d", cpu="4", on=["n4"], runs=3600),
    ]
    tiers = [["priority", "gang", "reservation"], ["predicates", "capacity"]]
    limited = queue("q", capability={"cpu": "12"})
    nodes = [*NODES, node("n3", cpu="4"), node("n4", cpu="4")]
    timeline = Timeline(*nodes, limited, *BUSY, *others, *large, tiers=tiers, maxIdle=1.0)
    timeline.at(311)
    assert timeline.holders == ["large"]
    timeline.add(*job("small", pods=3, cpu="4", at=312, min_resources={"cpu": "12"}, group_phase="Pending", queue="q"))
    timeline.at(320)
    said = timeline.reported("small-0")
    assert said.startswith("OverCapability: queue q: 4 cpu allocated")
    assert ("Nodes are held for team/large" in said) is is_reported


@pytest.mark.parametrize("owner", ["proportion", "capacity"])
def test_in_a_queue_that_may_not_have_the_whole_cluster_they_wait_for_its_promise(owner: str) -> None:
    """Else they could take what the queue has left, and the large job would find its nodes free and its queue full."""
    of_q: dict[str, Any] = {"queue": "q", "group_phase": "Pending"}
    other = job("c", cpu="4", on=["n3"], runs=3600)
    large = job("large", pods=2, cpu="4", at=10, min_resources={"cpu": "8"}, **of_q)
    tiers = [["priority", "gang", "reservation"], ["predicates", "overcommit", owner]]
    limited = queue("q", weight=3, capability={"cpu": "8"})
    timeline = Timeline(*NODES, node("n3", cpu="4"), limited, *BUSY, *other, *large, tiers=tiers)
    timeline.at(311)
    timeline.at(312)
    assert timeline.holders == ["large"]
    timeline.finish("a-0")
    timeline.add(*job("short", at=313, runs=60, cpu="1", min_resources={"cpu": "1"}, **of_q))
    timeline.at(315)
    assert timeline.reported("short-0").startswith(
        "OverCapability: queue q: 0 cpu allocated + 8 promised + 1 asked > 8"
    )


def test_a_gang_that_waits_again_after_it_has_run_waits_from_then_on() -> None:
    timeline = Timeline(*NODES, *job("large", pods=2, cpu="4", at=10))
    timeline.at(11)
    assert len(timeline.placed) == 2
    for name in ("large-0", "large-1"):
        timeline.remove("Pod", f"team/{name}")
    timeline.add(*BUSY, *job("large", pods=2, cpu="4", at=1000)[1:])
    timeline.at(1001)
    assert timeline.holders == []
    timeline.at(1301)
    assert timeline.holders == ["large"]


# -- without declared runtimes ---------------------------------------------------------------------------------------


def test_without_declared_runtimes_the_nodes_that_come_closest_are_held_plainly() -> None:
    nodes = [node(f"n{number}", cpu="4") for number in range(1, 5)]
    busy = [*job("a", cpu="4", on=["n1"]), *job("b", cpu="4", on=["n2"]), *job("c", cpu="2", on=["n3"])]
    timeline = Timeline(*nodes, *busy, *job("d", cpu="4", on=["n4"]), *job("large", cpu="4", at=10))
    timeline.at(311)
    assert timeline.condition("large") == (
        "True",
        "Held",
        "1 node held (n3); it is not known when these nodes will be free",
    )
    timeline.add(*job("small", cpu="1", at=312))
    timeline.at(313)
    assert timeline.reported("small-0") == (
        "PlacesHeld: 0/4 nodes are unavailable: 3 Insufficient cpu, 1 node(s) were held for team/large."
    )
    timeline.finish("c-0")
    timeline.at(314)
    assert timeline.node_of("large-0") == "n3"


def test_what_would_lie_idle_is_bounded() -> None:
    """Of 32 cpu 10 % are 3.2: while 4 of the 8 cpu wait for the other 4, more would lie idle."""
    nodes = [node(f"n{number}", cpu="4") for number in range(1, 9)]
    busy = [each for number in range(1, 9) for each in job(f"a{number}", cpu="4", on=[f"n{number}"])]
    timeline = Timeline(*nodes, *busy, *job("large", pods=2, cpu="4", at=10))
    timeline.at(311)
    assert timeline.holders == []
    timeline = Timeline(*nodes, *busy, *job("large", pods=2, cpu="4", at=10), maxIdle="12.5%")
    timeline.at(311)
    assert timeline.holders == ["large"]


# -- how long it lasts -----------------------------------------------------------------------------------------------


def test_it_lapses_and_the_next_one_has_its_turn() -> None:
    timeline = Timeline(
        *NODES, *BUSY, *job("large", pods=2, cpu="4", at=10), *job("other", pods=2, cpu="4", at=20), holdFor="10m"
    )
    timeline.at(311)
    timeline.at(1800 + 599)
    assert timeline.holders == ["large"], "it was to start at 1800"
    timeline.at(1800 + 601)
    status, reason, _ = timeline.condition("large") or ("", "", "")
    assert (status, reason, timeline.holders) == ("False", "Lapsed", ["other"])


def test_after_it_has_lapsed_it_comes_again_behind_those_that_waited_then() -> None:
    """Neither ever gets its place: a runs for ever."""
    timeline = Timeline(
        *NODES,
        *job("a", cpu="1", on=["n1"]),
        *job("large", pods=2, cpu="4", at=10),
        *job("other", pods=2, cpu="4", at=20),
        maxIdle=1.0,
        holdFor="10m",
    )
    timeline.at(311)
    timeline.at(912)
    timeline.add(*job("late", pods=2, cpu="4", at=913))
    timeline.at(1300)
    assert timeline.holders == ["other"], "large has had its turn"
    timeline.at(1513)
    assert timeline.holders == ["large"], "late came after it had lapsed"


def test_a_job_that_is_alone_comes_again_after_a_while() -> None:
    timeline = Timeline(
        *NODES, *job("a", cpu="1", on=["n1"]), *job("large", pods=2, cpu="4", at=10), maxIdle=1.0, holdFor="10m"
    )
    timeline.at(311)
    report = timeline.at(912)
    assert (timeline.holders, report.recheck_at - report.started < 1) == ([], True), "what it held is open at once"
    report = timeline.at(913)
    assert timeline.holders == []
    assert report.recheck_at - report.started == pytest.approx(299, abs=1)
    timeline.at(1213)
    assert timeline.holders == ["large"]


def test_no_pod_is_refused_forever() -> None:
    """The large one never gets its place: a runs for ever."""
    timeline = Timeline(
        *NODES, *job("a", cpu="1", on=["n1"]), *job("large", pods=2, cpu="4", at=10), maxIdle=1.0, holdFor="10m"
    )
    timeline.at(311)
    timeline.add(*job("small", cpu="4", at=312))
    timeline.at(313)
    assert timeline.reported("small-0").startswith("PlacesHeld")
    timeline.at(912)
    timeline.at(913)
    assert timeline.node_of("small-0") == "n2"


# -- restarts --------------------------------------------------------------------------------------------------------


def test_a_restart_takes_nothing_away() -> None:
    timeline = Timeline(*NODES, *BUSY, *job("large", pods=2, cpu="4", at=10))
    timeline.at(311)
    held = timeline.condition("large")
    timeline.finish("a-0")
    timeline.add(*job("small", cpu="1", at=320), *job("short", cpu="1", at=321, runs=60))
    timeline.restart()
    timeline.at(322)
    assert "small-0" not in timeline.placed
    assert timeline.condition("large") == held
    timeline.at(323)
    assert timeline.node_of("short-0") == "n1"


def test_after_a_restart_the_time_it_has_been_held_counts() -> None:
    timeline = Timeline(*NODES, *job("a", cpu="1", on=["n1"]), *job("large", pods=2, cpu="4", at=10), maxIdle=1.0)
    timeline.at(311)
    timeline.restart()
    timeline.at(311 + 1795)
    assert timeline.holders == ["large"]
    timeline.restart()
    timeline.at(311 + 1801)
    timeline.at(311 + 1802)
    assert timeline.holders == []
    timeline.restart()
    timeline.at(311 + 1803)
    assert timeline.holders == [], "that it has lapsed is remembered, too"


# -- evictions -------------------------------------------------------------------------------------------------------


def test_pods_are_evicted_for_it_as_for_any_other_job() -> None:
    low = [
        *job("a", cpu="4", on=["n1"], priority=1, min_member=0, runs=1200),
        *job("b", cpu="4", on=["n2"], priority_class="high", priority=100, runs=1800),
    ]
    timeline = Timeline(
        *NODES,
        *low,
        priority_class("high", 100),
        *job("large", pods=2, cpu="4", at=10, priority_class="high", priority=100),
        actions="enqueue, allocate, preempt",
        tiers=[["priority", "reservation"], ["gang", "predicates"]],
    )
    timeline.at(311)
    assert (timeline.holders, timeline.placed) == (["large"], {"a-0": "n1", "b-0": "n2"})
    timeline.finish("b-0")
    timeline.at(320)
    timeline.at(321)
    assert timeline.placed.keys() == {"large-0", "large-1"}
