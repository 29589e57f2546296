"""Pods by node: what is summed and selected for all nodes at once is what a look at one node after the other gives."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from volcano_py.framework.placement.rows_by_node import RowsByNode

PODS = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 2**60)), max_size=20)
"""Node and amount of each pod."""


@given(PODS, st.lists(st.booleans(), min_size=7, max_size=7))
def test_what_is_true_of_each_node_is_true_of_all(pods: list[tuple[int, int]], kept: list[bool]) -> None:
    node_of = np.array([node for node, _ in pods], dtype=np.int32)
    amounts = np.array([amount for _, amount in pods], dtype=np.int64)
    rows = np.argsort(node_of, kind="stable")
    found = RowsByNode.of(rows, node_of)
    by_node = {node: [row for row, (where, _) in enumerate(pods) if where == node] for node in sorted(node_of.tolist())}

    assert found.nodes.tolist() == list(by_node)
    assert {node: found.on(node).tolist() for node in by_node} == by_node
    assert found.sums(amounts[rows]).tolist() == [sum(pods[row][1] for row in mine) for mine in by_node.values()]

    some = found.where(np.array(kept, dtype=np.bool_)[found.nodes])
    left = {node: mine for node, mine in by_node.items() if kept[node]}
    assert some.nodes.tolist() == list(left)
    assert some.rows.tolist() == [row for mine in left.values() for row in mine]
    assert {node: some.on(node).tolist() for node in left} == left
