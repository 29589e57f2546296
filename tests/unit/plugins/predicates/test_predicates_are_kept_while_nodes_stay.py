"""What nodes say to a pod is worked out once for all pods that ask for the same, and survives the cycle."""

from __future__ import annotations

import pytest

from tests.support.placement.node_answers import class_of, node_rows
from tests.support.sessions import Opened, node, open_session, pod, pod_group
from volcano_py.api.objects import Taint, Toleration
from volcano_py.framework.registry import Registry
from volcano_py.framework.session import Session
from volcano_py.framework.views import NodeView
from volcano_py.plugins.predicates import Predicates, plugin, verdicts
from volcano_py.state.nodes.index import NodeIndex
from volcano_py.state.task_class import TaskClass

TIERS = [[Predicates]]


@pytest.fixture
def judged(monkeypatch: pytest.MonkeyPatch) -> list[TaskClass]:
    """The classes for which all nodes were asked."""
    asked: list[TaskClass] = []

    def spy(index: NodeIndex, task_class: TaskClass, questions: verdicts.Questions) -> verdicts.Verdict:
        asked.append(task_class)
        return verdicts.judge(index, task_class, questions)

    monkeypatch.setattr(plugin, "judge", spy)
    return asked


def ask(opened: Opened, ssn: Session, name: str) -> list[str]:
    """What all nodes say in that session."""
    [predicates] = ssn.dispatch.plugins
    codes = predicates.predicate(class_of(opened, name), NodeView(ssn.ledger.nodes, node_rows(opened)))
    return [ssn.refusal_of(code).message if code else "" for code in codes.tolist()]


def cluster() -> Opened:
    tolerant = [Toleration(key="dedicated", operator="Exists")]
    return open_session(
        node("n1", labels={"zone": "a"}),
        node("n2", labels={"zone": "b"}, taints=[Taint(key="dedicated", value="ml", effect="NoSchedule")]),
        pod_group("g"),
        pod("small", group="g", cpu="1", node_selector={"zone": "b"}),
        pod("large", group="g", cpu="2", node_selector={"zone": "b"}),
        pod("tolerant", group="g", cpu="1", node_selector={"zone": "b"}, tolerations=tolerant),
        tiers=TIERS,
    )


def test_classes_that_ask_for_the_same_share_a_verdict(judged: list[TaskClass]) -> None:
    opened = cluster()
    for name in ("small", "large", "small", "tolerant"):
        ask(opened, opened.ssn, name)
    assert [judged_class.request[0] for judged_class in judged] == [1000, 1000]


def test_the_next_cycle_finds_it_there_with_its_own_words(judged: list[TaskClass]) -> None:
    opened = cluster()
    first = ask(opened, opened.ssn, "small")
    ssn = opened.ssn
    again = Session(
        ssn.snapshot,
        ssn.configuration,
        Registry.of([Predicates], []),
        node_index=ssn.nodes,
        emit=lambda effects: None,
        tie_rank=ssn.nodes.name_rank,
    )
    assert ask(opened, again, "small") == first
    assert len(judged) == 1


def test_another_configuration_asks_again() -> None:
    opened = cluster()
    strict, lenient = (
        verdicts.verdict_key(class_of(opened, "small"), verdicts.Questions(taints=taints)) for taints in (True, False)
    )
    assert strict != lenient
