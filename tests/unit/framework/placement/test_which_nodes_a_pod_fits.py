"""The one question that explanations and comparisons ask: which nodes would take a pod as things stand."""

from __future__ import annotations

from tests.support.sessions import Opened, gang, node, open_session, pod
from volcano_py.api.objects import Taint
from volcano_py.plugins.predicates.plugin import Predicates


def fitting(opened: Opened, name: str) -> list[str]:
    task_class = opened.ssn.task_class(int(opened.rows(name)[0]))
    return [opened.ssn.snapshot.nodes[row].name for row in opened.ssn.placer.feasible(task_class).tolist()]


def test_a_pod_fits_nodes_that_do_not_refuse_it_and_have_room() -> None:
    opened = open_session(
        node("free", cpu="2"),
        node("full", cpu="2"),
        node("small", cpu="1"),
        node("cordoned", cpu="2", unschedulable=True),
        node("tainted", cpu="2", taints=[Taint(key="dedicated", effect="NoSchedule")]),
        pod("other", on="full", cpu="1"),
        gang("train", cpu="2"),
        tiers=[[Predicates]],
    )
    assert fitting(opened, "train-0") == ["free"]


def test_it_is_asked_again_after_pods_were_placed() -> None:
    opened = open_session(node("n1", cpu="3"), gang("train", pods=2, cpu="2"), tiers=[[Predicates]])
    assert fitting(opened, "train-1") == ["n1"]
    opened.place("train", {"train-0": "n1"})
    assert fitting(opened, "train-1") == []
