"""A rule over groups of nodes, such as zones, is looked ahead of: a gang goes in one sweep where it would singly."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.support.placement.placing import placed
from tests.support.sessions import Opened, gang, node, open_session
from volcano_py.api.reasons import Reason
from volcano_py.framework.domain_filters import DomainFilter
from volcano_py.framework.plugin import Plugin, Reach
from volcano_py.framework.session import Session
from volcano_py.framework.views import Codes, Counts, NodeView, Scores
from volcano_py.state.table.axis import CPU
from volcano_py.state.task_class import TaskClass

Pods = NDArray[np.int64]
"""Per zone."""


class Zoned(Plugin):
    """Nodes are in three zones, by the number in their name."""

    name = "zoned"

    def on_session_open(self, ssn: Session) -> None:
        self._ssn = ssn
        self._zone = np.array([int(name[1:]) % 3 for name in ssn.nodes.names])
        self._refused = ssn.refusal(Reason.NODES_REFUSE, "node(s) were in a full zone")

    def _pods(self) -> Pods:
        return np.bincount(self._zone, self._ssn.ledger.nodes.tasks, 3).astype(np.int64)

    def _closed(self, pods: Pods) -> NDArray[np.bool_]:
        """A zone with a pod more than the emptiest takes no other."""
        closed: NDArray[np.bool_] = pods > pods.min()
        return closed


class ByPredicate(Zoned):
    """The rule as a predicate: nodes are asked after each task."""

    def predicate(self, task_class: TaskClass, view: NodeView) -> Codes:
        closed = self._closed(self._pods())[self._zone]
        return np.where(closed, self._refused, 0).astype(np.int32)[view.rows]

    def predicate_reach(self, task_class: TaskClass) -> Reach:
        return Reach.DOMAIN


class ByFilter(Zoned):
    """The rule as a domain filter."""

    def domain_filter(self, task_class: TaskClass, view: NodeView) -> DomainFilter | None:
        codes = np.where(self._closed(self._pods()), self._refused, 0).astype(np.int32)
        return DomainFilter(self._zone.astype(np.intp), codes, lambda: Supposed(self, self._pods()))


class Supposed:
    def __init__(self, rule: Zoned, pods: Pods) -> None:
        self._rule, self._pods = rule, pods

    def place(self, group: int) -> NDArray[np.bool_]:
        self._pods[group] += 1
        return ~self._rule._closed(self._pods)


class Blinkered(ByFilter):
    """Its look ahead fails."""

    def domain_filter(self, task_class: TaskClass, view: NodeView) -> DomainFilter | None:
        inner = super().domain_filter(task_class, view)
        assert inner is not None
        return DomainFilter(inner.groups, inner.codes, lambda: 1 / 0)  # type: ignore[arg-type, return-value]


class Failing(ByFilter):
    def domain_filter(self, task_class: TaskClass, view: NodeView) -> DomainFilter | None:
        raise RuntimeError("no zones today")


class Nonsense(ByFilter):
    def domain_filter(self, task_class: TaskClass, view: NodeView) -> DomainFilter | None:
        return DomainFilter(
            np.full(len(view), 7, dtype=np.intp), np.zeros(3, dtype=np.int32), lambda: Supposed(self, self._pods())
        )


class NoFilter(ByFilter):
    def domain_filter(self, task_class: TaskClass, view: NodeView) -> DomainFilter | None:
        return None


class OddOnes(ByFilter):
    """Another domain filter: nodes with an odd number, never."""

    name = "odd-ones"

    def domain_filter(self, task_class: TaskClass, view: NodeView) -> DomainFilter | None:
        odd = np.array([int(name[1:]) % 2 for name in self._ssn.nodes.names], dtype=np.intp)
        return DomainFilter(odd, np.array([0, self._refused], dtype=np.int32), Fixed)


class Fixed:
    def place(self, group: int) -> NDArray[np.bool_]:
        return np.array([True, False])


class AtMostTwo(Plugin):
    """A node takes no third pod."""

    name = "at-most-two"

    def on_session_open(self, ssn: Session) -> None:
        self._nodes = ssn.ledger.nodes

    def predicate(self, task_class: TaskClass, view: NodeView) -> Codes:
        return (self._nodes.tasks[view.rows] >= 2).astype(np.int32)

    def predicate_reach(self, task_class: TaskClass) -> Reach:
        return Reach.ROW

    def predicate_room(self, task_class: TaskClass, view: NodeView) -> Counts | None:
        return np.maximum(2 - self._nodes.tasks[view.rows], 0).astype(np.int64)


class NoSides(Plugin):
    """Nodes with even and odd numbers take pods in turns: what all nodes say changes with every placement."""

    name = "no-sides"

    def on_session_open(self, ssn: Session) -> None:
        self._nodes = ssn.ledger.nodes
        self._side = np.array([int(name[1:]) % 2 for name in ssn.nodes.names])

    def predicate(self, task_class: TaskClass, view: NodeView) -> Codes:
        pods = np.bincount(self._side, self._nodes.tasks, 2)
        codes: Codes = (pods > pods.min()).astype(np.int32)[self._side[view.rows]]
        return codes

    def predicate_reach(self, task_class: TaskClass) -> Reach:
        return Reach.DOMAIN


class Packed(Plugin):
    """The fuller the better."""

    name = "packed"

    def node_order(self, task_class: TaskClass, view: NodeView) -> Scores:
        return view.used[:, CPU] / view.allocatable[:, CPU]


class Emptiest(Packed):
    def node_order(self, task_class: TaskClass, view: NodeView) -> Scores:
        return -super().node_order(task_class, view)


class Liked(Plugin):
    """A liking for nodes, as a part of the largest among the feasible ones."""

    name = "liked"

    def batch_node_order(self, task_class: TaskClass, view: NodeView) -> Scores:
        liking = view.rows * 37 % 11 + 1.0
        found: Scores = liking / liking.max()
        return found


def cluster(sizes: list[int], pods: int, *plugins: type[Plugin], **flags: Any) -> Opened:
    nodes = [node(f"n{index}", cpu=str(size)) for index, size in enumerate(sizes)]
    tiers = [[(plugin, flags) if issubclass(plugin, Zoned) else plugin for plugin in plugins]]
    return open_session(*nodes, gang("g", pods=pods, cpu="1"), tiers=tiers)


@given(
    sizes=st.lists(st.integers(1, 6), min_size=1, max_size=9),
    pods=st.integers(1, 20),
    at_a_time=st.integers(1, 20),
    others=st.sampled_from([(), (AtMostTwo,), (Liked,), (AtMostTwo, Liked), (NoSides,)]),
    order=st.sampled_from([Packed, Emptiest]),
)
def test_looking_ahead_changes_no_placement(
    sizes: list[int], pods: int, at_a_time: int, others: tuple[type[Plugin], ...], order: type[Plugin]
) -> None:
    one_by_one, _ = placed(cluster(sizes, pods, ByPredicate, order, *others), 1)
    assert placed(cluster(sizes, pods, ByFilter, order, *others), at_a_time)[0] == one_by_one


def test_a_gang_is_placed_in_one_sweep() -> None:
    where, choices = placed(cluster([8] * 6, 12, ByFilter, Packed), 12)
    assert where == ["n0", "n1", "n2"] * 4
    assert choices == 1


def test_a_filter_that_stays_closed_ends_the_sweep() -> None:
    where, _ = placed(cluster([1, 8, 8], 9, ByFilter, Packed), 9)
    assert where == ["n0", "n1", "n2", "n1", "n2"], "zone 0 is full; the others may be one ahead of it"


def test_single_tasks_follow_a_plan() -> None:
    assert placed(cluster([8] * 6, 12, ByFilter, Packed), 1)[0] == ["n0", "n1", "n2"] * 4


def test_with_two_filters_nodes_are_chosen_one_task_at_a_time() -> None:
    where, choices = placed(cluster([8] * 6, 6, ByFilter, OddOnes, Packed), 6)
    assert where == ["n0", "n2", "n4"] * 2
    assert choices == 6


def test_refusals_of_a_filter_are_reported_and_counted() -> None:
    opened = cluster([1, 8, 8], 9, ByFilter, Packed)
    placed(opened, 9)
    task_class = opened.ssn.task_class(int(opened.rows("g-8")[0]))
    assert opened.ssn.placer.misfit(task_class).counts == {"Insufficient cpu": 1, "node(s) were in a full zone": 2}
    assert [opened.ssn.placer.may_take(task_class, opened.node_row(f"n{i}")) for i in range(3)] == [True, False, False]
    assert len(opened.ssn.placer.feasible(task_class)) == 0
    assert not len(opened.ssn.placer.choose_on(task_class, opened.node_row("n1")).nodes)


@pytest.mark.parametrize("plugin", [Blinkered, Failing, Nonsense])
def test_a_filter_that_fails_lets_no_pod_through(plugin: type[Plugin]) -> None:
    opened = cluster([8] * 3, 6, plugin, Packed)
    assert placed(opened, 6) == ([], 0)
    assert set(opened.ssn.dispatch.failures.counts) == {"zoned"}


@pytest.mark.parametrize(("plugin", "flags"), [(NoFilter, {}), (ByFilter, {"enablePredicate": False})])
def test_without_a_filter_nothing_is_closed(plugin: type[Plugin], flags: dict[str, bool]) -> None:
    assert placed(cluster([8] * 3, 6, plugin, Packed, **flags), 6) == (["n0"] * 6, 1)
