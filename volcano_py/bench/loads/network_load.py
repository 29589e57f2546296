"""Gangs that are kept in one rack: 5,000 nodes in three tiers of HyperNodes, with the same gangs without a limit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Final

import msgspec

from volcano_py.api.hyper_nodes import ExactMatch, HyperNode, HyperNodeSpec, Member, MemberSelector
from volcano_py.api.objects import ObjectMeta, Pod, PodGroup
from volcano_py.bench.loads.cases import Case
from volcano_py.bench.loads.objects import group, pod
from volcano_py.bench.loads.workload import QUEUE, Workload
from volcano_py.cluster.manifests import Stored

GANG: Final = 64
RACK: Final = 20  # nodes
SPINE: Final = 10  # racks
HALL: Final = 5  # spines
WAITING: Final = 500  # gangs for a full cluster

CONFIGURATION: Final = """
actions: "enqueue, allocate, backfill"
tiers:
- plugins: [{name: priority}, {name: gang}, {name: conformance}]
- plugins:
  - {name: drf}
  - {name: predicates}
  - {name: proportion}
  - {name: nodeorder}
  - {name: network-topology-aware}
"""


def network_cases(workload: Workload) -> list[Case]:
    """Without limits, with them, with them on twice the nodes with ten times the pods, and where no gang fits."""
    gangs = replace(workload, gang=GANG)
    large = replace(gangs, nodes=workload.nodes * 2, pods=workload.pods * 10)
    return [
        Case("no limit", gangs.items),
        Case("one rack", partial(_limited, gangs), CONFIGURATION),
        Case(f"one rack, {large.nodes} × {large.pods}", partial(_limited, large), CONFIGURATION),
        Case(f"{WAITING} gangs, full cluster", partial(_full, gangs), CONFIGURATION),
    ]


def _limited(workload: Workload) -> Iterator[Stored]:
    """The load with HyperNodes and a hard limit of tier 1."""
    yield from _tree(workload.nodes)
    for kind, obj in workload.items():
        if isinstance(obj, PodGroup):
            spec = msgspec.structs.replace(obj.spec, network_topology={"mode": "hard", "highestTierAllowed": 1})
            yield kind, msgspec.structs.replace(obj, spec=spec)
        else:
            yield kind, obj


def _full(workload: Workload) -> Iterator[Stored]:
    """A pod runs on each node that leaves no room, and so many gangs wait."""
    yield from _limited(replace(workload, pods=WAITING * GANG))
    yield "PodGroup", group("old", 1, QUEUE, born=0)
    cpu, _ = workload.node_allocatable
    for number in range(workload.nodes):
        made: Pod = pod("old", number, {"cpu": cpu}, born=0)
        spec = msgspec.structs.replace(made.spec, node_name=f"node-{number:05d}")
        status = msgspec.structs.replace(made.status, phase="Running")
        yield "Pod", msgspec.structs.replace(made, spec=spec, status=status)


def _tree(nodes: int) -> Iterator[Stored]:
    """Racks, spines and halls."""
    below = [f"node-{number:05d}" for number in range(nodes)]
    for tier, (name, size) in enumerate((("rack", RACK), ("spine", SPINE), ("hall", HALL)), start=1):
        kind = "Node" if tier == 1 else "HyperNode"
        made = []
        for number, start in enumerate(range(0, len(below), size)):
            named = f"{name}-{number:04d}"
            members = [
                Member(type=kind, selector=MemberSelector(exact_match=ExactMatch(name=each)))
                for each in below[start : start + size]
            ]
            spec = HyperNodeSpec(tier=tier, tier_name=name, members=members)
            yield "HyperNode", HyperNode(metadata=ObjectMeta(name=named, uid=named), spec=spec)
            made.append(named)
        below = made
