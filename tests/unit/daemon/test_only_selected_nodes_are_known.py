"""--node-selector: nodes without any of the labels are not there."""

from __future__ import annotations

from tests.support.sessions import node, pod
from volcano_py.api.objects import Node
from volcano_py.daemon.node_filter import NodeFilter
from volcano_py.state.cluster_state import ClusterState


def labelled(name: str, **labels: str) -> Node:
    return node(name, labels=labels)


def known(state: ClusterState) -> set[str]:
    snapshot = state.snapshot(0.0)
    return {info.name for info, here in zip(snapshot.nodes, snapshot.ledger.nodes.present, strict=False) if here}


def test_nodes_with_any_of_the_labels_pass_and_everything_else_does_too() -> None:
    state = ClusterState()
    sink = NodeFilter(state, [("pool", "batch"), ("pool", "gpu")])
    sink.replace("Node", [labelled("a", pool="batch"), labelled("b", pool="web"), labelled("c")])
    sink.upsert("Node", labelled("d", pool="gpu"))
    sink.upsert("Pod", pod("p"))
    assert known(state) == {"a", "d"}
    assert int((state.snapshot(0.0).ledger.tasks.status != 0).sum()) == 1


def test_a_node_that_loses_its_label_is_gone_and_comes_back_with_it() -> None:
    state = ClusterState()
    sink = NodeFilter(state, [("pool", "batch")])
    sink.upsert("Node", labelled("a", pool="batch"))
    sink.upsert("Node", labelled("a"))
    assert known(state) == set()
    sink.upsert("Node", labelled("a", pool="batch"))
    assert known(state) == {"a"}
    sink.delete("Node", labelled("a"))
    assert known(state) == set()
