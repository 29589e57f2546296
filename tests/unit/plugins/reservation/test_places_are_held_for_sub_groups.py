"""A job whose sub-groups have to stay in a rack has places held that each of them can use."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from tests.support.placement.hyper_nodes import hyper_node
from tests.support.sessions import node
from tests.support.timeline import Timeline, job
from tests.unit.plugins.reservation.racks import TIERS, busy, held
from volcano_py.api.objects import ApiObject, Pod, PodGroup

RACKS = [hyper_node(name.upper(), 1, nodes=[f"{name}1", f"{name}2"]) for name in "abc"]
SPINES = [hyper_node("S", 2, children=["A", "B"]), hyper_node("T", 2, children=["C"])]
NODES = [node(f"{rack}{number}", cpu="4") for rack in "abc" for number in (1, 2)]


def partitioned(objects: list[ApiObject], *sizes: int, limit: dict[str, Any] | None = None) -> list[ApiObject]:
    """The pods in sub-groups of these sizes, each of which has to be in one rack, and the job within `limit`; pods
    beyond them are in none."""
    policy = {"name": "part", "matchLabelKeys": ["part"], "networkTopology": {"highestTierAllowed": 1}}
    parts = [str(number) for number, size in enumerate(sizes) for _ in range(size)]
    found = list[ApiObject]()
    for each in objects:
        if isinstance(each, PodGroup):
            spec = replace(each.spec, sub_group_policy=[{**policy, "subGroupSize": min(sizes)}], network_topology=limit)
            found.append(replace(each, spec=spec))
        elif isinstance(each, Pod):
            labels = {"part": parts.pop(0)} if parts else {}
            found.append(replace(each, metadata=replace(each.metadata, labels=labels)))
    return found


def test_each_sub_group_has_its_places_in_one_rack() -> None:
    """Four nodes are free in 10 minutes, but the second pair of them in one rack in 20."""
    large = partitioned(job("large", pods=4, cpu="4", at=10), 2, 2)
    runs = busy(a1=600, a2=600, b1=600, b2=1200, c1=600, c2=3600)
    timeline = Timeline(*NODES, *RACKS, *runs, *large, tiers=TIERS)
    timeline.at(311)
    assert held(timeline) == "4 nodes held (a1, a2, b1, b2); the job is expected to start by 2026-11-02 12:20 UTC"
    timeline.add(*job("small", pods=2, cpu="4", at=320, min_member=1))
    timeline.finish("on-c1-0", "on-a1-0", "on-a2-0", "on-b1-0")
    timeline.at(601)
    assert timeline.placed["small-0"] == "c1", "rack C is not held"
    assert "small-1" not in timeline.placed
    timeline.finish("on-b2-0")
    timeline.at(1201)
    racks = [timeline.placed[f"large-{number}"][0] for number in range(4)]
    assert racks[0] == racks[1]
    assert racks[2] == racks[3]


def test_without_the_limit_the_job_takes_nodes_of_all_racks() -> None:
    runs = busy(a1=600, a2=600, b1=600, b2=1200, c1=600, c2=3600)
    timeline = Timeline(*NODES, *RACKS, *runs, *job("large", pods=4, cpu="4", at=10), tiers=TIERS)
    timeline.at(311)
    assert held(timeline).endswith("the job is expected to start by 2026-11-02 12:10 UTC")


def test_sub_groups_stay_within_the_limit_of_the_job() -> None:
    """Rack C is free first, but no other rack is below its spine."""
    large = partitioned(job("large", pods=4, cpu="4", at=10), 2, 2, limit={"highestTierAllowed": 2})
    runs = busy(a1=600, a2=1200, b1=600, b2=1800, c1=300, c2=600)
    timeline = Timeline(*NODES, *RACKS, *SPINES, *runs, *large, tiers=TIERS)
    timeline.at(311)
    assert held(timeline) == "4 nodes held (a1, a2, b1, b2); the job is expected to start by 2026-11-02 12:30 UTC"


def test_pods_in_no_sub_group_take_what_the_sub_groups_leave() -> None:
    large = partitioned(job("large", pods=3, cpu="4", at=10), 2)
    runs = busy(a1=600, a2=3600, b1=900, b2=600, c1=3600, c2=3600)
    timeline = Timeline(*NODES, *RACKS, *runs, *large, tiers=TIERS)
    timeline.at(311)
    assert held(timeline) == "3 nodes held (a1, b1, b2); the job is expected to start by 2026-11-02 12:15 UTC"


def test_the_largest_sub_group_chooses_first() -> None:
    """One pod of its own would take the only rack with room for two."""
    large = partitioned(job("large", pods=3, cpu="4", at=10), 1, 2)
    runs = busy(a1=600, a2=600, b1=600, b2=3600, c1=3600, c2=3600)
    timeline = Timeline(*NODES, *RACKS, *runs, *large, tiers=TIERS)
    timeline.at(311)
    assert held(timeline) == "3 nodes held (a1, a2, b1); the job is expected to start by 2026-11-02 12:10 UTC"


def test_without_declared_runtimes_each_sub_group_takes_the_rack_in_which_the_least_is_missing() -> None:
    large = partitioned(job("large", pods=4, cpu="4", at=10), 2, 2)
    runs = busy(a1=None, a2=None, b2=None, c1=None)
    timeline = Timeline(*NODES, *RACKS, *runs, *large, tiers=TIERS, maxIdle="80%")
    timeline.at(311)
    assert held(timeline).startswith("4 nodes held (b1, b2, c1, c2)")


@pytest.mark.parametrize("runs", [600, None])
def test_where_no_rack_has_room_for_a_sub_group_nothing_is_held(runs: int | None) -> None:
    large = partitioned(job("large", pods=3, cpu="4", at=10), 3)
    timeline = Timeline(*NODES, *RACKS, *busy(a1=runs, b1=runs, c1=runs), *large, tiers=TIERS, maxIdle="80%")
    timeline.at(311)
    assert timeline.holders == []


def test_places_move_when_they_are_in_one_rack_no_more() -> None:
    large = partitioned(job("large", pods=2, cpu="4", at=10), 2)
    runs = busy(a1=600, a2=3600, b1=600, b2=600, c1=3600, c2=3600)
    timeline = Timeline(*NODES, *RACKS, *runs, *large, tiers=TIERS)
    timeline.at(311)
    assert held(timeline).startswith("2 nodes held (b1, b2)")
    timeline.add(hyper_node("A", 1, nodes=["a1", "b1"]), hyper_node("B", 1, nodes=["a2", "b2"]))
    timeline.at(312)
    assert held(timeline).startswith("2 nodes held (a1, b1)")
