"""A pod that no node takes gets a message that says which of its preferences no node meets, what nodes have instead,
and what would help.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.sessions import Objects, node, open_session, pod, pod_group
from tests.unit.plugins.predicates.test_predicates_match_node_selectors_and_affinity import required, requirement, term
from volcano_py.api.objects import Affinity, Taint, Toleration
from volcano_py.plugins.predicates import Predicates

GPUS = [
    node("n1", labels={"gpu": "h100", "zone": "a"}),
    node("n2", labels={"gpu": "h100", "zone": "a"}),
    node("n3", labels={"gpu": "v100", "zone": "b", "cores": "8"}),
    node("n4", labels={"zone": "b", "cores": "many"}),
]


def reported(*nodes: Objects, **asked: Any) -> str:
    """The pod's message after the summary."""
    asking = pod("p", group="g", **{"cpu": "1", **asked})
    opened = open_session(*nodes, pod_group("g"), asking, tiers=[[Predicates]])
    message = opened.ssn.placer.misfit(opened.task("p").task_class).refusal.message
    return message.replace("\n", " ").partition(" are unavailable: ")[2].partition(". ")[2]


def of_labels(affinity: Affinity | None = None, **node_selector: str) -> str:
    return reported(GPUS, affinity=affinity, node_selector=node_selector)


# -- labels ----------------------------------------------------------------------------------------------------------


def test_a_value_that_no_node_has_is_reported_with_those_that_nodes_have() -> None:
    assert of_labels(gpu="a100") == (
        "nodeSelector requires a node that has label gpu=a100, and none does; nodes have gpu=h100 (2), gpu=v100 (1): "
        "label a node or correct the pod."
    )


def test_a_label_that_no_node_has_is_reported() -> None:
    assert of_labels(disk="ssd") == (
        "nodeSelector requires a node that has label disk=ssd, and none does; no node has such a label: label a node "
        "or correct the pod."
    )


