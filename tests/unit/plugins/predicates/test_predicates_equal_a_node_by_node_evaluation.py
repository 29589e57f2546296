"""The columns of predicates say what kube-scheduler's rules say when each node is looked at by itself."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.placement.node_answers import answers, class_of, node_rows
from tests.support.sessions import node, open_session, pod, pod_group
from volcano_py.api.objects import (
    Affinity,
    Node,
    NodeAffinity,
    NodeSelector,
    NodeSelectorTerm,
    Pod,
    SelectorRequirement,
    Taint,
    Toleration,
)
from volcano_py.framework.views import NodeView
from volcano_py.plugins.predicates import Predicates

KEYS = ["zone", "gen", "arch"]
VALUES = ["a", "b", "", "1", "2", "10"]
EFFECTS = ["NoSchedule", "NoExecute", "PreferNoSchedule"]
TAINT_KEYS = ["dedicated", "node.kubernetes.io/unschedulable"]

labels = st.dictionaries(st.sampled_from(KEYS), st.sampled_from(VALUES), max_size=3)
taints = st.lists(
    st.builds(Taint, key=st.sampled_from(TAINT_KEYS), value=st.sampled_from(VALUES), effect=st.sampled_from(EFFECTS)),
    max_size=3,
)
tolerations = st.lists(
    st.builds(
        Toleration,
        key=st.sampled_from(["", *TAINT_KEYS]),
        operator=st.sampled_from(["", "Equal", "Exists", "Gt", "Lt"]),
        value=st.sampled_from(VALUES),
        effect=st.sampled_from(["", *EFFECTS]),
    ).filter(lambda drawn: drawn.operator not in ("Gt", "Lt") or drawn.value.isdigit()),
    max_size=3,
)
keys = st.sampled_from([*KEYS, "unheard-of"])
expressions = st.one_of(
    st.builds(
        SelectorRequirement,
        key=keys,
        operator=st.sampled_from(["In", "NotIn"]),
        values=st.lists(st.sampled_from(VALUES), min_size=1, max_size=3),
    ),
    st.builds(SelectorRequirement, key=keys, operator=st.sampled_from(["Exists", "DoesNotExist"])),
    st.builds(
        SelectorRequirement,
        key=keys,
        operator=st.sampled_from(["Gt", "Lt"]),
        values=st.lists(st.sampled_from(["0", "1", "2"]), min_size=1, max_size=1),
    ),
)
fields = st.builds(
    SelectorRequirement,
    key=st.just("metadata.name"),
    operator=st.sampled_from(["In", "NotIn"]),
    values=st.lists(st.sampled_from(["n0", "n1", "gone"]), min_size=1, max_size=1),
)
terms = st.builds(
    NodeSelectorTerm,
    match_expressions=st.lists(expressions, max_size=3),
    match_fields=st.lists(fields, max_size=1),
)
selectors = st.none() | st.builds(NodeSelector, node_selector_terms=st.lists(terms, max_size=3))
nodes = st.lists(st.tuples(labels, taints, st.booleans()), min_size=1, max_size=6).map(
    lambda drawn: [
        node(f"n{number}", labels=its_labels, taints=its_taints, unschedulable=cordoned)
        for number, (its_labels, its_taints, cordoned) in enumerate(drawn)
    ]
)
pods = st.builds(
    lambda chosen, selector, tolerated: pod(
        "p",
        group="g",
        node_selector=chosen,
        tolerations=tolerated,
        affinity=None if selector is None else Affinity(node_affinity=NodeAffinity(required=selector)),
    ),
    labels,
    selectors,
    tolerations,
)


# -- the rules, one node at a time ----------------------------------------------------------------------------------


def says(node: Node, pod: Pod) -> str:
    if node.spec.unschedulable and not tolerated(pod, Taint(key=TAINT_KEYS[1], effect="NoSchedule")):
        return "node(s) were unschedulable"
    if not matches(node, pod):
        return "node(s) didn't match Pod's node affinity/selector"
    for taint in node.spec.taints:
        if taint.effect != "PreferNoSchedule" and not tolerated(pod, taint):
            return f"node(s) had untolerated taint {{{taint.key}: {taint.value}}}"
    return ""


def matches(node: Node, pod: Pod) -> bool:
    if any(node.metadata.labels.get(key) != value for key, value in pod.spec.node_selector.items()):
        return False
    affinity = pod.spec.affinity
    if affinity is None or affinity.node_affinity is None or affinity.node_affinity.required is None:
        return True
    return any(matches_term(node, term) for term in affinity.node_affinity.required.node_selector_terms)


def matches_term(node: Node, term: NodeSelectorTerm) -> bool:
    if not term.match_expressions and not term.match_fields:
        return False
    by_label = all(holds(node.metadata.labels, requirement) for requirement in term.match_expressions)
    by_field = all(holds({"metadata.name": node.metadata.name}, requirement) for requirement in term.match_fields)
    return by_label and by_field


def holds(labels: dict[str, str], requirement: SelectorRequirement) -> bool:
    value = labels.get(requirement.key)
    match requirement.operator:
        case "In":
            return value in requirement.values
        case "NotIn":
            return value not in requirement.values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case operator:
            return value is not None and beyond(value, operator, requirement.values[0])


def beyond(value: str, operator: str, bound: str) -> bool:
    try:
        return int(value) > int(bound) if operator == "Gt" else int(value) < int(bound)
    except ValueError:
        return False


def tolerated(pod: Pod, taint: Taint) -> bool:
    for toleration in pod.spec.tolerations:
        if toleration.effect not in ("", taint.effect) or toleration.key not in ("", taint.key):
            continue
        if toleration.operator == "Exists":
            return True
        if toleration.operator in ("Gt", "Lt"):
            if beyond(taint.value, toleration.operator, toleration.value):
                return True
        elif toleration.value == taint.value:
            return True
    return False


# -- the properties -------------------------------------------------------------------------------------------------


@settings(deadline=None)
@given(nodes, pods)
def test_all_nodes_at_once_equal_one_node_after_the_other(cluster: list[Node], asking: Pod) -> None:
    opened = open_session(cluster, pod_group("g"), asking, tiers=[[Predicates]])
    assert opened.ssn.ask.pre_predicate(class_of(opened, "p")) is None
    assert answers(opened, Predicates, "p") == {each.metadata.name: says(each, asking) for each in cluster}


@settings(deadline=None, max_examples=50)
@given(nodes, pods, st.data())
def test_an_answer_depends_on_the_node_and_not_on_the_other_nodes(
    cluster: list[Node], asking: Pod, data: st.DataObject
) -> None:
    opened = open_session(cluster, pod_group("g"), asking, tiers=[[Predicates]])
    rows = node_rows(opened)
    picked = np.array(data.draw(st.lists(st.sampled_from(rows.tolist()), min_size=1, max_size=8)), dtype=np.intp)
    plugin, task_class, table = opened.plugin(Predicates), class_of(opened, "p"), opened.ssn.ledger.nodes
    some, every = (plugin.predicate(task_class, NodeView(table, chosen)) for chosen in (picked, rows))
    by_row = dict(zip(rows.tolist(), every.tolist(), strict=True))
    assert some.tolist() == [by_row[row] for row in picked.tolist()]
