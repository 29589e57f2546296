"""Over generated networks: of the domains that would do, one with the best score is taken; and what was tried in vain
leaves nothing behind."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from hypothesis import event, given, settings
from hypothesis import strategies as st

from tests.support.placement.hyper_nodes import hyper_node
from tests.support.sessions import Opened, gang, node, open_session
from tests.unit.framework.topology.test_pods_of_a_job_tie_it_to_a_domain import limited
from volcano_py.actions.allocate import Allocate
from volcano_py.api.objects import ApiObject
from volcano_py.plugins.gang import Gang
from volcano_py.plugins.network_topology import NetworkTopologyAware
from volcano_py.plugins.nodeorder import NodeOrder
from volcano_py.plugins.predicates import Predicates

PLUGINS: Final = (Gang, Predicates, NodeOrder, NetworkTopologyAware)
RACKS: Final = ("r0", "r1", "r2", "r3")
TOPOLOGIES: Final = (*({"highestTierAllowed": tier} for tier in (1, 2, 3)), {"mode": "soft"})
SPINES: Final = {"s0": RACKS[:2], "s1": RACKS[2:]}


@st.composite
def racks(draw: st.DrawFn) -> dict[str, dict[str, tuple[int, int]]]:
    """Rack → node → its CPUs, and how many of them are in use."""
    found: dict[str, dict[str, tuple[int, int]]] = {}
    for rack in RACKS:
        sizes = draw(st.lists(st.integers(1, 8), min_size=1, max_size=3))
        found[rack] = {f"{rack}-{n}": (size, draw(st.integers(0, size))) for n, size in enumerate(sizes)}
    return found


def cluster(network: dict[str, dict[str, tuple[int, int]]]) -> list[Any]:
    """Its nodes, the pods that use them, and its HyperNodes."""
    nodes = {name: size for rack in network.values() for name, size in rack.items()}
    return [
        *(node(name, cpu=str(size)) for name, (size, _) in nodes.items()),
        *(gang(f"user-of-{name}", running_on=[name], cpu=str(used)) for name, (_, used) in nodes.items() if used),
        *(hyper_node(rack, 1, tier_name="rack", nodes=network[rack]) for rack in RACKS),
        *(hyper_node(spine, 2, tier_name="spine", children=below) for spine, below in SPINES.items()),
    ]


def opened(*objects: Any) -> Opened:
    return open_session(*objects, tiers=[list(PLUGINS)], actions=[Allocate])


def allocate(session: Opened) -> None:
    Allocate(Allocate.arguments_type()).execute(session.ssn)


def domains_of(network: dict[str, dict[str, tuple[int, int]]], tier: int) -> list[dict[str, tuple[int, int]]]:
    """The nodes of each domain of a tier."""
    if tier == 1:
        return list(network.values())
    below = SPINES.values() if tier == 2 else [RACKS]
    return [{name: size for rack in names for name, size in network[rack].items()} for names in below]


@given(racks(), st.integers(1, 6), st.integers(1, 3), st.sampled_from([{"highestTierAllowed": 3}, {"mode": "soft"}]))
def test_of_the_domains_of_the_narrowest_tier_with_room_one_with_the_best_score_is_taken(
    network: dict[str, dict[str, tuple[int, int]]], pods: int, cpu: int, topology: dict[str, Any]
) -> None:
    """Best fit, worked out here from the objects: how full the domain would be with the job."""
    session = opened(*cluster(network), limited(gang("train", pods=pods, cpu=str(cpu)), topology))
    allocate(session)
    held = set(session.binds.values())
    for tier in (1, 2, 3):
        scores = [
            (sum(used for _, used in nodes.values()) + pods * cpu) / sum(size for size, _ in nodes.values())
            for nodes in domains_of(network, tier)
        ]
        fitting = [
            number
            for number, nodes in enumerate(domains_of(network, tier))
            if sum((size - used) // cpu for size, used in nodes.values()) >= pods
        ]
        if fitting:
            event(f"{len(fitting)} domains of tier {tier}")
            assert len(session.binds) == pods
            taken = [number for number in fitting if held <= domains_of(network, tier)[number].keys()]
            assert taken, f"{held} is in no domain of tier {tier}"
            assert max(scores[number] for number in taken) == max(scores[number] for number in fitting)
            return
    assert not held


@st.composite
def jobs(draw: st.DrawFn) -> list[list[ApiObject]]:
    """Gangs of which some find room counted that they cannot use: their pods do not share a host port."""
    found: list[list[ApiObject]] = []
    for number in range(draw(st.integers(1, 4))):
        pods = draw(st.integers(1, 5))
        more: dict[str, Any] = {"host_ports": [80]} if draw(st.booleans()) else {}
        topology: dict[str, Any] = draw(st.sampled_from(TOPOLOGIES))
        objects = gang(f"g{number}", pods=pods, cpu=str(draw(st.integers(1, 3))), **more)
        found.append(limited(objects, topology))
    return found


@settings(deadline=None)
@given(racks(), jobs())
def test_what_was_tried_in_vain_leaves_nothing_behind(
    network: dict[str, dict[str, tuple[int, int]]], gangs: list[list[ApiObject]]
) -> None:
    """After all trials, the tables are those of a session in which the places that were kept are taken at once."""
    session, other = opened(*cluster(network), *gangs), opened(*cluster(network), *gangs)
    allocate(session)
    waiting = [job for job in range(len(gangs)) if f"g{job}-0" not in session.binds]
    event(f"{len(waiting)} of {len(gangs)} gangs wait")
    for number in range(len(gangs)):
        where = {pod: at for pod, at in session.binds.items() if pod.startswith(f"g{number}-")}
        if where:
            other.place(f"g{number}", where).commit()
    for name in ("nodes", "tasks", "jobs", "queues"):
        table, expected = getattr(session.ssn.ledger, name), getattr(other.ssn.ledger, name)
        for column in table.columns:
            assert np.array_equal(getattr(table, column), getattr(expected, column)), f"{name}.{column}"
    assert not session.ssn.findings.tentative
