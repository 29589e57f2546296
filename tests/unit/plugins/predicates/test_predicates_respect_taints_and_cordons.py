"""Tainted and cordoned nodes take only pods that tolerate it, as in kube-scheduler."""

from __future__ import annotations

import pytest

from tests.support.placement.node_answers import answers, willing
from tests.support.sessions import Opened, node, open_session, pod, pod_group
from volcano_py.api.objects import Taint, Toleration
from volcano_py.plugins.predicates import Predicates

ML = Taint(key="dedicated", value="ml", effect="NoSchedule")
LOST = Taint(key="node.kubernetes.io/unreachable", effect="NoExecute")
CORDON = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")


def session(*tolerations: Toleration, **arguments: bool) -> Opened:
    entry = {"arguments": {f"predicate.{name}": value for name, value in arguments.items()}}
    return open_session(
        node("clean"),
        node("ml", taints=[ML]),
        node("ml-lost", taints=[ML, LOST]),
        node("soft", taints=[Taint(key="old", effect="PreferNoSchedule")]),
        pod_group("g"),
        pod("p", group="g", tolerations=tolerations),
        tiers=[[(Predicates, entry)]],
    )


def test_the_first_untolerated_taint_is_reported_in_kube_schedulers_words() -> None:
    assert answers(session(), Predicates, "p") == {
        "clean": "",
        "ml": "node(s) had untolerated taint {dedicated: ml}",
        "ml-lost": "node(s) had untolerated taint {dedicated: ml}",
        "soft": "",
    }
    tolerant = session(Toleration(key="dedicated", operator="Exists"))
    assert answers(tolerant, Predicates, "p") == {
        "clean": "",
        "ml": "",
        "ml-lost": "node(s) had untolerated taint {node.kubernetes.io/unreachable: }",
        "soft": "",
    }


@pytest.mark.parametrize(
    ("toleration", "tolerated"),
    [
        pytest.param(Toleration(key="dedicated", operator="Equal", value="ml", effect="NoSchedule"), True, id="equal"),
        pytest.param(Toleration(key="dedicated", value="ml"), True, id="no operator is Equal, no effect is all"),
        pytest.param(Toleration(key="dedicated", operator="Equal", value="web"), False, id="another value"),
        pytest.param(Toleration(key="dedicated", operator="Equal"), False, id="no value is the empty value"),
        pytest.param(Toleration(key="dedicated", operator="Exists", effect="NoSchedule"), True, id="any value"),
        pytest.param(Toleration(key="dedicated", operator="Exists", effect="NoExecute"), False, id="another effect"),
        pytest.param(Toleration(key="devoted", operator="Exists"), False, id="another key"),
        pytest.param(Toleration(operator="Exists"), True, id="no key is all keys"),
        pytest.param(Toleration(operator="Exists", effect="NoSchedule"), True, id="all keys of the effect"),
        pytest.param(Toleration(operator="Exists", effect="NoExecute"), False, id="all keys of another effect"),
        pytest.param(Toleration(key="dedicated", operator="Like", value="ml"), False, id="unknown operator"),
    ],
)
def test_a_toleration_matches_by_key_operator_value_and_effect(toleration: Toleration, tolerated: bool) -> None:
    assert ("ml" in willing(session(toleration), Predicates, "p")) is tolerated


@pytest.mark.parametrize(
    ("taint_value", "operator", "value", "tolerated"),
    [
        ("950", "Gt", "900", True),
        ("900", "Gt", "900", False),
        ("850", "Lt", "900", True),
        ("900", "Lt", "900", False),
        ("gold", "Gt", "900", False),
        ("950", "Gt", "silver", False),
    ],
)
def test_tolerations_may_compare_integers(taint_value: str, operator: str, value: str, tolerated: bool) -> None:
    opened = open_session(
        node("n1", taints=[Taint(key="sla", value=taint_value, effect="NoSchedule")]),
        pod_group("g"),
        pod("p", group="g", tolerations=[Toleration(key="sla", operator=operator, value=value)]),
        tiers=[[Predicates]],
    )
    assert bool(willing(opened, Predicates, "p")) is tolerated


def test_each_taint_may_be_tolerated_by_another_toleration() -> None:
    both = [Toleration(key=ML.key, operator="Exists"), Toleration(key=LOST.key, operator="Exists")]
    assert willing(session(*both), Predicates, "p") == ["clean", "ml", "ml-lost", "soft"]


def test_taints_are_not_looked_at_when_switched_off() -> None:
    assert willing(session(TaintTolerationEnable=False), Predicates, "p") == ["clean", "ml", "ml-lost", "soft"]


def cordoned(*tolerations: Toleration, **arguments: bool) -> dict[str, str]:
    entry = {"arguments": {f"predicate.{name}": value for name, value in arguments.items()}}
    opened = open_session(
        node("bare", unschedulable=True),
        node("open"),
        node("tainted", unschedulable=True, taints=[CORDON, ML], labels={"zone": "b"}),
        pod_group("g"),
        pod("p", group="g", tolerations=tolerations),
        tiers=[[(Predicates, entry)]],
    )
    return answers(opened, Predicates, "p")


def test_a_cordoned_node_says_so_before_anything_else() -> None:
    refused = "node(s) were unschedulable"
    assert cordoned() == {"bare": refused, "open": "", "tainted": refused}
    assert cordoned(Toleration(key="dedicated", operator="Exists"))["tainted"] == refused


def test_a_pod_that_tolerates_the_cordons_taint_may_go_there() -> None:
    assert cordoned(Toleration(key=CORDON.key, operator="Exists", effect="NoSchedule")) == {
        "bare": "",
        "open": "",
        "tainted": "node(s) had untolerated taint {dedicated: ml}",
    }
    assert set(cordoned(Toleration(operator="Exists")).values()) == {""}
    assert cordoned(Toleration(key=CORDON.key, operator="Exists", effect="NoExecute"))["bare"] != ""


def test_cordons_hold_whatever_is_switched_off() -> None:
    everything_off = {"TaintTolerationEnable": False, "NodeAffinityEnable": False, "NodePortsEnable": False}
    assert cordoned(**everything_off)["bare"] == "node(s) were unschedulable"
