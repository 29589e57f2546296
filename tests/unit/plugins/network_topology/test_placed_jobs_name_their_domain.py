"""The domain of a placed job: a condition of its PodGroup, an event when that changes, and metrics."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from tests.support.cycles import Cycles
from tests.support.sessions import gang, node
from tests.unit.framework.topology.test_pods_of_a_job_tie_it_to_a_domain import TREE, limited
from tests.unit.state.topology.test_pods_belong_to_sub_groups import PART, divided
from volcano_py.api.effects import Event, PodGroupStatusUpdate
from volcano_py.api.objects import ApiObject, Condition, PodGroup
from volcano_py.api.report import TierUse
from volcano_py.api.wording.explain_topology import placed_in
from volcano_py.observe.metrics import Metrics
from volcano_py.plugins.gang import Gang
from volcano_py.plugins.network_topology import NetworkTopologyAware
from volcano_py.plugins.predicates import Predicates

NODES = tuple(node(name, cpu="4") for name in ("a1", "a2", "b1", "b2"))


def cycles_of(*objects: ApiObject | Iterable[ApiObject]) -> Cycles:
    return Cycles(NODES, TREE, *objects, plugins=(Gang, Predicates, NetworkTopologyAware))


def placed(cycles: Cycles) -> list[tuple[str, str, str]]:
    """Status, reason and message of the conditions that were written."""
    updates = [effect for effect in cycles.effects if isinstance(effect, PodGroupStatusUpdate)]
    conditions = [each for update in updates for each in update.conditions if each.type == "PlacedInHyperNode"]
    return [(each.status, each.reason, each.message) for each in conditions]


def with_condition(objects: list[ApiObject], message: str) -> list[ApiObject]:
    """The gang, whose PodGroup names a domain already."""
    group, *pods = objects
    assert isinstance(group, PodGroup)
    known = Condition(type="PlacedInHyperNode", status="True", reason="Placed", message=message)
    return [msgspec.structs.replace(group, status=msgspec.structs.replace(group.status, conditions=[known])), *pods]


def events(cycles: Cycles) -> list[str]:
    found = (effect for effect in cycles.effects if isinstance(effect, Event))
    return [event.message for event in found if event.reason == "PlacedInHyperNode"]


def test_a_placed_job_has_the_domain_in_its_status() -> None:
    cycles = cycles_of(limited(gang("train", pods=2, cpu="4"), {"highestTierName": "rack"}))
    cycles.run()
    assert placed(cycles) == [("True", "Placed", "2 pods placed in A (rack, tier 1)")]
    assert events(cycles) == ["2 pods placed in A (rack, tier 1)"]


def test_a_job_without_network_topology_has_none() -> None:
    cycles = cycles_of(gang("train", pods=2, cpu="4"))
    cycles.run()
    assert placed(cycles) == []


RACKS: list[dict[str, Any]] = [
    {"name": "p", "matchLabelKeys": [PART], "subGroupSize": 2, "networkTopology": {"highestTierName": "rack"}}
]
RACK_A = "A (rack, tier 1)"
IN_RACKS = "4 pods placed in S (spine, tier 2): sub-group p 0 in A (rack, tier 1), sub-group p 1 in B (rack, tier 1)"


def test_a_job_of_which_only_sub_groups_are_limited_names_the_domain_of_each() -> None:
    cycles = cycles_of(divided(["0", "0", "1", "1"], RACKS, cpu="4"))
    cycles.run()
    assert placed(cycles) == [("True", "Placed", IN_RACKS)]
    assert events(cycles) == [IN_RACKS]


def test_a_sub_group_that_has_lost_its_pods_is_not_named() -> None:
    """Of the other, one pod runs, and the other waits for room in its rack; the job needs neither."""
    objects = divided(["0", "0", "1", "1"], RACKS, ["a1", "a2", "b1"], cpu="8", min_member=1)
    cycles = cycles_of(with_condition(objects[:3], IN_RACKS))
    cycles.run()
    assert placed(cycles) == [("True", "Placed", f"2 pods placed in {RACK_A}: sub-group p 0 in {RACK_A}")]


def test_only_sub_groups_with_a_limit_are_named() -> None:
    policies = [{**RACKS[0], "labelSelector": {"matchLabels": {PART: "0"}}}, {"name": "q", "matchLabelKeys": [PART]}]
    cycles = cycles_of(divided(["0", "0", "1"], policies, cpu="4"))
    cycles.run()
    ((_, _, message),) = placed(cycles)
    assert message.startswith("3 pods placed in S (spine, tier 2): sub-group p 0 in ")
    assert "q" not in message


def test_the_first_of_many_sub_groups_are_named() -> None:
    assert placed_in("S", 40, [(f"p {n}", "A") for n in range(20)]).endswith("sub-group p 15 in A and 4 more")


def test_it_follows_the_pods_of_a_job_that_runs() -> None:
    """Its counts and its phase are as they were: it has one pod less in the rack, and one elsewhere, since the tree was
    edited."""
    objects = limited(gang("train", pods=2, running_on=["a1", "b1"]), {"mode": "soft"})
    cycles = cycles_of(with_condition(objects, "2 pods placed in A (rack, tier 1)"))
    cycles.run()
    assert placed(cycles) == [("True", "Placed", "2 pods placed in S (spine, tier 2)")]


def test_after_a_restart_there_is_no_event_about_what_the_status_says() -> None:
    objects = limited(gang("train", pods=2, running_on=["a1", "a2"]), {"highestTierName": "rack"})
    cycles = cycles_of(with_condition(objects, "2 pods placed in A (rack, tier 1)"))
    cycles.run()
    assert events(cycles) == []


def test_a_job_that_has_lost_all_pods_is_not_placed_any_more() -> None:
    objects = limited(gang("train", pods=2, cpu="8"), {"highestTierName": "rack"})
    cycles = cycles_of(with_condition(objects, "2 pods placed in A (rack, tier 1)"))
    cycles.run()
    assert placed(cycles) == [("False", "NotPlaced", "")]


def test_jobs_are_counted_by_tier_with_the_domains_that_they_use() -> None:
    cycles = cycles_of(
        limited(gang("first", pods=2, running_on=["a1", "a2"]), {"highestTierName": "rack"}),
        limited(gang("second", pods=2, running_on=["b1", "b1"]), {"highestTierName": "rack"}),
        limited(gang("wide", pods=3, running_on=["a1", "b1", "b2"]), {"mode": "soft"}),
        limited(gang("waits", pods=2, cpu="8"), {"highestTierName": "rack"}),
        divided(["0", "1"], RACKS, ["a1", "b1"]),
        gang("other", pods=1, running_on=["a1"]),
    )
    report = cycles.run()
    assert report.network == {"1": TierUse("rack", 2, 2), "2": TierUse("spine", 2, 4)}
    metrics = Metrics()
    metrics.observe_cycle(report)
    text = metrics.render()[0].decode()
    assert 'volcano_network_jobs{tier="1",tier_name="rack"} 2.0' in text
    assert 'volcano_network_job_domains{tier="2",tier_name="spine"} 4.0' in text
    metrics.set_leader(is_leader=False)
    assert "volcano_network_jobs{" not in metrics.render()[0].decode()