def test_of_many_values_the_most_frequent_are_reported() -> None:
    nodes = [node(f"n{number}", labels={"rack": str(number // 2)}) for number in range(9)]
    assert "nodes have rack=0 (2), rack=1 (2), rack=2 (2) and 2 more:" in reported(nodes, node_selector={"rack": "x"})


def test_requirements_that_no_single_node_meets_are_reported_together() -> None:
    assert of_labels(gpu="v100", zone="a") == (
        "nodeSelector requires a node that has label gpu=v100 (1) and has label zone=a (2), and no node meets all of "
        "these: label a "
        "node or correct the pod."
    )


@pytest.mark.parametrize(
    ("operator", "values", "words"),
    [
        ("In", ["a100", "b200"], "has label gpu in (a100, b200), and none does; nodes have gpu=h100 (2), gpu=v100 (1)"),
        ("Gt", ["9"], "has label gpu above 9, and none does; nodes have gpu=h100 (2), gpu=v100 (1)"),
    ],
)
def test_the_operator_of_a_required_affinity_is_reported(operator: str, values: list[str], words: str) -> None:
    assert of_labels(required(term(requirement("gpu", operator, *values)))).startswith(
        f"nodeAffinity requires a node that {words}: label"
    )


def test_labels_that_nodes_must_not_have_are_reported() -> None:
    without = [requirement("zone", "NotIn", "a", "b")]
    assert "that is without label zone in (a, b), and none does; nodes have zone=a (2), zone=b (2):" in (
        of_labels(required(term(*without)))
    )
    assert "that has no label zone, and none does; nodes" in of_labels(
        required(term(requirement("zone", "DoesNotExist")))
    )


def test_a_node_that_is_named_and_does_not_exist_is_reported() -> None:
    by_name = requirement("metadata.name", "In", "n9")
    assert "requires a node that is named n9, and none does: label" in of_labels(required(term(fields=(by_name,))))


def test_each_term_of_an_affinity_is_another_way() -> None:
    affinity = required(*(term(requirement("gpu", "In", value)) for value in ("a100", "b200", "c300", "d400")))
    assert of_labels(affinity, zone="a") == (
        "nodeSelector and nodeAffinity require a node that has label gpu=a100, and none does; nodes have gpu=h100 (2), "
        "gpu=v100 (1); or that has label gpu=b200, and none does; nodes have gpu=h100 (2), gpu=v100 (1) (and 2 more "
        "terms): label a node or correct the pod."
    )


def test_the_number_of_matching_nodes_is_reported_when_these_refuse_for_other_reasons() -> None:
    matching = [node("n1", labels={"gpu": "a100"}, cpu="1"), node("n2", labels={"gpu": "h100"})]
    assert reported(matching, cpu="2", node_selector={"gpu": "a100"}).endswith(
        "nodeSelector requires a node that has label gpu=a100: 1 of 2 nodes does."
    )


def test_nodes_that_match_any_of_the_terms_are_counted_together() -> None:
    full = [node(f"{zone}{number}", labels={"zone": zone}, cpu="1") for zone in "abc" for number in range(2)]
    ways = [term(requirement("zone", "In", zone)) for zone in ("x", "a", "b")]
    assert reported(full, cpu="2", affinity=required(*ways)).endswith(
        "nodeAffinity requires a node that has label zone=a or that has label zone=b (and 1 more term): 4 of 6 nodes "
        "do."
    )


def test_a_term_without_conditions_matches_no_node_whatever_the_other_terms() -> None:
    assert of_labels(required(term()), zone="a") == (
        "nodeSelector and nodeAffinity require a node that matches a term without conditions, and no node does: "
        "label a "
        "node or correct the pod."
    )


def test_labels_are_not_mentioned_when_only_room_is_missing() -> None:
    large = node("n1", labels={"gpu": "a100"}, cpu="1")
    assert "nodeSelector" not in reported(large, cpu="2", node_selector={"gpu": "a100"})


# -- taints and cordons ----------------------------------------------------------------------------------------------

ML = Taint(key="dedicated", value="ml", effect="NoSchedule")
GPU = Taint(key="gpu", effect="NoExecute")
NOT_READY = Taint(key="node.kubernetes.io/not-ready", effect="NoExecute")


def test_taints_are_reported_as_kubectl_writes_them_with_the_number_of_nodes() -> None:
    tainted = [node("n1", taints=[ML]), node("n2", taints=[ML]), node("n3", taints=[ML, GPU])]
    assert reported(tainted) == (
        "Not tolerated: dedicated=ml:NoSchedule (2 nodes), dedicated=ml:NoSchedule and gpu:NoExecute (1 "
        "node); add a toleration, or remove the taint."
    )


def test_what_is_tolerated_is_not_reported() -> None:
    ml = Toleration(key="dedicated", operator="Exists")
    assert "Not tolerated: gpu:NoExecute (1 node);" in reported(node("n1", taints=[ML, GPU]), tolerations=[ml])


def test_nodes_that_are_unwell_are_not_a_matter_of_tolerations() -> None:
    tainted = [node("n1", taints=[ML]), node("n3", taints=[NOT_READY, ML]), node("n2", taints=[NOT_READY])]
    assert reported(tainted).endswith(
        "Unhealthy nodes: node.kubernetes.io/not-ready:NoExecute (2 nodes); see kubectl describe node n2."
    )


def test_cordoned_nodes_are_named() -> None:
    nodes = [node(f"n{number}", unschedulable=True) for number in range(5)]
    assert reported(nodes) == "Cordoned (open with kubectl uncordon): n0, n1, n2 and 2 more."


def test_a_node_is_reported_by_what_it_refuses_first() -> None:
    cordoned = node("n1", unschedulable=True, taints=[ML], labels={"gpu": "a100"})
    assert reported(cordoned, node_selector={"gpu": "b200"}) == "Cordoned (open with kubectl uncordon): n1."
    assert "tolerated" not in reported(cordoned)
