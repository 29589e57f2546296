"""The cluster is divided along a tree of queues, each level as if it were a cluster of its own."""

from __future__ import annotations

from dataclasses import dataclass, replace

import msgspec
import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from volcano_py.plugins.proportion.division import Claims, Flags, divide_levels
from volcano_py.plugins.proportion.water_filling import divide
from volcano_py.plugins.queues.levels import Levels


@dataclass(frozen=True)
class Node:
    """A queue; `guarantee` is its own, and `most` what it may have by its own capability."""

    parent: int  # position among the queues; -1 for the top
    weight: int = 1
    request: int = 0
    guarantee: int = 0
    most: int = 1000


@dataclass(frozen=True)
class Tree:
    total: int
    nodes: tuple[Node, ...]

    def rows(self) -> tuple[Levels, list[int]]:
        """The levels, and the row of each queue."""
        names = ["top"]
        below: dict[int, list[int]] = {}
        for position, node in enumerate(self.nodes):
            below.setdefault(node.parent, []).append(position)
        waiting, parents = [-1], {}
        for at in waiting:
            for child in below.get(at, []):
                names.append(f"q{child}")
                parents[f"q{child}"] = "top" if at < 0 else f"q{at}"
                waiting.append(child)
        at_row = {name: row for row, name in enumerate(names)}
        return Levels.of(names, parents), [at_row[f"q{position}"] for position in range(len(self.nodes))]

    def claims(self) -> tuple[Levels, Claims, list[int]]:
        """As `queues/reach.py` derives them; only leaves ask, and those that ask for nothing are idle."""
        levels, row = self.rows()
        size = len(self.nodes) + 1
        weights = np.ones(size, dtype=np.int64)
        own, request = np.zeros((size, 1), dtype=np.int64), np.zeros((size, 1), dtype=np.int64)
        most = np.full((size, 1), self.total, dtype=np.int64)
        leaves = set(range(len(self.nodes))) - {node.parent for node in self.nodes}
        for position, node in enumerate(self.nodes):
            weights[row[position]] = node.weight
            own[row[position]] = node.guarantee
            request[row[position]] = node.request if position in leaves else 0
            most[row[position]] = node.most
        guarantee, of_children = own.copy(), np.zeros_like(own)
        for child in range(size - 1, 0, -1):
            up = levels.up[child]
            of_children[up] += guarantee[child]
            guarantee[up] = max(guarantee[up], of_children[up])
        for child in range(1, size):
            up = levels.up[child]
            left = max(most[up] - of_children[up], 0) + guarantee[child]
            most[child] = min(most[child], most[up], left)
        busy: Flags = np.any(request, axis=1)
        stuck = np.isin(np.arange(size), levels.up)
        return levels, Claims(weights, request, np.zeros_like(own), guarantee, most, stuck, busy), row

    def deserved(self) -> list[int]:
        """By queue."""
        levels, claims, row = self.claims()
        whole = divide_levels(levels, claims).whole[:, 0].tolist()
        return [whole[at] for at in row]


