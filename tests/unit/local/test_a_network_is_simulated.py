"""`up --topology`: spines, racks and nodes as manifests."""

from __future__ import annotations

from volcano_py.api.hyper_nodes import HyperNode
from volcano_py.api.json_values import converted
from volcano_py.api.objects import Node
from volcano_py.local.network import network
from volcano_py.state.cluster_state import ClusterState
from volcano_py.state.nodes.index import NodeIndex
from volcano_py.state.topology.tree import build


def test_every_rack_has_its_nodes_and_every_spine_its_racks() -> None:
    state = ClusterState()
    for document in network(2, 3, 4):
        is_node = document["kind"] == "Node"
        state.upsert(document["kind"], converted(document, Node) if is_node else converted(document, HyperNode))
    snapshot = state.snapshot(0.0)
    tree = build(snapshot.hyper_nodes, NodeIndex(snapshot.nodes, 1), snapshot.ledger.nodes.present)
    sizes = {name: len(tree.nodes(number)) for number, name in enumerate(tree.names[1:], 1)}
    assert sizes == {
        "spine-1": 12, "spine-1-rack-1": 4, "spine-1-rack-2": 4, "spine-1-rack-3": 4,
        "spine-2": 12, "spine-2-rack-1": 4, "spine-2-rack-2": 4, "spine-2-rack-3": 4,
    }  # fmt: skip
    assert tree.tier_of_name() == {"rack": 1, "spine": 2}
    assert tree.faults == ()
