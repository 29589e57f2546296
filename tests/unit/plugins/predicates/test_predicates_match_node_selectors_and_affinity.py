"""spec.nodeSelector and required node affinity choose nodes as kube-scheduler does."""

from __future__ import annotations

import pytest

from tests.support.placement.node_answers import answers, willing
from tests.support.sessions import node, open_session, pod, pod_group
from volcano_py.api.objects import Affinity, NodeAffinity, NodeSelector, NodeSelectorTerm, SelectorRequirement
from volcano_py.plugins.predicates import Predicates

MISMATCH = "node(s) didn't match Pod's node affinity/selector"

NODES = [
    node("n1", labels={"zone": "a", "gpus": "8", "empty": ""}),
    node("n2", labels={"zone": "b", "gpus": "2"}),
    node("n3", labels={"zone": "c", "gpus": "many"}),
    node("n4"),
]


def requirement(key: str, operator: str, *values: str) -> SelectorRequirement:
    return SelectorRequirement(key=key, operator=operator, values=list(values))


def term(*expressions: SelectorRequirement, fields: tuple[SelectorRequirement, ...] = ()) -> NodeSelectorTerm:
    return NodeSelectorTerm(match_expressions=list(expressions), match_fields=list(fields))


def required(*terms: NodeSelectorTerm) -> Affinity:
    return Affinity(node_affinity=NodeAffinity(required=NodeSelector(node_selector_terms=list(terms))))


def nodes_for(affinity: Affinity | None, node_selector: dict[str, str] | None = None, **arguments: bool) -> list[str]:
    asking = pod("p", group="g", cpu="1", affinity=affinity, node_selector=node_selector)
    entry = {"arguments": {f"predicate.{name}": value for name, value in arguments.items()}}
    opened = open_session(NODES, pod_group("g"), asking, tiers=[[(Predicates, entry)]])
    return willing(opened, Predicates, "p")


@pytest.mark.parametrize(
    ("operator", "values", "matching"),
    [
        pytest.param("In", ["a", "b", "nowhere"], ["n1", "n2"], id="In: one of the values"),
        pytest.param("NotIn", ["a", "b"], ["n3", "n4"], id="NotIn: another value, or no such label"),
        pytest.param("Exists", [], ["n1", "n2", "n3"], id="Exists: any value"),
        pytest.param("DoesNotExist", [], ["n4"], id="DoesNotExist: no such label"),
    ],
)
def test_a_label_is_compared_by_the_operator(operator: str, values: list[str], matching: list[str]) -> None:
    assert nodes_for(required(term(requirement("zone", operator, *values)))) == matching


@pytest.mark.parametrize(
    ("operator", "value", "matching"),
    [
        ("Gt", "1", ["n1", "n2"]),
        ("Gt", "2", ["n1"]),
        ("Gt", "007", ["n1"]),
        ("Gt", "8", []),
        ("Lt", "8", ["n2"]),
        ("Lt", "2", []),
        ("Lt", "9223372036854775807", ["n1", "n2"]),
    ],
)
def test_gt_and_lt_compare_integers_and_any_other_label_matches_neither(
    operator: str, value: str, matching: list[str]
) -> None:
    assert nodes_for(required(term(requirement("gpus", operator, value)))) == matching


def test_a_label_beyond_int64_is_no_integer() -> None:
    opened = open_session(
        node("huge", labels={"gpus": "9223372036854775808"}),
        pod_group("g"),
        pod("p", group="g", affinity=required(term(requirement("gpus", "Gt", "0")))),
        tiers=[[Predicates]],
    )
    assert willing(opened, Predicates, "p") == []


def test_an_empty_value_is_a_value() -> None:
    assert nodes_for(required(term(requirement("empty", "In", "")))) == ["n1"]


def test_terms_are_alternatives() -> None:
    terms = term(requirement("zone", "In", "a")), term(requirement("zone", "DoesNotExist"))
    assert nodes_for(required(*terms)) == ["n1", "n4"]


def test_all_requirements_of_a_term_must_hold_fields_included() -> None:
    in_a_or_b = requirement("zone", "In", "a", "b")
    assert nodes_for(required(term(in_a_or_b, requirement("gpus", "Gt", "2")))) == ["n1"]
    assert nodes_for(required(term(in_a_or_b, fields=(requirement("metadata.name", "In", "n2"),)))) == ["n2"]
    assert nodes_for(required(term(in_a_or_b, fields=(requirement("metadata.name", "In", "n3"),)))) == []


def test_fields_match_the_name_of_the_node() -> None:
    assert nodes_for(required(term(fields=(requirement("metadata.name", "In", "n3"),)))) == ["n3"]
    assert nodes_for(required(term(fields=(requirement("metadata.name", "NotIn", "n3"),)))) == ["n1", "n2", "n4"]
    assert nodes_for(required(term(fields=(requirement("metadata.name", "NotIn", "gone"),)))) == [
        "n1",
        "n2",
        "n3",
        "n4",
    ]


@pytest.mark.parametrize("affinity", [required(term()), required()], ids=["an empty term", "no terms"])
def test_an_empty_term_and_an_empty_list_of_terms_match_nothing(affinity: Affinity) -> None:
    assert nodes_for(affinity) == []


def test_an_empty_term_does_not_spoil_its_alternatives() -> None:
    assert nodes_for(required(term(), term(requirement("zone", "In", "a")))) == ["n1"]


@pytest.mark.parametrize(
    ("labels", "matching"),
    [
        ({}, ["n1", "n2", "n3", "n4"]),
        ({"zone": "a"}, ["n1"]),
        ({"zone": "a", "gpus": "8"}, ["n1"]),
        ({"zone": "a", "gpus": "2"}, []),
        ({"empty": ""}, ["n1"]),
        ({"unheard-of": "a"}, []),
    ],
)
def test_every_label_of_the_node_selector_must_be_equal(labels: dict[str, str], matching: list[str]) -> None:
    assert nodes_for(None, labels) == matching


def test_node_selector_and_affinity_must_both_hold() -> None:
    affinity = required(term(requirement("zone", "In", "a", "b")))
    assert nodes_for(affinity, {"gpus": "2"}) == ["n2"]
    assert nodes_for(affinity, {"gpus": "many"}) == []


def test_with_the_switch_off_neither_is_respected() -> None:
    affinity = required(term(requirement("zone", "In", "nowhere")))
    assert nodes_for(affinity, {"zone": "nowhere"}, NodeAffinityEnable=False) == ["n1", "n2", "n3", "n4"]


def test_a_node_that_does_not_match_says_so_in_kube_schedulers_words() -> None:
    opened = open_session(NODES, pod_group("g"), pod("p", group="g", node_selector={"zone": "a"}), tiers=[[Predicates]])
    assert answers(opened, Predicates, "p") == {"n1": "", "n2": MISMATCH, "n3": MISMATCH, "n4": MISMATCH}
    assert opened.ssn.placer.misfit(opened.ssn.task_class(int(opened.rows("p")[0]))).counts[MISMATCH] == 3
