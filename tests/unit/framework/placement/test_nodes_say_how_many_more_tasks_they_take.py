"""A predicate that changes with each placement may say how many more tasks pass: a gang then takes one sweep."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.placement.placing import placed
from tests.support.sessions import Opened, gang, node, open_session
from volcano_py.framework.plugin import Plugin, Reach
from volcano_py.framework.session import Session
from volcano_py.framework.views import Codes, Counts, NodeView, Scores
from volcano_py.state.table.axis import CPU
from volcano_py.state.task_class import TaskClass


class AtMost(Plugin):
    """A node takes so many pods."""

    name = "at-most"
    most = 3

    def on_session_open(self, ssn: Session) -> None:
        self._nodes = ssn.ledger.nodes
        self.asked = 0

    def predicate(self, task_class: TaskClass, view: NodeView) -> Codes:
        self.asked += 1
        return (self._nodes.tasks[view.rows] >= self.most).astype(np.int32)

    def predicate_reach(self, task_class: TaskClass) -> Reach:
        return Reach.ROW


class AtMostCounted(AtMost):
    def predicate_room(self, task_class: TaskClass, view: NodeView) -> Counts | None:
        return np.maximum(self.most - self._nodes.tasks[view.rows], 0).astype(np.int64)


class AtMostFour(AtMostCounted):
    name = "at-most-four"
    most = 4


class AtMostTwoUncounted(AtMost):
    name = "at-most-two-uncounted"
    most = 2


class Silent(AtMost):
    def predicate_room(self, task_class: TaskClass, view: NodeView) -> Counts | None:
        return None


class Broken(AtMost):
    def predicate_room(self, task_class: TaskClass, view: NodeView) -> Counts | None:
        raise RuntimeError("cannot count")


class Packed(Plugin):
    """The fuller the better."""

    name = "packed"

    def node_order(self, task_class: TaskClass, view: NodeView) -> Scores:
        return view.used[:, CPU] / view.allocatable[:, CPU]


class Spread(Packed):
    def node_order(self, task_class: TaskClass, view: NodeView) -> Scores:
        return -super().node_order(task_class, view)


def cluster(sizes: list[int], pods: int, *plugins: type[Plugin], **flags: Any) -> Opened:
    nodes = [node(f"n{index}", cpu=str(size)) for index, size in enumerate(sizes)]
    tiers = [[(plugin, flags) if issubclass(plugin, AtMost) else plugin for plugin in plugins]]
    return open_session(*nodes, gang("g", pods=pods, cpu="1"), tiers=tiers)


@given(
    sizes=st.lists(st.integers(1, 8), min_size=1, max_size=6),
    pods=st.integers(1, 20),
    at_a_time=st.integers(1, 20),
    order=st.sampled_from([Packed, Spread]),
)
def test_counting_changes_no_placement(sizes: list[int], pods: int, at_a_time: int, order: type[Plugin]) -> None:
    one_by_one, _ = placed(cluster(sizes, pods, AtMost, order), 1)
    for counted in ([AtMostCounted], [AtMostCounted, AtMostFour], [AtMostFour, AtMostCounted]):
        assert placed(cluster(sizes, pods, *counted, order), at_a_time)[0] == one_by_one


def test_a_gang_is_placed_in_one_sweep() -> None:
    assert placed(cluster([8] * 4, 12, AtMostCounted, Packed), 12) == ([f"n{index // 3}" for index in range(12)], 1)


@pytest.mark.parametrize("plugins", [[AtMost], [Silent], [AtMostFour, AtMostTwoUncounted]], ids=str)
def test_when_a_plugin_gives_no_room_nodes_are_asked_after_each_task(plugins: list[type[Plugin]]) -> None:
    where, choices = placed(cluster([8] * 4, 6, *plugins, Packed), 6)
    assert choices == len(where) == 6


def test_a_plugin_that_fails_to_count_still_decides_by_its_predicate() -> None:
    opened = cluster([8] * 2, 8, Broken, Packed)
    assert placed(opened, 8) == (["n0"] * 3 + ["n1"] * 3, 6)
    assert set(opened.ssn.dispatch.failures.counts) == {"at-most"}


def test_it_is_not_asked_when_predicates_are_switched_off() -> None:
    where, choices = placed(cluster([8], 8, AtMostCounted, Packed, enablePredicate=False), 8)
    assert (where, choices) == (["n0"] * 8, 1)


def test_refusals_say_whether_evictions_could_help() -> None:
    ssn = open_session(node("n1")).ssn
    reason = ssn.refusal_of(ssn.absent_node).reason
    yes, no = ssn.refusal(reason, "full"), ssn.refusal(reason, "tainted", resolvable=False)
    codes = np.array([0, yes, no, ssn.absent_node, yes], dtype=np.int32)
    assert ssn.resolvable(codes).tolist() == [True, True, False, False, True]
    assert ssn.refusal(reason, "tainted", resolvable=False) == no
    assert ssn.refusal(reason, "tainted") != no
