"""What a job may use of the network follows from where its pods are, at every moment of a cycle."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import numpy as np
import pytest

from tests.support.placement.hyper_nodes import hyper_node
from tests.support.sessions import Opened, gang, node, open_session
from volcano_py.api.objects import ApiObject, PodGroup
from volcano_py.framework.topology.ranks import in_rank_order
from volcano_py.plugins.gang import Gang
from volcano_py.plugins.network_topology import NetworkTopologyAware
from volcano_py.plugins.predicates import Predicates

NODES = ("a1", "a2", "b1", "b2", "out")
TREE = (
    hyper_node("A", 1, tier_name="rack", nodes=["a1", "a2"]),
    hyper_node("B", 1, tier_name="rack", nodes=["b1", "b2"]),
    hyper_node("S", 2, tier_name="spine", children=["A", "B"]),
)


def limited(objects: list[ApiObject], topology: Mapping[str, Any]) -> list[ApiObject]:
    """The objects of a gang, with this networkTopology."""
    group, *pods = objects
    assert isinstance(group, PodGroup)
    spec = msgspec.structs.replace(group.spec, network_topology=dict(topology))
    return [msgspec.structs.replace(group, spec=spec), *pods]


def opened(topology: Mapping[str, Any], running_on: tuple[str, ...] = (), **fields: Any) -> Opened:
    return open_session(
        *(node(name, cpu="4") for name in NODES),
        *TREE,
        limited(gang("train", pods=4, cpu="1", running_on=running_on, **fields), topology),
        tiers=[[Gang, Predicates, NetworkTopologyAware]],
    )


def usable(opened: Opened) -> set[str]:
    confinement = opened.ssn.topology.confinement(opened.job("train"), int(opened.rows("train-3")[0]))
    assert confinement is not None
    return {opened.ssn.snapshot.nodes[row].name for row in np.flatnonzero(confinement.nodes).tolist()}


@pytest.mark.parametrize(
    ("topology", "running_on", "expected"),
    [
        ({"highestTierAllowed": 1}, (), {"a1", "a2", "b1", "b2"}),
        ({"highestTierAllowed": 1}, ("a1",), {"a1", "a2"}),
        ({"highestTierAllowed": 2}, ("a1",), {"a1", "a2", "b1", "b2"}),
        ({"highestTierName": "rack"}, ("b2",), {"b1", "b2"}),
        ({"highestTierAllowed": 1}, ("a1", "b1"), set()),
        ({"highestTierAllowed": 2}, ("a1", "out"), set()),
        ({"highestTierAllowed": 3}, ("a1", "out"), set(NODES)),
        ({"highestTierAllowed": 0}, (), set()),
        ({"mode": "soft"}, ("a1",), set(NODES)),
        ({"highestTierName": "hall"}, ("a1",), set(NODES)),
        ({"mode": "hard"}, ("a1",), set(NODES)),
    ],
)
def test_placed_pods_leave_the_domains_above_them_up_to_the_limit(
    topology: dict[str, Any], running_on: tuple[str, ...], expected: set[str]
) -> None:
    assert usable(opened(topology, running_on)) == expected


def test_pods_on_nodes_that_are_gone_tie_nothing() -> None:
    assert usable(opened({"highestTierAllowed": 1}, ("lost",))) == {"a1", "a2", "b1", "b2"}


def test_a_placement_ties_at_once_and_discarding_it_unties() -> None:
    cluster = opened({"highestTierAllowed": 1})
    statement = cluster.place("train", {"train-0": "b1"})
    assert usable(cluster) == {"b1", "b2"}
    statement.discard()
    assert usable(cluster) == {"a1", "a2", "b1", "b2"}


def test_a_job_that_says_nothing_may_use_all_nodes() -> None:
    cluster = open_session(
        node("a1"), *TREE, gang("train", pods=1, cpu="1"), tiers=[[Gang, Predicates, NetworkTopologyAware]]
    )
    assert cluster.ssn.topology.confinement(cluster.job("train"), int(cluster.rows("train-0")[0])) is None


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ([{}, {}, {}], [0, 1, 2]),
        ([{"batch.kubernetes.io/job-completion-index": index} for index in ("2", "0", "1")], [1, 2, 0]),
        ([{"batch.kubernetes.io/job-completion-index": index} for index in ("2", "2", "1")], [0, 1, 2]),
        ([{"volcano.sh/partition-id": part} for part in ("1", "0", "1")], [1, 0, 2]),
    ],
)
def test_ranks_are_partition_then_index_and_task_order_where_they_are_doubled(
    labels: list[dict[str, str]], expected: list[int]
) -> None:
    group, *pods = gang("train", pods=3, cpu="1")
    marked = [
        msgspec.structs.replace(pod, metadata=msgspec.structs.replace(pod.metadata, labels=own))  # type: ignore[attr-defined]
        for pod, own in zip(pods, labels, strict=True)
    ]
    cluster = open_session(node("a1"), group, *marked, tiers=[[Gang]])
    rows = cluster.rows("train-0", "train-1", "train-2")
    assert in_rank_order(cluster.ssn, rows).tolist() == rows[expected].tolist()
