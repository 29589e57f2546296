"""Domains are tried one after the other: what was tried in vain is given back to the last unit, and reported once."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.support.cycles import Cycles
from tests.support.placement.hyper_nodes import hyper_node
from tests.support.sessions import gang, node, open_session
from tests.unit.framework.topology.test_pods_of_a_job_tie_it_to_a_domain import TREE, limited
from volcano_py.actions.allocate import Allocate
from volcano_py.api.effects import Event
from volcano_py.plugins.gang import Gang
from volcano_py.plugins.network_topology import NetworkTopologyAware
from volcano_py.plugins.predicates import Predicates

PLUGINS = (Gang, Predicates, NetworkTopologyAware)


def objects(topology: dict[str, Any], pods: int) -> list[Any]:
    """Racks of two nodes with 4 CPUs, and a gang whose pods take 1 CPU each and do not share a host port."""
    return [
        *(node(name, cpu="4") for name in ("a1", "a2", "b1", "b2")),
        *TREE,
        *limited(gang("train", pods=pods, cpu="1", host_ports=[80]), topology),
    ]


def test_a_gang_that_no_domain_takes_gives_everything_back() -> None:
    """Room is counted for 6 pods, but a host port lets each node have one."""
    opened = open_session(*objects({"highestTierAllowed": 2}, 6), tiers=[list(PLUGINS)], actions=[Allocate])
    nodes, tasks = opened.ssn.ledger.nodes, opened.ssn.ledger.tasks
    before = {name: getattr(table, name).copy() for table in (nodes, tasks) for name in table.columns}
    Allocate(Allocate.arguments_type()).execute(opened.ssn)
    assert not opened.binds
    for name, column in before.items():
        table = nodes if name in nodes.columns else tasks
        assert np.array_equal(getattr(table, name), column), name
    assert not opened.ssn.findings.tentative
    assert opened.ssn.findings.fit_errors[opened.job("train").row]


def events(cycles: Cycles) -> list[tuple[str, str, str]]:
    found = [
        (effect.about.name, effect.reason, effect.message) for effect in cycles.effects if isinstance(effect, Event)
    ]
    cycles.effects.clear()
    return found


def test_a_placed_job_has_an_event_with_its_domain_once() -> None:
    cycles = Cycles(*objects({"highestTierAllowed": 1}, 2), plugins=PLUGINS)
    cycles.run()
    assert ("train", "PlacedInHyperNode", "2 pods placed in A (rack, tier 1)") in events(cycles)
    cycles.run()
    assert not [each for each in events(cycles) if each[1] == "PlacedInHyperNode" and "A" not in each[2]]


def test_a_tier_name_that_is_not_known_is_a_warning_with_the_known_ones() -> None:
    cycles = Cycles(*objects({"highestTierName": "row"}, 2), plugins=PLUGINS)
    cycles.run()
    expected = (
        "spec.networkTopology.highestTierName row is ignored: no HyperNode has this tierName; known are rack, spine"
    )
    assert ("train", "UnknownTier", expected) in events(cycles)
    cycles.run()
    assert not [each for each in events(cycles) if each[1] == "UnknownTier"]


def test_faults_of_hyper_nodes_are_events_on_them_and_jobs_are_placed_all_the_same() -> None:
    other = hyper_node("T", 2, children=["A"])
    cycles = Cycles(*objects({"highestTierAllowed": 1}, 2), other, plugins=PLUGINS)
    cycles.run()
    found = events(cycles)
    for name in ("A", "S", "T"):
        assert (name, "MemberHasTwoParents", "A is a member of S and of T; it is put below S") in found
    assert len(cycles.state.snapshot(0.0).hyper_nodes) == 4
    cycles.run()
    assert not [each for each in events(cycles) if each[1] == "MemberHasTwoParents"]
