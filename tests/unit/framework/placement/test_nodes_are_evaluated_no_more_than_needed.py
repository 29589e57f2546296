"""The placer: what it evaluates again and when, places on resources that are being released, nominated nodes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.support.sessions import Opened, gang, node, open_session, pod, pod_group
from volcano_py.api.objects import Taint
from volcano_py.api.reasons import Reason
from volcano_py.framework.plugin import Plugin, Reach
from volcano_py.framework.session import Session
from volcano_py.framework.views import Codes, NodeView, Scores
from volcano_py.plugins.predicates import Predicates
from volcano_py.state.task_class import TaskClass


class Curious(Plugin):
    """Accepts every node and writes down how many it was asked about each time."""

    name = "curious"
    reach = Reach.STATIC

    def on_session_open(self, ssn: Session) -> None:
        self.predicates: list[int] = []
        self.scores: list[int] = []

    def predicate(self, task_class: TaskClass, view: NodeView) -> Codes:
        self.predicates.append(len(view))
        return np.zeros(len(view), dtype=np.int32)

    def predicate_reach(self, task_class: TaskClass) -> Reach:
        return self.reach

    def node_order(self, task_class: TaskClass, view: NodeView) -> Scores:
        self.scores.append(len(view))
        return np.zeros(len(view))


def opened_with(reach: Reach = Reach.STATIC, nodes: int = 20) -> Opened:
    return open_session(
        [node(f"n{index:02}", cpu="4") for index in range(nodes)],
        gang("a", pods=4, cpu="1"),
        gang("b", pods=2, cpu="2"),
        tiers=[[type("Curious", (Curious,), {"reach": reach})]],
    )


def choose(opened: Opened, pod_name: str, count: int = 1) -> list[str]:
    """Nodes for tasks of a pod's class."""
    choice = opened.ssn.placer.choose(opened.task(pod_name).task_class, count)
    return [opened.ssn.snapshot.nodes[row].name for row in choice.nodes.tolist()]


# -- what is asked again -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reach", "asked_again"),
    [
        pytest.param(Reach.STATIC, [], id="static: never again"),
        pytest.param(Reach.ROW, [1], id="row: only the node that was touched"),
        pytest.param(Reach.DOMAIN, [20], id="domain: all of them"),
    ],
)
def test_a_predicate_is_asked_again_about_what_it_may_say_otherwise(reach: Reach, asked_again: list[int]) -> None:
    opened = opened_with(reach)
    plugin = opened.plugin(Curious)
    choose(opened, "a-0")
    assert plugin.predicates == [20]
    plugin.predicates.clear()
    opened.place("b", {"b-0": "n07"})
    choose(opened, "a-0")
    assert plugin.predicates == asked_again


def test_scores_of_touched_nodes_alone_are_worked_out_again() -> None:
    opened = opened_with()
    plugin = opened.plugin(Curious)
    choose(opened, "a-0")
    plugin.scores.clear()
    opened.place("b", {"b-0": "n07", "b-1": "n09"})
    choose(opened, "a-0")
    assert plugin.scores == [2]


def test_when_many_nodes_were_touched_all_are_worked_out_at_once() -> None:
    opened = opened_with(nodes=6)
    plugin = opened.plugin(Curious)
    choose(opened, "a-0")
    plugin.scores.clear()
    opened.place("b", {"b-0": "n01", "b-1": "n02"})
    choose(opened, "a-0")
    assert plugin.scores == [6]


def test_while_no_node_is_touched_no_plugin_is_asked_again() -> None:
    opened = opened_with()
    plugin = opened.plugin(Curious)
    first = choose(opened, "a-0")
    plugin.scores.clear()
    plugin.predicates.clear()
    assert choose(opened, "a-0") == first
    assert (plugin.scores, plugin.predicates) == ([], [])