@st.composite
def trees(draw: st.DrawFn, *, guarantees: bool = True) -> Tree:
    """Trees in which all guarantees can be kept."""
    total = draw(st.integers(0, 60))
    nodes: list[Node] = []
    left = total
    for position in range(draw(st.integers(1, 9))):
        guarantee = draw(st.integers(0, left // 3)) if guarantees else 0
        left -= guarantee
        nodes.append(
            Node(
                parent=draw(st.integers(-1, position - 1)),
                weight=draw(st.sampled_from([1, 2, 3, 10])),
                request=draw(st.sampled_from([0, 1, 5, 20, 60])),
                guarantee=guarantee,
                most=draw(st.sampled_from([1000, total, max(total // 2, 1)])),
            )
        )
    needed = [node.guarantee for node in nodes]
    for position in range(len(nodes) - 1, -1, -1):
        below = sum(needed[each] for each, node in enumerate(nodes) if node.parent == position)
        needed[position] = max(needed[position], below)
    return Tree(
        total,
        tuple(replace(node, most=max(node.most, need)) for node, need in zip(nodes, needed, strict=True)),
    )


def children(tree: Tree, parent: int) -> list[int]:
    return [position for position, node in enumerate(tree.nodes) if node.parent == parent]


def is_busy(tree: Tree, position: int) -> bool:
    below = children(tree, position)
    return any(is_busy(tree, each) for each in below) if below else tree.nodes[position].request > 0


def effective(tree: Tree, position: int) -> int:
    """What is kept for the queue and those below it."""
    return max(tree.nodes[position].guarantee, sum(effective(tree, each) for each in children(tree, position)))


def test_each_level_has_weights_of_its_own() -> None:
    """24: eng and sci 2 to 1; in eng dev and prod 1 to 3."""
    eng, sci = Node(-1, weight=2), Node(-1, weight=1, request=60)
    dev, prod = Node(0, weight=1, request=60), Node(0, weight=3, request=60)
    assert Tree(24, (eng, sci, dev, prod)).deserved() == [16, 8, 4, 12]


def test_a_branch_asks_for_what_the_queues_below_it_ask_for_together() -> None:
    """16: eng's two teams ask for 3 each, so sci gets 10 of its 20."""
    assert Tree(16, (Node(-1), Node(-1, request=20), Node(0, request=3), Node(0, request=3))).deserved() == [
        6,
        10,
        3,
        3,
    ]


def test_a_branch_of_many_teams_gets_no_more_for_it() -> None:
    teams = tuple(Node(0, request=10) for _ in range(4))
    assert Tree(16, (Node(-1), Node(-1, request=20), *teams)).deserved() == [8, 8, 2, 2, 2, 2]


def test_the_lowest_capability_on_the_way_up_is_the_ceiling() -> None:
    """16: dept may have 8, its division 1000, the team 12."""
    dept, division, team = Node(-1, most=8), Node(0), Node(1, most=12, request=60)
    assert Tree(16, (dept, division, team)).deserved() == [8, 8, 8]


def test_what_is_kept_for_an_idle_queue_is_not_given_to_its_siblings() -> None:
    """24, eng and sci 1 to 1: of eng's 12, 4 are kept for idle."""
    eng, sci, idle = Node(-1), Node(-1, request=60), Node(0, guarantee=4)
    assert Tree(24, (eng, sci, idle, Node(0, request=60), Node(0, request=60))).deserved() == [12, 12, 0, 4, 4]


def test_an_idle_branch_takes_no_part() -> None:
    assert Tree(16, (Node(-1, weight=10), Node(-1, request=20), Node(0))).deserved() == [0, 16, 0]


def test_pods_where_no_job_can_start_are_set_aside_first() -> None:
    """Of the top's 16 that leaves 12 when 4 are held in a queue without a place, and of eng's 6 it leaves 4."""
    levels, claims, row = Tree(16, (Node(-1), Node(-1, request=20), Node(0, request=20), Node(0, request=20))).claims()
    fixed = claims.fixed.copy()
    fixed[0], fixed[row[0]] = 4, 2
    whole = divide_levels(levels, msgspec.structs.replace(claims, fixed=fixed)).whole
    assert [int(whole[at, 0]) for at in row] == [6, 6, 2, 2]


@given(trees())
def test_children_deserve_no_more_than_their_parent_together(tree: Tree) -> None:
    """And what is kept for idle ones among them is still there."""
    deserved = tree.deserved()
    for parent in range(len(tree.nodes)):
        if not is_busy(tree, parent):
            continue
        below = children(tree, parent)
        kept = sum(effective(tree, each) for each in below if not is_busy(tree, each))
        assert sum(deserved[each] for each in below) + (kept if below else 0) <= deserved[parent]
    assert sum(deserved[each] for each in children(tree, -1)) <= tree.total


@given(trees())
def test_no_queue_deserves_more_than_any_queue_above_it_may_have(tree: Tree) -> None:
    deserved = tree.deserved()
    for position in range(len(tree.nodes)):
        at = position
        while at >= 0:
            assert deserved[position] <= tree.nodes[at].most
            at = tree.nodes[at].parent


@given(trees())
def test_every_busy_queue_deserves_what_is_kept_for_it_and_the_queues_below(tree: Tree) -> None:
    deserved = tree.deserved()
    for position in range(len(tree.nodes)):
        assert deserved[position] >= (effective(tree, position) if is_busy(tree, position) else 0)


@given(trees(), st.data())
@example(Tree(60, (Node(-1), Node(0, request=60), Node(-1, request=60))), None)
def test_more_weight_of_a_queue_or_of_one_above_it_never_means_less(tree: Tree, data: st.DataObject | None) -> None:
    position = data.draw(st.integers(0, len(tree.nodes) - 1)) if data is not None else 1
    before = tree.deserved()[position]
    at = position
    while at >= 0:
        nodes = list(tree.nodes)
        nodes[at] = replace(nodes[at], weight=nodes[at].weight * 3)
        assert replace(tree, nodes=tuple(nodes)).deserved()[position] >= before
        at = tree.nodes[at].parent


@given(trees(guarantees=False), st.integers(1, 20))
def test_more_nodes_never_mean_less_for_anybody(tree: Tree, more: int) -> None:
    for before, after in zip(tree.deserved(), replace(tree, total=tree.total + more).deserved(), strict=True):
        assert after >= before


@given(trees())
def test_queues_side_by_side_are_divided_as_without_levels(tree: Tree) -> None:
    flat = Tree(tree.total, tuple(replace(node, parent=-1) for node in tree.nodes))
    levels, claims, _ = flat.claims()
    busy = np.flatnonzero(claims.is_busy)
    caps = np.minimum(claims.request, claims.most)
    plain = divide(np.array([tree.total]), claims.weights[busy].tolist(), claims.guarantee[busy], caps[busy])
    found = divide_levels(levels, claims)
    assert found.whole[busy].tolist() == plain.whole.tolist()
    assert found.exact[busy].tolist() == plain.exact.tolist()
    assert not found.whole[1:][~claims.is_busy[1:]].any()
