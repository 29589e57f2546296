"""`late_predicate`: asked about nodes that are about to be used; what it refuses is not used, whoever chooses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.support.registries import checked_registry
from tests.support.sessions import gang, node
from volcano_py.api.reasons import Reason
from volcano_py.config import parse_configuration
from volcano_py.framework.plugin import Plugin
from volcano_py.framework.registry import Registry
from volcano_py.framework.session import Session
from volcano_py.framework.views import Codes, NodeView
from volcano_py.simulation import Simulation, SimulationResult
from volcano_py.state.task_class import TaskClass

TEXT = """
actions: "enqueue, allocate, backfill"
tiers:
- plugins: [{name: gang}, {name: predicates}, {name: nodeorder}, {name: late}]
"""


class Late(Plugin):
    """Refuses the nodes in `refused`; `asked` are the nodes of each question."""

    name = "late"
    refused: frozenset[str] = frozenset()
    asked: list[list[str]] = []
    fails = False

    def on_session_open(self, ssn: Session) -> None:
        self._names = np.array([info.name for info in ssn.snapshot.nodes])
        self._code = ssn.refusal(Reason.NODES_REFUSE, "node(s) were too late")
        self._known = np.zeros(len(self._names), dtype=np.int32)

    def predicate(self, task_class: TaskClass, view: NodeView) -> Codes:
        known: Codes = self._known[view.rows]
        return known

    def late_predicate(self, task_class: TaskClass, view: NodeView) -> Codes:
        if self.fails:
            raise RuntimeError("no answer")
        names = self._names[view.rows]
        self.asked.append(names.tolist())
        self._known[view.rows] = np.where(np.isin(names, [*self.refused]), self._code, 0)
        known: Codes = self._known[view.rows]
        return known


def run(
    refused: str, *objects: Any, fails: bool = False, kind: type[Late] = Late
) -> tuple[SimulationResult, type[Late]]:
    kind = type("Late", (kind,), {"refused": frozenset(refused.split()), "asked": [], "fails": fails})
    builtin = checked_registry()
    registry = Registry.of((*builtin.plugins.values(), kind), builtin.actions.values())
    config = parse_configuration(TEXT, registry.catalogue()).config
    assert config is not None
    flat = [each for some in objects for each in (some if isinstance(some, list) else [some])]
    return Simulation([(type(each).__name__, each) for each in flat], config, registry).run(), kind


def test_only_nodes_that_are_about_to_be_used_are_asked_about() -> None:
    result, late = run("", *(node(f"n{number}") for number in range(50)), gang("train", cpu="1"))
    assert late.asked == [["n0"]]
    assert result.binds == {"team/train-0": "n0"}


@pytest.mark.parametrize("pods", [1, 5])
def test_what_is_refused_is_not_used(pods: int) -> None:
    nodes = [node(name, cpu="4") for name in "abcdef"]
    result, _ = run("a c e", *nodes, gang("train", pods=pods, min_member=pods, cpu="2"))
    assert set(result.binds.values()) <= {"b", "d", "f"}
    assert len(result.binds) == pods


def test_pods_without_requests_are_asked_about_too() -> None:
    result, _ = run("a", node("a"), node("b"), gang("idle", pods=3, min_member=1))
    assert set(result.binds.values()) == {"b"}
    assert len(result.binds) == 3


def test_where_all_are_refused_the_message_says_so() -> None:
    result, _ = run("a b", node("a"), node("b"), gang("train", cpu="1"))
    assert "0/2 nodes are unavailable: 2 node(s) were too late" in result.unschedulable["team/train-0"]


def test_a_plugin_that_fails_lets_no_pod_through() -> None:
    result, _ = run("", node("a"), node("b"), gang("train", cpu="1"), fails=True)
    assert not result.binds
    assert "plugin" in result.unschedulable["team/train-0"]
    assert result.reports[0].plugin_errors["late"] <= 10


class Forgetful(Late):
    """Refuses for now, and does not repeat it in `predicate`, as it should."""

    def on_session_open(self, ssn: Session) -> None:
        super().on_session_open(ssn)
        self._code = ssn.refusal(Reason.NODES_REFUSE, "node(s) were too late", transient=True)

    def predicate(self, task_class: TaskClass, view: NodeView) -> Codes:
        return np.zeros(len(view), dtype=np.int32)


def test_a_plugin_that_forgets_its_refusals_hangs_nothing() -> None:
    ending = gang("ending", cpu="4", running_on=["a"], deleting=True)
    result, _ = run("a b", node("a", cpu="4"), node("b", cpu="1"), ending, gang("train", cpu="2"), kind=Forgetful)
    assert "team/train-0" not in result.binds