def test_a_class_that_fits_nowhere_is_explained_once_until_a_node_is_touched() -> None:
    opened = open_session(
        node("n1", cpu="4"), gang("big", pods=2, cpu="3"), gang("x", cpu="2"), gang("runs", cpu="1", running_on=["n1"])
    )
    task_class = opened.task("big-0").task_class
    placer = opened.ssn.placer
    statement = opened.place("x", {"x-0": "n1"})
    assert not choose(opened, "big-0")
    assert placer.misfit(task_class) is placer.misfit(task_class)
    message = placer.misfit(task_class).refusal.message
    assert message == (
        "0/1 nodes are unavailable: 1 Insufficient cpu. The pod asks for 3 cpu; the emptiest node, n1, has 1 cpu free."
    )
    statement.discard()
    assert choose(opened, "big-0") == ["n1"], "a node was touched, so it is asked again"


def test_no_scores_are_worked_out_for_a_class_that_no_node_takes() -> None:
    opened = open_session(
        node("n1", cpu="4"),
        gang("big", cpu="3"),
        gang("x", cpu="2"),
        tiers=[[type("Curious", (Curious,), {})]],
    )
    plugin = opened.plugin(Curious)
    statement = opened.place("x", {"x-0": "n1"})
    assert not choose(opened, "big-0")
    assert (plugin.predicates, plugin.scores) == ([1], [])
    statement.discard()
    assert choose(opened, "big-0") == ["n1"]
    assert plugin.scores == [1]


class Patient(Curious):
    """Refuses every node for a reason that passes, when asked of nodes as they are."""

    name = "patient"

    def predicate(self, task_class: TaskClass, view: NodeView) -> Codes:
        self.predicates.append(len(view))
        code = self.ssn.refusal(Reason.NODES_REFUSE, "not yet", transient=True)
        return np.full(len(view), 0 if view.released else code, dtype=np.int32)

    def on_session_open(self, ssn: Session) -> None:
        super().on_session_open(ssn)
        self.ssn = ssn


@pytest.mark.parametrize(("leaving", "asked"), [(False, [2]), (True, [2, 2])], ids=["nothing leaves", "a pod leaves"])
def test_nodes_are_asked_about_later_only_if_something_will_have_changed(leaving: bool, asked: list[int]) -> None:
    opened = open_session(
        node("n1", cpu="4"),
        node("n2", cpu="4"),
        pod("old", cpu="1", on="n1", deleting=leaving),
        gang("a", cpu="1"),
        tiers=[[Patient]],
    )
    choose(opened, "a-0")
    assert opened.plugin(Patient).predicates == asked


def test_nodes_that_do_not_exist_are_refused_without_asking_plugins() -> None:
    opened = open_session(node("n1", cpu="1"), pod("ghostly", cpu="1", on="ghost"), gang("a", cpu="2"))
    assert not choose(opened, "a-0")
    error = opened.ssn.placer.misfit(opened.task("a-0").task_class)
    assert (error.nodes, error.counts) == (1, {"Insufficient cpu": 1})


# -- what is being released --------------------------------------------------------------------------------------


def test_free_resources_come_before_those_that_are_being_released() -> None:
    opened = open_session(
        node("n1", cpu="4"),
        node("n2", cpu="4"),
        pod_group("old"),
        pod("old-0", group="old", cpu="3", on="n1", deleting=True),
        gang("a", pods=3, cpu="3"),
    )
    task_class = opened.task("a-0").task_class
    free = opened.ssn.placer.choose(task_class, 3)
    assert (free.pipelined, len(free.nodes)) == (False, 1)
    opened.place("a", {"a-0": "n2"})
    promised = opened.ssn.placer.choose(task_class, 2)
    assert promised.pipelined
    assert [opened.ssn.snapshot.nodes[row].name for row in promised.nodes.tolist()] == ["n1"]
    opened.pipeline("a", {"a-1": "n1"})
    assert not len(opened.ssn.placer.choose(task_class, 1).nodes)


def test_what_is_promised_to_one_is_not_free_for_another() -> None:
    """n1: 4 cpu, of which 1 is free and 3 are being released; 4 are promised, so the free one is taken, too."""
    opened = open_session(
        node("n1", cpu="4"),
        pod_group("old"),
        pod("old-0", group="old", cpu="3", on="n1", deleting=True),
        gang("large", cpu="4"),
        gang("small", cpu="1"),
    )
    assert choose(opened, "small-0") == ["n1"]
    opened.pipeline("large", {"large-0": "n1"})
    assert choose(opened, "small-0") == []


