"""Tasks of many classes that the placer expects, against a placer that is asked for one after the other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.sessions import Opened, gang, node, open_session
from volcano_py.framework.plugin import Plugin
from volcano_py.framework.views import ClassesView, NodeView, Scores
from volcano_py.plugins.nodeorder import NodeOrder
from volcano_py.plugins.predicates import Predicates
from volcano_py.state.table.axis import CPU
from volcano_py.state.task_class import TaskClass

POLICIES: dict[str, dict[str, Any]] = {
    "spread": {"leastrequested.weight": 1},
    "packed": {"leastrequested.weight": 0, "mostrequested.weight": 3, "balancedresource.weight": 0},
    "balanced": {"leastrequested.weight": 0, "balancedresource.weight": 2},
}


class Zigzag(Plugin):
    """Scores that go up and down as nodes fill."""

    name = "zigzag"
    asked = 0

    def node_order(self, task_class: TaskClass, view: NodeView) -> Scores:
        return _zigzag(view.used[:, CPU] + task_class.request[CPU])

    def node_orders(self, view: ClassesView) -> Scores:
        type(self).asked += 1
        return _zigzag(view.used[:, CPU] + view.request[:, CPU, None])


def _zigzag(used: Any) -> Scores:
    scores: Scores = (used % 3000) / 7
    return scores


Size = tuple[int, int]
"""cpus and GiB of memory"""


def opened_with(sizes: list[Size], pods: list[Size], tiers: list[Any]) -> Opened:
    """Each pod is a gang of its own; some want every other node only."""
    return open_session(
        *[
            node(f"n{index:02}", cpu=str(cpu), memory=f"{memory}Gi", labels={"kind": "ab"[index % 2]})
            for index, (cpu, memory) in enumerate(sizes)
        ],
        *[
            gang(
                f"g{index}",
                cpu=f"{100 * cpu}m",
                memory=f"{memory}Gi",
                node_selector={"kind": "a"} if cpu % 5 == 0 else {},
            )
            for index, (cpu, memory) in enumerate(pods)
        ],
        tiers=tiers,
    )


def place(opened: Opened, pods: range | list[int], *, expected: list[int], undone: set[int]) -> list[list[str]]:
    """Where the pods go, in their order; what of them is `undone` gives its place back at once."""
    ssn = opened.ssn
    rows = {index: opened.rows(f"g{index}-0") for index in {*pods, *expected}}
    if expected:
        ssn.placer.expect([ssn.task_class(int(rows[index][0])) for index in expected])
    where = []
    for index in pods:
        task_class = ssn.task_class(int(rows[index][0]))
        choice = ssn.placer.choose(task_class, 1)
        where.append([ssn.snapshot.nodes[row].name for row in choice.nodes.tolist()])
        if len(choice.nodes):
            statement = ssn.statement()
            statement.allocate(opened.job(f"g{index}"), task_class, rows[index], choice.nodes)
            if index in undone:
                statement.discard()
    return where


sizes_of_nodes = st.lists(st.tuples(st.integers(1, 8), st.integers(2, 16)), min_size=1, max_size=9)
sizes_of_pods = st.lists(st.tuples(st.integers(1, 20), st.integers(1, 4)), min_size=1, max_size=16)


@pytest.mark.parametrize("policy", [*POLICIES, "zigzag"])
@settings(max_examples=60)
@given(sizes=sizes_of_nodes, pods=sizes_of_pods, undone=st.sets(st.integers(0, 15)), data=st.data())
def test_every_pod_goes_to_the_same_node(
    policy: str, sizes: list[Size], pods: list[Size], undone: set[int], data: st.DataObject
) -> None:
    """Also when some are undone, others come than were expected, or all come twice."""
    tiers = [[Predicates, Zigzag if policy == "zigzag" else (NodeOrder, POLICIES[policy])]]
    everything = list(range(len(pods)))
    expected = data.draw(st.lists(st.sampled_from(everything), min_size=1, max_size=20))
    come = data.draw(st.one_of(st.just(everything), st.permutations(everything)))
    one, ahead = (opened_with(sizes, pods, tiers) for _ in range(2))
    assert place(ahead, come, expected=expected, undone=undone) == place(one, come, expected=[], undone=undone)
    assert not ahead.ssn.dispatch.failures.counts


@pytest.mark.parametrize("policy", POLICIES)
@given(sizes=sizes_of_nodes, pods=sizes_of_pods)
def test_nodeorder_scores_several_classes_to_the_last_bit_as_one_by_one(
    policy: str, sizes: list[Size], pods: list[Size]
) -> None:
    opened = opened_with(sizes, pods, [[(NodeOrder, POLICIES[policy])]])
    place(opened, range(0, len(pods), 2), expected=[], undone=set())
    ssn, plugin = opened.ssn, opened.plugin(NodeOrder)
    classes = [ssn.task_class(int(opened.rows(f"g{index}-0")[0])) for index in range(len(pods))]
    rows = np.arange(ssn.ledger.nodes.size)
    together = plugin.node_orders(ClassesView(ssn.ledger.nodes, rows, classes))
    for scores, task_class in zip(together, classes, strict=True):
        assert scores.tolist() == plugin.node_order(task_class, NodeView(ssn.ledger.nodes, rows)).tolist()


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """How many classes, and how many nodes, nodeorder scores each time."""
    looks: list[tuple[int, int]] = []
    scores = NodeOrder.node_orders

    def counted(plugin: NodeOrder, view: ClassesView) -> Scores:
        looks.append((len(view.classes), len(view)))
        return scores(plugin, view)

    monkeypatch.setattr(NodeOrder, "node_orders", counted)
    return looks


def test_a_run_is_planned_with_two_looks_at_nodes(looks: list[tuple[int, int]]) -> None:
    """At the nodes as they are, and at those that the plan touches as they would be."""
    opened = opened_with([(8, 16)] * 20, [(index + 8, 2) for index in range(12)], [[(NodeOrder, POLICIES["spread"])]])
    where = place(opened, range(12), expected=list(range(12)), undone=set())
    assert len({node for [node] in where}) == 12
    assert looks == [(12, 20), (12, 12)]


def test_classes_that_are_larger_than_what_any_node_has_free_are_not_scored(looks: list[tuple[int, int]]) -> None:
    """A full cluster costs no look at its nodes for each class that waits."""
    pods = [(5, 1), (11, 1), (12, 1), (13, 1), (6, 1)]
    opened = opened_with([(1, 16)] * 20, pods, [[Predicates, (NodeOrder, POLICIES["spread"])]])
    where = place(opened, range(5), expected=list(range(5)), undone=set())
    assert [len(nodes) for nodes in where] == [1, 0, 0, 0, 1]
    assert looks == [(1, 20), (1, 20)]


def test_a_plugin_that_fails_for_several_classes_scores_nothing_and_is_counted() -> None:
    class Fails(Zigzag):
        name = "fails"

        def node_orders(self, view: ClassesView) -> Scores:
            raise RuntimeError("no scores today")

    opened = opened_with([(8, 16)] * 3, [(index + 1, 1) for index in range(3)], [[Predicates, Fails]])
    assert place(opened, range(3), expected=[0, 1, 2], undone=set()) == [["n00"], ["n00"], ["n00"]]
    assert opened.ssn.dispatch.failures.counts["fails"] >= 1


def test_a_plugin_that_looks_at_other_nodes_is_asked_one_by_one() -> None:
    class Crowds(Plugin):
        name = "crowds"

        def batch_node_order(self, task_class: TaskClass, view: NodeView) -> Scores | None:
            return -view.used[:, CPU].astype(np.float64)

    opened = opened_with([(8, 16)] * 3, [(index + 1, 1) for index in range(6)], [[Predicates, Zigzag, Crowds]])
    Zigzag.asked = 0
    place(opened, range(6), expected=list(range(6)), undone=set())
    assert Zigzag.asked == 0
