"""Domain scores: scores of groups of nodes that move with each task, of several plugins and of plugins that fail."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.support.placement.placing import placed
from tests.support.sessions import gang, node, open_session
from volcano_py.framework.domain_scores import DomainScore, Population
from volcano_py.framework.job import Job
from volcano_py.framework.plugin import Plugin
from volcano_py.framework.session import Session
from volcano_py.framework.views import NodeView, Scores
from volcano_py.state.table.axis import CPU
from volcano_py.state.task_class import TaskClass


class Counting:
    """A group loses as much as `price` with each task that is placed in it."""

    def __init__(self, groups: int, price: float) -> None:
        self._placed = np.zeros(groups)
        self._price = price

    def scores(self, population: Population) -> Scores:
        return -self._price * self._placed

    def place(self, group: int) -> int:
        self._placed[group] += 1
        return group


class Zones(Plugin):
    """Even nodes and odd ones."""

    name = "zones"
    modulus, price = 2, 10.0

    def on_session_open(self, ssn: Session) -> None:
        self._groups = np.array([int(name[1:]) % self.modulus for name in ssn.nodes.names], dtype=np.intp)

    def domain_order(self, task_class: TaskClass, view: NodeView) -> DomainScore | None:
        return DomainScore(self._groups, self.modulus, lambda: Counting(self.modulus, self.price))


class Rows(Zones):
    name = "rows"
    modulus, price = 3, 1.0


class Failing(Zones):
    name = "failing"

    def domain_order(self, task_class: TaskClass, view: NodeView) -> DomainScore | None:
        raise RuntimeError


class Senseless(Zones):
    """Names groups that it has no number for."""

    name = "senseless"

    def domain_order(self, task_class: TaskClass, view: NodeView) -> DomainScore | None:
        return DomainScore(self._groups, 1, lambda: Counting(1, 1.0))


class FailingLater(Zones):
    """Fails while it looks ahead."""

    name = "failing-later"

    def domain_order(self, task_class: TaskClass, view: NodeView) -> DomainScore | None:
        class _Ahead(Counting):
            def place(self, group: int) -> int:
                raise RuntimeError

        return DomainScore(self._groups, 2, lambda: _Ahead(2, 1.0))


NODES = [node(f"n{number}", cpu="1") for number in range(6)]


def test_the_scores_of_two_plugins_add_up() -> None:
    opened = open_session(*NODES, gang("g", pods=6, cpu="1"), tiers=[[Zones, Rows]])
    where, choices = placed(opened, 6)
    assert where == ["n0", "n1", "n2", "n3", "n4", "n5"]
    assert choices == 1


class Thirds(Zones):
    """A domain score, and scores of nodes that are no whole numbers: what is free of a node's cpu."""

    name = "thirds"
    price = 0.0

    def node_order(self, task_class: TaskClass, view: NodeView) -> Scores:
        cpu = view.allocatable[:, CPU]
        free: Scores = (cpu - view.used[:, CPU] - task_class.request[CPU]) / cpu * 1000
        return free


@pytest.mark.parametrize("cpus", [(6, 3), (9, 3), (12, 3), (9, 6), (7, 14), (11, 22)])
def test_nodes_that_come_out_equal_are_equal_however_they_were_reached(cpus: tuple[int, ...]) -> None:
    nodes = [node(f"n{number}", cpu=str(cpu)) for number, cpu in enumerate(cpus)]
    pods = sum(cpus)
    where = [
        placed(open_session(*nodes, gang("g", pods=pods, cpu="1"), tiers=[[Thirds]]), at_a_time, afresh=True)[0]
        for at_a_time in (1, pods)
    ]
    assert where[0] == where[1]
    assert len(where[0]) == pods


@pytest.mark.parametrize("plugin", [Failing, Senseless, FailingLater])
def test_the_domain_score_of_a_plugin_that_fails_counts_for_nothing(plugin: type[Plugin]) -> None:
    opened = open_session(*NODES, gang("g", pods=3, cpu="1"), tiers=[[plugin]])
    where, _ = placed(opened, 3)
    assert where == ["n0", "n1", "n2"]
    assert opened.ssn.dispatch.failures.counts[plugin.name]


class Halves(Zones):
    """The first three nodes and the last three, as if one task were among the first."""

    name = "halves"

    def on_session_open(self, ssn: Session) -> None:
        self._groups = np.array([int(name[1:]) // 3 for name in ssn.nodes.names], dtype=np.intp)

    def domain_order(self, task_class: TaskClass, view: NodeView) -> DomainScore | None:
        def ahead() -> Counting:
            counting = Counting(2, 10.0)
            counting.place(0)
            return counting

        return DomainScore(self._groups, 2, ahead)


class Forgetful(Zones):
    """Knows no more groups than there were."""

    name = "forgetful"

    def domain_order(self, task_class: TaskClass, view: NodeView) -> DomainScore | None:
        class _Ahead(Counting):
            def scores(self, population: Population) -> Scores:
                return np.zeros(1)

        return DomainScore(self._groups, 2, lambda: _Ahead(2, 1.0))


class Endless(Zones):
    """Has no number for what a group is worth."""

    name = "endless"

    def domain_order(self, task_class: TaskClass, view: NodeView) -> DomainScore | None:
        return DomainScore(self._groups, 2, lambda: Counting(2, np.nan))


class Astray(Zones):
    """Puts nodes into a group that there is not."""

    name = "astray"

    def domain_order(self, task_class: TaskClass, view: NodeView) -> DomainScore | None:
        class _Ahead(Counting):
            def place(self, group: int) -> int:
                return 7

        return DomainScore(self._groups, 2, lambda: _Ahead(2, 1.0))


class Unready(Zones):
    """Fails before it looks ahead."""

    name = "unready"

    def domain_order(self, task_class: TaskClass, view: NodeView) -> DomainScore | None:
        def fail() -> Counting:
            raise RuntimeError

        return DomainScore(self._groups, 2, fail)


class Closed(Zones):
    """Is not asked any more, as it has failed where it keeps its books."""

    name = "closed"

    def job_enqueued(self, job: Job) -> None:
        raise RuntimeError


@pytest.mark.parametrize("failing", [Failing, Senseless, FailingLater, Forgetful, Endless, Astray, Unready])
@pytest.mark.parametrize("is_first", [True, False])
def test_a_failing_plugin_is_named_and_does_not_block_others(failing: type[Plugin], is_first: bool) -> None:
    tier: list[Any] = [failing, Halves] if is_first else [Halves, failing]
    opened = open_session(*NODES, gang("g", pods=4, cpu="1"), tiers=[tier])
    assert placed(opened, 4)[0] == ["n3", "n0", "n4", "n1"]
    assert set(opened.ssn.dispatch.failures.counts) == {failing.name}


@pytest.mark.parametrize("failing", [Failing, Senseless, Forgetful, Endless, Unready])
def test_so_it_is_with_a_single_pod(failing: type[Plugin]) -> None:
    opened = open_session(*NODES, gang("g", cpu="1"), tiers=[[failing, Halves]])
    assert placed(opened, 1)[0] == ["n3"]
    assert set(opened.ssn.dispatch.failures.counts) == {failing.name}


def test_a_closed_plugin_does_not_block_other_plugins() -> None:
    opened = open_session(*NODES, gang("g", pods=4, cpu="1"), tiers=[[Closed, Halves]])
    opened.ssn.ask.job_enqueued(opened.job("g"))
    assert opened.ssn.dispatch.failures.closed == {"closed"}
    assert placed(opened, 4)[0] == ["n3", "n0", "n4", "n1"]
