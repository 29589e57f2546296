"""A job that has to stay in a rack has its places held in one rack."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from tests.support.placement.hyper_nodes import hyper_node
from tests.support.sessions import node
from tests.support.timeline import Timeline, job
from tests.unit.plugins.reservation.racks import TIERS, busy, held
from volcano_py.api.objects import ApiObject, PodGroup

RACKS = [hyper_node("A", 1, nodes=["a1", "a2"]), hyper_node("B", 1, nodes=["b1", "b2"])]
NODES = [node(name, cpu="4") for name in ("a1", "a2", "b1", "b2")]


def gathered(objects: list[ApiObject], **topology: Any) -> list[ApiObject]:
    return [
        replace(each, spec=replace(each.spec, network_topology=topology)) if isinstance(each, PodGroup) else each
        for each in objects
    ]


def test_it_waits_for_the_rack_that_is_free_first() -> None:
    """A node of each rack is free in 10 minutes, but rack B as a whole before rack A."""
    large = gathered(job("large", pods=2, cpu="4", at=10), highestTierAllowed=1)
    timeline = Timeline(*NODES, *RACKS, *busy(a1=600, a2=3600, b1=1200, b2=600), *large, tiers=TIERS)
    timeline.at(311)
    message = "2 nodes held (b1, b2); the job is expected to start by 2026-11-02 12:20 UTC"
    assert timeline.condition("large") == ("True", "Held", message)
    timeline.finish("on-a1-0", "on-b2-0")
    timeline.add(*job("small", pods=2, cpu="4", at=320, min_member=1))
    timeline.at(321)
    assert timeline.placed["small-0"] == "a1", "rack A is not held"
    assert "small-1" not in timeline.placed
    timeline.finish("on-b1-0")
    timeline.at(322)
    assert {timeline.placed["large-0"], timeline.placed["large-1"]} == {"b1", "b2"}


def test_without_a_limit_it_takes_nodes_of_both_racks() -> None:
    large = job("large", pods=2, cpu="4", at=10)
    timeline = Timeline(*NODES, *RACKS, *busy(a1=600, a2=3600, b1=1200, b2=600), *large, tiers=TIERS)
    timeline.at(311)
    assert held(timeline).startswith("2 nodes held (a1, b2)")


def test_without_declared_runtimes_the_rack_is_held_in_which_the_least_is_missing() -> None:
    large = gathered(job("large", pods=2, cpu="4", at=10), highestTierAllowed=1)
    timeline = Timeline(*NODES, *RACKS, *busy(a1=None, a2=None, b2=None), *large, tiers=TIERS, maxIdle="60%")
    timeline.at(311)
    assert held(timeline).startswith("2 nodes held (b1, b2)")


def test_where_no_rack_is_large_enough_nothing_is_held() -> None:
    large = gathered(job("large", pods=3, cpu="4", at=10), highestTierAllowed=1)
    timeline = Timeline(*NODES, *RACKS, *busy(a1=600, a2=600, b1=600), *large, tiers=TIERS)
    timeline.at(311)
    assert timeline.holders == []


def test_places_move_with_the_edge_of_a_rack() -> None:
    large = gathered(job("large", pods=2, cpu="4", at=10), highestTierAllowed=1)
    timeline = Timeline(*NODES, *RACKS, *busy(a1=600, a2=3600, b1=600, b2=600), *large, tiers=TIERS)
    timeline.at(311)
    assert held(timeline).startswith("2 nodes held (b1, b2)")
    timeline.add(hyper_node("A", 1, nodes=["a1", "b1"]), hyper_node("B", 1, nodes=["a2", "b2"]))
    timeline.at(312)
    assert held(timeline).startswith("2 nodes held (a1, b1)")
