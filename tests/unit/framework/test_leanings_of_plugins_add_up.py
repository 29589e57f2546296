"""Leanings: scores of groups of nodes that move with each task, of several plugins and of plugins that fail."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.placing import placed
from tests.support.sessions import gang, node, open_session
from volcano_py.framework.leanings import Leaning, Population
from volcano_py.framework.plugin import Plugin
from volcano_py.framework.session import Session
from volcano_py.framework.views import NodeView, Scores
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

    def domain_order(self, task_class: TaskClass, view: NodeView) -> Leaning | None:
        return Leaning(self._groups, self.modulus, lambda: Counting(self.modulus, self.price))


class Rows(Zones):
    name = "rows"
    modulus, price = 3, 1.0


class Failing(Zones):
    name = "failing"

    def domain_order(self, task_class: TaskClass, view: NodeView) -> Leaning | None:
        raise RuntimeError


class Senseless(Zones):
    """Names groups that it has no number for."""

    name = "senseless"

    def domain_order(self, task_class: TaskClass, view: NodeView) -> Leaning | None:
        return Leaning(self._groups, 1, lambda: Counting(1, 1.0))


class FailingLater(Zones):
    """Fails while it looks ahead."""

    name = "failing-later"

    def domain_order(self, task_class: TaskClass, view: NodeView) -> Leaning | None:
        class _Ahead(Counting):
            def place(self, group: int) -> int:
                raise RuntimeError

        return Leaning(self._groups, 2, lambda: _Ahead(2, 1.0))


NODES = [node(f"n{number}", cpu="1") for number in range(6)]


def test_the_scores_of_two_plugins_add_up() -> None:
    opened = open_session(*NODES, gang("g", pods=6, cpu="1"), tiers=[[Zones, Rows]])
    where, choices = placed(opened, 6)
    assert where == ["n0", "n1", "n2", "n3", "n4", "n5"]
    assert choices == 1


@pytest.mark.parametrize("plugin", [Failing, Senseless, FailingLater])
def test_the_leaning_of_a_plugin_that_fails_counts_for_nothing(plugin: type[Plugin]) -> None:
    opened = open_session(*NODES, gang("g", pods=3, cpu="1"), tiers=[[plugin]])
    where, _ = placed(opened, 3)
    assert where == ["n0", "n1", "n2"]
    assert opened.ssn.dispatch.failures.counts[plugin.name]
