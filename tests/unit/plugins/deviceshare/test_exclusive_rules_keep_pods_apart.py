"""`deviceshare.GPUExclusiveRules`: pods of one rule share no card, in one cycle and with those that run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from tests.support.placement.cards import A100, IDS, asks, card, gpu_node, gpu_pod, mig_card
from tests.support.placement.node_answers import answers, class_of, node_rows, willing
from tests.support.sessions import Opened, open_session, pod_group
from volcano_py.api.objects import Node, Pod
from volcano_py.config.fields.reading import read_arguments
from volcano_py.config.text.problems import Severity
from volcano_py.framework.views import NodeView
from volcano_py.plugins.deviceshare import DeviceShare
from volcano_py.plugins.deviceshare.arguments import DeviceShareArguments

RULES = [{"app": "train"}, {"team": "a", "tier": "x"}]
APART = "node(s) had too few GPUs without a pod that an exclusive rule keeps apart"
BOTH = "node(s) had too few GPUs without a pod of the PodGroup, or one that an exclusive rule keeps apart"
TRAIN, TEAM = {"app": "train"}, {"team": "a", "tier": "x"}


def session(*objects: Node | Pod, rules: Sequence[Mapping[str, str]] = RULES) -> Opened:
    arguments: dict[str, Any] = {
        "deviceshare.VGPUEnable": True,
        "deviceshare.GPUExclusiveRules": rules,
        "deviceshare.KnownMigGeometries": [A100],
    }
    groups = pod_group("g"), pod_group("h")
    return open_session(*groups, objects, tiers=[[(DeviceShare, {"arguments": arguments})]])


def new(labels: Mapping[str, str], name: str = "new", **fields: Any) -> Pod:
    return gpu_pod(name, asks(1, 1), labels=dict(labels), **fields)


def old(labels: Mapping[str, str], holds: str = "A,NVIDIA,1,0:", name: str = "old") -> Pod:
    return gpu_pod(name, asks(1, 1), labels=dict(labels), holds=holds, on="n1", group="h")


@pytest.mark.parametrize(
    ("there", "asking", "answer"),
    [
        pytest.param(TRAIN, TRAIN, APART, id="the same rule, in different groups"),
        pytest.param(TEAM, TEAM, APART, id="a rule of two labels"),
        pytest.param({"team": "a"}, TEAM, "", id="not all labels of the rule"),
        pytest.param(TRAIN, TEAM, "", id="another rule"),
        pytest.param(TRAIN, {}, "", id="a pod of no rule"),
        pytest.param({}, TRAIN, "", id="next to a pod of no rule"),
        pytest.param({**TRAIN, **TEAM}, TEAM, APART, id="a pod of two rules"),
        pytest.param({**TRAIN, "more": "x"}, {**TRAIN, "other": "y"}, APART, id="other labels do not count"),
    ],
)
def test_a_pod_of_a_rule_gets_no_card_with_another_one(
    there: Mapping[str, str], asking: Mapping[str, str], answer: str
) -> None:
    opened = session(gpu_node("n1", card("A")), old(there), new(asking))
    assert answers(opened, DeviceShare, "new") == {"n1": answer}


def test_without_rules_pods_share_cards() -> None:
    assert willing(session(gpu_node("n1", card("A")), old(TRAIN), new(TRAIN), rules=[]), DeviceShare, "new") == ["n1"]


def test_pods_that_are_placed_in_one_cycle_are_kept_apart_until_that_is_undone() -> None:
    pods = [new(TRAIN, "p0"), new(TRAIN, "p1"), new(TRAIN, "p2"), new({}, "free"), new(TEAM, "other")]
    opened = session(gpu_node("n1", card("A"), card("B")), *pods)
    first = opened.place("g", {"p0": "n1"})
    opened.place("g", {"p1": "n1"})
    texts = [opened.ssn.findings.annotations[int(opened.rows(name)[0])][IDS] for name in ("p0", "p1")]
    assert texts == ["B,NVIDIA,1,0:", "A,NVIDIA,1,0:"]
    assert answers(opened, DeviceShare, "p2") == {"n1": APART}
    assert willing(opened, DeviceShare, "free") == willing(opened, DeviceShare, "other") == ["n1"]
    first.discard()
    assert willing(opened, DeviceShare, "p2") == ["n1"]


def test_containers_of_a_pod_may_share_a_card() -> None:
    opened = session(gpu_node("n1", card("A")), gpu_pod("new", asks(1, 1), asks(1, 1), labels=dict(TRAIN)))
    assert willing(opened, DeviceShare, "new") == ["n1"]


def test_an_evicted_pod_keeps_its_card_to_itself_until_it_is_gone() -> None:
    opened = session(gpu_node("n1", card("A")), old(TRAIN), new(TRAIN, "next"), new(TRAIN))
    statement = opened.evict("old")
    assert answers(opened, DeviceShare, "new") == {"n1": APART}
    opened.pipeline("g", {"next": "n1"}, statement)
    assert answers(opened, DeviceShare, "new") == {"n1": APART}


def test_the_policy_of_a_pod_group_counts_as_well() -> None:
    spread = {"volcano.sh/vgpu-podgroup-policy": "spread"}
    there = gpu_pod("there", asks(1, 1), holds="B,NVIDIA,1,0:", on="n1")
    opened = session(gpu_node("n1", card("A"), card("B")), there, old(TRAIN), new(TRAIN, annotations=spread))
    assert answers(opened, DeviceShare, "new") == {"n1": BOTH}


def test_a_pod_group_keeps_its_pods_apart_on_divided_cards_as_well() -> None:
    spread = {"volcano.sh/vgpu-podgroup-policy": "spread"}
    there = gpu_pod("there", asks(1, 1), holds="A[group1-0],NVIDIA,5120,0:", on="n1", labels=dict(TRAIN))
    opened = session(gpu_node("n1", mig_card("A")), there, new(TRAIN, annotations=spread))
    assert answers(opened, DeviceShare, "new") == {"n1": BOTH}


def test_instances_of_a_divided_card_are_apart_anyway() -> None:
    there = old(TRAIN, "A[group1-0],NVIDIA,5120,0:")
    pods = [new(TRAIN, f"p{number}") for number in range(2)]
    opened = session(gpu_node("n1", mig_card("A")), there, *pods)
    opened.place("g", {"p0": "n1"})
    assert willing(opened, DeviceShare, "p1") == ["n1"]


def test_there_is_room_for_one_pod_of_a_rule_on_each_card() -> None:
    opened = session(gpu_node("n1", card("A"), card("B"), card("C")), old(TRAIN), new(TRAIN))
    view = NodeView(opened.ssn.ledger.nodes, node_rows(opened, ["n1"]))
    assert opened.plugin(DeviceShare).predicate_room(class_of(opened, "new"), view).tolist() == [2]


def test_the_rule_is_named() -> None:
    opened = session(gpu_node("n1", card("A")), old(TEAM), new(TEAM))
    message = opened.ssn.placer.misfit(class_of(opened, "new")).refusal.message
    says = "The pod has the labels team=a,tier=x, and by deviceshare.GPUExclusiveRules no two such pods share a GPU"
    assert message.endswith(f"1 {APART}. {says}.")


@pytest.mark.parametrize(
    ("value", "fault"),
    [
        ("app=train", "Expected `array`, got `str`"),
        ([["app"]], "Expected `object`, got `array`"),
        ([{"app": 1}], "Expected `str`, got `int`"),
        ([{"app": "train"}, {}], "has a rule without labels, which would be of all pods"),
    ],
)
def test_rules_that_cannot_be_used_are_an_error(value: object, fault: str) -> None:
    values = {"deviceshare.VGPUEnable": True, "deviceshare.GPUExclusiveRules": value}
    _, (problem,) = read_arguments(DeviceShareArguments, values)
    assert problem.severity is Severity.ERROR
    assert fault in problem.message
    assert "write a list of label maps, such as [{app: train}, {team: a, tier: x}]" in problem.message