def test_an_eviction_makes_room_in_the_future_only() -> None:
    opened = open_session(node("n1", cpu="4"), gang("v", cpu="4", running_on=["n1"]), gang("p", cpu="4"))
    task_class = opened.task("p-0").task_class
    assert not len(opened.ssn.placer.choose(task_class, 1).nodes)
    statement = opened.evict("v-0")
    choice = opened.ssn.placer.choose(task_class, 1)
    assert (choice.pipelined, len(choice.nodes)) == (True, 1)
    statement.discard()
    assert not len(opened.ssn.placer.choose(task_class, 1).nodes)


def test_a_node_that_shrank_below_what_it_holds_takes_no_pod_and_affects_nothing_else() -> None:
    opened = open_session(
        node("n1", cpu="2"), node("n2", cpu="2"), gang("v", pods=3, cpu="1", running_on=["n1"] * 3), gang("p", cpu="1")
    )
    assert choose(opened, "p-0") == ["n2"]


# -- nominated nodes ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("free", "pipelined", "placed"),
    [pytest.param("4", False, 1, id="free"), pytest.param("1", True, 1, id="being released")],
)
def test_one_node_can_be_asked_for(free: str, pipelined: bool, placed: int) -> None:
    held = str(4 - int(free)) if free != "4" else "0"
    opened = open_session(
        node("n1"), node("n2", cpu="4"), pod("old", cpu=held, on="n2", deleting=True), gang("p", cpu="4")
    )
    choice = opened.ssn.placer.choose_on(opened.task("p-0").task_class, opened.node_row("n2"))
    assert (choice.pipelined, len(choice.nodes)) == (pipelined, placed)


def test_a_node_that_refuses_or_is_full_is_not_taken_because_it_was_asked_for() -> None:
    class NotOnTwo(Plugin):
        name = "not-on-two"

        def on_session_open(self, ssn: Session) -> None:
            self.code = ssn.refusal(Reason.NODES_REFUSE, "no")
            self.refused = ssn.nodes.rows["n2"]

        def predicate(self, task_class: TaskClass, view: NodeView) -> Codes:
            return np.where(view.rows == self.refused, self.code, 0).astype(np.int32)

    opened = open_session(node("n1", cpu="1"), node("n2"), gang("p", cpu="4"), tiers=[[NotOnTwo]])
    task_class = opened.task("p-0").task_class
    for name in ("n1", "n2"):
        assert not len(opened.ssn.placer.choose_on(task_class, opened.node_row(name)).nodes)


# -- explanations ------------------------------------------------------------------------------------------------


def misfit(opened: Opened) -> tuple[Reason, str]:
    refusal = opened.ssn.placer.misfit(opened.task("p-0").task_class).refusal
    return refusal.reason, refusal.message


def test_a_pod_larger_than_every_node_never_fits() -> None:
    reason, message = misfit(open_session(node("n1", cpu="4"), node("n2", cpu="8"), gang("p", cpu="9")))
    assert reason is Reason.NEVER_FITS
    assert message == (
        "0/2 nodes are unavailable: 2 Insufficient cpu. The pod asks for 9 cpu; the largest node, n2, has 8 cpu even "
        "when"
        " empty: ask for less or add a larger node."
    )


def test_a_resource_that_no_node_offers_is_named() -> None:
    gpu: dict[str, Any] = {"nvidia.com/gpu": "1"}
    reason, message = misfit(open_session(node("n1"), gang("p", cpu="1", **gpu)))
    assert reason is Reason.NEVER_FITS
    assert message == (
        "0/1 nodes are unavailable: 1 Insufficient nvidia.com/gpu. The pod asks for 1 nvidia.com/gpu; no node offers"
        " nvidia.com/gpu: remove the request or add a node that does."
    )


