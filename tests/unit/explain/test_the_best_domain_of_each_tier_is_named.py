"""Of a workload that is kept together in the network, explain names the best domain of each tier."""

from __future__ import annotations

from tests.unit.explain.causes import explained, gang, node, running
from volcano_py.explain.model import Domain

CONF = """
actions: "enqueue, allocate, backfill"
tiers:
- plugins: [{name: priority}, {name: gang}]
- plugins: [{name: predicates}, {name: proportion}, {name: network-topology-aware}]
"""


def rack(name: str, *nodes: str) -> str:
    members = "".join(f"\n  - {{type: Node, selector: {{exactMatch: {{name: {each}}}}}}}" for each in nodes)
    return f"""
apiVersion: topology.volcano.sh/v1alpha1
kind: HyperNode
metadata: {{name: {name}}}
spec:
  tier: 1
  members:{members}
---"""


def test_each_tier_has_its_best_domain_and_whether_it_may_be_used() -> None:
    nodes = "".join(node(name) for name in ("n1", "n2", "n3", "n4"))
    racks = rack("r1", "n1", "n2") + rack("r2", "n3", "n4")
    limit = "networkTopology: {mode: hard, highestTierAllowed: 1}"
    found = explained(nodes + racks + running("6", "n1") + gang(3, "5", group=limit), CONF)
    assert found.now.reason == "NodesRefuse"
    assert found.nodes is not None
    assert found.nodes.domains == (
        Domain("r2", tier=1, room=2, needed=3, allowed=True),
        Domain("", tier=2, room=3, needed=3, allowed=False),
    )


def test_the_narrowest_tier_that_has_room_is_a_remedy() -> None:
    nodes = "".join(node(name) for name in ("n1", "n2", "n3", "n4"))
    racks = rack("r1", "n1", "n2") + rack("r2", "n3", "n4")
    limit = "networkTopology: {mode: hard, highestTierAllowed: 1}"
    found = explained(nodes + racks + gang(3, "5", group=limit), CONF)
    assert {each.kind: each.text for each in found.remedies}["wider-domain"] == (
        "let PodGroup default/train spread wider: networkTopology.highestTierAllowed 2 (the whole cluster)"
    )


def test_the_name_of_a_tier_gives_way_to_the_number_of_a_wider_one() -> None:
    """A limit has one of both."""
    racks = (rack("r1", "n1") + rack("r2", "n2")).replace("tier: 1", "tier: 1\n  tierName: rack")
    limit = "networkTopology: {mode: hard, highestTierName: rack}"
    found = explained(node("n1") + node("n2") + racks + gang(2, "5", group=limit), CONF)
    assert {each.kind: each.text for each in found.remedies}["wider-domain"] == (
        "let PodGroup default/train spread wider: networkTopology.highestTierAllowed 2 (the whole cluster) instead of "
        "highestTierName rack"
    )


def test_a_wider_tier_without_room_is_none() -> None:
    nodes = "".join(node(name) for name in ("n1", "n2"))
    limit = "networkTopology: {mode: hard, highestTierAllowed: 1}"
    found = explained(nodes + rack("r1", "n1") + rack("r2", "n2") + gang(3, "5", group=limit), CONF)
    assert "wider-domain" not in {each.kind for each in found.remedies}


def test_a_workload_that_does_not_ask_for_it_has_no_domains() -> None:
    found = explained(node() + rack("r1", "n1") + gang(1, "9"), CONF)
    assert found.nodes is not None
    assert found.nodes.domains == ()


def test_a_limit_below_every_tier_allows_none() -> None:
    limit = "networkTopology: {mode: hard, highestTierAllowed: 0}"
    found = explained(node("n1") + rack("r1", "n1") + gang(1, "5", group=limit), CONF)
    assert "networkTopology allows no tier that exists; not allowed: tier 1, with room for 1 of 1" in found.now.message