def test_what_no_single_node_has_together_never_fits_and_says_so() -> None:
    wide, deep = node("wide", cpu="16", memory="8Gi"), node("deep", cpu="4", memory="64Gi")
    reason, message = misfit(open_session(wide, deep, gang("p", cpu="8", memory="32Gi")))
    assert reason is Reason.NEVER_FITS
    assert message == (
        "0/2 nodes are unavailable: 1 Insufficient cpu, 1 Insufficient memory. The pod asks for 8 cpu, 32Gi memory; no"
        " single node has all of that even when empty: ask for less or add a larger node."
    )


TAKEN = Taint(key="gpu", effect="NoSchedule")


def test_what_only_a_node_has_that_refuses_for_good_is_not_denied_it() -> None:
    gpu: dict[str, Any] = {"nvidia.com/gpu": "1"}
    large = node("large", cpu="64", memory="64Gi", taints=[TAKEN], **gpu)
    small = node("small", cpu="8", memory="64Gi")

    def never_fits(**asked: Any) -> str:
        _, message = misfit(open_session(small, large, gang("p", **asked), tiers=[[Predicates]]))
        return message.partition("The pod ")[2].partition(": ")[0]

    assert never_fits(cpu="1", **gpu) == "asks for 1 nvidia.com/gpu; no suitable node offers nvidia.com/gpu"
    assert never_fits(cpu="9") == ("asks for 9 cpu; the largest suitable node, small, has 8 cpu even when empty")
    assert never_fits(memory="65Gi") == (
        "asks for 65Gi memory; the largest node, small, has 64Gi memory even when empty"
    )


def test_a_full_cluster_is_reported_with_what_is_free_at_best() -> None:
    opened = open_session(
        node("n1", cpu="8"),
        node("n2", cpu="8"),
        gang("v", pods=2, cpu="5", running_on=["n1", "n2"]),
        gang("p", cpu="4"),
    )
    assert misfit(opened) == (
        Reason.NODES_REFUSE,
        "0/2 nodes are unavailable: 2 Insufficient cpu. The pod asks for 4 cpu; the emptiest node, n1, has 3 cpu free.",
    )


def test_of_equal_nodes_the_first_by_name_is_reported_however_they_are_listed() -> None:
    nodes = [node(name, cpu="8") for name in ("n3", "n1", "n2")]
    assert "the largest node, n1, has 8 cpu" in misfit(open_session(nodes, gang("p", cpu="9")))[1]
    busy = [pod(f"v{index}", cpu="5", on=f"n{index}") for index in (1, 2, 3)]
    assert "the emptiest node, n1, has 3 cpu free" in misfit(open_session(nodes, busy, gang("p", cpu="4")))[1]


def test_a_cluster_without_nodes_says_so() -> None:
    assert misfit(open_session(gang("p", cpu="4"))) == (
        Reason.NODES_REFUSE,
        "0/0 nodes are unavailable: there are no nodes.",
    )


def test_nodes_without_places_for_pods_say_too_many() -> None:
    opened = open_session(node("n1", pods="1"), pod("old", on="n1"), gang("p", cpu="4"))
    assert misfit(opened) == (Reason.NODES_REFUSE, "0/1 nodes are unavailable: 1 Too many pods.")


def test_nodes_that_offer_no_places_for_pods_at_all_say_what_they_lack() -> None:
    opened = open_session(node("n1", pods="0"), node("n2", pods="0"), gang("p", cpu="4"))
    reason, message = misfit(opened)
    assert reason is Reason.NEVER_FITS
    assert message == (
        "0/2 nodes are unavailable: 2 Too many pods. The pod asks for 1 pod; no node offers pods: add a "
        "node, or set status.allocatable.pods of one (on a real node, maxPods of its kubelet)."
    )


def test_no_node_with_places_for_pods_may_be_large_enough_for_one() -> None:
    opened = open_session(node("n1", cpu="8", pods="0"), node("n2", cpu="2"), gang("p", cpu="4"))
    reason, message = misfit(opened)
    assert reason is Reason.NEVER_FITS
    assert message == (
        "0/2 nodes are unavailable: 1 Insufficient cpu, 1 Too many pods. The pod asks for 4 cpu, 1 pod; no single node "
        "has all of that even when empty: ask for less or add a larger node."
    )
